//! Reads a node's ports that are up, with their rates: `ibstat` and `ibv_devinfo -v`.

use shardscope_engine::problem::Problem;

use super::facts::{MachineFacts, Sourced};

/// Adds the ports in lines; `ibv_devinfo` without `-v` prints no rates, which is an error.
pub fn read(file: &str, lines: &[String], facts: &mut MachineFacts) -> Result<(), Problem> {
    let (mut up, mut lanes, mut silent) = (true, 1.0, None);
    for (at, line) in lines.iter().enumerate() {
        let Some((key, value)) = line.trim().split_once(':') else { continue };
        let place = || format!("{file}:{}", at + 1);
        let first = value.split_whitespace().next().unwrap_or_default();
        let rate = match key {
            "State" => {
                up = first == "Active";
                None
            }
            "state" => {
                // `PORT_ACTIVE (4)`, and `4: ACTIVE` of ibstatus.
                up = value.contains("ACTIVE");
                if first.starts_with("PORT_") {
                    silent = silent.or(Some(place()));
                }
                None
            }
            // `4X (2)`: four lanes, of which 2 is the code.
            "active_width" => {
                lanes = first.strip_suffix('X').and_then(|lanes| lanes.parse().ok()).unwrap_or(1.0);
                None
            }
            // `50.0 Gbps (64)` is per lane; `Rate: 400` of ibstat and `rate: 400 Gb/sec` of ibstatus are per port.
            "active_speed" => first.parse().ok().map(|rate: f64| rate * lanes),
            "Rate" | "rate" => first.parse().ok(),
            _ if key == "port" || key.starts_with("Port ") => {
                up = true;
                None
            }
            _ => None,
        };
        let Some(rate) = rate.filter(|rate| *rate > 0.0 && *rate < 1e5) else { continue };
        silent = None;
        if up {
            facts.rates.push(Sourced { value: rate, place: place() });
        } else {
            facts.ignored.push((place(), "a port that is down"));
        }
    }
    match silent {
        Some(place) => Err(Problem::new(place, "a port without a rate", "give `ibv_devinfo -v`, which prints it")),
        None => Ok(()),
    }
}

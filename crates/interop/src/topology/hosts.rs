//! Slurm's host lists: `rack[1-2]n[01-18],login` names 37 hosts. Does not decide which nodes count.

/// The most brackets in a name; Slurm's lists have one per dimension of a machine.
const MOST_BRACKETS: usize = 4;

/// The longest name of a host.
const MOST_CHARACTERS: usize = 255;

/// The names in a list, at most `most`; `None` if it is no host list, or a longer one.
pub fn expanded(list: &str, most: usize) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for one in parts(list) {
        let is_name = one.starts_with(|c: char| c.is_ascii_alphabetic());
        let brackets = one.bytes().filter(|byte| *byte == b'[').count();
        if !is_name || brackets > MOST_BRACKETS {
            return None;
        }
        push(String::new(), one, most, &mut names)?;
    }
    Some(names)
}

/// Splits the list at commas outside brackets.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    list.split(move |c| {
        inside = c == '[' || inside && c != ']';
        c == ',' && !inside
    })
}

/// Adds the names that start with `begun` and continue as `rest`.
fn push(begun: String, rest: &str, most: usize, names: &mut Vec<String>) -> Option<()> {
    let (before, ranges) = rest.split_once('[').unwrap_or((rest, ""));
    let is_plain = before.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !is_plain || begun.len() + before.len() > MOST_CHARACTERS || names.len() >= most {
        return None;
    }
    let begun = begun + before;
    if before.len() == rest.len() {
        names.push(begun);
        return Some(());
    }
    let (ranges, behind) = ranges.split_once(']')?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // Numbers have the first one's width: `001` to `064`.
        let width = first.len();
        if from > to || (to - from) as usize >= most || width > 9 {
            return None;
        }
        for number in from..=to {
            push(format!("{begun}{number:0width$}"), behind, most, names)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_as_wide_as_their_first_number() {
        let expect = |list: &str, names: &[&str]| {
            assert_eq!(
                expanded(list, 100).as_deref(),
                Some(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()[..]),
                "{list}"
            );
        };
        expect("gpu[008-010,070]", &["gpu008", "gpu009", "gpu010", "gpu070"]);
        expect("n9,amd[1-2]-ib,login", &["n9", "amd1-ib", "amd2-ib", "login"]);
        expect("r[1-2]n[01-02]", &["r1n01", "r1n02", "r2n01", "r2n02"]);
        // 2 x 18 + 1 and 65.
        assert_eq!(expanded("rack[1-2]n[01-18],login", 100).map(|names| names.len()), Some(37));
        assert_eq!(expanded("gpu[001-064,070]", 65).map(|names| names.len()), Some(65));
    }

    #[test]
    fn what_is_no_list_or_too_long_a_one_has_no_names() {
        let deep = format!("n{}", "[0]".repeat(100_000));
        let wide = format!("n[{}-1]", "0".repeat(100_000));
        let many = "n[0-99][0-99][0-99][0-99]";
        for list in [
            "",
            "gpu:h100:8",
            "64",
            "1-00:00:00",
            "n[1-2",
            "n[2-1]",
            "n[x]",
            "n[0-4294967295]",
            "n[1-101]",
            "n]",
            many,
            &deep,
            &wide,
        ] {
            assert_eq!(expanded(list, 100), None, "{}", &list[..list.len().min(40)]);
        }
    }
}

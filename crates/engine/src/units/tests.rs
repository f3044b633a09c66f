//! Reading, writing and arithmetic of quantities.

use proptest::prelude::*;

use super::*;

#[test]
fn reads_what_people_write() {
    // GiB = 2^30 = 1,073,741,824; Gb/s = 1e9 bit/s = 1.25e8 B/s.
    assert_eq!("64 GiB".parse(), Ok(Bytes::new(68_719_476_736.0)));
    assert_eq!("40GB".parse(), Ok(Bytes::new(40e9)));
    assert_eq!("25 GB/s".parse(), Ok(BytesPerSecond::new(25e9)));
    assert_eq!("200 Gb/s".parse(), Ok(BytesPerSecond::new(25e9)));
    assert_eq!("312 TFLOP/s".parse(), Ok(FlopPerSecond::new(312e12)));
    assert_eq!("5 us".parse(), Ok(Seconds::new(5.0 * 1e-6)));
    assert_eq!("1e-3 s".parse(), Ok(Seconds::new(1e-3)));
    assert_eq!("1_000 MiB".parse(), Ok(Bytes::new(1_048_576_000.0)));
}

#[test]
fn refuses_what_is_ambiguous() {
    for text in ["64", "", "GiB", "-1 GiB", "inf GiB", "NaN B", "64 gib", "1 GB/s", "1 Gb", "é", "1e GiB"] {
        let error = text.parse::<Bytes>().expect_err(text).to_string();
        assert!(error.contains("64 GiB"), "{text}: {error}");
    }
    let error = "1\u{1b}[2J".parse::<Bytes>().expect_err("escape").to_string();
    assert!(!error.contains('\u{1b}'), "control characters must not reach a terminal");
}

#[test]
fn prints_for_people() {
    assert_eq!(Bytes::new(44_238_000_000.0).to_string(), "41.2 GiB");
    assert_eq!(Bytes::new(1023.9).to_string(), "1.00 KiB");
    assert_eq!(Bytes::ZERO.to_string(), "0 B");
    assert_eq!(BytesPerSecond::new(12.5e9).to_string(), "12.5 GB/s");
    assert_eq!(FlopPerSecond::new(312e12).to_string(), "312 TFLOP/s");
    assert_eq!(Seconds::new(0.00071).to_string(), "710 us");
    assert_eq!(Seconds::new(6.84).to_string(), "6.84 s");
    assert_eq!(Seconds::new(9.9996).to_string(), "10.0 s");
    assert_eq!(Seconds::new(1e-12).to_string(), "0.00100 ns");
    assert_eq!(thousands(88_600.0), "88,600");
    assert_eq!(thousands(-1234.0), "-1,234");
    assert_eq!(thousands(999.4), "999");
    assert_eq!((thousands(1e15), thousands(-1.234e308)), ("1.00e15".to_owned(), "-1.23e308".to_owned()));
    assert_eq!((significant(9.996e14, 3), significant(9.996e299, 3)), ("1.00e15".to_owned(), "1.00e300".to_owned()));
    assert_eq!(
        (significant(1.25e-9, 3), significant(1.25e-20, 3)),
        ("0.00000000125".to_owned(), "1.25e-20".to_owned())
    );
    let short = [0.5, 1.0 / 3.0, 2.0, 1000.0, 1e-20].map(|value| short(value, 3));
    assert_eq!(short, ["0.5", "0.333", "2", "1000", "1.00e-20"]);
}

#[test]
fn rough_words_have_two_digits() {
    let rough = |value: f64, unit: Dimension| Amount { value, unit }.in_rough_words();
    assert_eq!(rough(270.6, Dimension::Seconds), "4.5 min");
    assert_eq!(rough(7743.0, Dimension::Of("tokens/s")), "7,700 tokens/s");
    assert_eq!(rough(0.347, Dimension::Share), "35 %");
    assert_eq!(rough(8.81e12, Dimension::FlopPerSecond), "8.8 TFLOP/s");
    assert_eq!(rough(f64::NAN, Dimension::Seconds), Amount { value: f64::NAN, unit: Dimension::Seconds }.in_words());
}

#[test]
fn serde_takes_text_only() {
    #[derive(Debug, serde::Deserialize)]
    struct Row {
        memory: Bytes,
    }
    let row: Row = toml::from_str("memory = '64 GiB'").expect("a quantity");
    assert_eq!(row.memory, Bytes::new(68_719_476_736.0));
    let error = toml::from_str::<Row>("memory = 64").expect_err("a bare number").to_string();
    assert!(error.contains("text with a unit"), "{error}");
}

#[test]
fn rates_divide_amounts() {
    // 50 GB over 25 GB/s take 2 s; 624 TFLOP at 312 TFLOP/s take 2 s.
    assert_eq!(Bytes::new(50e9) / BytesPerSecond::new(25e9), Seconds::new(2.0));
    assert_eq!(Flop::new(624e12) / FlopPerSecond::new(312e12), Seconds::new(2.0));
    assert_eq!(BytesPerSecond::new(25e9) * Seconds::new(2.0), Bytes::new(50e9));
}

proptest! {
    #[test]
    fn exact_text_reads_back_to_the_same_bits(value in prop_oneof![0.0..1e18f64, 0.0..1e-3f64, (0u64..1 << 53).prop_map(|n| n as f64)]) {
        prop_assert_eq!(Bytes::new(value).exact().parse(), Ok(Bytes::new(value)));
        prop_assert_eq!(Seconds::new(value).exact().parse(), Ok(Seconds::new(value)));
        prop_assert_eq!(BytesPerSecond::new(value).exact().parse(), Ok(BytesPerSecond::new(value)));
        prop_assert_eq!(FlopPerSecond::new(value).exact().parse(), Ok(FlopPerSecond::new(value)));
    }

    #[test]
    fn the_printed_value_is_within_half_a_percent(value in 1e-9..1e15f64) {
        let back: Bytes = Bytes::new(value.max(1.0)).to_string().parse().expect("what we print we read");
        prop_assert!((back.get() / value.max(1.0) - 1.0).abs() <= 0.005);
    }

    #[test]
    fn any_text_is_read_or_refused_without_panic(text in "\\PC*") {
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Seconds>();
    }
}

#[test]
fn money_is_an_amount_in_a_currency_that_is_never_converted() {
    let price: Money = "2.50 EUR".parse().expect("a price");
    // 34,790 device-hours at 2.50 EUR cost 86,975 EUR.
    assert_eq!((price * 34_790.0).to_string(), "86,975 EUR");
    assert_eq!(price.to_string(), "2.50 EUR");
    assert_eq!("2.50EUR".parse(), Ok(price));
    assert_eq!("1_200".parse::<Money>().expect("no currency").to_string(), "1,200");
    for (text, why) in [
        ("-1 EUR", "finite and not negative"),
        ("inf EUR", "finite and not negative"),
        ("EUR 2", "does not begin with a number"),
        ("2 euro", "three capital letters"),
        ("2 EUR an hour", "something follows"),
        ("", "does not begin"),
    ] {
        let said = text.parse::<Money>().expect_err(text).to_string();
        assert!(said.contains(why) && said.contains("\"2.50 EUR\""), "{text}: {said}");
    }
    // 1,000 devices of 700 W for an hour: 700 kWh.
    let energy = Watts::new(700.0) * Seconds::new(3_600_000.0);
    assert_eq!(energy.to_string(), "700 kWh");
    let energy = Amount { value: energy.get(), unit: Dimension::Joules };
    assert_eq!((energy.in_column(), energy.in_files()), (700.0, Some(700.0)));
}

#[test]
fn billions_beside_bytes_are_no_bytes() {
    assert_eq!(engineering(19.934e9, 4), "19.93e9");
    assert_eq!(engineering(1.26e12, 3), "1.26e12");
    assert_eq!(engineering(999.7e9, 3), "1.00e12");
    assert_eq!(engineering(125e6, 3), "125e6");
}

#[test]
fn one_device_is_no_devices() {
    assert_eq!([devices(1), devices(38_640)], ["1 device", "38,640 devices"]);
}

/// With so many digits as are asked for, or whole; and rounded as Rust rounds a number to as many places.
#[test]
fn significant_digits_are_rounded_once() {
    let rounded = |value: f64, digits: usize| {
        let text = significant(value, digits);
        let places = text.split_once('.').map_or(0, |(_, behind)| behind.len());
        assert_eq!(text, format!("{value:.places$}"), "{value:e} with {digits} digits");
        let shown = text.trim_start_matches(['-', '0', '.']).replace('.', "").len();
        assert!(shown == digits || places == 0 && shown > digits, "{value:e} with {digits} digits: {text}");
    };
    for number in [1.0, 1.005, 2.5, 8.5949, 9.994_999, 9.995, 9.999_999, 1.0 / 3.0] {
        for power in -4..14 {
            for digits in 1..6 {
                rounded(number * 10_f64.powi(power), digits);
                rounded(-number * 10_f64.powi(power), digits);
            }
        }
    }
}

//! Counts and shares as people write them: `2T`, `300B`, `4M`, `45%`.

/// Letters behind a number, and the powers of ten that they stand for.
const LETTERS: [(char, i32); 8] = [('T', 12), ('B', 9), ('M', 6), ('k', 3), ('K', 3), ('t', 12), ('b', 9), ('m', 6)];

/// Reads `300B`, `300e9` or `300_000_000_000`; what is not finite is no count.
pub(crate) fn read_count(text: &str) -> Option<f64> {
    let digits = text.trim().replace('_', "");
    let lettered = LETTERS.iter().find_map(|(letter, power)| Some((digits.strip_suffix(*letter)?, *power)));
    let value = match lettered {
        // As an exponent: 4.1M is then exactly 4,100,000, which 4.1 times a million is not.
        Some((number, power)) => format!("{}e{power}", number.trim_end()).parse::<f64>(),
        None => digits.parse(),
    };
    value.ok().filter(|value| value.is_finite())
}

/// The shortest of the texts that read back to the same count: `300B`, `1024`.
pub(crate) fn written_count(value: f64) -> String {
    let scaled = LETTERS.iter().map(|(letter, power)| (letter, value / libm::pow(10.0, f64::from(*power))));
    // 0.3T is as short as 300B, which is what people write.
    let lettered = scaled.filter(|(_, number)| *number >= 1.0).map(|(letter, number)| format!("{number}{letter}"));
    let same = |text: &String| read_count(text).is_some_and(|back| back.to_bits() == value.to_bits());
    std::iter::once(value.to_string()).chain(lettered.filter(same)).min_by_key(String::len).unwrap_or_default()
}

/// Reads `45%`, `45 %` or `0.45`; what is not finite is no share.
pub fn read_share(text: &str) -> Option<f64> {
    let text = text.trim();
    let value = match text.strip_suffix('%') {
        Some(percent) => format!("{}e-2", percent.trim_end()).parse::<f64>(),
        None => text.replace('_', "").parse(),
    };
    value.ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_with_letters_and_exactly() {
        let read = ["2T", "300B", "4.1M", "12 k", "3e11", "1_024", "500b", "4m"].map(read_count);
        assert_eq!(read, [2e12, 300e9, 4_100_000.0, 12_000.0, 3e11, 1024.0, 500e9, 4e6].map(Some));
        assert_eq!(["", "T", "4MM", "x", "1e999"].map(read_count), [None; 5]);
    }

    #[test]
    fn counts_are_written_as_short_as_they_read_back() {
        assert_eq!(
            [2e12, 3e11, 1024.0, 4e6, 1500.0, 4_194_304.0].map(written_count),
            ["2T", "300B", "1024", "4M", "1500", "4194304"]
        );
    }

    #[test]
    fn shares_are_read_in_percent() {
        assert_eq!(["45%", "45 %", "0.45", "7%"].map(read_share), [0.45, 0.45, 0.45, 0.07].map(Some));
        assert_eq!(["%", "45%%", ""].map(read_share), [None; 3]);
    }
}

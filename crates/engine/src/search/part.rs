//! One of several parts of a whole that several processes compute, each for itself.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Part `index` of `count`, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkPart {
    index: u32,
    count: u32,
}

impl WorkPart {
    /// All parts of a whole, in order.
    pub fn all(count: u32) -> impl Iterator<Item = Self> {
        (0..count).map(move |index| Self { index, count })
    }

    /// Its place in the whole, from 0.
    pub const fn index(self) -> u32 {
        self.index
    }

    /// How many parts there are.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The rows of a whole of `total` that are this part's: contiguous, and as many as another part's or one fewer.
    pub fn rows(self, total: usize) -> Range<usize> {
        let (total, count) = (total as u128, u128::from(self.count));
        let begin = |index: u32| (total * u128::from(index) / count) as usize;
        begin(self.index)..begin(self.index + 1)
    }
}

impl fmt::Display for WorkPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for WorkPart {
    type Err = String;

    /// Reads `K/N`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "a part is written K/N, from 0/N to (N - 1)/N, like 3/100".to_owned();
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let (index, count): (u32, u32) = index.parse().ok().zip(count.parse().ok()).ok_or_else(wrong)?;
        if index >= count {
            return Err(format!("{text}: {}", wrong()));
        }
        Ok(Self { index, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_end_to_end_and_are_of_one_size_or_one_less() {
        for (total, count) in [(10, 3), (7, 7), (3, 7), (0, 2), (100, 1), (1_000_003, 1000)] {
            let mut next = 0;
            for part in WorkPart::all(count) {
                let rows = part.rows(total);
                assert_eq!(rows.start, next);
                assert!(rows.len().abs_diff(total / count as usize) <= 1, "{part} of {total}: {rows:?}");
                next = rows.end;
            }
            assert_eq!(next, total);
        }
        // 10 rows in 3 parts: 10/3 = 3.3, 20/3 = 6.7.
        assert_eq!(WorkPart::all(3).map(|part| part.rows(10)).collect::<Vec<_>>(), [0..3, 3..6, 6..10]);
    }

    #[test]
    fn a_part_is_written_k_of_n() {
        assert_eq!("3/100".parse::<WorkPart>().expect("a part").to_string(), "3/100");
        for wrong in ["", "3", "3/", "/3", "3/3", "0/0", "-1/2", "1/2/3", "5000000000/6000000000"] {
            assert!(wrong.parse::<WorkPart>().is_err(), "{wrong}");
        }
    }
}

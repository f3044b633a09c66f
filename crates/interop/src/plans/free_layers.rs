//! The layers that a tool's file trains, and the number of frozen layers before them. [`super::frozen`] reads the files.

/// The trained layers; the number of frozen ones depends on the model.
#[derive(Debug)]
pub(crate) enum FreeLayers {
    /// This many last layers.
    Last(u32),
    /// Layers whose numbers match any of these.
    Numbered(Vec<LayerNumbers>),
}

impl FreeLayers {
    /// Number of frozen layers before the trained ones; `None` if others lie between or after these.
    pub fn frozen(&self, layers: u32) -> Option<u32> {
        let free = |layer: u32| match self {
            Self::Last(free) => layer >= layers.saturating_sub(*free),
            Self::Numbered(numbers) => numbers.iter().any(|numbers| numbers.have(layer)),
        };
        let first = (0..layers).find(|layer| free(*layer)).unwrap_or(layers);
        (first..layers).all(free).then_some(first)
    }
}

/// Layer numbers in a pattern of axolotl's: digits, and classes of digits.
#[derive(Debug)]
pub(crate) struct LayerNumbers {
    places: Vec<DigitPlace>,
    /// True if more digits may follow: the pattern ends there.
    open: bool,
}

/// The digits that one position may have.
#[derive(Debug)]
struct DigitPlace {
    digits: Vec<char>,
    repeats: bool,
}

impl LayerNumbers {
    /// The alternatives of a pattern like `2[0-9]+` or `(30|31)`; `None` for any other pattern.
    pub(super) fn read(pattern: &str, open: bool) -> Option<Vec<Self>> {
        let inside = pattern.strip_prefix('(').and_then(|inside| inside.strip_suffix(')'));
        inside.unwrap_or(pattern).split('|').map(|one| Some(Self { places: places(one)?, open })).collect()
    }

    fn have(&self, layer: u32) -> bool {
        let digits: Vec<char> = layer.to_string().chars().collect();
        self.fit(&self.places, &digits)
    }

    fn fit(&self, places: &[DigitPlace], digits: &[char]) -> bool {
        let Some((place, behind)) = places.split_first() else { return self.open || digits.is_empty() };
        let most = if place.repeats { digits.len() } else { digits.len().min(1) };
        let fitting = digits[..most].iter().take_while(|digit| place.digits.contains(digit)).count();
        (1..=fitting).any(|taken| self.fit(behind, &digits[taken..]))
    }
}

/// The positions of one alternative.
fn places(text: &str) -> Option<Vec<DigitPlace>> {
    let (mut places, mut left): (Vec<DigitPlace>, Vec<char>) = (Vec::new(), text.chars().rev().collect());
    while let Some(next) = left.pop() {
        let digits = match next {
            '[' => class(&mut left)?,
            '\\' => (left.pop()? == 'd').then(|| ('0'..='9').collect())?,
            digit if digit.is_ascii_digit() => vec![digit],
            _ => return None,
        };
        let repeats = left.last() == Some(&'+');
        if repeats {
            left.pop();
        }
        places.push(DigitPlace { digits, repeats });
    }
    (!places.is_empty()).then_some(places)
}

/// The digits of a class, after its opening bracket.
fn class(left: &mut Vec<char>) -> Option<Vec<char>> {
    let mut digits = Vec::new();
    loop {
        match left.pop()? {
            ']' => return Some(digits),
            first if first.is_ascii_digit() => {
                let last = if left.last() == Some(&'-') { left.pop().and_then(|_| left.pop())? } else { first };
                digits.extend(first..=last);
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 32 layers the last two; those from 20 of a pattern that goes on, from 24 of two, and none between.
    #[test]
    fn free_layers_leave_the_first_ones() {
        let frozen = |patterns: &[(&str, bool)]| {
            let read = |(pattern, open): &(&str, bool)| LayerNumbers::read(pattern, *open).expect("numbers");
            FreeLayers::Numbered(patterns.iter().flat_map(read).collect()).frozen(32)
        };
        assert_eq!(FreeLayers::Last(2).frozen(32), Some(30));
        assert_eq!(FreeLayers::Last(40).frozen(32), Some(0));
        assert_eq!(frozen(&[("2[0-9]+", false), ("3[0-9]+", false)]), Some(20));
        assert_eq!(frozen(&[("2[4-9]", false), ("(30|31)", false)]), Some(24));
        assert_eq!(frozen(&[("2[4-9]", false), ("3\\d", false)]), Some(24));
        assert_eq!(frozen(&[]), Some(32));
        assert_eq!(frozen(&[("2[0-9]", false)]), None, "layers behind them are frozen");
        assert_eq!(frozen(&[("3", true)]), None, "3 begins 30 and 31 too");
        assert_eq!(frozen(&[("[0-9]+", false)]), Some(0));
        assert!(LayerNumbers::read("3x", false).is_none() && LayerNumbers::read("[0-9", false).is_none());
    }
}

//! Sorted, disjoint intervals of time, in picoseconds.

/// A union of intervals: overlapping time counts once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Intervals(Vec<(u64, u64)>);

impl Intervals {
    /// The union of spans in any order, clipped to a window.
    pub fn within(window: (u64, u64), spans: impl Iterator<Item = (u64, u64)>) -> Self {
        let cut = spans.map(|(start, end)| (start.max(window.0), end.min(window.1)));
        let mut spans: Vec<(u64, u64)> = cut.filter(|(start, end)| start < end).collect();
        spans.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in spans {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        Self(joined)
    }

    /// Total length, in seconds.
    pub fn length(&self) -> f64 {
        self.0.iter().map(|(start, end)| end - start).sum::<u64>() as f64 / 1e12
    }

    /// Seconds that are in both.
    pub fn common(&self, other: &Self) -> f64 {
        let (mut here, mut there, mut sum) = (0, 0, 0);
        while let (Some((start, end)), Some((from, to))) = (self.0.get(here), other.0.get(there)) {
            sum += end.min(to).saturating_sub(*start.max(from));
            if end < to {
                here += 1;
            } else {
                there += 1;
            }
        }
        sum as f64 / 1e12
    }

    /// Seconds that are in `self` but not in `other`.
    pub fn without(&self, other: &Self) -> f64 {
        (self.length() - self.common(other)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 to 4 and 6 to 9 from 1 on are 6 ps, of which 3 to 4 and 6 to 7 are in 3 to 7.
    #[test]
    fn lengths_and_overlaps_are_those_of_sets() {
        let one = Intervals::within((1, 9), [(6, 9), (0, 2), (2, 4), (1, 3), (8, 20)].into_iter());
        let other = Intervals::within((0, 100), [(3, 7)].into_iter());
        assert_eq!(one, Intervals(vec![(1, 4), (6, 9)]));
        let told = [one.length(), one.common(&other), one.without(&other), other.common(&one)];
        let told = told.into_iter().chain([Intervals::default().common(&one)]);
        assert_eq!(told.map(|seconds| format!("{:.0}", seconds * 1e12)).collect::<Vec<_>>(), ["6", "2", "4", "2", "0"]);
    }
}

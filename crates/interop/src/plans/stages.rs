//! Uneven pipelines, as Megatron-LM's arguments give them.
//!
//! The number of layers per stage depends on the model, which is unknown when they are read.

/// How layers are divided over pipeline stages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnevenStages {
    /// Layers of the first and of the last rank, if given; the ranks between share the others evenly.
    Ends { first: Option<u32>, last: Option<u32> },
    /// Evenly, counting the embedding and the loss as a layer each.
    Counted { embedding: bool, loss: bool },
    /// Layers of each stage.
    Listed(Vec<u32>),
}

impl UnevenStages {
    /// Layers of each stage in forward order, for `ranks` with `each` stages; `None` if they do not divide.
    pub fn layers(&self, all: u32, ranks: u32, each: u32) -> Option<Vec<u32>> {
        let of_ranks = match self {
            Self::Listed(layers) => return Some(layers.clone()),
            Self::Ends { first, last } => {
                let said = first.unwrap_or(0).checked_add(last.unwrap_or(0))?;
                let others = ranks - u32::from(first.is_some()) - u32::from(last.is_some());
                let rest = divided(all.checked_sub(said)?, others)?;
                let own = |at: u32| match at {
                    0 => first.unwrap_or(rest),
                    at if at + 1 == ranks => last.unwrap_or(rest),
                    _ => rest,
                };
                (0..ranks).map(own).collect::<Vec<u32>>()
            }
            Self::Counted { embedding, loss } => {
                let whole = divided(all + u32::from(*embedding) + u32::from(*loss), ranks)?;
                let less = |at: u32| u32::from(*embedding && at == 0) + u32::from(*loss && at + 1 == ranks);
                (0..ranks).map(|at| whole.checked_sub(less(at))).collect::<Option<_>>()?
            }
        };
        let stages: Option<Vec<u32>> = of_ranks.into_iter().map(|layers| divided(layers, each)).collect();
        Some(stages?.repeat(each as usize))
    }
}

fn divided(layers: u32, over: u32) -> Option<u32> {
    if over == 0 { (layers == 0).then_some(0) } else { layers.is_multiple_of(over).then_some(layers / over) }
}

/// The longest layout after its repetitions are expanded: longer than any pipeline's.
const LONGEST: usize = 1 << 16;

/// Layers of each stage in a layout: `Et*7|(t*8|)*2t*7L` has four stages; E is the embedding, L the loss, m an MTP
/// layer and t any other layer (`pipeline_parallel_layer_layout.py`).
pub(crate) fn read_layout(text: &str) -> Option<Vec<u32>> {
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | ' ' | '"' | '\'')).collect();
    let whole = written_out(&plain)?;
    let known = |stage: &str| stage.chars().all(|c| matches!(c, 'E' | 'L' | 'm' | 't'));
    let layers = |stage: &str| known(stage).then(|| stage.matches('t').count() as u32);
    whole.split('|').map(layers).collect()
}

/// Expands repetitions: `t*3` is `ttt`, and `(tt|)*2` is `tt|tt|`.
fn written_out(text: &str) -> Option<String> {
    let mut found = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (part, after) = if c == '(' {
            let (inside, after) = rest[1..].split_once(')')?;
            (written_out(inside)?, after)
        } else {
            (c.to_string(), &rest[c.len_utf8()..])
        };
        let digits = after
            .strip_prefix('*')
            .map(|after| after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len());
        let (times, after) = match digits {
            Some(digits) => (after[1..=digits].parse::<usize>().ok()?, &after[1 + digits..]),
            None => (1, after),
        };
        if part.len().checked_mul(times)?.checked_add(found.len())? > LONGEST {
            return None;
        }
        found.push_str(&part.repeat(times));
        rest = after;
    }
    Some(found)
}

/// The layout of stages with these numbers of layers.
pub(crate) fn write_layout(layers: &[u32]) -> String {
    let last = layers.len().saturating_sub(1);
    let stage = |(at, count): (usize, &u32)| {
        let layers = if *count > 0 { format!("t*{count}") } else { String::new() };
        format!("{}{layers}{}", if at == 0 { "E" } else { "" }, if at == last { "L" } else { "" })
    };
    layers.iter().enumerate().map(stage).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 30 layers over four ranks: 7 and 7 leave 16 for two, 8 each. 61 layers with the loss as one more are 62 over two: 31 and
    /// 30. Two stages on each of two ranks of 6 and 4 layers: 3 and 2, twice.
    #[test]
    fn layers_of_each_stage() {
        let ends = |first, last| UnevenStages::Ends { first, last };
        assert_eq!(ends(Some(7), Some(7)).layers(30, 4, 1), Some(vec![7, 8, 8, 7]));
        assert_eq!(ends(None, Some(6)).layers(30, 4, 1), Some(vec![8, 8, 8, 6]));
        assert_eq!(ends(Some(7), None).layers(30, 4, 1), None, "23 layers over three ranks");
        assert_eq!(ends(Some(6), Some(4)).layers(10, 2, 2), Some(vec![3, 2, 3, 2]));
        let counted = |embedding, loss| UnevenStages::Counted { embedding, loss };
        assert_eq!(counted(false, true).layers(61, 2, 1), Some(vec![31, 30]));
        assert_eq!(counted(true, true).layers(30, 4, 1), Some(vec![7, 8, 8, 7]));
    }

    /// Megatron-LM's own examples of the argument, in core 0.16: repetitions of letters and of groups.
    #[test]
    fn layouts_are_read_as_they_are_written() {
        assert_eq!(read_layout("Et*7|(t*8|)*2t*7L"), Some(vec![7, 8, 8, 7]));
        assert_eq!(read_layout("Ettt|tt,t|tttm,L"), Some(vec![3, 3, 3]));
        assert_eq!(read_layout("Et|x|L"), None);
        assert_eq!(read_layout("(t*99999)*99999"), None);
        for layers in [vec![7, 8, 8, 7], vec![0, 3, 2], vec![5]] {
            assert_eq!(read_layout(&write_layout(&layers)), Some(layers));
        }
    }
}

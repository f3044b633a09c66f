//! Regular expressions for module names, which PEFT takes a string for: those that match the same matrices in all
//! layers. Does not interpret the names.

/// The most names that a pattern may expand to: several times more than any real one has.
const MOST: usize = 4096;

/// Stands for any characters.
const ANY: char = '#';

/// Parts of a layer that hold its matrices.
pub(super) const PARTS: [&str; 7] =
    ["self_attn", "cross_attn", "self_attention", "attention", "attn", "mlp", "feed_forward"];

/// Parts of a module's path around a layer's parts.
const AROUND: [&str; 9] = [
    "base_model",
    "model",
    "language_model",
    "text_model",
    "transformer",
    "decoder",
    "layers",
    "h",
    "_checkpoint_wrapped_module",
];

/// The matrices that a pattern matches, in all layers; `None` if it matches only some layers or is more than alternatives.
pub(super) fn modules(pattern: &str) -> Option<Vec<String>> {
    let signs: Vec<char> = pattern.trim().trim_start_matches('^').trim_end_matches('$').chars().collect();
    let (all, end) = alternatives(&signs, 0)?;
    if end != signs.len() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for name in all {
        let (around, last) = name.rsplit_once('.').unwrap_or(("", &name));
        // A wildcard may precede a matrix's name, even without a dot between.
        let last = match last.trim_start_matches(ANY) {
            cut if cut.starts_with('_') => last,
            whole => whole,
        };
        let is_any = |part: &str| part.chars().all(|sign| sign == ANY);
        let known = |part: &str| is_any(part) || PARTS.contains(&part) || AROUND.contains(&part);
        if last.is_empty() || last.contains(ANY) || !around.split('.').all(known) {
            return None;
        }
        if !names.iter().any(|other| other == last) {
            names.push(last.to_owned());
        }
    }
    Some(names)
}

/// Expands alternatives between bars, up to the closing bracket; returns the names and the end.
fn alternatives(signs: &[char], mut at: usize) -> Option<(Vec<String>, usize)> {
    let mut all = Vec::new();
    loop {
        let (some, end) = sequence(signs, at)?;
        all.extend(some);
        if signs.get(end) != Some(&'|') {
            return (all.len() <= MOST).then_some((all, end));
        }
        at = end + 1;
    }
}

/// Expands items in sequence, up to a bar or a bracket.
fn sequence(signs: &[char], mut at: usize) -> Option<(Vec<String>, usize)> {
    let mut all = vec![String::new()];
    while let Some(sign) = signs.get(at).filter(|sign| !['|', ')'].contains(sign)) {
        let (mut one, end) = item(signs, at, *sign)?;
        at = end;
        match signs.get(at) {
            Some('?') => {
                one.push(String::new());
                at += 1;
            }
            Some('*' | '+' | '{') => return None,
            _ => {}
        }
        all = all.iter().flat_map(|head| one.iter().map(move |tail| format!("{head}{tail}"))).collect();
        if all.len() > MOST {
            return None;
        }
    }
    Some((all, at))
}

/// Expands one character, class or group; returns the names and the end.
fn item(signs: &[char], at: usize, sign: char) -> Option<(Vec<String>, usize)> {
    let rest: String = signs[at..].iter().take(8).collect();
    let any = [".*", r"[\d]+", r"\d+", "[0-9]+"].into_iter().find(|any| rest.starts_with(any));
    if let Some(any) = any {
        return Some((vec![ANY.to_string()], at + any.len()));
    }
    match sign {
        '(' => {
            let inner = if rest.starts_with("(?:") { at + 3 } else { at + 1 };
            let (all, end) = alternatives(signs, inner)?;
            (signs.get(end) == Some(&')')).then_some((all, end + 1))
        }
        '\\' if signs.get(at + 1) == Some(&'.') => Some((vec![".".to_owned()], at + 2)),
        '.' | '_' => Some((vec![sign.to_string()], at + 1)),
        sign if sign.is_ascii_alphanumeric() => Some((vec![sign.to_string()], at + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns of axolotl's examples, and of one that fits some layers alone.
    #[test]
    fn a_pattern_is_its_matrices() {
        let of = |pattern: &str| modules(pattern).map(|names| names.join(" "));
        let around = r"model.language_model.layers.[\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj";
        assert_eq!(of(around).as_deref(), Some("up_proj down_proj gate_proj q_proj k_proj v_proj o_proj"));
        let both = r"(model\.layers\.\d+\.(mlp\.(gate|up)_proj|self_attn\.(q|v)_proj))";
        assert_eq!(of(both).as_deref(), Some("gate_proj up_proj q_proj v_proj"));
        let wrapped = "model.layers.[0-9]+.(_checkpoint_wrapped_module.)?self_attn.q_proj";
        assert_eq!(of(wrapped).as_deref(), Some("q_proj"));
        assert_eq!(of(r".*\.(q_proj|v_proj)$").as_deref(), Some("q_proj v_proj"));
        assert_eq!(of(r".*\.layers\.(3|7)\.self_attn\.q_proj"), None, "two layers of all");
        assert_eq!(of("model.vision_tower.layers.[0-9]+.q_proj"), None, "another model's");
        assert_eq!(of(".*_proj"), None, "names that are not written out");
        assert_eq!(of("(a|(b"), None);
    }
}

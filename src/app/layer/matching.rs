//! How well a name matches what is searched for among commands.

/// How well a text matches: every word of what is searched for must be in it, in any case. 0 is best: the word begins a
/// word; then it is inside one; then its letters stand in this order, the fewer others between them the better. `None`
/// where a word is not there at all.
pub fn score(searched: &str, text: &str) -> Option<u32> {
    let text = text.to_lowercase();
    searched.to_lowercase().split_whitespace().map(|word| score_word(word, &text)).sum()
}

fn score_word(word: &str, text: &str) -> Option<u32> {
    let begins = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let mut places = text.match_indices(word).map(|(at, _)| at).peekable();
    if places.peek().is_some() {
        return Some(u32::from(!places.any(begins)));
    }
    // The letters in order, from the first place where they begin.
    let mut rest = text.char_indices();
    let mut places = word.chars().map(|wanted| rest.find(|(_, letter)| *letter == wanted).map(|(at, _)| at));
    let first = places.next()??;
    let last = places.try_fold(first, |_, place| place)?;
    Some(2 + (last - first).saturating_sub(word.len()) as u32)
}

use super::*;

#[test]
fn paragraphs_are_filled_and_headings_underlined() {
    let text = "# A title\n\nOne *word* of\nthe [next](search.md#a), see [there](https://example.org) or [here](#b).\n\n## Below\n";
    let shown = "A title\n=======\n\nOne word of the next (`guide search`), see there (https://example.org) or here.\n\nBelow\n-----\n\n";
    assert_eq!(plain(text), shown);
}

#[test]
fn items_hang_under_their_markers() {
    let long = "word ".repeat(17);
    let text = format!("1. {long}\n2. two\n   - inner `code`\n\nAfter.\n");
    let filled = "word ".repeat(15);
    let shown = format!("1. {}\n   word word\n2. two\n  - inner `code`\n\nAfter.\n\n", filled.trim_end());
    assert_eq!(plain(&text), shown);
}

#[test]
fn code_stays_as_it_is_and_pictures_and_comments_are_left_out() {
    let text = "Run:\n\n```sh\na  b \\\n    c # *d*\n```\n\n![A picture](a.svg)\n\n<!-- note -->\nEnd.\n";
    assert_eq!(plain(text), "Run:\n\n    a  b \\\n        c # *d*\n\nEnd.\n\n");
}

#[test]
fn the_widest_column_of_a_table_is_filled() {
    let words = |count| ["word"].repeat(count).join(" ");
    // Three columns and a gap of two leave 75: 15 words.
    let text = format!("| Key | What |\n|---|---|\n| `a` | {} |\n| b | |\n", words(20));
    let rule = "-".repeat(75);
    assert_eq!(plain(&text), format!("Key  What\n---  {rule}\n`a`  {}\n     {}\nb\n\n", words(15), words(5)));
    // One column and a gap leave 77.
    let text = format!("| What | n |\n|---|---|\n| {} | 1 |\n", words(20));
    let rule = "-".repeat(77);
    assert_eq!(plain(&text), format!("{:79}n\n{rule}  -\n{:79}1\n{}\n\n", "What", words(15), words(5)));
}

#[test]
fn a_table_too_wide_for_columns_is_a_list_of_records() {
    // 9 + 2 and 50 + 2 columns leave 17 for the last one.
    let (cell, last) = ("x".repeat(50), "a rather long last cell");
    let text = format!("| In files | Flag | What |\n|---|---|---|\n| `plan.tp` | {cell} | {last} |\n");
    let shown = format!("`plan.tp`\n    Flag: {cell} · What: a rather\n    long last cell\n\n");
    assert_eq!(plain(&text), shown);
}

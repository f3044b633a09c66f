//! What the guide says of figures is what their tables say.

use crate::figures::figure::Figure;
use crate::figures::why::limits::{glossary, tests::limits};
use crate::figures::why::table;
use shardscope_engine::bounds::fsdp::ZeroStage;
use shardscope_engine::units::Dimension;

/// Unit that a number counts, in a word.
fn unit(dimension: Dimension) -> String {
    match dimension {
        Dimension::Of(name) => name.to_owned(),
        Dimension::Money(_) => "money".to_owned(),
        Dimension::Bytes => "bytes".to_owned(),
        other => other.column_unit(),
    }
}

/// What stands for which of several.
fn which(figure: Figure) -> &'static str {
    match figure {
        Figure::LayerForward(_) | Figure::LayerBackward(_) => "a layer",
        Figure::Kernel(_) => "*pass of an operator of a layer*",
        Figure::Traffic(_) | Figure::Busy(_) => "*level*",
        Figure::GoodputEvery(_) => "*interval*",
        Figure::Slowdown(_) | Figure::Intensity(_) => "*transfer*",
        Figure::Threshold(_) => "*link* needs for *transfer*",
        Figure::Elasticity(_) => "*more of a resource*",
        _ => "*to or from the host*",
    }
}

fn row(name: &str, dimension: Dimension, about: &str) -> String {
    let first = about.split_inclusive(". ").next().unwrap().trim_end();
    format!("| {name} | {} | {first} |\n", unit(dimension))
}

#[test]
fn the_guide_lists_every_figure_as_the_tables_have_it() {
    let figures = table().map(|entry| row(&entry.name.replace("{}", which(entry.figure)), entry.unit, entry.about));
    let limits = limits(ZeroStage::Three, 0.0, 1.0);
    let limits = glossary(&limits).map(|(name, amount, about)| row(name, amount.unit, about));
    let head = |of: &str| format!("| {of} | Unit | What it is |\n|---|---|---|\n");
    let chapter = include_str!("../../../../../../docs/figures.md");
    for (of, rows) in [("Figure", figures.collect::<String>()), ("Limit", limits.collect())] {
        let table = head(of) + &rows;
        assert!(chapter.contains(&table), "docs/figures.md lacks this table of figures:\n{table}");
    }
}

//! Snapshots and sets on disk, with a preview of the one under the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::Widget;

use super::layers::{input, item, middle, over};
use crate::app::browser::Browser;
use crate::app::pointing::Target;
use crate::snapshot::{Held, Listed};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::Picker;
use crate::ui::widgets::text::wrapped;
use crate::units::{Bytes, Seconds, significant};

/// Columns that it takes, as far as there is room; rows of the list at least.
const WIDTH: u16 = 110;
const LEAST: u16 = 3;

/// Draws it; gives the place of the text cursor, if something is being searched for.
pub(super) fn render(theme: Theme, browser: &Browser, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let found = browser.found();
    let note = match &browser.files {
        None => "looking".to_owned(),
        Some(_) => format!("{} found", found.len()),
    };
    let inside = over(theme, (WIDTH, area.height), "Snapshots and sets", &note, area, buf);
    if browser.files.as_ref().is_none_or(Vec::is_empty) {
        let text = if browser.files.is_some() { EMPTY } else { "" };
        let lines = wrapped(text, inside.width.into()).into_iter().map(Line::raw).collect::<Vec<_>>();
        Text::from(lines).render(inside, buf);
        return None;
    }
    let searched = browser.searching || !browser.search.value().is_empty();
    let preview = preview(browser, theme, inside.width.into());
    let [search, list, below] = places(browser, &preview, inside);
    let items: Vec<(String, String)> = found.iter().map(|file| (file.name.clone(), about(file))).collect();
    (&Picker::new(theme, &items).selected(Some(browser.row()))).render(list, buf);
    Text::from(preview).render(below, buf);
    let cursor = searched.then(|| input(theme, "/", &browser.search, search, buf));
    cursor.filter(|_| browser.searching)
}

/// What of it is at a place.
pub(super) fn target(browser: &Browser, area: Rect, at: Position) -> Target {
    let outside = middle((WIDTH, area.height), area);
    let inside = outside.inner(Margin::new(1, 1));
    if !outside.contains(at) {
        return Target::Nothing;
    }
    let [_, list, _] = places(browser, &preview(browser, Theme::default(), inside.width.into()), inside);
    item(list, browser.row(), browser.found().len(), at).map_or(Target::Layer, Target::Item)
}

/// Where the search is, if there is one, the list, and under it the preview.
fn places(browser: &Browser, preview: &[Line], inside: Rect) -> [Rect; 3] {
    let search = u16::from(browser.searching || !browser.search.value().is_empty());
    let room = inside.height.saturating_sub(LEAST + search);
    let rows = u16::try_from(preview.len()).unwrap_or(u16::MAX).min(room);
    inside.layout(&Layout::vertical([Constraint::Length(search), Constraint::Fill(1), Constraint::Length(rows)]))
}

const EMPTY: &str = "no snapshots here and none in the data directory: e saves one of the scenario shown, s all pinned \
                     scenarios as a set";

/// What a file holds, in a few words.
fn about(file: &Listed) -> String {
    match &file.holds {
        Err(_) => "cannot be opened".to_owned(),
        Ok(held) if file.is_set => {
            let names: Vec<&str> = held.iter().map(|held| held.name.as_str()).collect();
            format!("set of {}: {}", held.len(), names.join(", "))
        }
        Ok(held) => held.first().map_or_else(String::new, |held| held.what.clone()),
    }
}

/// What the file under the cursor says of itself, or the question whether it is to be deleted.
fn preview(browser: &Browser, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let Some(file) = browser.file() else { return Vec::new() };
    let path = file.path.strip_prefix(".").unwrap_or(&file.path).display().to_string();
    let mut lines =
        vec![Line::default(), Line::styled(crate::scenario::file::printable(&path), theme.style(Role::Title))];
    if browser.asking {
        let question = "delete this file for good? Enter deletes it, Esc leaves it";
        lines.push(Line::styled(question, theme.style(Role::Bad)));
        return lines;
    }
    match &file.holds {
        Err(why) => lines.extend(wrapped(why, width).into_iter().map(|row| Line::styled(row, theme.style(Role::Bad)))),
        Ok(held) => {
            for held in held {
                lines.extend(figures(held, width).into_iter().map(Line::raw));
            }
            let version = held.first().map_or("", |held| held.version.as_str());
            lines.push(Line::styled(format!("written by shardscope {version}"), theme.style(Role::Dim)));
        }
    }
    lines
}

/// `A: MPT-7B, DGX H100, fsdp, 8 nodes: step 1.2 s, 310 TFLOP/s per device, 41.2 GiB, fits`.
fn figures(held: &Held, width: usize) -> Vec<String> {
    let figures = &held.figures;
    let name = if held.name.is_empty() { String::new() } else { format!("{}: ", held.name) };
    let number = |value: Option<f64>, digits| value.map_or_else(|| "?".to_owned(), |value| significant(value, digits));
    let step = figures.step_time_s.map_or_else(|| "?".to_owned(), |step| Seconds::new(step).to_string());
    let memory = Bytes::new(figures.memory.peak_bytes as f64);
    let fits = if figures.fits { "fits" } else { "does not fit" };
    let rate = number(figures.model_tflops_per_device, 3);
    wrapped(&format!("{name}{}: step {step}, {rate} TFLOP/s per device, {memory}, {fits}", held.what), width)
}

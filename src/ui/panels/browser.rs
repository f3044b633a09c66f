//! Snapshots and sets on disk, with a preview of the one under the cursor.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::overlay::{LEAST, Overlay, Prompt, picked, room};
use crate::app::layer::browser::Browser;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::text::wrapped;
use shardscope_report::figures::Figure;
use shardscope_report::snapshot::{HeldSnapshot, Listed};

/// Columns that it takes, as far as there is room.
const WIDTH: u16 = 110;

/// The list and its preview, or that there is nothing.
pub(super) fn overlay(theme: Theme, browser: &Browser, area: Rect) -> Overlay<'_> {
    let (found, size) = (browser.found(), (WIDTH, area.height));
    let title = "Snapshots and sets".to_owned();
    let (width, height) = room(size, area);
    if browser.files.as_ref().is_none_or(Vec::is_empty) {
        let (note, text) = if browser.files.is_some() { ("0 found", EMPTY) } else { ("looking", "") };
        let lines = wrapped(text, width).into_iter().map(|line| (Line::raw(line), None)).collect();
        let list = RowList { theme, lines, ..RowList::default() };
        return Overlay { theme, size, title, note: note.to_owned(), list, ..Overlay::default() };
    }
    let preview = preview(browser, theme, width);
    let rows = height.saturating_sub(1 + preview.len()).max(usize::from(LEAST));
    let items: Vec<(String, String)> = found.iter().map(|file| (file.name.clone(), about(file))).collect();
    Overlay {
        theme,
        size,
        title,
        note: format!("{} found", found.len()),
        prompt: Some(Prompt::filter(&browser.filter)),
        list: picked(theme, &items, browser.row(), (width, rows)),
        below: preview,
    }
}

const EMPTY: &str = "no snapshots here and none in the data directory: Ctrl-E saves one of the scenario shown, Ctrl-L all \
                     pinned scenarios as a set";

/// The contents of a file in a few words.
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

/// The summary of the file under the cursor, or the question whether it is to be deleted.
fn preview(browser: &Browser, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let Some(file) = browser.file() else { return Vec::new() };
    let path = file.path.strip_prefix(".").unwrap_or(&file.path).display().to_string();
    let mut lines = vec![
        Line::default(),
        Line::styled(shardscope_engine::scenario::file::printable(&path), theme.style(Role::Title)),
    ];
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
fn figures(held: &HeldSnapshot, width: usize) -> Vec<String> {
    let name = if held.name.is_empty() { String::new() } else { format!("{}: ", held.name) };
    let Some(figures) = &held.figures else { return wrapped(&format!("{name}{}", held.what), width) };
    let [step, rate, memory] = [Figure::StepTime, Figure::ModelFlops, Figure::Peak]
        .map(|figure| figures.amount(figure).map_or_else(|| "?".to_owned(), |amount| amount.to_string()));
    let fits = figures.fits().map_or("", |fits| if fits { ", fits" } else { ", does not fit" });
    wrapped(&format!("{name}{}: step {step}, {rate} per device, {memory}{fits}", held.what), width)
}

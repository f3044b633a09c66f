//! The view of the traffic: what each level carries and how long it is busy, and the link to the host.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, NOTHING};
use crate::app::action::panel::ViewId;
use crate::app::views::{View, ViewSpec};
use shardscope_engine::evaluate::HostDirection;
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "traffic", name: "Traffic", about: "bytes and busy time of each level of the cluster" },
    opens: "T",
    hint: "",
    keys: |keys| keys.rows("figure").key("enter", Action::Explain, "explain", "explain the figure"),
};

/// The figures of what is shown, and the one under the cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrafficView {
    figures: Vec<Figure>,
    cursor: ListCursor,
}

impl TrafficView {
    /// The figures of the rows.
    pub fn figures(&self) -> &[Figure] {
        &self.figures
    }

    /// The figure that has the keys.
    pub fn row(&self) -> usize {
        self.cursor.row(self.figures.len())
    }
}

/// The figures of what is shown, in the order of the view's rows: what each level carries, and each way of the link to
/// the host if anything crosses it, here or with the pinned scenario.
fn carried(context: &Context) -> Vec<Figure> {
    let Some(answer) = context.answer else { return Vec::new() };
    let pinned = context.pins.reference().is_some_and(|(_, summary)| summary.host.any());
    let copies = pinned || answer.evaluation.summary.host.any();
    let levels = 0..answer.scenario.cluster.levels.len();
    let ways = HostDirection::ALL.into_iter().filter(|_| copies);
    levels
        .flat_map(|level| [Figure::Traffic(level), Figure::Busy(level)])
        .chain(ways.flat_map(|way| [Figure::Copied(way), Figure::Copying(way)]))
        .collect()
}

impl View for TrafficView {
    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        self.figures.get(self.row()).copied().map(Asked::Shown).ok_or(NOTHING)
    }

    fn rows(&self, context: &Context) -> Option<Vec<String>> {
        context.names(self.figures.clone())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    fn renew(&mut self, context: &Context) {
        self.figures = carried(context);
    }
}

#[cfg(test)]
mod tests {
    use crate::app::tests::{explained, explorer, figures, press, to_field};
    use shardscope_engine::evaluate::HostTraffic;

    use super::*;
    use crate::app::App;

    /// The figure that is explained after some keys.
    fn shown(app: &mut App, keys: &str) -> Figure {
        press(app, keys);
        let (_, figure, _) = explained(app);
        press(app, "<esc>");
        figure
    }

    #[test]
    fn each_row_is_explained() {
        let mut app = explorer();
        press(&mut app, "T");
        let rows = app.views.traffic.figures().to_vec();
        assert_eq!(rows, [Figure::Traffic(0), Figure::Busy(0), Figure::Traffic(1), Figure::Busy(1)], "two levels");
        for figure in rows {
            assert_eq!(shown(&mut app, "i"), figure);
            press(&mut app, "j");
        }
        assert_eq!(shown(&mut app, "g<ret>"), Figure::Traffic(0));
        assert_eq!(shown(&mut app, "Gi"), Figure::Busy(1));
    }

    /// With the optimizer's state on the host both ways of its link follow the levels; pinned, it stays in sight beside a
    /// plan that copies nothing.
    #[test]
    fn the_link_to_the_host_is_listed_where_anything_crosses_it() {
        let mut app = explorer();
        to_field(&mut app, "offload");
        press(&mut app, "lT");
        let host = HostDirection::ALL.map(|way| [Figure::Copied(way), Figure::Copying(way)]).concat();
        assert_eq!(app.views.traffic.figures()[4..], host);
        for figure in host.iter().rev() {
            assert_eq!(shown(&mut app, if *figure == host[3] { "Gi" } else { "ki" }), *figure);
        }
        press(&mut app, "p");
        to_field(&mut app, "offload");
        press(&mut app, "hT");
        assert_eq!(figures(&app).host, HostTraffic::default());
        assert_eq!(app.views.traffic.figures()[4..], host);
    }
}

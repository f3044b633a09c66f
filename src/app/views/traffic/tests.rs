use crate::app::tests::{explained, explorer, figures, press, to_field};
use shardscope_engine::evaluate::HostTraffic;

use super::*;
use crate::app::App;

/// What is explained after some keys.
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

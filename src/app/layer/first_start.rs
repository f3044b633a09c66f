//! The card of the first start: it asks what is at hand, over the picture of the sample. Its questions are the lines of the
//! table of keys.

use shardscope_engine::scenario::Field;

use crate::app::action::context::Context;
use crate::app::action::effect::{Effect, Opening};
use crate::app::action::{Action, Beginning};
use crate::app::views::View;

/// The card on the screen.
#[derive(Debug, Clone, Copy)]
pub struct FirstStart;

impl View for FirstStart {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        let then = match action {
            Action::Close => None,
            Action::Begin(Beginning::Model | Beginning::Run) => Some(Effect::Open(Opening::ImportPath)),
            Action::Begin(Beginning::Cluster) => Some(Effect::Choose(Field::Cluster)),
            Action::Begin(Beginning::Trouble) => Some(Effect::Open(Opening::Runs)),
            Action::Begin(Beginning::Stack) => Some(Effect::Choose(Field::Stack)),
            Action::Begin(Beginning::Papers) => Some(Effect::Open(Opening::Gallery)),
            _ => return Vec::new(),
        };
        std::iter::once(Effect::Close).chain(then).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::app::action::Command;
    use crate::app::action::keys::KeyPlace;
    use crate::app::action::panel::ViewId;
    use crate::app::layer::Layer;
    use crate::app::tests::{H100, obey, press, start};
    use crate::app::{App, Start};

    /// The explorer as it opens for the first time.
    fn first() -> App {
        let (mut app, commands) = App::new(Start { is_first: true, ..start(H100) });
        obey(&mut app, commands);
        app
    }

    #[test]
    fn each_question_leads_on_with_one_key_and_escape_to_the_sample() {
        for (key, place) in [
            ("2", KeyPlace::Path),
            ("3", KeyPlace::List),
            ("4", KeyPlace::Path),
            ("5", KeyPlace::List),
            ("6", KeyPlace::List),
            ("7", KeyPlace::List),
        ] {
            let mut app = first();
            assert!(!app.stale && app.place() == KeyPlace::FirstStart, "the sample is evaluated behind the card");
            press(&mut app, key);
            assert_eq!(app.place(), place, "{key}");
        }
        for key in ["1", "<ret>", "<esc>", "q"] {
            let mut app = first();
            press(&mut app, key);
            assert!(app.layer.is_none() && app.view == ViewId::MAP, "{key}");
        }
        let mut app = first();
        press(&mut app, "3a100-80gb-dgx<ret>");
        assert_eq!(app.scenario.cluster.id, "a100-80gb-dgx");
    }

    #[test]
    fn any_other_key_is_for_what_lies_under_the_card() {
        let mut app = first();
        press(&mut app, "L");
        assert!(app.layer.is_none());
        assert_eq!(app.view, crate::app::views::limits::SPEC.id);
        let mut app = first();
        press(&mut app, "?");
        assert!(matches!(app.layer, Some(Layer::Help(_))));
        assert_eq!(press(&mut first(), "<c-c>"), [Command::Quit]);
        let mut app = first();
        press(&mut app, "5scenario behind<ret>");
        assert!(
            app.place() == KeyPlace::Entry && app.view == crate::app::views::measured::SPEC.id,
            "its figure is asked"
        );
    }

    #[test]
    fn a_start_that_is_not_the_first_has_no_card() {
        assert!(App::new(start(H100)).0.layer.is_none());
    }
}

use ratatui::text::Line;

use super::*;

fn theme(depth: Depth, light: bool) -> Theme {
    Theme::new(Caps { depth, light, ..Caps::default() })
}

const BLACK: Color = Color::Rgb(0, 0, 0);
const WHITE: Color = Color::Rgb(255, 255, 255);

#[test]
fn the_cube_and_the_greys_are_xterms() {
    // 214 = 16 + 36*5 + 6*3 + 0: red level 5 = 255, green level 3 = 175, blue 0. 244 = grey 12: 8 + 120 = 128.
    assert_eq!(rgb(Color::Indexed(214)), Some([255, 175, 0]));
    assert_eq!(rgb(Color::Indexed(244)), Some([128, 128, 128]));
    assert_eq!(rgb(Color::Indexed(1)), rgb(Color::Red));
    assert_eq!(rgb(Color::Reset), None);
}

#[test]
fn contrast_is_that_of_wcag() {
    assert!((color::contrast(BLACK, WHITE) - 21.0).abs() < 1e-9);
    // WebAIM's checker: #777777 on white is 4.48:1.
    assert!((color::contrast(Color::Rgb(0x77, 0x77, 0x77), WHITE) - 4.48).abs() < 0.005);
}

#[test]
fn tones_read_on_their_background_and_survive_on_the_other() {
    for depth in [Depth::True, Depth::C256] {
        for tone in Tone::ALL {
            let dark = theme(depth, false).color(tone);
            assert!(color::contrast(dark, BLACK) >= 3.5, "{depth:?} {tone:?} on black");
            assert!(color::contrast(dark, WHITE) >= 3.0, "{depth:?} {tone:?} on white");
            let light = theme(depth, true).color(tone);
            assert!(color::contrast(light, WHITE) >= 4.5, "{depth:?} {tone:?} light, on white");
        }
    }
}

#[test]
fn tones_differ_at_every_depth_that_has_colours() {
    for depth in [Depth::True, Depth::C256, Depth::C16] {
        for light in [false, true] {
            let mut colors: Vec<String> =
                Tone::ALL.iter().map(|tone| theme(depth, light).color(*tone).to_string()).collect();
            colors.sort();
            colors.dedup();
            assert_eq!(colors.len(), Tone::ALL.len(), "{depth:?}");
        }
    }
}

#[test]
fn no_depth_gets_colours_that_it_lacks() {
    for role in Role::ALL {
        let style = theme(Depth::None, false).style(role);
        assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        let allowed = |color: Option<Color>| !matches!(color, Some(Color::Rgb(..)));
        assert!(allowed(theme(Depth::C256, false).style(role).fg), "{role:?}");
        let named = theme(Depth::C16, false).style(role).fg;
        assert!(allowed(named) && !matches!(named, Some(Color::Indexed(_))), "{role:?}");
    }
}

#[test]
fn text_and_ground_stay_the_terminals_own() {
    for depth in [Depth::True, Depth::C256, Depth::C16, Depth::None] {
        for role in Role::ALL {
            let style = theme(depth, false).style(role);
            assert_eq!(style.bg, None, "{role:?}");
            assert!(!matches!(style.fg, Some(Color::White | Color::Black)), "{role:?}");
        }
        assert_eq!(theme(depth, false).style(Role::Text), Style::new());
    }
}

#[test]
fn without_colours_good_and_bad_still_differ() {
    let mono = theme(Depth::None, false);
    assert_ne!(mono.style(Role::Good), mono.style(Role::Bad));
    assert_ne!(mono.style(Role::Bad), mono.style(Role::Text));
    assert!(mono.style(Role::Cursor).add_modifier.contains(Modifier::REVERSED));
}

#[test]
fn the_heat_ramp_only_gets_lighter() {
    for depth in [Depth::True, Depth::C256] {
        let steps: Vec<f64> = (0..=100).map(|i| color::luminance(color::heat(depth, f64::from(i) / 100.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[1] >= pair[0]), "{depth:?}");
        assert!(steps[100] > steps[0] + 0.5, "{depth:?}");
    }
    let ladder: Vec<f64> = color::LADDER.iter().map(|index| color::luminance(Color::Indexed(*index))).collect();
    assert!(ladder.windows(2).all(|pair| pair[1] > pair[0]));
}

#[test]
fn numbers_read_on_every_shade() {
    for depth in [Depth::True, Depth::C256] {
        for share in [f64::NAN, -1.0, 0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 2.0] {
            let style = theme(depth, false).heat(share);
            let (Some(ink), Some(ground)) = (style.fg, style.bg) else { panic!("{depth:?} {share}: not filled") };
            assert!(color::contrast(ink, ground) >= 4.5, "{depth:?} {share}");
        }
    }
    assert_eq!(theme(Depth::C16, false).heat(0.5), Style::new());
}

#[test]
fn shades_are_blank_only_at_nothing_and_full_at_the_top() {
    let theme = theme(Depth::None, false);
    let shades: Vec<&str> = [0.0, 0.01, 0.3, 0.6, 0.8, 1.0, 7.0, f64::NAN].map(|share| theme.shade(share)).into();
    assert_eq!(shades, [" ", "░", "▒", "▓", "█", "█", "█", " "]);
}

#[test]
fn every_mark_is_one_column_and_its_twin_is_ascii() {
    for (set, ascii) in [(&glyphs::UTF8, false), (&glyphs::ASCII, true)] {
        let marks: Vec<&str> = [
            &set.fills[..],
            &set.shades,
            &set.cursor,
            &set.ends,
            &set.more,
            &set.change,
            &set.arrows,
            &[set.best, set.pinned, set.too_big, set.impossible, set.pending, set.exposed, set.hidden, set.bubble],
            &[set.limit, set.peak, set.cut, set.tick, set.to, set.minus, set.bars.half, set.border.top_left],
        ]
        .concat();
        for mark in marks {
            assert_eq!(Line::from(mark).width(), 1, "{mark}");
            assert!(!ascii || mark.is_ascii(), "{mark}");
        }
    }
}

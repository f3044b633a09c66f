//! The presets that shardscope carries, and the published measurements that it is compared with.
//!
//! Data only: the engine knows what a file means.

mod texts;

use shardscope_engine::presets::Library;

pub use texts::TEXTS;

/// Name and text of each table of measured runs.
pub const MEASURED: &[(&str, &str)] = &[
    ("deepspeed.csv", include_str!("measured/deepspeed.csv")),
    ("fsdp.csv", include_str!("measured/fsdp.csv")),
    ("megatron.csv", include_str!("measured/megatron.csv")),
];

/// How far off fits to those runs may be.
pub const BARS: &str = include_str!("measured/bars.toml");

/// What the rows of each stack leave out or write in its own way.
pub const CONVENTIONS: &str = include_str!("measured/conventions.toml");

/// Whose runs published rows are.
pub const WHO: &str = include_str!("measured/who.toml");

/// The library of every preset in this folder.
pub fn library() -> Library {
    Library::of(TEXTS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use shardscope_engine::presets::Kind;
    use shardscope_library::folders::with_folders;

    use super::*;

    const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

    #[test]
    fn every_file_is_a_preset_and_every_preset_a_file() {
        let (files, warnings) = with_folders(Library::default(), None, &[FOLDER.into()]);
        assert_eq!(warnings, []);
        let library = library();
        let texts = |library: &Library, kind| -> BTreeSet<(String, String)> {
            library.entries(kind).map(|entry| (entry.id.clone(), entry.text.to_string())).collect()
        };
        let mut count = 0;
        for kind in Kind::ALL {
            assert_eq!(texts(&library, kind), texts(&files, kind), "{}", kind.folder());
            count += texts(&library, kind).len();
        }
        assert_eq!(TEXTS.presets.len(), count, "an id is there twice");
    }

    #[test]
    fn every_table_of_measured_runs_is_carried() {
        let files = fs::read_dir(Path::new(FOLDER).join("measured")).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let files = files.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "csv"));
        assert_eq!(files.collect::<BTreeSet<_>>(), MEASURED.iter().map(|(name, _)| (*name).to_owned()).collect());
    }
}

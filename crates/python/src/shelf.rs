//! The presets that scenarios name, and the threads that work for all calls.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use pyo3::prelude::*;

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::search::{self, Pool};
use shardscope_library::folders::with_folders;

use crate::raised::wrong;

static LIBRARY: OnceLock<RwLock<Arc<Library>>> = OnceLock::new();

fn shelf() -> &'static RwLock<Arc<Library>> {
    LIBRARY.get_or_init(|| RwLock::new(Arc::new(shardscope_presets::library())))
}

/// Everything that can be named.
pub(crate) fn library() -> Arc<Library> {
    // It is replaced whole, so that a panic elsewhere leaves it as it was.
    Arc::clone(&shelf().read().unwrap_or_else(PoisonError::into_inner))
}

/// Threads for searches: as many as there are cores, or as `RAYON_NUM_THREADS` says.
pub(crate) fn pool(py: Python<'_>) -> PyResult<&'static Pool> {
    static POOL: OnceLock<Pool> = OnceLock::new();
    if let Some(pool) = POOL.get() {
        return Ok(pool);
    }
    let said = std::env::var("RAYON_NUM_THREADS").ok().and_then(|count| count.parse().ok()).filter(|count| *count > 0);
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let pool = search::pool(Some(said.unwrap_or_else(cores).min(search::MOST_THREADS.into())));
    let pool = pool.map_err(|error| wrong(py, format!("no threads: {error}")))?;
    Ok(POOL.get_or_init(|| pool))
}

/// The ids of presets of a kind, each with its title.
#[pyfunction]
pub(crate) fn presets(py: Python<'_>, kind: &str) -> PyResult<Vec<(String, String)>> {
    let words = || Kind::ALL.map(Kind::word).join(", ");
    let of_word = |one: &Kind| one.word() == kind || one.folder() == kind;
    let Some(kind) = Kind::ALL.into_iter().find(of_word) else {
        return Err(wrong(py, format!("'{kind}' is no kind of preset; choose one of {}", words())));
    };
    Ok(library().entries(kind).map(|entry| (entry.id.clone(), entry.name().to_owned())).collect())
}

/// Adds the presets of a folder, as `--presets` does. Returns what in it cannot be used.
#[pyfunction]
pub(crate) fn add_presets(folder: PathBuf) -> Vec<String> {
    let mut shelf = shelf().write().unwrap_or_else(PoisonError::into_inner);
    let mut others = shelf.folders.others.clone();
    others.push(folder);
    let (library, warnings) = with_folders(shardscope_presets::library(), None, &others);
    *shelf = Arc::new(library);
    warnings.iter().map(ToString::to_string).collect()
}

//! Whose runs published rows are that do not say it themselves, read from `who.toml` of the presets.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WhoFile {
    /// Each with how the names of its sources begin.
    organisations: BTreeMap<String, Vec<String>>,
}

static WHO: LazyLock<WhoFile> = LazyLock::new(|| toml::from_str(shardscope_presets::WHO).unwrap_or_default());

/// The organisation behind a source; none where only its table is known.
pub(crate) fn of_source(source: &str) -> Option<&'static str> {
    let is_of = |begins: &Vec<String>| begins.iter().any(|begin| source.starts_with(begin.as_str()));
    WHO.organisations.iter().find(|(_, begins)| is_of(begins)).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_one_organisation_are_of_one() {
        let of = [
            "NVIDIA/dgxc-benchmarking",
            "Korthikanti et al. 2205.05198 (via calculon)",
            "MLPerf Training v5.1",
            "vTrain (KAIST)",
        ];
        assert_eq!(of.map(of_source), [Some("NVIDIA"), Some("NVIDIA"), Some("MLCommons"), None]);
    }
}

//! Reads device names as drivers, schedulers and presets write them; a name is known if a preset's device is the same
//! product.
//!
//! Does not find names in a tool's output.

use std::sync::Arc;

use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::{Kind, Library};

/// A device by its name: `NVIDIA A100-SXM4-80GB`, `A100 80GB PCIe`, `a100`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Card {
    /// The product without vendor and line: `a100`, `3090`.
    product: String,
    /// The form factor, if the name gives it: `pcie`, `nvl`, `sxm4`.
    pub form: Option<String>,
    /// Memory in the GB of product names, if the name gives it.
    pub gigabytes: Option<u32>,
}

/// Words that do not distinguish products.
const COMMON: [&str; 30] = [
    "nvidia",
    "amd",
    "intel",
    "r",
    "tm",
    "tesla",
    "geforce",
    "quadro",
    "instinct",
    "radeon",
    "graphics",
    "corporation",
    "data",
    "center",
    "gpu",
    "one",
    "gcd",
    "oam",
    "mcm",
    "ac",
    "mba",
    "hbm2",
    "hbm2e",
    "hbm3",
    "hbm3e",
    "server",
    "edition",
    "blackwell",
    "generation",
    "gb",
];

impl Card {
    /// Reads a device's name.
    pub fn named(name: &str) -> Self {
        let lower = name.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let mut card = Self::default();
        for (at, word) in words.iter().enumerate() {
            let apart = words.get(at + 1) == Some(&"gb");
            let size = word.strip_suffix("gb").or(Some(*word).filter(|_| apart)).and_then(|size| size.parse().ok());
            if size.is_some() {
                card.gigabytes = size;
            } else if ["pcie", "nvl"].contains(word) || word.starts_with("sxm") {
                card.form = Some((*word).to_owned());
            } else if !COMMON.contains(word) {
                card.product.push_str(word);
            }
        }
        // `rtx3090` is `GeForce RTX 3090`; schedulers call the MI250X `mi250`.
        if let Some(number) = card.product.strip_prefix("rtx").filter(|number| !number.is_empty()) {
            card.product = number.to_owned();
        }
        if card.product.starts_with("mi") && card.product.ends_with('x') {
            card.product.pop();
        }
        // The names of the GH200 and its successors include their host's memory.
        if ["gh", "gb"].iter().any(|kind| card.product.starts_with(kind)) {
            card.gigabytes = None;
        }
        card
    }

    /// True if two names are of the same product, in any form factor and size.
    pub fn is_same(&self, other: &Self) -> bool {
        !self.product.is_empty() && self.product == other.product
    }

    /// True if this name's form factor, given or left open, is that of a preset's device.
    fn has_form_of(&self, other: &Self) -> bool {
        let is_module = |form: &Option<String>| form.as_ref().is_none_or(|form| form.starts_with("sxm"));
        match (&self.form, &other.form) {
            (Some(one), Some(other)) => {
                one == other || one == "sxm" && other.starts_with(one) || other == "sxm" && one.starts_with("sxm")
            }
            (one, other) => is_module(one) && is_module(other),
        }
    }
}

/// A preset, and its device's name.
#[derive(Debug)]
pub(super) struct KnownCard {
    /// The preset's id in the library.
    pub id: String,
    card: Card,
    cluster: Arc<Cluster>,
}

/// Presets with the device that a name means, in any form factor and size.
pub(super) fn of_name(name: &str, library: &Library) -> Vec<KnownCard> {
    let card = Card::named(name);
    let all = library.entries(Kind::Cluster).filter_map(|entry| {
        let cluster = library.cluster(&entry.id).ok()?;
        Some(KnownCard { id: entry.id.clone(), card: Card::named(&cluster.device.name), cluster })
    });
    all.filter(|known| known.card.is_same(&card)).collect()
}

/// Presets with the form factor and memory that a name, or a driver (in MiB), gives.
pub(super) fn alike<'a>(name: &str, mebibytes: Option<f64>, known: &'a [KnownCard]) -> Vec<&'a KnownCard> {
    let card = Card::named(name);
    let size = mebibytes.or(card.gigabytes.map(|size| f64::from(size) * 1024.0));
    let near = |cluster: &Cluster| {
        size.is_none_or(|size| (size * f64::from(1 << 20) / cluster.device.memory.get() - 1.0).abs() < 0.1)
    };
    let fitting: Vec<&KnownCard> =
        known.iter().filter(|one| card.has_form_of(&one.card) && near(&one.cluster)).collect();
    // A system sold as such comes before sites that built one with the same device.
    let systems: Vec<&KnownCard> = fitting.iter().copied().filter(|one| one.id.ends_with("-dgx")).collect();
    let found = if systems.is_empty() { fitting } else { systems };
    let link = |one: &KnownCard| one.cluster.levels.first().map(|level| (level.members, level.bandwidth));
    let same = |one: &&KnownCard| {
        let first = found[0];
        one.cluster.device.name == first.cluster.device.name && link(one) == link(first)
    };
    if found.len() > 1 && found.iter().all(same) { found[..1].to_vec() } else { found }
}

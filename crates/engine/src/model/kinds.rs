//! The kinds of a model's layers, and which layer is of which kind.

use std::fmt::{self, Formatter};

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::units::greatest_common_divisor;

use super::{LayerPlaces, Model, Recurrence};

/// A kind of layer: all layers of a kind have the same shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LayerKind {
    /// How its tokens meet.
    pub mixer: Mixer,
    /// What each token passes by itself.
    pub mlp: LayerMlp,
    /// Whether its parameters stay as they are.
    pub frozen: bool,
}

/// How the tokens of a layer meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mixer {
    /// Attention over all tokens before.
    #[default]
    Attention,
    /// Attention that looks back no further than the model's window.
    Window,
    /// The model's mixer with a state.
    Recurrent,
    /// Not at all: the layer is an MLP or experts.
    None,
}

impl Mixer {
    /// Whether it is attention.
    pub const fn attends(self) -> bool {
        matches!(self, Self::Attention | Self::Window)
    }
}

/// The half of a layer that each token passes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LayerMlp {
    /// An MLP.
    #[default]
    Plain,
    /// A mixture of experts.
    Experts,
    /// Nothing: the layer is a mixer alone.
    None,
}

impl LayerKind {
    /// Every kind that is trained: a mixer with an MLP or experts, or one of the three alone.
    const ALL: [Self; 11] = [
        Self::new(Mixer::Attention, LayerMlp::Plain),
        Self::new(Mixer::Window, LayerMlp::Plain),
        Self::new(Mixer::Recurrent, LayerMlp::Plain),
        Self::new(Mixer::Attention, LayerMlp::Experts),
        Self::new(Mixer::Window, LayerMlp::Experts),
        Self::new(Mixer::Recurrent, LayerMlp::Experts),
        Self::new(Mixer::Attention, LayerMlp::None),
        Self::new(Mixer::Window, LayerMlp::None),
        Self::new(Mixer::Recurrent, LayerMlp::None),
        Self::new(Mixer::None, LayerMlp::Plain),
        Self::new(Mixer::None, LayerMlp::Experts),
    ];

    /// Both halves, trained.
    pub const fn new(mixer: Mixer, mlp: LayerMlp) -> Self {
        Self { mixer, mlp, frozen: false }
    }

    /// Its place in [`Self::ALL`], behind all of those where it is frozen.
    const fn index(self) -> usize {
        let place = match self.mixer {
            Mixer::None => 9 + self.mlp as usize,
            mixer => 3 * self.mlp as usize + mixer as usize,
        };
        if self.frozen { Self::ALL.len() + place } else { place }
    }

    /// Whether it has experts.
    pub const fn has_experts(self) -> bool {
        matches!(self.mlp, LayerMlp::Experts)
    }

    /// Whether its tokens meet.
    pub(crate) const fn has_mixer(self) -> bool {
        !matches!(self.mixer, Mixer::None)
    }

    /// Whether it has an MLP or experts.
    pub(crate) const fn has_mlp(self) -> bool {
        !matches!(self.mlp, LayerMlp::None)
    }

    /// Its halves, each of which adds to the residual stream.
    pub(crate) fn halves(self) -> u32 {
        u32::from(self.has_mixer()) + u32::from(self.has_mlp())
    }

    /// The name that sets it apart from the model's other kinds: `experts, window`.
    pub fn name(self, model: &Model) -> String {
        let alone = model.pattern.is_some();
        let mlp = match self.mlp {
            LayerMlp::Plain => (model.experts.is_some() || alone).then_some(if alone { "MLP" } else { "dense" }),
            LayerMlp::Experts => Some("experts"),
            LayerMlp::None => None,
        };
        let differs = alone || model.window.is_some() || model.recurrent().is_some();
        let mixer = match self.mixer {
            Mixer::Attention => Some(if alone { "attention" } else { "full attention" }),
            Mixer::Window => Some("window"),
            Mixer::Recurrent => model.recurrent().map(Recurrence::name),
            Mixer::None => None,
        };
        let frozen = (model.frozen_layers > 0).then_some(if self.frozen { "frozen" } else { "trained" });
        mlp.into_iter().chain(mixer.filter(|_| differs)).chain(frozen).collect::<Vec<_>>().join(", ")
    }
}

/// What each layer of a model is where it is one thing each, as `hybrid_override_pattern` of Nemotron-H and Megatron-LM
/// writes it: `M` a state space, `*` attention, `-` an MLP, `E` experts. Behind its last letter it begins anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct LayerPattern(Box<[LayerKind]>);

/// The letters of a pattern.
const LETTERS: [(char, LayerKind); 4] = [
    ('M', LayerKind::new(Mixer::Recurrent, LayerMlp::None)),
    ('*', LayerKind::new(Mixer::Attention, LayerMlp::None)),
    ('-', LayerKind::new(Mixer::None, LayerMlp::Plain)),
    ('E', LayerKind::new(Mixer::None, LayerMlp::Experts)),
];

impl LayerPattern {
    /// The number of its letters, at least one.
    pub fn layers(&self) -> u32 {
        self.0.len() as u32
    }

    /// Whether any layer has a mixer with a state.
    pub fn has_recurrence(&self) -> bool {
        self.has(|kind| kind.mixer == Mixer::Recurrent)
    }

    /// Whether it has a kind that something holds of.
    pub fn has(&self, kind: impl Fn(LayerKind) -> bool) -> bool {
        self.0.iter().any(|each| kind(*each))
    }
}

impl TryFrom<String> for LayerPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let kind = |letter: char| {
            let known = LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, kind)| *kind);
            known.ok_or_else(|| format!("'{}' is no kind of layer: M, *, - and E are", letter.escape_default()))
        };
        let kinds: Box<[LayerKind]> = text.chars().map(kind).collect::<Result<_, _>>()?;
        if kinds.is_empty() { Err("a pattern of layers needs a letter".to_owned()) } else { Ok(Self(kinds)) }
    }
}

impl<'de> Deserialize<'de> for LayerPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Letters;

        impl Visitor<'_> for Letters {
            type Value = LayerPattern;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                formatter.write_str("a letter for each layer, like \"M-*E\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<LayerPattern, E> {
                LayerPattern::try_from(text.to_owned()).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Letters)
    }
}

impl From<LayerPattern> for String {
    fn from(pattern: LayerPattern) -> Self {
        let letter = |kind: &LayerKind| LETTERS.iter().find(|(_, known)| known == kind).map(|(letter, _)| *letter);
        pattern.0.iter().filter_map(letter).collect()
    }
}

/// A value for each kind of layer: of those that a model has, mostly one or two, and one for all others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PerKind<T> {
    had: Vec<(LayerKind, T)>,
    other: T,
}

impl<T: Default> PerKind<T> {
    /// Makes the value of each kind that a model has; others have the default.
    pub fn new(model: &Model, mut make: impl FnMut(LayerKind) -> T) -> Self {
        Self { had: model.kinds().map(|(kind, _)| (kind, make(kind))).collect(), other: T::default() }
    }
}

impl<T> PerKind<T> {
    /// The value of a kind.
    pub fn get(&self, kind: LayerKind) -> &T {
        self.had.iter().find(|(had, _)| *had == kind).map_or(&self.other, |(_, value)| value)
    }
}

impl Model {
    /// The kind of a layer, counted from 0; layers that predict further tokens are as the last one.
    pub fn kind(&self, layer: u32) -> LayerKind {
        let (layer, frozen) = (layer.min(self.layers.saturating_sub(1)), layer < self.frozen_layers);
        if let Some(pattern) = &self.pattern {
            return LayerKind { frozen, ..pattern.0[layer as usize % pattern.0.len()] };
        }
        let places = self.places();
        let [experts, recurrent, window] = places.map(|places| places.is_some_and(|places| places.contains(layer)));
        LayerKind {
            mlp: if experts { LayerMlp::Experts } else { LayerMlp::Plain },
            mixer: match (recurrent, window) {
                (true, _) => Mixer::Recurrent,
                (false, true) => Mixer::Window,
                (false, false) => Mixer::Attention,
            },
            frozen,
        }
    }

    /// The layers with experts, with a mixer that has a state, and with a window, where no pattern of letters says that.
    fn places(&self) -> [Option<LayerPlaces>; 3] {
        let recurrent = self.recurrent().and_then(|recurrent| recurrent.places(self.layers));
        [
            self.experts.as_ref().map(|experts| experts.places()),
            recurrent,
            self.window.as_ref().map(|window| window.places()),
        ]
    }

    /// The kinds that its layers have, each with the number of its layers.
    pub fn kinds(&self) -> impl Iterator<Item = (LayerKind, u32)> + use<> {
        let others = self.experts.is_some() || self.window.is_some() || self.recurrent().is_some();
        let alike = !others && self.pattern.is_none() && self.frozen_layers == 0;
        let same = alike.then(|| (LayerKind::default(), self.all_layers()));
        let counted = (!alike).then(|| self.counted_kinds());
        same.into_iter().chain(counted.into_iter().flatten())
    }

    /// The same, counted turn by turn: of 61 layers of which the first 3 have no experts two kinds are asked for.
    fn counted_kinds(&self) -> impl Iterator<Item = (LayerKind, u32)> + use<> {
        let (layers, period) = (self.all_layers(), self.kind_period());
        let (mut counts, mut first) = ([0; 2 * LayerKind::ALL.len()], 0);
        while first < layers {
            let end = self.kind_changes().filter(|change| *change > first).fold(layers, u32::min);
            for layer in (first..end).take(period as usize) {
                counts[self.kind(layer).index()] += (end - layer).div_ceil(period);
            }
            first = end;
        }
        let frozen = LayerKind::ALL.map(|kind| LayerKind { frozen: true, ..kind });
        LayerKind::ALL.into_iter().chain(frozen).zip(counts).filter(|(_, count)| *count > 0)
    }

    /// Whether its layers are of more than one kind.
    pub fn is_mixed(&self) -> bool {
        self.kinds().count() > 1
    }

    /// The layers at which the pattern of kinds changes; none where one pattern covers all layers.
    pub(crate) fn kind_changes(&self) -> impl Iterator<Item = u32> + use<> {
        let all = self.all_layers();
        let ranges = self.places().into_iter().flatten().flat_map(|places| [places.start, places.end]);
        ranges.chain([self.layers, self.frozen_layers]).filter(move |layer| (1..all).contains(layer))
    }

    /// The number of layers after which a pattern of kinds repeats: 6 where every sixth layer has full attention.
    pub(crate) fn kind_period(&self) -> u32 {
        if let Some(pattern) = &self.pattern {
            return pattern.layers();
        }
        self.places().into_iter().flatten().fold(1, |period, places| least_common_multiple(period, places.every))
    }

    /// A sum over its layers.
    pub(crate) fn over_layers(&self, of: impl Fn(LayerKind) -> f64) -> f64 {
        self.kinds().map(|(kind, count)| f64::from(count) * of(kind)).sum()
    }

    /// A sum over the layers that have a mixer with a state.
    pub(crate) fn over_recurrences(&self, of: impl Fn(&dyn Recurrence) -> f64) -> f64 {
        if self.recurrent().is_none() {
            return 0.0;
        }
        self.over_layers(|kind| self.recurrence(kind).map_or(0.0, &of))
    }

    /// A whole sum over its layers.
    pub(super) fn count_over_layers(&self, of: impl Fn(LayerKind) -> u64) -> u64 {
        self.kinds().map(|(kind, count)| u64::from(count) * of(kind)).sum()
    }
}

fn least_common_multiple(one: u32, other: u32) -> u32 {
    (one / greatest_common_divisor(one, other).max(1)).saturating_mul(other)
}

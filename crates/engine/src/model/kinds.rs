//! The kinds of a model's layers, and which layer is of which kind.

use crate::units::greatest_common_divisor;

use super::Model;

/// A kind of layer: all layers of a kind have the same shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LayerKind {
    /// Whether its MLP is a mixture of experts.
    pub experts: bool,
    /// How its tokens meet.
    pub mixer: Mixer,
}

/// How the tokens of a layer meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mixer {
    /// Attention over all tokens before.
    #[default]
    Attention,
    /// Attention that looks back no further than the model's window.
    Window,
    /// The model's gated delta net.
    DeltaNet,
}

impl Mixer {
    /// Every one that there is.
    const ALL: [Self; 3] = [Self::Attention, Self::Window, Self::DeltaNet];
}

impl LayerKind {
    /// Every kind that there can be.
    pub const ALL: [Self; 6] = {
        let [attention, window, delta_net] = Mixer::ALL;
        [
            Self { experts: false, mixer: attention },
            Self { experts: false, mixer: window },
            Self { experts: false, mixer: delta_net },
            Self { experts: true, mixer: attention },
            Self { experts: true, mixer: window },
            Self { experts: true, mixer: delta_net },
        ]
    };

    /// Its place in [`Self::ALL`].
    const fn index(self) -> usize {
        Mixer::ALL.len() * self.experts as usize + self.mixer as usize
    }

    /// The name that sets it apart from the model's other kinds: `experts, window`.
    pub fn name(self, model: &Model) -> String {
        let mlp = model.experts.map(|_| if self.experts { "experts" } else { "dense" });
        let differs = model.window.is_some() || model.delta_net.is_some();
        let mixer = differs.then_some(match self.mixer {
            Mixer::Attention => "full attention",
            Mixer::Window => "window",
            Mixer::DeltaNet => "gated delta net",
        });
        mlp.into_iter().chain(mixer).collect::<Vec<_>>().join(", ")
    }
}

/// A value for each kind of layer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PerKind<T>([T; LayerKind::ALL.len()]);

impl<T: Default> PerKind<T> {
    /// Makes the value of each kind that a model has; others have the default.
    pub fn new(model: &Model, mut make: impl FnMut(LayerKind) -> T) -> Self {
        let mut all = Self::default();
        for (kind, _) in model.kinds() {
            all.0[kind.index()] = make(kind);
        }
        all
    }
}

impl<T> PerKind<T> {
    /// The value of a kind.
    pub const fn get(&self, kind: LayerKind) -> &T {
        &self.0[kind.index()]
    }
}

impl Model {
    /// The kind of a layer, counted from 0; layers that predict further tokens are as the last one.
    pub fn kind(&self, layer: u32) -> LayerKind {
        let layer = layer.min(self.layers.saturating_sub(1));
        LayerKind {
            experts: self.experts.is_some_and(|experts| experts.are_in(layer)),
            mixer: match (self.delta_net, self.window) {
                (Some(delta_net), _) if delta_net.is_in(layer) => Mixer::DeltaNet,
                (_, Some(window)) if window.is_in(layer) => Mixer::Window,
                _ => Mixer::Attention,
            },
        }
    }

    /// The kinds that its layers have, each with the number of its layers.
    pub fn kinds(&self) -> impl Iterator<Item = (LayerKind, u32)> + use<> {
        let mut counts = [0; LayerKind::ALL.len()];
        if self.experts.is_none() && self.window.is_none() && self.delta_net.is_none() {
            counts[LayerKind::default().index()] = self.all_layers();
        } else {
            (0..self.all_layers()).for_each(|layer| counts[self.kind(layer).index()] += 1);
        }
        LayerKind::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0)
    }

    /// Whether its layers are of more than one kind.
    pub fn is_mixed(&self) -> bool {
        self.kinds().count() > 1
    }

    /// The layers at which the pattern of kinds changes; none where one pattern covers all layers.
    pub(crate) fn kind_changes(&self) -> impl Iterator<Item = u32> + use<> {
        let dense = self.experts.and_then(|experts| experts.dense_layers);
        let windows = self.window.and_then(|window| window.layers);
        let further = Some(self.layers).filter(|_| self.mtp_layers > 0);
        dense.into_iter().chain(windows).chain(further)
    }

    /// The number of layers after which a pattern of kinds repeats: 6 where every sixth layer has full attention.
    pub(crate) fn kind_period(&self) -> u32 {
        let experts = self.experts.and_then(|experts| experts.every).unwrap_or(1);
        let window = self.window.and_then(|window| window.full_every).unwrap_or(1);
        let delta_net = self.delta_net.map_or(1, |delta_net| delta_net.full_every);
        least_common_multiple(least_common_multiple(experts, window), delta_net).max(1)
    }

    /// How many layers have a gated delta net.
    pub(crate) fn delta_layers(&self) -> u32 {
        self.kinds().filter(|(kind, _)| kind.mixer == Mixer::DeltaNet).map(|(_, count)| count).sum()
    }

    /// A sum over its layers.
    pub(crate) fn over_layers(&self, of: impl Fn(LayerKind) -> f64) -> f64 {
        self.kinds().map(|(kind, count)| f64::from(count) * of(kind)).sum()
    }

    /// A whole sum over its layers.
    pub(super) fn count_over_layers(&self, of: impl Fn(LayerKind) -> u64) -> u64 {
        self.kinds().map(|(kind, count)| u64::from(count) * of(kind)).sum()
    }
}

fn least_common_multiple(one: u32, other: u32) -> u32 {
    (one / greatest_common_divisor(one, other).max(1)).saturating_mul(other)
}

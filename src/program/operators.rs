//! The step of a rank whose operators are not all placed alike.
//!
//! A layer is one unit where one entry of the plan places both its attention and its MLP and cuts neither,
//! else two; layers in a row that are alike take turns in one pattern.

use crate::cost::Rates;
use crate::plan::Site;
use crate::scenario::{Layout, Scenario};

use super::boundary::Share;
use super::build::Builder;
use super::halves;
use super::order::{Order, Pattern};
use super::state::State;
use super::step::{Run, build_order, recomputed_layers};
use super::visit::{Visit, Visits};

/// One way in which operators are placed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Placed {
    layout: Layout,
    slices: u32,
}

/// Layers in a row that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    first: u32,
    layers: u32,
    /// How attention and MLP are placed, by index.
    placed: [usize; 2],
    /// Whether the two are units of their own.
    apart: bool,
    recomputed: bool,
}

/// The ways in which a plan places operators, and which one each of its entries is.
struct Places<'a> {
    scenario: &'a Scenario,
    /// The plan's own sharding first.
    ways: Vec<Placed>,
    entries: Vec<usize>,
}

/// Builds the step and gives the memory of the rank's states.
pub(super) fn build(rates: &Rates<'_>, layout: &Layout, builder: Builder<'_>) -> State {
    let places = Places::of(rates.scenario, layout);
    let visits: Vec<Visits<'_>> = places.ways.iter().map(|way| Visits::new(rates, &way.layout, false)).collect();
    let (runs, patterns) = places.runs(&visits);
    let parameters = places.parameters();
    let shares: Vec<Share<'_>> = visits
        .iter()
        .zip(&parameters)
        .filter(|(_, parameters)| **parameters > 0)
        .map(|(visits, parameters)| Share { visits, parameters: visits.local(*parameters) })
        .collect();
    build_order(Order { runs: &runs, patterns: &patterns }, &shares, builder);
    let states = shares.iter().map(|share| State::of(rates, share.visits.layout, share.parameters));
    states.reduce(State::with).unwrap_or_default()
}

impl Stretch {
    fn alike(&self, other: &Self) -> bool {
        (self.placed, self.apart, self.recomputed) == (other.placed, other.apart, other.recomputed)
    }
}

impl<'a> Places<'a> {
    fn of(scenario: &'a Scenario, layout: &Layout) -> Self {
        let mut ways = vec![Placed { layout: *layout, slices: 1 }];
        let entry = |placement: &crate::plan::Placement| {
            let way = Placed { layout: layout.placed(scenario, &placement.extents), slices: placement.split };
            ways.iter().position(|known| *known == way).unwrap_or_else(|| {
                ways.push(way);
                ways.len() - 1
            })
        };
        let entries = scenario.plan.operators.iter().map(entry).collect();
        Self { scenario, ways, entries }
    }

    fn way(&self, site: Site) -> usize {
        // Logits that reuse the embedding lie where it lies.
        let site = if site == Site::Head && self.scenario.model.tied { Site::Embedding } else { site };
        self.scenario.plan.placement(site).map_or(0, |entry| self.entries[entry])
    }

    /// Parameters that lie in each way, before sharding.
    fn parameters(&self) -> Vec<u64> {
        let model = &self.scenario.model;
        let mut parameters = vec![0; self.ways.len()];
        parameters[self.way(Site::Embedding)] += model.embedding_parameters();
        parameters[self.way(Site::Head)] += model.head_parameters();
        for layer in 0..model.layers {
            parameters[self.way(Site::Attention(layer))] += model.attention_parameters();
            parameters[self.way(Site::Mlp(layer))] += model.mlp_parameters();
        }
        parameters
    }

    fn stretches(&self, recomputed: u32) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for first in 0..self.scenario.model.layers {
            let sites = [Site::Attention(first), Site::Mlp(first)];
            let placed = sites.map(|site| self.way(site));
            let [attention, mlp] = sites.map(|site| self.scenario.plan.placement(site));
            let apart = attention != mlp || self.ways[placed[0]].slices > 1;
            let next = Stretch { first, layers: 1, placed, apart, recomputed: first < recomputed };
            match stretches.last_mut() {
                Some(last) if last.alike(&next) => last.layers += 1,
                _ => stretches.push(next),
            }
        }
        stretches
    }

    /// All visits of a micro-batch.
    fn runs(&self, visits: &[Visits<'_>]) -> (Vec<Run>, Vec<Pattern>) {
        let (mut runs, mut patterns) = (Vec::new(), Vec::new());
        let mut add = |visits: &[Visit], count: u32, layer: u32, step: i32| {
            patterns.push(Pattern { first: runs.len(), runs: visits.len() });
            runs.extend(visits.iter().map(|visit| Run { visit: *visit, count, layer, step }));
        };
        let stretches = self.stretches(recomputed_layers(&visits[0]));
        let layers: Vec<[Vec<Visit>; 2]> = stretches.iter().map(|stretch| self.layer(visits, stretch)).collect();
        let ends = (self.scenario.model.vocab > 0)
            .then(|| (visits[self.way(Site::Embedding)].embedding(), visits[self.way(Site::Head)].head()));
        if let Some((embedding, _)) = &ends {
            add(&embedding[..1], 1, 0, 0);
        }
        for (stretch, [forward, _]) in stretches.iter().zip(&layers) {
            add(forward, stretch.layers, stretch.first, 1);
        }
        if let Some((_, head)) = &ends {
            add(&head[..1], 1, 0, 0);
            add(&head[1..], 1, 0, 0);
        }
        for (stretch, [_, backward]) in stretches.iter().zip(&layers).rev() {
            add(backward, stretch.layers, stretch.first + stretch.layers - 1, -1);
        }
        if let Some((embedding, _)) = &ends {
            add(&embedding[1..], 1, 0, 0);
        }
        (runs, patterns)
    }

    /// Forward and backward of one of the layers.
    fn layer(&self, visits: &[Visits<'_>], stretch: &Stretch) -> [Vec<Visit>; 2] {
        let [attention, mlp] = stretch.placed;
        if !stretch.apart {
            return visits[attention].layers(stretch.recomputed).map(|visit| vec![visit]);
        }
        let slices = stretch.placed.map(|way| self.ways[way].slices);
        halves::of_layer([&visits[attention], &visits[mlp]], slices, stretch.recomputed)
    }
}

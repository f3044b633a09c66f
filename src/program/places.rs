//! How a plan places the operators of a model, and what is visited of a part of it.
//!
//! A layer is one unit where one entry of the plan places both its attention and its MLP and cuts neither,
//! else two; layers in a row that are alike take turns in one pattern.

use std::ops::Range;

use crate::cost::Rates;
use crate::plan::Site;
use crate::scenario::{Layout, Scenario};

use super::halves;
use super::order::Listing;
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
    /// Counted from the section's first layer.
    first: u32,
    layers: u32,
    /// How attention and MLP are placed, by index.
    placed: [usize; 2],
    /// Whether the two are units of their own.
    apart: bool,
    recomputed: bool,
}

/// Part of a model: layers in a row, and the ends that go with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    stretches: Vec<Stretch>,
    embedding: bool,
    head: bool,
}

/// Parameters of a section that are placed alike.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Holding {
    /// Their way, by index.
    pub way: usize,
    pub parameters: u64,
    /// Units that they are in, and collectives that gather or reduce all of these.
    pub units: f64,
    pub collectives: f64,
}

/// The ways in which a plan places operators, and which one each of its entries is.
pub(super) struct Places<'a> {
    scenario: &'a Scenario,
    /// The plan's own sharding first.
    ways: Vec<Placed>,
    entries: Vec<usize>,
}

impl Stretch {
    fn alike(&self, other: &Self) -> bool {
        (self.placed, self.apart, self.recomputed) == (other.placed, other.apart, other.recomputed)
    }
}

impl<'a> Places<'a> {
    pub fn of(scenario: &'a Scenario, layout: &Layout) -> Self {
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

    /// What visits are made from, way by way.
    pub fn visits<'v>(&'v self, rates: &'v Rates<'v>, staged: bool) -> Vec<Visits<'v>> {
        self.ways.iter().map(|way| Visits::new(rates, &way.layout, staged)).collect()
    }

    /// The way of an operator.
    pub fn way(&self, site: Site) -> usize {
        // Logits that reuse the embedding lie where it lies.
        let site = if site == Site::Head && self.scenario.model.tied { Site::Embedding } else { site };
        self.scenario.plan.placement(site).map_or(0, |entry| self.entries[entry])
    }

    /// These layers, of which those before the `recomputed`th are computed again, and these ends.
    pub fn section(&self, layers: Range<u32>, recomputed: u32, [embedding, head]: [bool; 2]) -> Section {
        let mut stretches: Vec<Stretch> = Vec::new();
        for layer in layers.clone() {
            let sites = [Site::Attention(layer), Site::Mlp(layer)];
            let placed = sites.map(|site| self.way(site));
            let [attention, mlp] = sites.map(|site| self.scenario.plan.placement(site));
            let apart = attention != mlp || self.ways[placed[0]].slices > 1;
            let first = layer - layers.start;
            let next = Stretch { first, layers: 1, placed, apart, recomputed: layer < recomputed };
            match stretches.last_mut() {
                Some(last) if last.alike(&next) => last.layers += 1,
                _ => stretches.push(next),
            }
        }
        Section { stretches, embedding, head }
    }

    /// The parameters of a section, way by way; logits that are tied to an embedding elsewhere have a copy of its
    /// weights.
    pub fn holdings(&self, section: &Section) -> Vec<Holding> {
        let (model, whole) = (&self.scenario.model, f64::from(self.scenario.stack.collectives.per_layer));
        let mut held = vec![Holding::default(); self.ways.len()];
        let mut add = |way: usize, (count, slices): (u32, u32), parameters: u64, collectives: f64| {
            let units = f64::from(count) * f64::from(slices);
            held[way].way = way;
            held[way].parameters += u64::from(count) * parameters;
            held[way].units += units;
            held[way].collectives += units * collectives;
        };
        for Stretch { layers, placed: [attention, mlp], apart, .. } in section.stretches.iter().copied() {
            if apart {
                let half = halves::collectives(whole);
                add(attention, (layers, self.ways[attention].slices), model.attention_parameters(), half);
                add(mlp, (layers, self.ways[mlp].slices), model.mlp_parameters(), half);
            } else {
                add(attention, (layers, 1), model.layer_parameters(), whole);
            }
        }
        let copied =
            if model.tied && !section.embedding { u64::from(model.vocab) * u64::from(model.hidden) } else { 0 };
        if section.embedding {
            add(self.way(Site::Embedding), (1, 1), model.embedding_parameters(), whole);
        }
        if section.head {
            add(self.way(Site::Head), (1, 1), model.head_parameters() + copied, whole);
        }
        held.retain(|holding| holding.parameters > 0);
        held
    }

    /// Lists the visits of a section, forward or backward.
    pub fn list(&self, visits: &[Visits<'_>], section: &Section, backward: bool, listing: &mut Listing) {
        let direction = usize::from(backward);
        let mut turns: Vec<(Vec<Visit>, u32, u32)> = Vec::with_capacity(section.stretches.len() + 2);
        if section.embedding {
            turns.push((vec![visits[self.way(Site::Embedding)].embedding()[direction]], 1, 0));
        }
        for stretch in &section.stretches {
            let layer = stretch.first + if backward { stretch.layers - 1 } else { 0 };
            let [ahead, behind] = self.layer(visits, stretch);
            turns.push((if backward { behind } else { ahead }, stretch.layers, layer));
        }
        if section.head {
            turns.push((vec![visits[self.way(Site::Head)].head()[direction]], 1, 0));
        }
        if backward {
            turns.reverse();
        }
        for (units, count, layer) in &turns {
            listing.add(units, *count, *layer, if backward { -1 } else { 1 });
        }
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

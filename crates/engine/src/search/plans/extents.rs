//! Over how many ranks the parts of the state may be sharded in one shape of the mesh.

use crate::plan::{Extent, Extents, Format, Secondary, Sharding};
use crate::scenario::{Field, Layout, Scenario, Value};
use crate::search::levels::levels;

use super::search_space::SearchSpace;

/// One way of sharding the state.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StateExtents {
    pub weights: Extent,
    pub gradients: Extent,
    pub optimizer: Extent,
    pub secondary: Option<Secondary>,
    /// The ranks that they are.
    pub layout: Layout,
}

impl StateExtents {
    /// Every way in which each part is sharded at least as far as the one before, and a second copy of the weights lies
    /// closer than they do; on a mesh whose own extents, where these are held, are those of `sharding`.
    pub fn all(mesh: &Scenario, sharding: &Sharding, layout: &Layout, space: &SearchSpace) -> Vec<Self> {
        if space.fixes_state() {
            return Self::kept(mesh, sharding).into_iter().collect();
        }
        let grid = grid(mesh, layout);
        let values = |field: Field, own: &Extent| -> Vec<(u32, Extent)> {
            let named = |extent: &Extent| ranks(mesh, layout, extent).map(|count| (count, extent.clone()));
            match space.given_values(field) {
                Some(values) => values.iter().filter_map(Value::get).filter_map(|extent| named(&extent)).collect(),
                None if space.is_fixed(field) => named(own).into_iter().collect(),
                None => grid.clone(),
            }
        };
        let none = || vec![(1, Extent::Device)];
        let own = sharding.secondary.as_ref().map_or(Extent::Device, |copy| copy.extent.clone());
        let format = sharding.secondary.as_ref().map_or(Format::Bf16, |copy| copy.format);
        let runs = space.runs(mesh);
        let given = space.is_fixed(Field::Hpz) || space.given_values(Field::Hpz).is_some();
        let lacks_copies = !given && !space.is_offered(Field::Hpz, mesh);
        let copies = if lacks_copies || space.is_fixed(Field::Hpz) && own == Extent::Device {
            none()
        } else {
            values(Field::Hpz, &own)
        };
        let runs = runs.filter(|_| !space.holds_shards());
        let (gradients, optimizers) =
            (values(Field::GradientsOver, &sharding.gradients), values(Field::OptimizerOver, &sharding.optimizer));
        let mut found = Vec::new();
        // Weights over 8 ranks need gradients over 8, 16, 32 and so on, and these an optimizer over a multiple again: a
        // rank updates only what it has the gradients of, and has these only of weights that it holds.
        for (weights, of_weights) in values(Field::WeightsOver, &sharding.weights) {
            for (gradient, of_gradients) in wider(&gradients, weights) {
                for (optimizer, of_optimizer) in wider(&optimizers, *gradient) {
                    let state = placed(layout, [weights, *gradient, *optimizer, 1]);
                    if runs.is_some_and(|runs| !mesh.runs_shards(runs, &state)) {
                        continue;
                    }
                    for (copy, of_copy) in closer(&copies, weights) {
                        let ranks = [weights, *gradient, *optimizer, *copy];
                        found.push(Self {
                            weights: of_weights.clone(),
                            gradients: of_gradients.clone(),
                            optimizer: of_optimizer.clone(),
                            secondary: (*copy > 1).then(|| Secondary { extent: of_copy.clone(), format }),
                            layout: placed(layout, ranks),
                        });
                    }
                }
            }
        }
        found
    }

    /// The way of a placement as it is.
    fn kept(mesh: &Scenario, sharding: &Sharding) -> Option<Self> {
        let mut own = mesh.clone();
        own.plan.sharding.clone_from(sharding);
        let layout = own.layout().ok()?;
        let Sharding { weights, gradients, optimizer, secondary, .. } = own.plan.sharding;
        Some(Self { weights, gradients, optimizer, secondary, layout })
    }

    /// Puts them into a placement of the state.
    pub fn apply(&self, sharding: &mut Sharding) {
        sharding.weights.clone_from(&self.weights);
        sharding.gradients.clone_from(&self.gradients);
        sharding.optimizer.clone_from(&self.optimizer);
        sharding.secondary.clone_from(&self.secondary);
    }
}

/// A placement in which every rank has everything.
pub(super) fn unsharded(sharding: &mut Sharding) {
    (sharding.weights, sharding.gradients, sharding.optimizer) = (Extent::Device, Extent::Device, Extent::Device);
    sharding.secondary = None;
}

/// The named levels that differ on this mesh, and the powers of two of ranks between them.
fn grid(mesh: &Scenario, layout: &Layout) -> Vec<(u32, Extent)> {
    let group = layout.group();
    let named = levels(mesh, layout).into_iter().filter_map(|extent| Some((ranks(mesh, layout, &extent)?, extent)));
    let mut found: Vec<(u32, Extent)> = named.collect();
    // Levels first, so that 8 ranks that are a node are called one: a plan reads better with `node` than with a count.
    let powers = std::iter::successors(Some(2_u32), |count| count.checked_mul(2)).take_while(|count| *count < group);
    for count in powers.filter(|count| group.is_multiple_of(*count)) {
        if !found.iter().any(|(known, _)| *known == count) {
            found.push((count, Extent::Ranks(count)));
        }
    }
    if group > 1 && !found.iter().any(|(known, _)| *known == group) {
        found.push((group, Extent::System));
    }
    found.sort_by_key(|(count, _)| *count);
    found
}

/// How many ranks an extent is; `None` where they do not fill the data x context ranks.
fn ranks(mesh: &Scenario, layout: &Layout, extent: &Extent) -> Option<u32> {
    let one = Some(extent.clone());
    let extents = Extents { weights: one.clone(), gradients: one.clone(), optimizer: one };
    let count = layout.placed(mesh, &extents).weights;
    (count > 0 && layout.group().is_multiple_of(count)).then_some(count)
}

fn wider(extents: &[(u32, Extent)], than: u32) -> impl Iterator<Item = (&u32, &Extent)> {
    let filled = move |(count, _): &&(u32, Extent)| *count >= than && count.is_multiple_of(than);
    extents.iter().filter(filled).map(|(count, extent)| (count, extent))
}

/// No second copy, or one that lies within the weights' own shards.
fn closer(copies: &[(u32, Extent)], weights: u32) -> impl Iterator<Item = (&u32, &Extent)> {
    // A second copy over more ranks than the first would hold less than the first does: it serves where it is nearer.
    let within = move |(count, _): &&(u32, Extent)| *count == 1 || (*count < weights && weights.is_multiple_of(*count));
    copies.iter().filter(within).map(|(count, extent)| (count, extent))
}

fn placed(layout: &Layout, [weights, gradients, optimizer, secondary]: [u32; 4]) -> Layout {
    Layout { weights, gradients, optimizer, secondary: (secondary > 1).then_some(secondary), ..*layout }
}

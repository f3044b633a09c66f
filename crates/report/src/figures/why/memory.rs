//! The memory of the fullest device, part by part.

use shardscope_engine::cost::{Home, KeptOf, KeptPart, Parameters, StatePart};
use shardscope_engine::evaluate::{HostMemory, Memory, ModelPart, StateBytes, chance_of_fitting, peak_spread};
use shardscope_engine::plan::{Optimizer, Recompute};
use shardscope_engine::scenario::{Differentiated, Layout};

use crate::figures::figure::{Figure, MEMORY_PARTS};
use shardscope_engine::units::{Amount, Bytes, Count, Dimension, Share, short};

use super::facts::{FigureEntry, FormulaFacts, apart, because, count, figure, input, only_counted, share};
use super::formula::{Authority, Citation, Formula};

/// Where the bytes of model state are from.
const STATE: &str = "Rajbhandari et al., ZeRO, arXiv 1910.02054, section 3.1; per extent as in arXiv 2501.04266";

/// What Muon updates, and what it leaves to Adam.
pub(super) const MATRICES: &str = "weights of layers' matrices, which Muon updates";
pub(super) const BESIDE_MATRICES: &str = "embedding, logits, norms and biases, which Adam updates";

/// Where the bytes of activations are from.
const ACTIVATIONS: &str = "Korthikanti et al., arXiv 2205.05198, section 4";

/// The law behind the chance that a job fits.
const FIT_LAW: &str = "normal law of ln(measured peak / predicted peak), as wide as calibrate found it: its 80 % interval is \
                       1.2816 standard deviations on each side";

/// The peak, its parts, and what is left.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::Peak, "memory", "peak memory", Dimension::Bytes)
        .label("memory")
        .less_is_better()
        .map("Peak memory, GiB", "GiB at the peak")
        .about("Everything that the fullest device holds at its peak during the step.")
        .value(|of, _| Some(of.summary.memory.peak.get()))
        .why(|facts, _| {
            let source = "the parts at the moment of the peak, on the pipeline rank with the highest one";
            because(facts.parts_in_use(), Citation::convention(source))
        }),
    figure(Figure::Weights, "weights", "weights", Dimension::Bytes)
        .about("This device's shard of the weights, held throughout the step.")
        .value(|of, _| Some(of.summary.memory.parts.weights.get()))
        .why(|facts, _| because(facts.weights()?, Citation::paper(STATE))),
    figure(Figure::Gradients, "gradients", "gradients", Dimension::Bytes)
        .about(
            "This device's shard, or all gradients if they are reduced at the end of the step; plus those of units \
             that wait to be reduced or copied to the host.",
        )
        .value(|of, _| Some(of.summary.memory.parts.gradients.get()))
        .why(|facts, _| because(facts.gradients()?, Citation::paper(STATE))),
    figure(Figure::OptimizerState, "optimizer-state", "optimizer", Dimension::Bytes)
        .about("Moments, and master weights if the weights themselves have fewer bits.")
        .value(|of, _| Some(of.summary.memory.parts.optimizer.get()))
        .why(|facts, _| because(facts.optimizer()?, Citation::paper(STATE))),
    figure(Figure::SecondaryWeights, "secondary-weights", "secondary weights", Dimension::Bytes)
        .label("secondary")
        .about(
            "A second copy of the weights on nearby ranks, from which backward gathers; held from a unit's forward to \
             its backward.",
        )
        .value(|of, _| Some(of.summary.memory.parts.secondary_weights.get()))
        .why(|facts, _| because(facts.secondary(), Citation::paper("ZeRO++, arXiv 2306.10209, section 3.2 (hpZ)"))),
    figure(Figure::Activations, "activations", "activations", Dimension::Bytes)
        .about("What forward keeps for backward, the working memory of the layer at the peak, and logits.")
        .value(|of, _| Some(of.summary.memory.parts.activations.get()))
        .why(|facts, _| because(facts.activations(), Citation::paper(ACTIVATIONS))),
    figure(Figure::Gathered, "gathered", "gathered", Dimension::Bytes)
        .about("Unsharded weights of the units, or pipeline stages, that compute now or next.")
        .value(|of, _| Some(of.summary.memory.parts.gathered.get()))
        .why(|facts, _| because(facts.gathered(), Citation::paper("PyTorch FSDP, arXiv 2304.11277, section 3.3"))),
    figure(Figure::Buffers, "buffers", "communication", Dimension::Bytes)
        .about("Packed copies of data that is sent in a format other than it is stored in, and buffers of pipeline stages.")
        .value(|of, _| Some(of.summary.memory.parts.communication.get()))
        .why(|facts, _| {
            let held = facts.memory_of_fullest().parts.communication;
            because(only_counted("buffers of collectives", held), Citation::simulated())
        }),
    figure(Figure::Reserved, "reserved", "reserved", Dimension::Bytes)
        .about("Context, libraries and workspaces, and what the allocator loses to fragmentation.")
        .value(|of, _| Some(of.summary.memory.parts.reserved.get()))
        .why(|facts, _| because(facts.reserved(), facts.software())),
    figure(Figure::Allocated, "allocated-memory", "allocated memory", Dimension::Bytes)
        .less_is_better()
        .about("The peak without what runtime and allocator reserve: what frameworks report as allocated at most.")
        .value(|of, _| Some((of.summary.memory.peak - of.summary.memory.parts.reserved).get()))
        .why(|facts, _| {
            let asked = facts.figure(Figure::Peak)? - facts.figure(Figure::Reserved)?;
            because(asked, Citation::convention("the peak less what is reserved"))
        }),
    figure(Figure::Capacity, "capacity", "memory of a device", Dimension::Bytes)
        .label("capacity")
        .about("Memory capacity of one device.")
        .value(|of, _| Some(of.summary.memory.capacity.get()))
        .why(|facts, _| because(facts.capacity(), facts.sheet())),
    figure(Figure::FitChance, "p-fits", "chance that it fits", Dimension::Share)
        .label("P(fits)")
        .more_is_better()
        .about(
            "Chance that a measured peak is within the memory of a device, where measured peaks lie around predictions as a \
             normal distribution of the logarithm; where no measured peak is like it, as if 90 % of the memory fitted with 0.9.",
        )
        .value(|of, _| Some(chance_of_fitting(of.scenario, &of.summary.memory)))
        .why(|facts, _| because(facts.fit_chance(), Citation::convention(FIT_LAW))),
    figure(Figure::HostMemory, "host-memory", "memory of a node's host", Dimension::Bytes)
        .label("host memory")
        .less_is_better()
        .about("What the plan keeps in the memory of a node's host, of the node that keeps the most.")
        .value(|of, _| Some(of.summary.host_memory.total().get()).filter(|bytes| *bytes > 0.0))
        .why(|facts, _| because(facts.host_memory()?, Citation::paper(STATE))),
    figure(Figure::DriveMemory, "drive-memory", "state on a node's drives", Dimension::Bytes)
        .label("drives")
        .less_is_better()
        .about("What the plan keeps on the drives of a node, of the node that keeps the most.")
        .value(|of, _| Some(of.summary.host_memory.drives.total().get()).filter(|bytes| *bytes > 0.0))
        .why(|facts, _| because(facts.drive_memory()?, Citation::paper(STATE))),
    figure(Figure::Headroom, "headroom", "memory left", Dimension::Bytes)
        .more_is_better()
        .map("Memory left, GiB", "GiB left")
        .about("Capacity minus the peak; negative if the job does not fit.")
        .value(|of, _| Some((of.summary.memory.capacity - of.summary.memory.peak).get()))
        .why(|facts, _| {
            let left = facts.figure(Figure::Capacity)? - facts.figure(Figure::Peak)?;
            because(left, Citation::convention("capacity less peak"))
        }),
];

impl FormulaFacts<'_> {
    /// No short formula gives the normal distribution: its argument stands in the name.
    fn fit_chance(&self) -> Formula {
        let memory = self.memory_of_fullest();
        let chance = chance_of_fitting(self.scenario, &self.evaluation.summary.memory);
        let (capacity, peak, half) = (memory.capacity, memory.needed(), short(peak_spread(self.scenario), 3));
        let name = format!("Phi(ln({capacity} / {peak}) / ({half} / 1.2816)), of the normal distribution");
        input(name, share(chance), self.software())
    }

    fn capacity(&self) -> Formula {
        let device = input("memory of the device", self.scenario.cluster.device.capacity(), self.sheet());
        match self.scenario.plan.memory_factor {
            1.0 => device,
            factor => device * input("what-if factor", count(factor, ""), Citation::chosen("a factor on the memory")),
        }
    }

    /// The sum of the parts that hold anything.
    fn parts_in_use(&self) -> Formula {
        // Both lists are in the order of `MemoryParts::named`.
        let named = self.memory_of_fullest().parts.named().into_iter().zip(MEMORY_PARTS);
        let used = named.filter(|((_, bytes), _)| *bytes > Bytes::ZERO);
        Formula::Sum(used.filter_map(|(_, part)| self.figure(part)).collect())
    }

    /// Trained parameters of a pipeline rank, before sharding.
    pub(super) fn rank_parameters(&self, parameters: Count, rank: usize) -> Formula {
        if self.scenario.trains_part() {
            return self.trained(count(parameters.get(), ""));
        }
        self.all_parameters(parameters, rank)
    }

    /// Parameters of a pipeline rank, before sharding, trained or not.
    fn all_parameters(&self, parameters: Count, rank: usize) -> Formula {
        let name = match (self.layout.tensor, self.layout.pipeline) {
            (1, 1) => "parameters".to_owned(),
            (_, 1) => "parameters of a tensor rank".to_owned(),
            _ => format!("parameters of pipeline rank {rank}"),
        };
        input(name, count(parameters.get(), ""), self.shape())
    }

    fn bytes_each(name: &str, bytes: f64) -> Formula {
        let source = Citation::convention("bytes of the format");
        input(name, Amount { value: bytes, unit: Dimension::Bytes }, source)
    }

    /// The parameters of which the fullest rank keeps something, before sharding.
    fn counted(&self, kept: &KeptPart, experts: bool) -> Formula {
        let format = self.scenario.plan.tuning.frozen_format();
        let whose = if experts { " of its experts" } else { "" };
        let name = match kept.of {
            KeptOf::Linear => format!("parameters of linear layers{whose}"),
            KeptOf::Matrices => format!("{MATRICES}{whose}"),
            KeptOf::BesideMatrices if self.scenario.plan.optimizer == Optimizer::Muon => {
                format!("{BESIDE_MATRICES}{whose}")
            }
            KeptOf::All if self.scenario.plan.tuning.freezes() => {
                format!("weights of a rank{whose}, in elements of the storage format: {format} ones by their bytes")
            }
            KeptOf::All if experts => "parameters of its experts".to_owned(),
            KeptOf::All => return self.all_parameters(kept.count, self.fullest),
            _ if experts => "trained parameters of its experts".to_owned(),
            _ => return self.rank_parameters(kept.count, self.fullest),
        };
        input(name, count(kept.count.get(), ""), self.shape())
    }

    /// The bytes of one of them.
    fn each(&self, kept: &KeptPart, layout: &Layout) -> Formula {
        let name = match kept.part {
            StatePart::Weights | StatePart::Beside => "bytes of a weight".to_owned(),
            StatePart::Casts if self.scenario.stack.casts_replace_weights => {
                "bytes of a weight's casts, less its own".to_owned()
            }
            StatePart::Casts => "bytes of a weight's casts".to_owned(),
            StatePart::Gradients if !kept.home.is_device() => "bytes of a gradient on the host".to_owned(),
            StatePart::Gradients => {
                let whole = self.rates.keeps_whole_gradients(layout) && layout.gradients > 1;
                let format = if whole { self.scenario.unreduced_format() } else { self.scenario.gradient_format() };
                let chosen = if self.scenario.plan.gradients.is_some() { "gradient-format" } else { "the stack" };
                format!("bytes of a gradient and its copies, {format} by {chosen}")
            }
            StatePart::Master => "bytes of its master weight".to_owned(),
            StatePart::Moments => "bytes of its moments".to_owned(),
            StatePart::Average => "bytes of its average".to_owned(),
            StatePart::AveragedCopy => "bytes of the copy that is averaged".to_owned(),
        };
        Self::bytes_each(&name, kept.each.get())
    }

    /// What the fullest rank keeps in some places of some parts, for parameters under one layout: `P (k + k') / ranks`, where
    /// several parts are kept of the same parameters.
    fn kept_of(&self, parameters: Parameters, layout: &Layout, keeps: &dyn Fn(&KeptPart) -> bool) -> Vec<Formula> {
        let mut kept: Vec<KeptPart> = Vec::new();
        self.rates.kept(layout, parameters, |one| kept.extend(Some(one).filter(keeps)));
        let alike = |one: &KeptPart, other: &KeptPart| {
            (one.count, one.ranks, one.share) == (other.count, other.ranks, other.share)
        };
        let experts = layout.sees_experts;
        let of_alike = |kept: &[KeptPart]| {
            let first = kept.first()?;
            let mut each: Vec<Formula> = kept.iter().map(|one| self.each(one, layout)).collect();
            let each = if each.len() == 1 { each.remove(0) } else { Formula::Sum(each) };
            let sharing = Citation::chosen("the strategy's extent");
            let ranks = if experts { "ranks that share what experts keep" } else { "ranks that share it" };
            let owned = self.counted(first, experts) * each / input(ranks, count(first.ranks, ""), sharing);
            let place = if first.home.is_device() { "the share on the device" } else { "the share on the host" };
            let ratio = Citation::chosen("offload and offload-ratio");
            Some(if first.share < Share::new(1.0) {
                owned * input(place, share(first.share.get()), ratio)
            } else {
                owned
            })
        };
        kept.chunk_by(alike).filter_map(of_alike).collect()
    }

    /// What the fullest rank keeps in some places of some parts; experts with a mesh of their own apart.
    fn kept(&self, keeps: impl Fn(&KeptPart) -> bool) -> Option<Vec<Formula>> {
        let state = self.evaluation.details.states.get(self.fullest)?;
        let others = self.kept_of(state.parameters - state.expert_parameters, &self.layout, &keeps);
        let experts = self.kept_of(state.expert_parameters, &self.layout.of_experts(), &keeps);
        Some(others.into_iter().chain(experts).collect())
    }

    /// The same on the device.
    fn on_device(&self, parts: &[StatePart]) -> Option<Vec<Formula>> {
        self.kept(|kept| kept.home.is_device() && parts.contains(&kept.part))
    }

    fn weights(&self) -> Option<Formula> {
        Some(Formula::Sum(self.on_device(&[StatePart::Weights, StatePart::Casts])?))
    }

    fn gradients(&self) -> Option<Formula> {
        let state = self.evaluation.details.states.get(self.fullest)?;
        // What the peak holds beyond the gradients that stay is on its way to its reduction or to the host.
        let waiting = self.memory_of_fullest().parts.gradients - state.device.gradients;
        let waiting = (waiting > Bytes::ZERO).then(|| {
            input("gradients that wait for their reduction or for the update", waiting, Citation::simulated())
        });
        Some(Formula::Sum(self.on_device(&[StatePart::Gradients])?.into_iter().chain(waiting).collect()))
    }

    fn optimizer(&self) -> Option<Formula> {
        let all = Formula::Sum(self.on_device(&[StatePart::Master, StatePart::Moments, StatePart::Average])?);
        let memory = self.memory_of_fullest();
        if !memory.moves_pages() {
            return Some(all);
        }
        let source = "pages for which the device has no room beside all else at the peak";
        Some(all - input("pages on the host", memory.moved_pages, Citation::convention(source)))
    }

    /// What the host of the fullest node keeps: so many times what a rank keeps there, where all its devices are of one
    /// pipeline rank.
    fn host_memory(&self) -> Option<Formula> {
        let HostMemory { state, pages, activations, buffers, waiting, .. } = self.summary().host_memory;
        let counted = [
            ("pages that devices have no room for", pages),
            ("activations that wait for backward", activations),
            ("buffers through which a state comes from the drives", buffers),
            ("what waits for another phase of the step", waiting),
        ];
        let counted = counted.into_iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
        let counted =
            counted.map(|(name, bytes)| input(format!("{name}, of all its ranks"), bytes, Citation::simulated()));
        let state = self.of_node(state, Home::Host)?;
        Some(Formula::Sum(state.into_iter().chain(counted).collect()))
    }

    /// What the drives of the fullest node keep.
    fn drive_memory(&self) -> Option<Formula> {
        Some(Formula::Sum(self.of_node(self.summary().host_memory.drives, Home::Drives)?))
    }

    /// The state that a node has in one place, as a term; no term where it has none.
    fn of_node(&self, state: StateBytes, at: Home) -> Option<Vec<Formula>> {
        if state.total() == Bytes::ZERO {
            return Some(Vec::new());
        }
        if self.layout.pipeline > 1 {
            let name = "state of the pipeline ranks on the node that keeps the most";
            return Some(vec![input(name, state.total(), Citation::simulated())]);
        }
        let ranks = input("devices of a node", count(self.scenario.devices_on_node(), ""), self.sheet());
        Some(vec![ranks * Formula::Sum(self.kept(|kept| kept.home == at)?)])
    }

    /// Weights of the largest layer on one tensor rank.
    fn layer(&self, bytes: f64) -> Bytes {
        Bytes::new(self.scenario.model.largest_layer_parameters() as f64 / f64::from(self.layout.tensor) * bytes)
    }

    /// So many times what the largest layer holds: what the simulation counted, in a unit that says something.
    fn layers_worth(&self, name: &str, held: Bytes, layer: Bytes) -> Formula {
        if held == Bytes::ZERO {
            return Formula::from(0.0);
        }
        let one = if self.scenario.model.is_mixed() { "the largest layer" } else { "a layer" };
        let (what, worth) = (format!("{name} of {one}"), format!("layers' worth of {name}"));
        input(worth, count(held / layer, ""), Citation::simulated()) * input(what, layer, self.shape())
    }

    fn secondary(&self) -> Formula {
        let held = self.memory_of_fullest().parts.secondary_weights;
        let (Some(copy), Some(ranks)) = (&self.scenario.plan.sharding.secondary, self.layout.secondary) else {
            return Formula::from(0.0);
        };
        let bytes = self.scenario.plan.precision.wire(copy.format).bytes();
        self.layers_worth("second copies", held, self.layer(bytes) / f64::from(ranks))
    }

    fn gathered(&self) -> Formula {
        let held = self.memory_of_fullest().parts.gathered;
        self.layers_worth("gathered weights", held, self.layer(self.rates.storage().get()))
    }

    fn reserved(&self) -> Formula {
        let parts = &self.memory_of_fullest().parts;
        let (allocator, rest) = (&self.scenario.calibration.allocator, parts.total() - parts.reserved - parts.engine);
        input("runtime", allocator.reserve, self.calibrated())
            + input("share lost to fragments", share(allocator.fragmentation), self.calibrated())
                * input("everything else", rest, Citation::simulated())
    }

    /// Activations at the moment of the peak, layer by layer, where a rank visits layers in order; else in units of
    /// what a layer keeps.
    fn activations(&self) -> Formula {
        let held = self.memory_of_fullest();
        let again = self.layers_again() > 0;
        let of_kind = |(kind, _)| {
            let kept = self.rates.activations(kind);
            if again { kept.checkpoint } else { kept.layer }
        };
        let one = self.scenario.model.kinds().map(of_kind).fold(Bytes::ZERO, Bytes::max);
        // Where layers pass one by one, what is kept at the peak can be counted off; elsewhere it is so many layers'
        // worth.
        let ordered = self.in_order().then(|| self.kept_in_order(held)).flatten();
        // The simulator rounds each layer to whole bytes, up and down: a formula within a few bytes a layer is the
        // same.
        let close = |formula: &Formula| {
            (formula.value() - held.parts.activations.get()).abs() <= 64.0 * f64::from(self.scenario.model.all_layers())
        };
        ordered.filter(close).unwrap_or_else(|| self.layers_worth("kept activations", held.parts.activations, one))
    }

    /// At the peak in a layer's backward, the layers up to it still keep what forward left; at the logits all do.
    fn kept_in_order(&self, held: &Memory) -> Option<Formula> {
        let model = &self.scenario.model;
        let layer = held.during.layer;
        let backward = held.during.kind.is_backward();
        let paper = || Citation::paper(ACTIVATIONS);
        let size = |name: String, bytes: Bytes| input(name, bytes, paper());
        let again = self.layers_again();
        let at_peak = self.rates.activations(model.kind(layer));
        let (whole, working, logits) = match held.during.part {
            ModelPart::Layer if backward => (layer + 1, at_peak.whole + at_peak.working, Bytes::ZERO),
            ModelPart::Layer => (layer, at_peak.whole, Bytes::ZERO),
            ModelPart::Head => (model.all_layers(), Bytes::ZERO, self.rates.logits()),
            ModelPart::Attention | ModelPart::Mlp | ModelPart::Experts | ModelPart::Embedding | ModelPart::Model => {
                return None;
            }
        };
        let own = if layer < again { at_peak.checkpoint } else { at_peak.layer };
        let mut terms = Vec::new();
        let mut add = |number: u32, what: String, name: String, bytes: Bytes| {
            if number > 0 {
                let number = input(what, count(number, ""), Citation::new(Authority::Simulation, "at the peak"));
                terms.push(number * size(name, bytes));
            }
        };
        // The first layers are those that are computed again: of them forward keeps the input alone.
        let reached = |layer: &u32| self.scenario.differentiated(model.kind(*layer)) != Differentiated::Nothing;
        let checkpoints = (0..whole.min(again)).filter(reached).count() as u32;
        add(checkpoints, "checkpoints".to_owned(), "input of a layer".to_owned(), self.rates.stream());
        let modules = self.scenario.plan.repeated_modules();
        let without = match self.scenario.plan.recompute {
            Recompute::Selective if modules.is_of_stack() => ", scores apart".to_owned(),
            Recompute::Selective => format!(" without {modules}"),
            _ => String::new(),
        };
        for (kind, _) in model.kinds() {
            let (apart, kept) = (apart(model, kind), self.rates.activations(kind));
            let number = (again..whole).filter(|layer| model.kind(*layer) == kind && reached(layer)).count() as u32;
            let name = format!("activations of a layer{apart}{without}");
            add(number, format!("layers{apart} kept whole"), name, kept.layer);
        }
        if working > Bytes::ZERO {
            terms.push(size("what the layer at the peak works in".to_owned(), working - own));
        }
        if logits > Bytes::ZERO {
            terms.push(input(self.ends("logits and loss"), logits, self.source_of_ends(paper())));
        }
        if model.vocab > 0 && reached(&0) {
            terms.push(size("output of the embedding".to_owned(), self.rates.embedded()));
        }
        Some(Formula::Sum(terms))
    }
}

//! Passes over the embedding and over the head.

use crate::plan::pass::Pass;
use crate::units::{Bytes, Seconds};

use super::build::LaunchedWork;
use super::label::ModelPart;
use super::network_transfer::ExchangeId;
use super::unit_costs::UnitCosts;
use super::unit_pass::{ComputeStep, Exchanges, Traversal, UnitPass, deferred_bytes};
use super::unit_work::EndCosts;

impl UnitCosts<'_> {
    /// A pass over the embedding, or over last norm, logits and loss.
    pub(crate) fn end_pass(&self, part: ModelPart, pass: Pass) -> UnitPass {
        let head = part == ModelPart::Head;
        let EndCosts { work, kept, working, weight_inputs } = if head { self.work.head } else { self.work.embedding };
        let held = deferred_bytes(pass, || weight_inputs);
        let after = if head { ExchangeId::Head(pass) } else { ExchangeId::Embedding(pass) };
        let beside = (head && pass.is_backward()).then_some(ExchangeId::HeadBeside);
        let exchanges = Exchanges { after: Some(after), beside: [None, beside, None], ..Exchanges::NONE };
        let mut steps = [ComputeStep::default(); 3];
        steps[0] = ComputeStep {
            piece: LaunchedWork { work: work.work(pass), host: Seconds::ZERO },
            exchanges: if pass.propagates() { exchanges } else { Exchanges::NONE },
        };
        let (working, kept) = match pass {
            // What stands beside leaves nothing.
            Pass::Forward if self.rates.scenario.plan.stands_beside => (working + kept, Bytes::ZERO),
            Pass::Forward => (working, kept),
            Pass::Backward | Pass::BackwardInputs => (working, held - kept),
            Pass::BackwardWeights => (Bytes::ZERO, held),
        };
        UnitPass { working, kept, ..self.unit_pass(self.end_unit(part, pass), Traversal::Pass(pass), steps) }
    }
}

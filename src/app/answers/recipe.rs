//! The plan by the recipe of a vendor beside the first plan of a search, and why this one is faster. The recipes that are known
//! are those of Megatron-Bridge, which divide experts over a node.

use shardscope_engine::scenario::{Field, Problem};
use shardscope_engine::search::plans::{EvaluatedPlan, PlanSearch, PlanSearchAnswer};
use shardscope_engine::search::{self, Axis, Evaluator, Workspace};
use shardscope_report::figures::RecipePlan;
use shardscope_report::figures::difference::{Side, sentence};

/// The best plan that divides experts over a node, where the first plan does not divide them and the search might have.
pub fn recipe_plan(
    search: &PlanSearch,
    answer: &PlanSearchAnswer,
    evaluator: &Evaluator,
) -> Result<Option<RecipePlan>, Vec<Problem>> {
    let Some(EvaluatedPlan { scenario, .. }) = answer.plans.first().filter(|_| answer.exact) else { return Ok(None) };
    let whole = scenario.model.experts.is_some() && scenario.plan.experts.ranks == 1;
    if !whole || !search.space.is_free(Field::Experts) {
        return Ok(None);
    }
    let mut space = search.space.clone();
    space.vary(Axis { field: Field::Experts, values: vec![scenario.cluster.devices_per_node().into()] });
    let divided = PlanSearch { space, top: 1, front: Vec::new(), ..search.clone() };
    let Some(found) = divided.run(evaluator, &mut |_| {}).plans.pop() else { return Ok(None) };
    let mut workspace = Workspace::default();
    let [one, other] = [scenario, &found.scenario].map(|scenario| search::full(scenario, &mut workspace));
    let (one, other) = (one?, other?);
    let first = Side { name: "the first", scenario, evaluation: &one };
    let why = sentence(first, Side { name: "it", scenario: &found.scenario, evaluation: &other });
    Ok(Some(RecipePlan { found, why }))
}

//! Values of a plan that are outside the range of their field's type, whatever else the plan says.

use std::sync::LazyLock;

use crate::plan::Recompute;
use crate::units::significant;

use super::super::field::{Field, PLACEMENT, Value};
use super::{Checks, Scenario};

/// The fields of a plan that have a range. The size of the job has checks of its own.
static RANGED: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let of_size = |field: &Field| matches!(field, Field::Nodes | Field::Devices);
    Field::all().filter(|field| field.is_in_plan() && field.spec().takes.has_range() && !of_size(field)).collect()
});

/// Values of some fields outside the range of their type.
pub(super) fn of_fields(scenario: &Scenario, fields: impl IntoIterator<Item = Field>, checks: &mut Checks) {
    for field in fields {
        let takes = field.spec().takes;
        if !takes.has_range() {
            continue;
        }
        let Some(wrong) = field.value(scenario).filter(|value| !takes.holds(value)) else { continue };
        let shown = match wrong {
            Value::Number(number) if number.is_finite() => significant(number, 3),
            // As the file says it.
            Value::Number(number) => number.to_string(),
            other => other.to_string(),
        };
        let what = || format!("{shown} is out of range");
        checks.refuse(true, field.path(), what, || format!("choose {}", takes.range()));
    }
}

/// Values of all fields outside the range of their type.
pub(super) fn all(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    of_fields(scenario, RANGED.iter().copied(), checks);
    if plan.sharding.wire.block == 0 {
        let what = || "a scale for every 0 elements is out of range".to_owned();
        let field = format!("{PLACEMENT}wire.block");
        checks.refuse(true, &field, what, || "choose a block of at least 1 element".to_owned());
    }
    if let Recompute::Share(share) = plan.recompute {
        let wrong = !(0.0..=1.0).contains(&share);
        checks.refuse(
            wrong,
            Field::Recompute.path(),
            || format!("{share} is not a share"),
            || "choose a share from 0 to 1".to_owned(),
        );
    }
}

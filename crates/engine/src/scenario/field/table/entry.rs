//! The words in which the table writes an entry. Not for the entries ([`super`]).

use crate::model::Model;
use crate::plan::{OneOf, Plan, Sharding};
use crate::scenario::Checked;
use crate::stack::{Feature, Runs};

use super::super::{
    AxisSpec, FieldPlace, FieldSpec, IdleRule, Lack, Lens, Need, PresetField, SearchRole, Steps, Text, Type, Value,
};

const fn field(path: &'static str, flag: &'static str, takes: Type, place: FieldPlace) -> FieldSpec {
    FieldSpec {
        path,
        in_full: None,
        flag,
        label: flag,
        takes,
        value_name: "",
        help: "",
        default: "as the strategy says",
        unit: None,
        steps: Steps::All,
        axis: AxisSpec { word: flag, range: (0, 0) },
        rare: false,
        search: SearchRole::Fixed,
        advice: (0, 0),
        suspected: (0, 0),
        left_open: false,
        need: None,
        idle: [None; 3],
        place,
    }
}

/// The entry of a preset's id.
pub(super) const fn id(preset: PresetField, path: &'static str, flag: &'static str) -> FieldSpec {
    let place = FieldPlace::Id(preset);
    FieldSpec { label: path, default: "of the default scenario", ..field(path, flag, Type::Id, place) }
}

/// The entry of a plan's field.
pub(super) const fn plan(path: &'static str, flag: &'static str, takes: Type, default: &'static str) -> FieldSpec {
    let nowhere = Lens { get: |_| None, set: |_, _| false };
    FieldSpec { default, ..field(path, flag, takes, FieldPlace::Plan(nowhere)) }
}

/// The entry of a plan's choice of a few words.
pub(super) const fn word<T: OneOf>(path: &'static str, flag: &'static str, default: &'static str) -> FieldSpec {
    plan(path, flag, Type::OneOf(T::WORDS), default)
}

/// The entry of a field that refines the strategy.
pub(super) const fn sharding(path: &'static str, flag: &'static str, takes: Type) -> FieldSpec {
    let nowhere = Lens { get: |_| None, set: |_, _| false };
    field(path, flag, takes, FieldPlace::Sharding(nowhere))
}

impl FieldSpec {
    pub(super) const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }

    pub(super) const fn help(self, value_name: &'static str, help: &'static str) -> Self {
        Self { value_name, help, ..self }
    }

    pub(super) const fn in_full(self, path: &'static str) -> Self {
        Self { in_full: Some(path), ..self }
    }

    pub(super) const fn unit(self, one: &'static str, several: &'static str) -> Self {
        Self { unit: Some([one, several]), ..self }
    }

    pub(super) const fn steps(self, steps: Steps) -> Self {
        Self { steps, ..self }
    }

    pub(super) const fn axis(self, word: &'static str) -> Self {
        Self { axis: AxisSpec { word, range: (0, 0) }, ..self }
    }

    pub(super) const fn range(self, first: u32, last: u32) -> Self {
        Self { axis: AxisSpec { word: self.flag, range: (first, last) }, ..self }
    }

    pub(super) const fn rare(self) -> Self {
        Self { rare: true, ..self }
    }

    pub(super) const fn searched(self) -> Self {
        Self { search: SearchRole::Free, ..self }
    }

    pub(super) const fn searched_on_request(self) -> Self {
        Self { search: SearchRole::OnRequest, ..self }
    }

    pub(super) const fn searched_for_launchers(self) -> Self {
        Self { search: SearchRole::Launched, ..self }
    }

    pub(super) const fn advised(self, after: usize, before: usize) -> Self {
        Self { advice: (after, before), suspected: (after, before), ..self }
    }

    pub(super) const fn suspected(self, after: usize, before: usize) -> Self {
        Self { suspected: (after, before), ..self }
    }

    pub(super) const fn left_open(self) -> Self {
        Self { left_open: true, ..self }
    }

    /// A program must have a feature for any other value than the default; `what` names what it lacks otherwise. Fields of
    /// the strategy have no default, and say by `used_if` when they need it.
    pub(super) const fn needs(self, feature: Feature, what: &'static str) -> Self {
        Self { need: Some(Need::Feature(feature, Text::Fixed(what), None)), ..self }
    }

    /// The same with a name that has values of the plan.
    pub(super) const fn needs_named(self, feature: Feature, what: fn(&Plan) -> String) -> Self {
        Self { need: Some(Need::Feature(feature, Text::OfPlan(what), None)), ..self }
    }

    /// When a job makes use of that feature, where its value alone does not say it.
    pub(super) const fn used_if(self, used: fn(&Checked<'_>) -> bool) -> Self {
        let need = match self.need {
            Some(Need::Feature(feature, what, _)) => Some(Need::Feature(feature, what, Some(used))),
            other => other,
        };
        Self { need, ..self }
    }

    /// A program must list the value.
    pub(super) const fn needs_listed(self, lack: fn(&Plan, &Runs) -> Option<Lack>) -> Self {
        Self { need: Some(Need::Listed(lack)), ..self }
    }

    /// When the value changes nothing in a plan. Of several rules the first that holds says why.
    pub(super) const fn idle_if(self, is: fn(&Plan) -> bool) -> Idling {
        Idling { spec: self, is }
    }

    pub(super) const fn lens(self, get: fn(&Plan) -> Option<Value>, set: fn(&mut Plan, &Value) -> bool) -> Self {
        Self { place: FieldPlace::Plan(Lens { get, set }), ..self }
    }

    pub(super) const fn of_model(self, get: fn(&Model) -> Option<Value>, set: fn(&mut Model, &Value) -> bool) -> Self {
        Self { place: FieldPlace::Model(Lens { get, set }), ..self }
    }

    pub(super) const fn state(
        self,
        get: fn(&Sharding) -> Option<Value>,
        set: fn(&mut Sharding, &Value) -> bool,
    ) -> Self {
        Self { place: FieldPlace::Sharding(Lens { get, set }), ..self }
    }
}

/// A rule on when a field changes nothing, whose reason is still to be said.
pub(super) struct Idling {
    spec: FieldSpec,
    is: fn(&Plan) -> bool,
}

impl Idling {
    /// Why the value changes nothing, and the change that would give it an effect.
    pub(super) const fn because(self, why: &'static str, fix: &'static str) -> FieldSpec {
        self.rule(Text::Fixed(why), fix)
    }

    /// The same with a reason that has values of the plan.
    pub(super) const fn because_of(self, why: fn(&Plan) -> String, fix: &'static str) -> FieldSpec {
        self.rule(Text::OfPlan(why), fix)
    }

    const fn rule(self, why: Text, fix: &'static str) -> FieldSpec {
        let Self { mut spec, is } = self;
        let mut free = 0;
        while spec.idle[free].is_some() {
            free += 1;
        }
        spec.idle[free] = Some(IdleRule { is, why, fix });
        spec
    }
}

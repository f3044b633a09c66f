//! The words in which the table writes an entry. Not for the entries ([`super`]).

use crate::model::Model;
use crate::plan::{OneOf, Plan, Sharding};

use super::super::{AxisSpec, FieldPlace, FieldSpec, Lens, PresetField, SearchRole, Steps, Type, Value};
use super::Field;

const fn field(field: Field, path: &'static str, flag: &'static str, takes: Type, place: FieldPlace) -> FieldSpec {
    FieldSpec {
        field,
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
        place,
    }
}

/// The entry of a preset's id.
pub(super) const fn id(id: Field, preset: PresetField, path: &'static str, flag: &'static str) -> FieldSpec {
    let place = FieldPlace::Id(preset);
    FieldSpec { label: path, default: "of the default scenario", ..field(id, path, flag, Type::Id, place) }
}

/// The entry of a plan's field.
pub(super) const fn plan(
    of: Field,
    path: &'static str,
    flag: &'static str,
    takes: Type,
    default: &'static str,
) -> FieldSpec {
    let nowhere = Lens { get: |_| None, set: |_, _| false };
    FieldSpec { default, ..field(of, path, flag, takes, FieldPlace::Plan(nowhere)) }
}

/// The entry of a plan's choice of a few words.
pub(super) const fn word<T: OneOf>(
    of: Field,
    path: &'static str,
    flag: &'static str,
    default: &'static str,
) -> FieldSpec {
    plan(of, path, flag, Type::OneOf(T::WORDS), default)
}

/// The entry of a field that refines the strategy.
pub(super) const fn sharding(of: Field, path: &'static str, flag: &'static str, takes: Type) -> FieldSpec {
    let nowhere = Lens { get: |_| None, set: |_, _| false };
    field(of, path, flag, takes, FieldPlace::Sharding(nowhere))
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

    pub(super) const fn advised(self, after: usize, before: usize) -> Self {
        Self { advice: (after, before), suspected: (after, before), ..self }
    }

    pub(super) const fn suspected(self, after: usize, before: usize) -> Self {
        Self { suspected: (after, before), ..self }
    }

    pub(super) const fn left_open(self) -> Self {
        Self { left_open: true, ..self }
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

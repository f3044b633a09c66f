//! The keys of a file's schema, found by reading an example of it: serde asks for each key by its name and says what it
//! takes. So whatever a type of the domain reads from its file is known here, without a list that could forget some of it.

use serde::de::Visitor;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess};
use serde::forward_to_deserialize_any;

/// The type of a key's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyType {
    Text,
    Count,
    Number,
    Switch,
    Word(&'static [&'static str]),
    /// A quantity, and the unit that it usually has.
    Quantity(String),
}

/// A key that holds one value; `[]` in its path stands for each item of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaKey {
    pub path: String,
    pub takes: KeyType,
}

/// The keys of a type, those of a table before the tables inside it.
pub(super) fn keys<T: DeserializeOwned>() -> Result<Vec<SchemaKey>, Error> {
    let mut found = Vec::new();
    T::deserialize(Tracer { path: String::new(), found: &mut found })?;
    Ok(found)
}

/// Gives every type that asks a value that it takes, and notes the keys on the way.
struct Tracer<'a> {
    path: String,
    found: &'a mut Vec<SchemaKey>,
}

impl Tracer<'_> {
    fn note(&mut self, takes: KeyType) {
        self.found.push(SchemaKey { path: self.path.clone(), takes });
    }
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Error;

    /// A quantity says by an example how it is written: `a size as text with a unit, like "64 GiB"`.
    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let expected = (&visitor as &dyn Expected).to_string();
        let example = expected.split('"').nth(1).unwrap_or_default();
        self.note(KeyType::Quantity(example.split_once(' ').map_or("", |(_, unit)| unit).to_owned()));
        visitor.visit_str(example)
    }

    /// A text with a form of its own says it by an example too.
    fn deserialize_str<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(KeyType::Text);
        let expected = (&visitor as &dyn Expected).to_string();
        visitor.visit_str(expected.split('"').nth(1).unwrap_or("text"))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(KeyType::Count);
        visitor.visit_u32(1)
    }

    fn deserialize_f64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(KeyType::Number);
        visitor.visit_f64(1.0)
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.note(KeyType::Switch);
        visitor.visit_bool(true)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note(KeyType::Word(words));
        let word: StrDeserializer<'_, Error> = words.first().copied().unwrap_or_default().into_deserializer();
        visitor.visit_enum(word)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(OneItem(Some(Tracer { path: self.path + "[]", ..self })))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let prefix = if self.path.is_empty() { String::new() } else { self.path + "." };
        let first = self.found.len();
        let value = visitor.visit_map(AllKeys { prefix: &prefix, names: names.iter(), here: "", found: self.found })?;
        // As files have them: a table's own values, then the tables inside it.
        self.found[first..].sort_by_key(|key| key.path[prefix.len()..].contains(['.', '[']));
        Ok(value)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u64 u128 f32 char bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct
        map identifier ignored_any
    }
}

/// An array of one item.
struct OneItem<'a>(Option<Tracer<'a>>);

impl<'de> SeqAccess<'de> for OneItem<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.take().map(|item| seed.deserialize(item)).transpose()
    }
}

/// A table with every key that its type knows.
struct AllKeys<'a> {
    prefix: &'a str,
    names: std::slice::Iter<'static, &'static str>,
    here: &'static str,
    found: &'a mut Vec<SchemaKey>,
}

impl<'de> MapAccess<'de> for AllKeys<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.here = name;
        let name: StrDeserializer<'_, Error> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Tracer { path: format!("{}{}", self.prefix, self.here), found: self.found })
    }
}

//! One case of an experiment: the values by which it differs from the others, and what to run.

use std::{borrow::Cow, fmt};

use ackwise_sim::Scenario;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Serialize,
    de::{Deserializer, MapAccess, Visitor},
    ser::{SerializeMap, Serializer},
};

use super::document::{Item, Value};

/// One case of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// By what it differs from the others.
    pub labels: Labels,
    /// What to run; its seed is not set yet.
    pub scenario: Scenario,
}

/// Names and values in the order of the grid.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Labels(Vec<(String, CaseValue)>);

impl Labels {
    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&CaseValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// In order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &CaseValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether the experiment has no grid.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, name: String, value: CaseValue) {
        self.0.push((name, value));
    }
}

/// In order; a name comes once.
impl FromIterator<(String, CaseValue)> for Labels {
    fn from_iter<T: IntoIterator<Item = (String, CaseValue)>>(labels: T) -> Self {
        Self(labels.into_iter().collect())
    }
}

/// `rate = 1 Mb/s, users = 2`.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, value)) in self.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{name} = {value}")?;
        }
        Ok(())
    }
}

/// A value that distinguishes cases.
#[derive(
    Clone, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize,
)]
#[schemars(inline)]
#[serde(untagged)]
#[non_exhaustive]
pub enum CaseValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// Any other value, as written in the file.
    Text(String),
}

impl CaseValue {
    /// The whole number, if it is one.
    #[must_use]
    pub const fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Flag(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for CaseValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl From<&Item> for CaseValue {
    fn from(item: &Item) -> Self {
        match &item.value {
            Value::Flag(flag) => Self::Flag(*flag),
            Value::Integer(number) => Self::Integer(*number),
            Value::Text(text) => Self::Text(text.clone()),
            Value::Number(_) | Value::List(_) | Value::Table(_) => Self::Text(item.to_string()),
        }
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl JsonSchema for Labels {
    fn schema_name() -> Cow<'static, str> {
        "Labels".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "How the case differs from the others: names and values.",
            "additionalProperties": generator.subschema_for::<CaseValue>(),
        })
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Labels;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut labels = Labels::default();
                while let Some((name, value)) = map.next_entry()? {
                    labels.push(name, value);
                }
                Ok(labels)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

//! Values side by side: published, ours, and the model's.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Published values, ours and those of the model, side by side.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
#[schemars(rename = "Table")]
pub struct ComparisonTable {
    /// Name of the published table, or our own name for a table that was not published.
    pub id: String,
    /// Title.
    pub title: String,
    /// Inputs that the source does not give, fitted inputs, and other notes.
    pub notes: Vec<String>,
    /// One for each value.
    #[schemars(with = "Vec<RowKeys>")]
    pub rows: Vec<Row>,
}

/// One value, three times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The case.
    pub case: Case,
    /// What was measured; its unit is the last part of the name.
    pub measure: String,
    /// What the paper prints.
    pub published: Option<f64>,
    /// The measured value.
    pub ours: Option<f64>,
    /// What the analytic model gives.
    pub model: Option<f64>,
    /// Tolerance: how far the measured value may be from the published one.
    pub limit: Option<Limit>,
}

/// How far a value may be from the published one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A share of the published value: 0.1 is 10 %.
    Share(f64),
    /// An amount, in the unit of the value.
    Amount(f64),
}

/// As reports name it: `10 %`, or the bare amount.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "±{} %", share * 100.0),
            Self::Amount(amount) => write!(f, "±{amount}"),
        }
    }
}

impl Row {
    /// (ours − published) / published.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        relative(self.ours?, self.published?)
    }

    /// (model − ours) / ours.
    #[must_use]
    pub fn model_error(&self) -> Option<f64> {
        relative(self.model?, self.ours?)
    }

    /// Whether the measured value is within its tolerance; `None` if it has none.
    #[must_use]
    pub fn is_within(&self) -> Option<bool> {
        let (limit, published) = (self.limit?, self.published?);
        let off = (self.ours? - published).abs();
        Some(match limit {
            Limit::Share(share) => off <= share * published.abs(),
            Limit::Amount(amount) => off <= amount,
        })
    }
}

fn relative(value: f64, to: f64) -> Option<f64> {
    (to != 0.0).then(|| (value - to) / to)
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { case, measure, published, ours, model, limit: _ } = self;
        let (error, within_limit) = (self.error(), self.is_within());
        let (published, ours, model) = (*published, *ours, *model);
        RowKeys { case, measure, published, ours, error, model, within_limit }.serialize(serializer)
    }
}

/// One value: published, ours, and the model's.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Row")]
struct RowKeys<'a> {
    /// The case.
    case: &'a Case,
    /// What was measured; its unit is the last part of the name.
    measure: &'a str,
    /// What the paper prints.
    published: Option<f64>,
    /// The measured value.
    ours: Option<f64>,
    /// (ours - published) / published.
    error: Option<f64>,
    /// What the analytic model gives, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<f64>,
    /// Whether the measured value is within its tolerance, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    within_limit: Option<bool>,
}

/// The case: names and values, in the order of the columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case(pub Vec<(String, CaseValue)>);

impl Case {
    /// The number of this name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.0.iter().find(|(key, _)| key == name)? {
            (_, CaseValue::Number(number)) => Some(*number),
            (_, CaseValue::Word(_)) => None,
        }
    }
}

impl Serialize for Case {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl JsonSchema for Case {
    fn schema_name() -> Cow<'static, str> {
        "Case".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The case: names and values.",
            "additionalProperties": { "type": ["number", "string"] },
        })
    }
}

/// A number or a word.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseValue {
    /// A count, a size.
    Number(f64),
    /// A name.
    Word(String),
}

/// A whole number is written as one.
impl Serialize for CaseValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) if number.fract() == 0.0 && number.abs() < EXACT => {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
                let whole = *number as i64;
                serializer.serialize_i64(whole)
            }
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

/// Up to here an `f64` holds every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl From<&str> for CaseValue {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Word(text.to_owned()), Self::Number)
    }
}

impl From<f64> for CaseValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl fmt::Display for CaseValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// Numbers with names, as claims show them.
pub type Numbers = BTreeMap<String, f64>;

/// As many decimals as tell values of this size apart.
pub(crate) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        _ if value.fract() == 0.0 => 0,
        size if size >= 10_000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        _ => 6,
    };
    let number = format!("{value:.decimals$}");
    if decimals < 6 {
        return number;
    }
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: f64, limit: Limit) -> Row {
        Row { published: Some(200.0), ours: Some(ours), limit: Some(limit), ..Row::default() }
    }

    #[test]
    fn limits_are_shares_or_amounts() {
        assert_eq!(row(219.0, Limit::Share(0.1)).is_within(), Some(true));
        assert_eq!(row(221.0, Limit::Share(0.1)).is_within(), Some(false));
        assert_eq!(row(198.0, Limit::Amount(3.0)).is_within(), Some(true));
        assert_eq!(row(204.0, Limit::Amount(3.0)).is_within(), Some(false));
        assert_eq!(Row { limit: None, ..row(1.0, Limit::Share(0.0)) }.is_within(), None);
    }

    #[test]
    fn json_keeps_the_order_of_a_case_and_tells_what_is_missing() {
        let case = Case(vec![
            ("web_clients".to_owned(), CaseValue::from("8")),
            ("mode".to_owned(), CaseValue::from("serial")),
        ]);
        let row = Row { case, measure: "drop_pct".to_owned(), ours: Some(0.5), ..Row::default() };
        let expected = r#"{"case":{"web_clients":8,"mode":"serial"},"measure":"drop_pct","#;
        let json = serde_json::to_string(&row).unwrap();
        assert_eq!(json, format!("{expected}\"published\":null,\"ours\":0.5,\"error\":null}}"));
    }
}

//! The keys for editors: a JSON Schema of what TOML says.
//!
//! No key is required, and no name is looked up: `[grid]` and `--set` may supply what a file lacks.

use serde_json::{Map, Value as Json, json};

use super::{
    Alternative, Fields, Key, Need, Unit, Value, Varies,
    meanings::{Types, meaning},
    probe,
};
use crate::experiment::{
    quantity::{Packets, Quantity, Segments},
    reader::join,
};

/// The JSON Schema of experiment files, as a document for editors.
#[must_use]
pub fn file_schema() -> String {
    let mut writer = Writer::default();
    let mut schema = writer.table(&probe::KEYS.fields, "");
    let mut definitions: Map<String, Json> =
        UNITS.iter().map(|(_, name, schema)| ((*name).to_owned(), schema())).collect();
    definitions.extend(writer.definitions.into_iter().map(|(name, _, schema)| (name, schema)));
    let varied = writer.varied.into_iter();
    definitions.extend(varied.map(|(name, plain)| (name, varied_schema(&plain))));
    let object = schema.as_object_mut().expect("a table is an object");
    object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    object.insert("title".to_owned(), json!("Experiment file of ackwise run"));
    object.insert("$defs".to_owned(), Json::Object(definitions));
    format!("{schema:#}\n")
}

#[derive(Debug, Default)]
struct Writer {
    types: Types,
    /// Names, values and their schemas; a schema that is being written is null.
    definitions: Vec<(String, Value, Json)>,
    /// Names, and what one member of a group has.
    varied: Vec<(String, Json)>,
    /// The choices of the definitions that are being written.
    open: Vec<(String, Vec<String>)>,
}

impl Writer {
    fn value(&mut self, value: &Value, label: &str) -> Json {
        let plain = self.plain(value, label);
        match value.varies {
            Varies::No => plain,
            Varies::Yes => self.varied(plain, label),
        }
    }

    fn varied(&mut self, plain: Json, label: &str) -> Json {
        if let Some((name, _)) = self.varied.iter().find(|(_, known)| *known == plain) {
            return reference(name);
        }
        let known =
            plain.get("$ref").and_then(Json::as_str).and_then(|it| it.strip_prefix(DEFINITIONS));
        let mut name = format!("{}.each", known.unwrap_or(label));
        while self.varied.iter().any(|(known, _)| *known == name) {
            name.push('+');
        }
        self.varied.push((name.clone(), plain));
        reference(&name)
    }

    /// What one member has: written out if it is short, otherwise once for all places.
    fn plain(&mut self, value: &Value, label: &str) -> Json {
        let is_short = value.alternatives.iter().all(|alternative| {
            !matches!(alternative, Alternative::Table(_) | Alternative::Choice(_))
        });
        if is_short {
            return self.alternatives(value, label);
        }
        let value = Value { varies: Varies::No, ..value.clone() };
        if let Some((name, ..)) = self.definitions.iter().find(|(_, known, _)| *known == value) {
            return reference(name);
        }
        let label = self.types.of(label, &value).map_or(label, |(name, _)| name);
        let mut name = label.to_owned();
        while self.definitions.iter().any(|(known, ..)| *known == name) {
            // The same keys, in which the members of a group may differ.
            name.push_str("-of-a-group");
        }
        let at = self.definitions.len();
        self.definitions.push((name.clone(), value.clone(), Json::Null));
        let choices = value.alternatives.iter().flat_map(|alternative| match alternative {
            Alternative::Choice(choices) => choices.iter().map(|(name, _)| name.clone()).collect(),
            _ => Vec::new(),
        });
        self.open.push((name.clone(), choices.collect()));
        self.definitions[at].2 = self.alternatives(&value, label);
        self.open.pop();
        reference(&name)
    }

    fn alternatives(&mut self, value: &Value, label: &str) -> Json {
        let mut schemas: Vec<Json> = value
            .alternatives
            .iter()
            .map(|alternative| self.alternative(alternative, label))
            .collect();
        match schemas.len() {
            1 => schemas.remove(0),
            _ => json!({ "anyOf": schemas }),
        }
    }

    fn alternative(&mut self, alternative: &Alternative, label: &str) -> Json {
        match alternative {
            Alternative::Flag => json!({ "type": "boolean" }),
            Alternative::Integer { least, most } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Alternative::Number { least, most } => {
                json!({ "type": "number", "minimum": least, "maximum": most })
            }
            Alternative::Quantity(unit) => reference(name_of(*unit)),
            Alternative::Text | Alternative::Node => json!({ "type": "string" }),
            Alternative::Words(words) => json!({ "enum": words }),
            Alternative::List(inner) => {
                json!({ "type": "array", "items": self.value(inner, label) })
            }
            Alternative::Table(fields) => self.table(fields, label),
            Alternative::Choice(choices) => {
                let properties: Map<String, Json> = choices
                    .iter()
                    .map(|(name, value)| (name.clone(), self.value(value, &join(label, name))))
                    .collect();
                json!({
                    "type": "object", "properties": properties, "additionalProperties": false,
                    "minProperties": 1, "maxProperties": 1,
                })
            }
            Alternative::Sections(inner) => json!({
                "type": "object", "propertyNames": { "pattern": "^[A-Za-z0-9_-]+$" },
                "additionalProperties": self.value(inner, label),
            }),
            Alternative::Grid => json!({
                "type": "object",
                "additionalProperties": { "anyOf": [
                    { "type": "array", "minItems": 1 },
                    {
                        "type": "object",
                        "additionalProperties": { "type": "array", "minItems": 1 },
                    },
                ] },
            }),
            Alternative::Again(choice) => {
                let mut open = self.open.iter().rev();
                let enclosing = open.find(|(_, choices)| choices.contains(choice));
                reference(&enclosing.expect("some value has the choice").0)
            }
        }
    }

    fn table(&mut self, fields: &Fields, label: &str) -> Json {
        let Some((key, kinds)) = &fields.by else {
            return json!({
                "type": "object", "properties": self.properties(&fields.keys, label),
                "additionalProperties": false,
            });
        };
        let mut rules = Vec::new();
        let mut all = vec![key.clone()];
        for (word, keys) in kinds {
            let mut properties = self.properties(keys, word);
            all.extend(properties.keys().cloned());
            properties.insert(key.clone(), json!(true));
            rules.push(json!({
                "if": { "properties": { key: { "const": word } }, "required": [key] },
                "then": { "properties": properties, "additionalProperties": false },
            }));
        }
        all.sort();
        all.dedup();
        rules.push(json!({ "propertyNames": { "enum": all } }));
        let properties = self.properties(&fields.keys, label);
        json!({ "type": "object", "properties": properties, "allOf": rules })
    }

    fn properties(&mut self, keys: &[Key], label: &str) -> Map<String, Json> {
        let properties = keys.iter().map(|key| {
            let label = join(label, &key.name);
            let mut schema = self.value(&key.value, &label);
            if let Some(object) = schema.as_object_mut() {
                object.insert("description".to_owned(), json!(description(key, &label)));
            }
            (key.name.clone(), schema)
        });
        properties.collect()
    }
}

/// What an editor shows beside a key.
fn description(key: &Key, label: &str) -> String {
    let meaning = meaning(label);
    let mut text = meaning.map_or("", |meaning| meaning.text).replace('`', "");
    if let Some(expected) = &key.value.expected {
        text = format!("{text}. Value: {expected}");
    }
    let default = match (&key.need, meaning.map_or("", |meaning| meaning.default)) {
        (Need::Required, _) => return format!("{text}. Required."),
        (Need::Preset, _) => "the preset's".to_owned(),
        (Need::Optional(Some(word)), "") => word.clone(),
        (Need::Optional(_), default) => default.replace('`', ""),
    };
    if default.is_empty() { format!("{text}.") } else { format!("{text}. Default: {default}.") }
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("{DEFINITIONS}{name}") })
}

const DEFINITIONS: &str = "#/$defs/";

/// What one member has, `{ each = […] }` or `{ cycle = […] }`.
fn varied_schema(plain: &Json) -> Json {
    let list = json!({ "type": "array", "items": plain, "minItems": 1 });
    json!({ "anyOf": [plain, {
        "type": "object", "properties": { "each": list, "cycle": list },
        "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
    }] })
}

fn name_of(unit: Unit) -> &'static str {
    let mut units = UNITS.iter();
    units.find(|(known, ..)| *known == unit).expect("each unit is in the list").1
}

type Definition = (Unit, &'static str, fn() -> Json);

const UNITS: &[Definition] = &[
    (Unit::Duration, "duration", quantity::<std::time::Duration>),
    (Unit::Rate, "rate", quantity::<ackwise_units::Rate>),
    (Unit::Size, "bytes", quantity::<ackwise_units::ByteCount>),
    (Unit::Share, "share", quantity::<ackwise_units::Probability>),
    (Unit::Packets, "packets", quantity::<Packets>),
    (Unit::Segments, "segments", quantity::<Segments>),
];

/// A number as `ackwise_units::parse` reads it, and a unit.
fn quantity<Q: Quantity>() -> Json {
    let units: Vec<_> = Q::UNITS.iter().map(|(unit, _)| *unit).collect();
    let digits = "[0-9](?:[0-9_]*[0-9])?";
    let pattern = format!("^{digits}(?:\\.{digits})? ?(?:{})$", units.join("|"));
    json!({ "type": "string", "pattern": pattern, "description": Q::EXPECTED })
}

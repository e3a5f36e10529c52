//! What a JSON document says of itself, and the schema that it keeps to.
//!
//! A command's document implements [`Document`]; [`to_json`] prints it with its format first, and
//! [`schema`] describes what that prints.

use std::io::{self, Write as _};

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Serializer, Value, json};

use crate::{escape, rows::Rows};

/// A JSON document that a command prints.
pub trait Document: Serialize + JsonSchema {
    /// Its format. A version keeps its keys and their meaning; it may get more.
    const FORMAT: Format;
    /// What the document is, in one sentence.
    const ABOUT: &'static str;
}

/// The name and the version of a format.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Format {
    /// As `ackwise-check`.
    pub name: &'static str,
    /// From 1; a higher one if a key is renamed or removed, or means something else.
    pub version: u32,
}

impl Format {
    /// The first version of a format.
    #[must_use]
    pub const fn first(name: &'static str) -> Self {
        Self { name, version: 1 }
    }

    /// The name without the program's: what `ackwise schema` calls it.
    #[must_use]
    pub fn short_name(self) -> &'static str {
        self.name.strip_prefix("ackwise-").unwrap_or(self.name)
    }
}

#[derive(Serialize)]
struct Formatted<'a, D> {
    format: Format,
    #[serde(flatten)]
    document: &'a D,
}

/// The document with its format as the first key, indented, with a line feed at its end.
///
/// # Panics
///
/// If `document` has a map whose keys are not strings, which is a mistake in its definition.
#[must_use]
pub fn to_json<D: Document>(document: &D) -> String {
    let formatted = Formatted { format: D::FORMAT, document };
    ended(serde_json::to_string_pretty(&formatted))
}

/// The same on one line: for commands that print a document for each event, as it happens.
///
/// # Panics
///
/// As [`to_json`].
#[must_use]
pub fn to_json_line<D: Document>(document: &D) -> String {
    let formatted = Formatted { format: D::FORMAT, document };
    ended(serde_json::to_string(&formatted))
}

fn ended(text: serde_json::Result<String>) -> String {
    let text = text.expect("the maps of a document have strings for keys") + "\n";
    escape::json(&text).into_owned()
}

/// Writes the same to `output`, piece by piece and a row in each line: for documents that are many
/// times as large as what they are made of.
///
/// # Errors
///
/// If `output` takes no more.
pub fn write_json<D: Document>(document: &D, output: impl io::Write) -> io::Result<()> {
    let mut output = escape::JsonOutput::new(output);
    let mut serializer = Serializer::with_formatter(&mut output, Rows::default());
    Formatted { format: D::FORMAT, document }.serialize(&mut serializer)?;
    output.write_all(b"\n")?;
    output.flush()
}

/// The JSON Schema (draft 2020-12) of what [`to_json`] prints, with a line feed at its end.
///
/// # Panics
///
/// If `D` does not serialize as an object, which is a mistake in its definition.
#[must_use]
pub fn schema<D: Document>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<D>();
    let Format { name, version } = D::FORMAT;
    schema.insert("title".to_owned(), format!("{name}, version {version}").into());
    schema.insert("description".to_owned(), D::ABOUT.into());
    let format = json!({
        "type": "object",
        "description": "The name and the version of this format.",
        "properties": { "name": { "const": name }, "version": { "const": version } },
        "required": ["name", "version"],
    });
    properties(&mut schema).insert("format".to_owned(), format);
    required(&mut schema).insert(0, "format".into());
    let text = serde_json::to_string_pretty(&schema);
    text.expect("a schema is JSON") + "\n"
}

fn properties(schema: &mut Schema) -> &mut Map<String, Value> {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    properties.expect("a document is an object with keys")
}

fn required(schema: &mut Schema) -> &mut Vec<Value> {
    let object = schema.ensure_object();
    let required = object.entry("required").or_insert_with(|| json!([])).as_array_mut();
    required.expect("`required` is a list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema, Serialize)]
    struct Sample {
        zebras: u32,
        ants: Option<f64>,
    }

    impl Document for Sample {
        const FORMAT: Format = Format { name: "ackwise-sample", version: 3 };
        const ABOUT: &'static str = "Animals.";
    }

    #[test]
    fn a_document_begins_with_its_format() {
        let text = to_json(&Sample { zebras: 2, ants: None });
        let line: String = text.split_whitespace().collect();
        assert_eq!(
            line.as_str(),
            r#"{"format":{"name":"ackwise-sample","version":3},"zebras":2,"ants":null}"#
        );
        assert_eq!(to_json_line(&Sample { zebras: 2, ants: None }), line + "\n");
        assert_eq!(Sample::FORMAT.short_name(), "sample");
    }

    #[test]
    fn a_schema_requires_every_key_and_the_format() {
        let schema: Value = serde_json::from_str(&schema::<Sample>()).unwrap();
        assert_eq!(schema["required"], json!(["format", "zebras", "ants"]));
        assert_eq!(schema["properties"]["format"]["properties"]["version"], json!({ "const": 3 }));
        assert_eq!(schema["title"], "ackwise-sample, version 3");
    }
}

//! Documents that a command printed, against the committed schemas.

use std::{fs, path::PathBuf};

use serde_json::Value;

/// Where the schemas are.
pub(crate) fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema")
}

/// Reads a document, which must be of the format `ackwise-NAME` and keep to its schema.
#[track_caller]
pub(crate) fn keeping_to(name: &str, text: impl AsRef<[u8]>) -> Value {
    let document: Value = serde_json::from_slice(text.as_ref()).expect("a document is JSON");
    let complaints = complaints(name, &document);
    assert!(complaints.is_empty(), "{name}: {complaints:#?}");
    document
}

/// Where a document does not keep to its schema. A key that the schema does not have is a complaint, too:
/// users may get more keys, but not without a line in the schema.
pub(crate) fn complaints(name: &str, document: &Value) -> Vec<String> {
    let schema = fs::read(directory().join(format!("{name}.json"))).expect("a schema is there");
    let mut schema: Value = serde_json::from_slice(&schema).expect("a schema is JSON");
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).expect("a schema is valid");
    let errors = validator.iter_errors(document);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// Forbids all keys that are not listed.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.contains_key("properties") {
                object.entry("additionalProperties").or_insert(false.into());
            }
            object.values_mut().for_each(close);
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        _ => {}
    }
}

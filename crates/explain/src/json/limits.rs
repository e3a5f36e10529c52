//! What a report leaves out, because of which limits.

use ackwise_capture::{
    analysis::Folded,
    limits::{Limit, Reached},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::millis;

/// A limit that was reached. docs/limits.md has all of them.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ReachedLimit {
    /// Its name.
    #[schemars(schema_with = "limits")]
    name: &'static str,
    /// Its value.
    most: u64,
    /// Number of connections, exchanges, requests, field blocks or packets beyond it.
    times: u64,
    /// What it limits, and what happens beyond it.
    about: String,
}

/// What is counted but not listed.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct NotListed {
    /// Number of connections.
    connections: u64,
    /// Number of exchanges.
    exchanges: u64,
    /// Sum of the durations of these exchanges.
    ms: f64,
}

impl ReachedLimit {
    pub(super) fn all(reached: &Reached) -> Vec<Self> {
        reached.iter().map(|(limit, times)| Self::of(limit, times, reached)).collect()
    }

    fn of(limit: Limit, times: u64, reached: &Reached) -> Self {
        let about = format!("{}; beyond it, {}", limit.bounds(), limit.beyond());
        Self { name: limit.name(), most: reached.most(limit), times, about }
    }
}

impl NotListed {
    pub(super) fn of(folded: &Folded) -> Self {
        let &Folded { connections, exchanges, span, .. } = folded;
        Self { connections, exchanges, ms: millis(span) }
    }
}

fn limits(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Limit::ALL.map(Limit::name) })
}

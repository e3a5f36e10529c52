//! A whole document, all its sections together.

use std::time::Duration;

use ackwise_link::Seed;
use ackwise_sim::Scenario;

use super::{
    application::applications,
    document::{Item, Value},
    error::ExperimentError,
    quantity::Quantity,
    reader::Field,
    tcp,
    topology::{Links, Nodes},
};

/// A scenario, and which of its hosts and links are many of one kind.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) scenario: Scenario,
    pub(crate) counted: Vec<String>,
}

/// Reads one case.
pub(crate) fn scenario(document: &Item) -> Result<Read, ExperimentError> {
    let whole = Field { item: document, path: String::new() };
    let mut reader = whole.table("a table")?;
    for key in OF_THE_EXPERIMENT {
        let _ = reader.optional(key);
    }
    let duration = reader.required("duration", Duration::EXPECTED)?;
    let duration_place = duration.clone();
    let duration = duration.quantity_in(&|span: &Duration| !span.is_zero(), DURATION)?;
    let warm_up = reader.or("warm_up", Duration::ZERO)?;
    if warm_up >= duration {
        return Err(duration_place.contradiction(
            "the warm-up leaves no time to measure (expected it to be shorter than the run)",
        ));
    }
    let watch_causes = reader.or("watch_causes", false)?;
    let limit = i64::MAX.cast_unsigned();
    let max_events = reader.or_with("max_events", MAX_EVENTS, |field| field.integer(1..=limit))?;
    let max_connections =
        reader.or_with("max_connections", MAX_CONNECTIONS, |field| field.integer(1..=u32::MAX))?;
    let default = reader.optional("tcp");
    if let Some(field) = &default {
        let _ = tcp::config(field)?;
    }
    let nothing =
        Item { value: Value::Table(super::Table::default()), place: document.place.clone() };
    let default = default.map_or(&nothing, |field| field.item);
    let nodes =
        Nodes::read(filled(reader.required("host", HOSTS)?)?, reader.optional("router"), default)?;
    let links = Links::read(filled(reader.required("link", LINKS)?)?, &nodes)?;
    let applications =
        applications(&filled(reader.required("application", APPLICATIONS)?)?, &nodes)?;
    reader.finish()?;
    let counted = counted(&nodes, &links);
    let scenario = Scenario {
        nodes: nodes.list,
        links: links.list,
        applications,
        duration,
        warm_up,
        watch_causes,
        seed: Seed(0),
        max_events,
        max_connections,
    };
    scenario.check().map_err(|error| whole.contradiction(error.to_string()))?;
    Ok(Read { scenario, counted })
}

/// A section that has something in it: without, nothing would happen.
fn filled(field: Field<'_>) -> Result<Field<'_>, ExperimentError> {
    match &field.item.value {
        Value::Table(table) if table.entries.is_empty() => {
            Err(field.contradiction("empty (expected at least one)"))
        }
        _ => Ok(field),
    }
}

/// As measures begin that belong to them.
fn counted(nodes: &Nodes, links: &Links) -> Vec<String> {
    let hosts = nodes.counted.iter().map(|name| format!("host.{name}."));
    hosts.chain(links.counted.iter().map(|name| format!("link.{name}."))).collect()
}

/// Keys that do not belong to a single case.
pub(crate) const OF_THE_EXPERIMENT: [&str; 4] = ["title", "seeds", "show", "grid"];

/// An hour of work, about.
const MAX_EVENTS: u64 = 10_000_000_000;

const MAX_CONNECTIONS: u32 = 100_000;

const DURATION: &str = "more than 0, at most \"1000000 s\"";
const HOSTS: &str = "[host.NAME] for each host";
const LINKS: &str = "[link.NAME] for each link";
const APPLICATIONS: &str = "[application.NAME] for each application";

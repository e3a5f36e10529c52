//! `[host.NAME]`, `[router.NAME]`, `[link.NAME]`: nodes, and what joins them.

use std::{collections::BTreeMap, time::Duration};

use ackwise_sim::scenario::{CostModel, DuplexLink, Node, NodeId};
use ackwise_tcp::{ByteCount, Config};

use super::{
    document::{Entry, Item, Value},
    error::ExperimentError,
    group::{Members, member, pairs},
    link,
    reader::{Field, Reader, join},
    table::table,
    tcp,
};

/// Nodes by name, and groups of nodes.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    pub(crate) list: Vec<Node>,
    /// Of a node its place, of a group the places of its members.
    names: BTreeMap<String, Vec<NodeId>>,
    /// Nodes that `count` has made.
    pub(crate) counted: Vec<String>,
}

impl Nodes {
    /// Reads all nodes. `default` is what `[tcp]` says.
    pub(crate) fn read(
        hosts: Field<'_>,
        routers: Option<Field<'_>>,
        default: &Item,
    ) -> Result<Self, ExperimentError> {
        let mut nodes = Self::default();
        for (entry, path) in sections(&hosts)? {
            nodes.add(entry, &path, Some(default))?;
        }
        for (entry, path) in routers.as_ref().map_or(Ok(Vec::new()), sections)? {
            nodes.add(entry, &path, None)?;
        }
        Ok(nodes)
    }

    /// The nodes that are meant by a name or by a list of names.
    pub(crate) fn members(&self, field: &Field<'_>) -> Result<Members<NodeId>, ExperimentError> {
        if let Value::List(_) = field.item.value {
            let mut all = Vec::new();
            for name in field.list("a list of names")? {
                all.extend(self.named(&name)?);
            }
            if all.is_empty() {
                return Err(field.wrong("at least one name"));
            }
            return Ok(Members::new(all));
        }
        Ok(Members::new(self.named(field)?.to_vec()))
    }

    fn named(&self, field: &Field<'_>) -> Result<&[NodeId], ExperimentError> {
        let name = field.text("the name of a node")?;
        let found = self.names.get(name).map(Vec::as_slice);
        found.ok_or_else(|| field.unknown("node", name, self.names.keys().map(String::as_str)))
    }

    fn add(
        &mut self,
        entry: &Entry,
        path: &str,
        tcp: Option<&Item>,
    ) -> Result<(), ExperimentError> {
        let field = Field { item: &entry.item, path: path.to_owned() };
        let Value::Table(table) = &entry.item.value else {
            return Err(field.wrong("a table"));
        };
        let count = count(&field)?;
        let mut group = Vec::new();
        for number in 0..count.unwrap_or(1) {
            let own = member(table, path, number, count.unwrap_or(1))?;
            let name = match count {
                None => entry.key.clone(),
                Some(_) => format!("{}{}", entry.key, number + 1),
            };
            let id = NodeId(u32::try_from(self.list.len()).expect("MAX_COUNT bounds it"));
            group.push(id);
            self.list.push(node(&name, Reader::new(&own, &entry.place, path), tcp)?);
            if count.is_some() {
                self.counted.push(name.clone());
            }
            if self.names.insert(name.clone(), vec![id]).is_some() {
                return Err(field.contradiction(format!("there are two nodes \"{name}\"")));
            }
        }
        if count.is_some() && self.names.insert(entry.key.clone(), group).is_some() {
            return Err(field.contradiction(format!("there are two nodes \"{}\"", entry.key)));
        }
        Ok(())
    }
}

/// The entries of a section whose keys are names.
pub(crate) fn sections<'a>(field: &Field<'a>) -> Result<Vec<(&'a Entry, String)>, ExperimentError> {
    let Value::Table(table) = &field.item.value else {
        return Err(field.wrong("a table of names"));
    };
    let mut sections = Vec::new();
    for entry in &table.entries {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !entry.key.chars().all(plain) || entry.key.is_empty() {
            let what = format!("invalid name {:?} (expected letters, digits, - and _)", entry.key);
            return Err(ExperimentError::contradiction(&entry.place, &field.path, what));
        }
        sections.push((entry, join(&field.path, &entry.key)));
    }
    Ok(sections)
}

fn count(field: &Field<'_>) -> Result<Option<usize>, ExperimentError> {
    let mut reader = field.table("a table")?;
    reader.optional("count").map(|field| field.integer(1..=MAX_COUNT)).transpose()
}

/// More nodes are not written by hand, and each has its links and its routes.
const MAX_COUNT: usize = 10_000;

fn node(
    name: &str,
    mut reader: Reader<'_>,
    default: Option<&Item>,
) -> Result<Node, ExperimentError> {
    let _ = reader.optional("count");
    let tcp = default.map(|default| host_tcp(&mut reader, default)).transpose()?;
    let cost = match default {
        None => CostModel::default(),
        Some(_) => reader.or_with("cost", CostModel::default(), cost)?,
    };
    let table = match default {
        None => None,
        Some(_) => reader.optional("table").map(table).transpose()?,
    };
    reader.finish()?;
    Ok(Node { name: name.to_owned(), tcp, cost, table })
}

/// What `[tcp]` says, and what this host says differently.
fn host_tcp(reader: &mut Reader<'_>, default: &Item) -> Result<Config, ExperimentError> {
    let common = Field { item: default, path: "tcp".to_owned() };
    let Some(own) = reader.optional("tcp") else { return tcp::config(&common) };
    let both = tcp::as_table(&common)?.overlaid(&tcp::as_table(&own)?);
    let both = Item { value: Value::Table(both), place: own.place().clone() };
    tcp::config(&Field { item: &both, path: own.path })
}

fn cost(field: Field<'_>) -> Result<CostModel, ExperimentError> {
    let mut reader =
        field.table("{ per_segment, per_lookup, per_entry, per_reset, per_request }")?;
    let mut span = |key| reader.or(key, Duration::ZERO);
    let cost = CostModel {
        per_segment: span("per_segment")?,
        per_lookup: span("per_lookup")?,
        per_entry: span("per_entry")?,
        per_reset: span("per_reset")?,
        per_request: span("per_request")?,
    };
    reader.finish()?;
    Ok(cost)
}

/// Links, and the names of those that a group has made.
#[derive(Debug, Default)]
pub(crate) struct Links {
    pub(crate) list: Vec<DuplexLink>,
    pub(crate) counted: Vec<String>,
}

impl Links {
    pub(crate) fn read(field: Field<'_>, nodes: &Nodes) -> Result<Self, ExperimentError> {
        let mut links = Self::default();
        for (entry, path) in sections(&field)? {
            links.add(entry, &path, nodes)?;
        }
        Ok(links)
    }

    fn add(&mut self, entry: &Entry, path: &str, nodes: &Nodes) -> Result<(), ExperimentError> {
        let field = Field { item: &entry.item, path: path.to_owned() };
        let Value::Table(table) = &entry.item.value else {
            return Err(field.wrong("a table"));
        };
        let ends = ends(field.table("a table")?, nodes)?;
        let count = pairs([&ends[0], &ends[1]], &entry.place, path)?;
        for number in 0..count {
            let own = member(table, path, number, count)?;
            let mut reader = Reader::new(&own, &entry.place, path);
            let _ = reader.optional("ends");
            let name = match count {
                1 => entry.key.clone(),
                _ => format!("{}{}", entry.key, number + 1),
            };
            if self.list.iter().any(|link| link.name == name) {
                return Err(field.contradiction(format!("there are two links \"{name}\"")));
            }
            if count > 1 {
                self.counted.push(name.clone());
            }
            self.list.push(DuplexLink {
                name,
                ends: [ends[0].of(number), ends[1].of(number)],
                directions: link::directions(&own, &mut reader)?,
                drawn_delay: link::drawn_delay(&own, path)?,
                overhead: reader.or_with("overhead", ByteCount(0), link::overhead)?,
                forgets_after: (reader.optional("forgets_after"))
                    .map(link::forgets_after)
                    .transpose()?,
            });
            reader.finish()?;
        }
        Ok(())
    }
}

fn ends(mut reader: Reader<'_>, nodes: &Nodes) -> Result<[Members<NodeId>; 2], ExperimentError> {
    let field = reader.required("ends", link::ENDS)?;
    let ends = field.list(link::ENDS)?;
    match ends.as_slice() {
        [a, b] => {
            let both = [nodes.members(a)?, nodes.members(b)?];
            match both {
                [a, b] if a.iter().eq(b.iter()) => {
                    Err(field.contradiction("both ends are the same"))
                }
                both => Ok(both),
            }
        }
        _ => Err(field.wrong(link::ENDS)),
    }
}

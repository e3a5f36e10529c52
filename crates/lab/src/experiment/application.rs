//! `[application.NAME]`: who talks to whom, and about what.

mod proxy;

use std::{num::NonZeroU32, time::Duration};

use ackwise_http::{Behaviour, page::Transfer, workload::Span};
use ackwise_sim::scenario::{
    Application, ApplicationKind, Arrivals, Bulk, BulkSender, Closer, Connections, Node, NodeId,
    SlowReader, ThinkScope, Web,
};
use ackwise_tcp::ByteCount;
use ackwise_units::Probability;

use super::{
    behaviour::behaviour,
    distribution::span,
    document::{Entry, Value},
    error::ExperimentError,
    group::{Members, member, pairs},
    pages::{pages, replay},
    quantity::Quantity,
    reader::{Field, Reader, words},
    topology::{Nodes, sections},
};

/// Reads all applications: one for each pair of hosts, those of a group with the group's name.
pub(crate) fn applications(
    field: &Field<'_>,
    nodes: &Nodes,
) -> Result<Vec<Application>, ExperimentError> {
    let mut all = Vec::new();
    for (entry, path) in sections(field)? {
        let field = Field { item: &entry.item, path };
        if RESERVED.contains(&entry.key.as_str()) {
            let what = "reserved: metrics of something else have this name (expected another name)";
            return Err(field.contradiction(what));
        }
        if is_proxy(&field)? {
            all.push(proxy::application(entry, &field, nodes)?);
        } else {
            group(entry, &field, nodes, &mut all)?;
        }
        expect_few(&field, &all)?;
    }
    Ok(all)
}

/// One that has all members of its groups.
fn is_proxy(field: &Field<'_>) -> Result<bool, ExperimentError> {
    match field.table("a table")?.optional("kind") {
        // Members of a group may differ in kind.
        Some(kind) if matches!(kind.item.value, Value::Text(_)) => {
            Ok(kind.read::<Kind>()? == Kind::Proxy)
        }
        _ => Ok(false),
    }
}

/// What an application does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Web,
    Bulk,
    Arrivals,
    Proxy,
}

/// Measures begin with the application's name, or with one of these.
const RESERVED: &[&str] = &["link", "host", "cause", "work", "segments"];

fn group(
    entry: &Entry,
    field: &Field<'_>,
    nodes: &Nodes,
    all: &mut Vec<Application>,
) -> Result<(), ExperimentError> {
    let Value::Table(table) = &entry.item.value else { return Err(field.wrong("a table")) };
    let mut reader = field.table("a table")?;
    let clients = hosts(reader.required("client", HOST)?, nodes)?;
    let servers = hosts(reader.required("server", HOST)?, nodes)?;
    let count = pairs([&clients, &servers], &entry.place, &field.path)?;
    if clients.iter().eq(servers.iter()) {
        return Err(field.contradiction("client and server are the same host"));
    }
    for number in 0..count {
        let own = member(table, &field.path, number, count)?;
        let mut reader = Reader::new(&own, &entry.place, &field.path);
        let _ = (reader.optional("client"), reader.optional("server"));
        all.push(Application {
            name: entry.key.clone(),
            client: clients.of(number),
            server: servers.of(number),
            start: reader.or_with("start", Span::ZERO, span)?,
            kind: kind(&mut reader)?,
        });
        reader.finish()?;
    }
    Ok(())
}

const HOST: &str = "the name of a host, or of a group of them";

fn hosts(field: Field<'_>, nodes: &Nodes) -> Result<Members<NodeId>, ExperimentError> {
    let members = nodes.members(&field)?;
    let mut nodes = members.iter().map(|id| &nodes.list[id.0 as usize]);
    match nodes.find(|node| node.tcp.is_none()) {
        None => Ok(members.clone()),
        Some(Node { name, .. }) => {
            Err(field.contradiction(format!("\"{name}\" is a router (expected {HOST})")))
        }
    }
}

fn kind(reader: &mut Reader<'_>) -> Result<ApplicationKind, ExperimentError> {
    let kind = reader.required("kind", "\"web\", \"bulk\", \"arrivals\" or \"proxy\"")?;
    match kind.read::<Kind>()? {
        Kind::Web => web(reader).map(ApplicationKind::Web),
        Kind::Bulk => bulk(reader).map(ApplicationKind::Bulk),
        Kind::Arrivals => arrivals(reader).map(ApplicationKind::Arrivals),
        Kind::Proxy => {
            Err(kind.contradiction("a proxy cannot be one of several values (expected it alone)"))
        }
    }
}

fn web(reader: &mut Reader<'_>) -> Result<Web, ExperimentError> {
    Ok(Web {
        users: reader.or("users", NonZeroU32::MIN)?,
        pages: reader.maybe("pages")?,
        workload: pages(reader.required("workload", "the name of a workload, or a table")?)?,
        replay: reader.optional("replay").map(replay).transpose()?,
        transfer: transfer(&reader.required("transfer", "how a page's files travel")?)?,
        connections: reader.or("connections", Connections::PerDocument)?,
        request: request(reader)?,
        response_head: reader.or_with("response_head", ByteCount(0), |field| {
            field.quantity_in(&|size: &ByteCount| size.0 <= LONGEST_HEAD, "at most 1 MiB")
        })?,
        think: reader.or_with("think", Span::ZERO, span)?,
        think_scope: reader.or("think_scope", ThinkScope::Document)?,
        client_delay: reader.or_with("client_delay", Span::ZERO, span)?,
        open_gap: reader.or_with("open_gap", Span::ZERO, span)?,
        behaviour: reader.or_with("behaviour", Behaviour::FIXED, behaviour)?,
        parse: reader.or_with("parse", Span::ZERO, span)?,
        cached_per_million: reader
            .or_with("cached", 0, |f| f.quantity().map(Probability::as_per_million))?,
        not_modified: reader.or_with("validation", None, validation)?,
        closer: reader.or("closer", Closer::Client)?,
        client_close: reader.or_with("client_close", ByteCount(0), |field| {
            field.quantity_in(&|size: &ByteCount| size.0 <= LONGEST_HEAD, "at most 1 MiB")
        })?,
        prompt_acks: prompt_acks(reader)?,
        slow_reader: reader.or_with("reads", None, slow_reader)?,
        response_timeout: reader.optional("response_timeout").map(response_timeout).transpose()?,
    })
}

fn response_timeout(field: Field<'_>) -> Result<Duration, ExperimentError> {
    field.quantity_in(&|it: &Duration| *it >= SHORTEST_PAUSE, "at least 1 us")
}

/// How the client's program reads.
fn slow_reader(field: Field<'_>) -> Result<Option<SlowReader>, ExperimentError> {
    let (name, variant) = field.variant(READS)?;
    if name == "at-once" {
        return variant.bare(None);
    }
    let mut reader = variant.table("{ slowly = { size = \"2 KB\", pause = \"20 ms\" } }")?;
    let size = reader.required("size", ByteCount::EXPECTED)?;
    let fits = |size: &ByteCount| (1..=LONGEST_HEAD).contains(&size.0);
    let ByteCount(size) = size.quantity_in(&fits, "from 1 B to 1 MiB")?;
    let pause = reader.required("pause", "a duration")?;
    let pause = pause.quantity_in(&|it: &Duration| *it >= SHORTEST_PAUSE, "at least 1 us")?;
    reader.finish()?;
    let size = u32::try_from(size).ok().and_then(NonZeroU32::new);
    Ok(Some(SlowReader { size: size.expect("the range begins at 1"), pause }))
}

const READS: &[&str] = &["at-once", "slowly"];

/// Our choice: so a reader takes time, and a run has a bounded number of reads for each second.
const SHORTEST_PAUSE: Duration = Duration::from_micros(1);

/// What an answer weighs that a copy is still good, if the client asks.
fn validation(field: Field<'_>) -> Result<Option<ByteCount>, ExperimentError> {
    let (name, variant) = field.variant(VALIDATION)?;
    if name == "none" {
        return variant.bare(None);
    }
    let mut reader = variant.table_or_word("{ not_modified }")?;
    let fits = |size: &ByteCount| (1..=LONGEST_HEAD).contains(&size.0);
    let size = reader.or_with("not_modified", NOT_MODIFIED, |field| {
        field.quantity_in(&fits, "from 1 B to 1 MiB")
    })?;
    reader.finish()?;
    Ok(Some(size))
}

const VALIDATION: &[&str] = &["none", "conditional"];

/// Our choice: the least of what heads have "typically" (Heidemann 1996, section 2.2: 200 to 300 bytes).
const NOT_MODIFIED: ByteCount = ByteCount(200);

fn transfer(field: &Field<'_>) -> Result<Transfer, ExperimentError> {
    let (name, variant) = field.variant(TRANSFER)?;
    match name {
        "serial" => variant.bare(Transfer::Serial),
        "persistent" => variant.bare(Transfer::Persistent),
        "pipelined" => variant.bare(Transfer::Pipelined),
        "get-web" => variant.bare(Transfer::GetWeb),
        "parallel" => {
            let mut reader = variant.table("{ parallel = { connections = 4 } }")?;
            let connections = reader.required("connections", "how many at once")?.read()?;
            reader.finish()?;
            Ok(Transfer::Parallel { connections })
        }
        _ => {
            let mut reader = variant.table("{ segment-filled = { segment = \"1460 B\" } }")?;
            let segment = reader.required("segment", ByteCount::EXPECTED)?;
            let fits = |size: &ByteCount| (1..=u64::from(u16::MAX)).contains(&size.0);
            let ByteCount(segment) = segment.quantity_in(&fits, "from 1 B to 65535 B")?;
            reader.finish()?;
            let segment = u32::try_from(segment).ok().and_then(NonZeroU32::new);
            Ok(Transfer::SegmentFilled { segment: segment.expect("the range is one of 16 bits") })
        }
    }
}

fn bulk(reader: &mut Reader<'_>) -> Result<Bulk, ExperimentError> {
    Ok(Bulk {
        clients: reader.or("clients", NonZeroU32::MIN)?,
        request: request(reader)?,
        file: reader.maybe("file")?,
        files: reader.maybe("files")?,
        pause: reader.or_with("pause", Span::ZERO, span)?,
        behaviour: reader.or_with("behaviour", Behaviour::FIXED, behaviour)?,
        sender: reader.or("sender", BulkSender::Server)?,
    })
}

fn arrivals(reader: &mut Reader<'_>) -> Result<Arrivals, ExperimentError> {
    Ok(Arrivals {
        interarrival: span(reader.required("interarrival", "a duration or a distribution")?)?,
        request: request(reader)?,
        response: reader.required("response", ByteCount::EXPECTED)?.quantity()?,
        hold: reader.or_with("hold", Span::ZERO, span)?,
        prompt_acks: prompt_acks(reader)?,
        limit: reader.maybe("limit")?,
    })
}

fn prompt_acks(reader: &mut Reader<'_>) -> Result<bool, ExperimentError> {
    reader.or("prompt_acks", false)
}

/// A browser's request in the middle nineties (Mah 1997: a median of about 240 bytes; the thesis takes
/// 210).
const REQUEST: ByteCount = ByteCount(210);

fn request(reader: &mut Reader<'_>) -> Result<ByteCount, ExperimentError> {
    let fits = |size: &ByteCount| (1..=LONGEST_HEAD).contains(&size.0);
    reader.or_with("request", REQUEST, |field| field.quantity_in(&fits, "from 1 B to 1 MiB"))
}

/// Servers refuse what is longer.
const LONGEST_HEAD: u64 = 1 << 20;

/// Users and clients of all applications; each costs a few hundred bytes.
fn expect_few(field: &Field<'_>, all: &[Application]) -> Result<(), ExperimentError> {
    let users = all.iter().map(|application| match &application.kind {
        ApplicationKind::Web(web) => u64::from(web.users.get()),
        ApplicationKind::Bulk(bulk) => u64::from(bulk.clients.get()),
        ApplicationKind::Proxy(proxy) => proxy.clients.len() as u64,
        ApplicationKind::Arrivals(_) => 0,
    });
    let users: u64 = users.sum();
    if users > MOST_USERS {
        let what = format!("found {users} users and clients (expected at most {MOST_USERS})");
        return Err(field.contradiction(what));
    }
    Ok(())
}

/// More do not fit into the memory of a small machine.
const MOST_USERS: u64 = 4_000_000;

const TRANSFER: &[&str] =
    &["serial", "parallel", "persistent", "pipelined", "segment-filled", "get-web"];

words! {
    Kind { "web" => Web, "bulk" => Bulk, "arrivals" => Arrivals, "proxy" => Proxy }
    Connections { "per-document" => PerDocument, "kept" => Kept }
    Closer { "client" => Client, "client-by-reset" => ClientByReset, "server" => Server }
    ThinkScope { "document" => Document, "file" => File }
    BulkSender { "server" => Server, "client" => Client }
}

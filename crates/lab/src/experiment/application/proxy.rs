//! `kind = "proxy"`: clients, a proxy and servers.

use std::{num::NonZeroU64, time::Duration};

use ackwise_http::workload::Span;
use ackwise_sim::scenario::{
    Application, ApplicationKind, Counted, Divides, IdleMemory, NodeId, Persistence, Proxy,
    Refused, Route, Upward,
};
use ackwise_tcp::{ByteCount, Nanos};
use ackwise_tuning::{
    BeforeLoss, Buffers, DownwardPolicy, E2Atbt, Halving, IdleBuffers, Scheme, Sizing, Spare,
    UpwardPolicy,
};
use ackwise_units::Probability;

use super::{
    super::{
        distribution::{size, span},
        document::Entry,
        error::ExperimentError,
        quantity::Quantity,
        reader::{Field, Reader, words},
        topology::Nodes,
    },
    HOST, hosts, request,
};

/// Reads one application: all clients and servers are its.
pub(super) fn application(
    entry: &Entry,
    field: &Field<'_>,
    nodes: &Nodes,
) -> Result<Application, ExperimentError> {
    let mut reader = field.table("a table")?;
    let _ = reader.optional("kind");
    let all = |reader: &mut Reader<'_>, key| {
        let members = hosts(reader.required(key, HOST)?, nodes)?;
        Ok::<_, ExperimentError>(members.iter().copied().collect::<Vec<NodeId>>())
    };
    let clients = all(&mut reader, "client")?;
    let servers = all(&mut reader, "server")?;
    let proxy = reader.required("proxy", "the name of a host")?;
    let host = hosts(proxy.clone(), nodes)?;
    if host.len() != 1 || clients.contains(&host.of(0)) || servers.contains(&host.of(0)) {
        return Err(proxy.contradiction("expected one host that is neither client nor server"));
    }
    let client = *clients.first().ok_or_else(|| field.wrong(HOST))?;
    let start = reader.or_with("start", Span::ZERO, span)?;
    let proxy = settings(&mut reader, [clients, servers])?;
    reader.finish()?;
    let kind = ApplicationKind::Proxy(Box::new(proxy));
    Ok(Application { name: entry.key.clone(), client, server: host.of(0), start, kind })
}

fn settings(
    reader: &mut Reader<'_>,
    [clients, servers]: [Vec<NodeId>; 2],
) -> Result<Proxy, ExperimentError> {
    let n_max = |field: Field<'_>| {
        let most = i64::MAX.cast_unsigned();
        Ok(NonZeroU64::new(field.integer(1..=most)?).expect("the range begins at 1"))
    };
    Ok(Proxy {
        clients,
        servers,
        route: reader.or("route", Route::Proxy)?,
        think: reader.or_with("think", Span::ZERO, span)?,
        size: size(reader.required("size", "a size or a distribution")?)?,
        request: request(reader)?,
        hits_per_million: reader
            .or_with("hits", HALF, |field| field.quantity().map(Probability::as_per_million))?,
        scheme: scheme(reader)?,
        pool: reader.or("buffer_memory", BUFFER_MEMORY)?,
        n_max: reader.or_with("n_max", N_MAX, n_max)?,
        counted: reader.or("counted", Counted::Both)?,
        reserved: reader.or_with("reserved", 0, |field| field.integer(0..=u64::from(u32::MAX)))?,
        refused: reader.or("refused", Refused::Retry)?,
        upward: reader.or("upward", Upward::PerServer)?,
        persistence: persistence(reader)?,
        interval: reader.or_with("interval", INTERVAL, |field| {
            field.quantity_in(&|span: &Duration| !span.is_zero(), "more than 0")
        })?,
        divides: reader.or("divides", Divides::Reuse)?,
        spare: reader.or("spare", Spare::Keep)?,
        idle_memory: reader.or("idle_memory", IdleMemory::Reserved)?,
    })
}

/// The paper's scheme, and what differs from it.
fn scheme(reader: &mut Reader<'_>) -> Result<Scheme, ExperimentError> {
    let number = reader.required("scheme", "1, 2, 3 or 4, as the paper numbers them")?;
    let scheme = SCHEMES[number.integer(1..=SCHEMES.len())? - 1];
    let buffers = match scheme.buffers {
        Buffers::Fixed(size) => {
            let size = reader.or("fixed_buffer", size)?;
            // Read, so that the same file can vary the scheme.
            let _ = e2atbt(reader, E2Atbt::OKAMOTO_2001)?;
            Buffers::Fixed(size)
        }
        Buffers::E2Atbt(rule) => {
            let _ = reader.optional("fixed_buffer");
            Buffers::E2Atbt(e2atbt(reader, rule)?)
        }
    };
    let halving = reader.or_with("halving", Halving::OKAMOTO_2001, halving)?;
    let idle = match scheme.idle {
        IdleBuffers::KeepShare => IdleBuffers::KeepShare,
        IdleBuffers::Halve(_) => IdleBuffers::Halve(halving),
    };
    Ok(Scheme { buffers, idle, ..scheme })
}

fn e2atbt(reader: &mut Reader<'_>, rule: E2Atbt) -> Result<E2Atbt, ExperimentError> {
    let mut rule = rule;
    let eatbt = &mut rule.eatbt;
    eatbt.sizing = reader.or("sizing", eatbt.sizing)?;
    eatbt.before_loss = reader.or("before_loss", eatbt.before_loss)?;
    eatbt.initial = reader.or("initial_buffer", eatbt.initial)?;
    rule.downward = reader.or("send_buffers", rule.downward)?;
    rule.upward = reader.or("receive_buffers", rule.upward)?;
    Ok(rule)
}

fn halving(field: Field<'_>) -> Result<Halving, ExperimentError> {
    let mut reader = field.table("{ period, least }")?;
    let period: Duration = reader.required("period", Duration::EXPECTED)?.quantity()?;
    let least = reader.or("least", Halving::OKAMOTO_2001.least)?;
    reader.finish()?;
    Halving::new(Nanos::of(period), least).ok_or_else(|| field.wrong("a period of more than 0"))
}

fn persistence(reader: &mut Reader<'_>) -> Result<Persistence, ExperimentError> {
    let timeouts = reader.or_with("timeouts", TIMEOUTS, timeouts)?;
    let [client, server] = timeouts;
    let persistent = reader.or("persistent", true)?;
    Ok(if persistent { Persistence::Timeouts { client, server } } else { Persistence::Off })
}

fn timeouts(field: Field<'_>) -> Result<[Duration; 2], ExperimentError> {
    let mut reader = field.table("{ client, server }")?;
    let [client, server] = TIMEOUTS;
    let client = reader.or("client", client)?;
    let server = reader.or("server", server)?;
    reader.finish()?;
    Ok([client, server])
}

const SCHEMES: [Scheme; 4] =
    [Scheme::OKAMOTO_1, Scheme::OKAMOTO_2, Scheme::OKAMOTO_3, Scheme::OKAMOTO_4];

/// Okamoto et al. 2001, section 4.
const HALF: u32 = 500_000;
const BUFFER_MEMORY: ByteCount = ByteCount(3_200 * 1_024);
const N_MAX: NonZeroU64 = NonZeroU64::new(200).expect("not 0");

/// The paper gives no timeouts. To clients: Apache 1.3's KeepAliveTimeout. To servers: our choice, as
/// Squid's was 60 or 120 s.
const TIMEOUTS: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(60)];

/// As [`Scheme::INTERVAL`].
const INTERVAL: Duration = Duration::from_secs(1);

words! {
    Route { "proxy" => Proxy, "direct" => Direct }
    Counted { "both" => Both, "downward" => Downward }
    Refused { "retry" => Retry, "reject" => Reject, "queue" => Queue }
    Upward { "per-server" => PerServer, "per-client" => PerClient }
    Divides { "interval" => Interval, "reuse" => Reuse }
    Spare { "keep" => Keep, "proportional" => Proportional, "equal" => Equal }
    IdleMemory { "reserved" => Reserved, "free" => Free }
    Sizing { "mean" => Mean, "peak" => Peak }
    BeforeLoss { "at-least-initial" => AtLeastInitial, "estimate" => Estimate }
    DownwardPolicy { "utilisation" => Utilisation, "relation" => RelationKnown }
    UpwardPolicy { "utilisation" => Utilisation, "complete-information" => CompleteInformation }
}

//! Figures 2 and 4: the packets of one stall each, beside the printed ones.

use ackwise_sim::observe::Side;
use ackwise_tcp::Instant;

use crate::{
    ReproduceError,
    file::{File, experiment_file},
    inputs::inputs,
    packets::{Packet, Packets},
    published::Published,
    runner,
    table::{Case, CaseValue, ComparisonTable, Limit, Row},
};
use ackwise_lab::experiment::Experiment;

/// Both figures.
pub(super) struct Figures {
    /// How many packets are Figure 2's if the server begins with one segment, and with three.
    pub(super) same_with_windows_of_1_and_3: [usize; 2],
    pub(super) figure_2: Figure,
    pub(super) figure_4: Figure,
}

/// One figure.
pub(super) struct Figure {
    pub(super) table: ComparisonTable,
    /// Packets whose sender, data, acknowledgement and flags are those of the packet in the same
    /// place.
    pub(super) same: usize,
    /// The same with the fix, in which the figure's stall should not be.
    pub(super) same_when_fixed: usize,
    /// Printed packets.
    pub(super) printed: usize,
    /// What the packets are: bytes of data that each carries, and when it was sent, in milliseconds.
    pub(super) packets: Vec<(u32, f64)>,
    /// From the last packet before the stall to the first after it, printed and ours, in
    /// milliseconds.
    pub(super) stall_ms: [f64; 2],
    /// The longest time between two of the sender's printed data segments, in milliseconds.
    pub(super) printed_gap_ms: f64,
}

pub(super) fn run() -> Result<Figures, ReproduceError> {
    let first_fix = "application.web.behaviour.head_flush=joined";
    let figure_2 = figure("heidemann1997_figure_2", FIGURE_2, first_fix, |_| true)?;
    // "Connection setup and first P-HTTP request omitted": it begins with the second request.
    let second =
        |packet: &Packet| packet.from == Side::Client && packet.first > 1 && packet.segment.len > 0;
    let second_fix = "application.web.behaviour.nagle=off";
    let figure_4 = figure("heidemann1997_figure_4", FIGURE_4, second_fix, second)?;
    let same_with = |window: u32| -> Result<usize, ReproduceError> {
        let experiment = Experiment::parse(FIGURE_2.name, FIGURE_2.text)?;
        let experiment =
            experiment.with_set(&format!("host.server.tcp.initial_window={window}"))?;
        let published = Published::named("heidemann1997_figure_2")?;
        Ok(same(&published, &sent(&experiment, |_| true)?))
    };
    let same_with_windows_of_1_and_3 = [same_with(1)?, same_with(3)?];
    Ok(Figures { same_with_windows_of_1_and_3, figure_2, figure_4 })
}

fn figure(
    id: &str,
    file: File,
    fix: &str,
    begins: impl Fn(&Packet) -> bool,
) -> Result<Figure, ReproduceError> {
    let published = Published::named(id)?;
    let experiment = Experiment::parse(file.name, file.text)?;
    let ours = &sent(&experiment, &begins)?;
    let fixed = &sent(&experiment.with_set(fix)?, &begins)?;
    let mut notes = inputs(file.text);
    notes.extend(NOTES.map(str::to_owned));
    let mut table = ComparisonTable {
        id: id.to_owned(),
        title: published.title.to_owned(),
        notes,
        rows: Vec::new(),
    };
    let shift = Shift::between(&published, ours);
    let (mut gaps, mut packets) = (vec![], vec![]);
    for (number, packet) in (0..published.rows.len()).zip(ours) {
        let packet = shift.apply(packet);
        let at = packet.at.map_or(0.0, |at| seconds(at) + shift.time);
        packets.push((packet.segment.len, at * 1e3));
        gaps.push((
            published.number(number, "time_s"),
            packet.at.map(|at| seconds(at) + shift.time),
        ));
        table.rows.extend(rows(&published, number, &packet, shift.time));
    }
    Ok(Figure {
        table,
        same: same(&published, ours),
        same_when_fixed: same(&published, fixed),
        printed: published.rows.len(),
        packets,
        stall_ms: longest_gap(&gaps),
        printed_gap_ms: printed_gap_ms(&published),
    })
}

/// The packets of the experiment's first case from where the figure begins.
fn sent(
    experiment: &Experiment,
    begins: impl Fn(&Packet) -> bool,
) -> Result<Vec<Packet>, ReproduceError> {
    let outcomes = runner::run_cases(experiment, &[], |_| Packets::default())?;
    let mut sent = outcomes.into_iter().next().map(|first| first.seen.sent).unwrap_or_default();
    let skipped = sent.iter().position(begins).unwrap_or(sent.len());
    Ok(sent.split_off(skipped))
}

/// How many packets are the printed ones, place by place.
fn same(published: &Published, ours: &[Packet]) -> usize {
    let shift = Shift::between(published, ours);
    let pairs = (0..published.rows.len()).zip(ours);
    pairs.filter(|(number, packet)| is_same(published, *number, &shift.apply(packet))).count()
}

/// What makes the first packets coincide.
#[derive(Clone, Copy, Debug)]
struct Shift {
    /// Added to our times, in seconds.
    time: f64,
    /// Taken from our client's places in its stream.
    client: u64,
}

impl Shift {
    fn between(published: &Published, ours: &[Packet]) -> Self {
        let Some(first) = ours.first() else { return Self { time: 0.0, client: 0 } };
        let printed: Option<u64> =
            published.cell(0, "seq_first").and_then(|cell| cell.parse().ok());
        let client = match printed {
            Some(printed) if !first.segment.flags.syn => first.first.saturating_sub(printed),
            _ => 0,
        };
        let at = first.at.map_or(0.0, seconds);
        Self { time: published.number(0, "time_s").unwrap_or_default() - at, client }
    }

    fn apply(self, packet: &Packet) -> Packet {
        let mut packet = *packet;
        match packet.from {
            Side::Client => packet.first -= self.client.min(packet.first),
            Side::Server => {
                packet.acknowledges = packet.acknowledges.map(|ack| ack - self.client.min(ack));
            }
        }
        packet
    }
}

#[expect(clippy::cast_precision_loss, reason = "runs last seconds")]
fn seconds(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// The longest printed time between two packets in a row, and ours in the same place.
fn longest_gap(times: &[(Option<f64>, Option<f64>)]) -> [f64; 2] {
    let gaps = times.windows(2).map(|pair| {
        let [printed, ours] = [pair[1].0.zip(pair[0].0), pair[1].1.zip(pair[0].1)];
        [printed, ours].map(|gap| gap.map_or(0.0, |(later, earlier)| (later - earlier) * 1e3))
    });
    gaps.max_by(|a, b| a[0].total_cmp(&b[0])).unwrap_or_default()
}

/// The longest time between two of the server's data segments as printed, in milliseconds.
fn printed_gap_ms(published: &Published) -> f64 {
    let has_data = |number: &usize| {
        published.cell(*number, "src") == Some("server")
            && published.number(*number, "len_bytes").unwrap_or_default() > 0.0
    };
    let numbers = (0..published.rows.len()).filter(has_data);
    let times: Vec<_> = numbers.filter_map(|number| published.number(number, "time_s")).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]) * 1e3).fold(0.0, f64::max)
}

fn is_same(published: &Published, number: usize, packet: &Packet) -> bool {
    let is = |column, ours: u64| {
        published.number(number, column).is_none_or(|printed| printed == as_number(ours))
    };
    let flags = published.cell(number, "flags").unwrap_or_default();
    // SYNs print absolute numbers, which are random.
    let numbers = flags == "S"
        || is("seq_first", packet.first)
            && is("seq_next", packet.first + u64::from(packet.segment.len))
            && packet.acknowledges.is_none_or(|ack| is("ack", ack));
    published.cell(number, "src") == Some(name(packet.from))
        && flags == flags_of(packet)
        && published.number(number, "len_bytes").unwrap_or(0.0) == f64::from(packet.segment.len)
        && numbers
}

fn rows(published: &Published, number: usize, packet: &Packet, shift: f64) -> Vec<Row> {
    let mut case = vec![("packet".to_owned(), CaseValue::from(as_number(number as u64 + 1)))];
    case.extend(published.case(number, &["src", "dst", "flags"]));
    let next = packet.first + u64::from(packet.segment.len);
    let time = packet.at.map(|at| seconds(at) + shift);
    // SYNs print absolute numbers, which are random.
    let relative = |value: Option<f64>| value.filter(|_| !packet.segment.flags.syn);
    let values = [
        ("time_s", time, Some(Limit::Amount(ONE_TICK))),
        ("seq_first", relative(Some(as_number(packet.first))), None),
        ("seq_next", relative(Some(as_number(next))), None),
        ("len_bytes", Some(f64::from(packet.segment.len)), None),
        ("ack", relative(packet.acknowledges.map(as_number)), None),
        ("win_bytes", Some(f64::from(packet.segment.window)), None),
    ];
    let printed = |name: &str| published.cell(number, name).is_some_and(|cell| !cell.is_empty());
    let row = |(name, ours, limit): (&str, Option<f64>, Option<Limit>)| Row {
        case: Case(case.clone()),
        measure: name.to_owned(),
        published: published.number(number, name).filter(|_| ours.is_some()),
        ours,
        model: None,
        limit,
    };
    values.into_iter().filter(|(name, ..)| printed(name)).map(row).collect()
}

const fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

fn flags_of(packet: &Packet) -> &'static str {
    match packet.segment.flags {
        flags if flags.syn => "S",
        flags if flags.psh => "P",
        _ => ".",
    }
}

#[expect(clippy::cast_precision_loss, reason = "streams are short")]
fn as_number(value: u64) -> f64 {
    value as f64
}

/// Seconds.
const ONE_TICK: f64 = 0.2;

const NOTES: [&str; 2] = [
    "Times are those of the ends of packets, as a monitor on the wire sees them, moved so that \
     the first packets coincide; packets are in the order in which TCP sent them. An Ethernet of \
     1996 was half-duplex, so an ACK waited for data on the wire; our links are full-duplex.",
    "Sequence numbers of SYNs are random and omitted. Figure 4's first request, which it omits, \
     had 52 bytes and its second 58; our requests are all equal, so our client's sequence numbers \
     are reduced by 6 there.",
];

pub(super) const FIGURE_2: File = experiment_file!("heidemann_figure_2.toml");
pub(super) const FIGURE_4: File = experiment_file!("heidemann_figure_4.toml");

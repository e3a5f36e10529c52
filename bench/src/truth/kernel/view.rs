//! One direction of one connection: what its sender and its receiver knew at each moment.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::time::Duration;

use ackwise_cause::{Cause, Direction};

use super::journeys::{Hop, Journey, LinkWay};
use super::line::Diary;
use super::plan::{Congestion, Plan, Stamps};
use super::steps::Steps;
use crate::witness::clock::Nanos;
use crate::witness::trace::{Event, State, What};

/// What is known of the data from `sender` to `receiver`. Offsets count the bytes of the stream.
#[derive(Debug)]
pub(super) struct View {
    pub(super) diary: Diary,
    pub(super) congestion: Congestion,
    /// As the plan has it.
    pub(super) each_hold_counts: bool,
    /// What it is called if the receiver's program does not read.
    pub(super) receiver_is_busy: Cause,
    /// The longest segment's data.
    pub(super) mss: u64,
    /// Each copy of a segment, as sent.
    pub(super) copies: Vec<Copy>,
    /// Copies by the first byte.
    by_start: BTreeMap<u64, Vec<usize>>,
    /// First copies: when sent, and up to which byte.
    firsts: Vec<(Nanos, u64)>,
    pub(super) written: Steps<u64>,
    /// SND.NXT
    pub(super) sent: Steps<u64>,
    /// In order at the receiver.
    pub(super) arrived: Steps<u64>,
    /// What the receiver has acknowledged, when it sent the ACK.
    pub(super) ack_sent: Steps<u64>,
    /// SND.UNA
    pub(super) acked: Steps<u64>,
    /// ACKs that were lost: when sent, and of what.
    lost_acks: Vec<(Nanos, u64)>,
    /// When packets of the receiver arrived.
    heard: Vec<Nanos>,
    /// SND.UNA + SND.WND
    pub(super) edge: Steps<u64>,
    pub(super) window: Steps<Window>,
    pub(super) state: Steps<State>,
    /// Copies on the way, those that will be dropped included.
    pub(super) in_transit: Steps<i32>,
    /// Copies that a link is busy with, or that wait for it.
    pub(super) on_link: Steps<i32>,
    /// Those that wait while the link is busy with another connection's packet.
    pub(super) behind_others: Steps<i32>,
    /// The same of what the receiver sends, where each hold counts.
    pub(super) acks_behind_others: Steps<i32>,
    /// Times in which the program waits for leave to send more.
    pub(super) awaited: Steps<i32>,
    /// Data that is late although no link is busy with it: the path holds it, for two round trips or
    /// longer.
    pub(super) path_holds_data: Steps<i32>,
    /// The same of what the receiver sends.
    pub(super) path_holds_acks: Steps<i32>,
    /// Data that the path delays, for however short.
    pub(super) path_delays_data: Steps<i32>,
    pub(super) path_delays_acks: Steps<i32>,
    /// Times in which the receiver's program does not read.
    pub(super) away: Steps<i32>,
    /// Times in which all that was sent has arrived, and the receiver withholds its ACK.
    delayed_acks: Steps<i32>,
    pub(super) blocked: Steps<i32>,
    pub(super) flow_controlled: Steps<i32>,
    pub(super) corked: Steps<bool>,
}

/// One transmission of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) sent: Nanos,
    /// When it arrived or was dropped; it is still on its way if neither is known.
    pub(super) gone: Nanos,
    pub(super) arrived: bool,
    /// Whether its first byte had been sent before.
    pub(super) again: bool,
}

/// The congestion window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Window {
    pub(super) segments: u32,
    pub(super) threshold: u32,
    /// It was cut after an idle time, and is not yet as large as before.
    pub(super) cut_by_idle: bool,
}

/// What all views of a run are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'a> {
    pub(super) journeys: &'a [Journey],
    pub(super) events: &'a [Event],
    pub(super) plan: &'a Plan,
}

impl View {
    /// `None` if the connection was not set up.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    pub(super) fn of(
        records: Records<'_>,
        sender: SocketAddrV4,
        receiver: SocketAddrV4,
        [diary, receiver_diary]: [&Diary; 2],
        direction: Direction,
    ) -> Option<Self> {
        // A program that does not read is at work (RFC 9293 knows only the window that it leaves).
        let receiver_is_busy = match direction {
            Direction::ToServer => Cause::ServerThink,
            Direction::ToClient => Cause::ReceiveWindow,
        };
        let forth: Vec<&Journey> = of_flow(records.journeys, sender, receiver).collect();
        let back: Vec<&Journey> = of_flow(records.journeys, receiver, sender).collect();
        let (our_syn, their_syn) =
            (forth.iter().find(|it| it.syn)?, back.iter().find(|it| it.syn)?);
        let first = our_syn.seq.wrapping_add(1);
        let offset = |seq: u32| u64::from(seq.wrapping_sub(first));
        let copies = copies(&forth, offset);
        let mut by_start: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, copy) in copies.iter().enumerate() {
            by_start.entry(copy.start).or_default().push(index);
        }
        let acks = || back.iter().filter(|it| !it.syn);
        // The FIN counts as a byte that nobody wrote.
        let total = diary.total();
        let ack = |it: &Journey| offset(it.ack).min(total);
        // RFC 7323, section 2.2: the window of a SYN is not scaled.
        let edge = |it: &Journey| match it.syn {
            true => u64::from(it.window),
            false => offset(it.ack) + (u64::from(it.window) << their_syn.scale),
        };
        let sent: Vec<_> = copies.iter().map(|it| (it.sent, it.end)).collect();
        let arrivals = |it: &&&Journey| it.arrived.map(|at| (at, ack(it)));
        let edges = |it: &&Journey| it.arrived.map(|at| (at, edge(it)));
        let firsts = copies.iter().filter(|it| !it.again).map(|it| (it.sent, it.end)).collect();
        let spans = |spans: &[(Nanos, Nanos)]| Steps::count(spans.iter().copied());
        let arrived = arrived_in_order(&copies);
        let ack_sent = Steps::growing(acks().map(|it| (it.sent, ack(it))).collect());
        let in_transit = Steps::count(copies.iter().map(|it| (it.sent, it.gone)));
        let mut heard: Vec<Nanos> = back.iter().filter_map(|it| it.arrived).collect();
        heard.sort_unstable();
        let long = long_hold(records.plan);
        Some(Self {
            delayed_acks: delayed_acks(&arrived, &ack_sent, &in_transit),
            congestion: records.plan.congestion,
            each_hold_counts: records.plan.each_hold_counts,
            receiver_is_busy,
            mss: segment_limit(
                records.plan,
                back.iter().copied().filter(|it| !it.syn),
                their_syn.scale,
            ),
            away: spans(&receiver_diary.away),
            by_start,
            firsts,
            written: Steps::growing(diary.written.clone()),
            sent: Steps::growing(sent),
            arrived,
            ack_sent,
            acked: Steps::growing(acks().filter_map(|it| arrivals(&it)).collect()),
            lost_acks: acks().filter(|it| it.lost.is_some()).map(|it| (it.sent, ack(it))).collect(),
            edge: Steps::growing(back.iter().filter_map(edges).collect()),
            heard,
            window: windows(records.events, sender, &copies),
            state: Steps::new(State::Open, states(records.events, sender)),
            in_transit,
            on_link: Steps::count(data(&forth).flat_map(on_links)),
            behind_others: behind_others(records.journeys, data(&forth)),
            acks_behind_others: match records.plan.each_hold_counts {
                true => behind_others(records.journeys, back.iter().copied()),
                false => Steps::count([]),
            },
            awaited: spans(&diary.awaited),
            path_holds_data: path_holds(records.plan, data(&forth), long),
            path_holds_acks: path_holds(records.plan, back.iter().copied(), long),
            path_delays_data: path_holds(records.plan, data(&forth), 0),
            path_delays_acks: path_holds(records.plan, back.iter().copied(), 0),
            blocked: spans(&diary.blocked),
            flow_controlled: spans(&diary.flow_controlled),
            corked: Steps::new(false, diary.cork.clone()),
            diary: diary.clone(),
            copies,
        })
    }

    /// Segments in flight, as the sender counts them without loss.
    pub(super) fn in_flight(&self, at: Nanos) -> usize {
        let acked = self.acked.at(at);
        let sent = self.firsts.partition_point(|(sent, _)| *sent <= at);
        let gone = self.firsts.partition_point(|(_, end)| *end <= acked);
        sent.saturating_sub(gone)
    }

    /// Whether something arrived that may have released what was sent then.
    pub(super) fn heard_just_before(&self, sent: Nanos) -> bool {
        /// Our choice: more than the kernel needs, and less than between ACKs and timers.
        const AT_MOST: Nanos = 1_000_000;
        let later = self.heard.partition_point(|at| *at <= sent);
        later.checked_sub(1).is_some_and(|last| sent - self.heard[last] <= AT_MOST)
    }

    /// Whether the sender hears nothing of an ACK that is lost, until its timer has it send again what has arrived.
    pub(super) fn timer_ends(&self, at: Nanos) -> bool {
        let next = self.copies.partition_point(|it| it.sent <= at);
        let Some(copy) = self.copies.get(next).filter(|it| it.again) else { return false };
        let heard = self.heard.partition_point(|it| *it <= at);
        let hears_nothing = self.heard.get(heard).is_none_or(|it| *it > copy.sent);
        let acked = self.acked.at(at);
        hears_nothing && self.lost_acks.iter().any(|(sent, ack)| *sent <= at && *ack > acked)
    }

    /// Whether the congestion window is full.
    pub(super) fn is_full(&self, at: Nanos) -> bool {
        let segments = usize::try_from(self.window.at(at).segments).unwrap_or(usize::MAX);
        self.in_flight(at) >= segments
    }

    /// Whether a small segment sent so far is not acknowledged.
    pub(super) fn small_in_flight(&self, at: Nanos) -> bool {
        self.small_is_beyond(self.acked.at(at), at)
    }

    /// Whether the receiver withholds the acknowledgement of such a segment: of one that is on its way, it
    /// does not matter what else the receiver withholds.
    pub(super) fn small_is_withheld(&self, at: Nanos) -> bool {
        self.ack_is_delayed(at) && self.small_is_beyond(self.ack_sent.at(at), at)
    }

    fn small_is_beyond(&self, acked: u64, at: Nanos) -> bool {
        let sent = self.copies.partition_point(|it| it.sent <= at);
        let outstanding = self.copies[..sent].iter().rev().take_while(|it| it.end > acked);
        outstanding.into_iter().any(|it| it.end - it.start < self.mss)
    }

    /// Whether the first segment of a message is small, and not all of it.
    pub(super) fn begins_short(&self, (begin, end): (u64, u64)) -> bool {
        let first = self.copies_of(begin).next();
        first.is_some_and(|it| it.end < end && it.end - it.start < self.mss)
    }

    /// Copies of the segment with this byte.
    pub(super) fn copies_of(&self, byte: u64) -> impl Iterator<Item = Copy> + '_ {
        let from = byte.saturating_sub(self.mss);
        let near = self.by_start.range(from..=byte).flat_map(|(_, indices)| indices);
        near.map(|&index| self.copies[index]).filter(move |it| it.start <= byte && byte < it.end)
    }

    /// Whether all that was sent has arrived, and the receiver withholds its acknowledgement.
    pub(super) fn ack_is_delayed(&self, at: Nanos) -> bool {
        self.delayed_acks.at(at) > 0
    }

    /// All times at which anything changes.
    pub(super) fn times(&self) -> Vec<Nanos> {
        let mut times: Vec<Nanos> = Vec::new();
        for steps in [&self.written, &self.sent, &self.arrived, &self.ack_sent] {
            times.extend(steps.times());
        }
        times.extend(self.acked.times().chain(self.edge.times()));
        for steps in [
            &self.in_transit,
            &self.on_link,
            &self.behind_others,
            &self.acks_behind_others,
            &self.awaited,
            &self.path_holds_data,
            &self.path_holds_acks,
            &self.path_delays_data,
            &self.path_delays_acks,
            &self.away,
            &self.blocked,
            &self.flow_controlled,
        ] {
            times.extend(steps.times());
        }
        times.extend(self.window.times().chain(self.state.times()).chain(self.corked.times()));
        times.extend(self.copies.iter().flat_map(|it| [it.sent, it.gone]));
        times
    }
}

/// The most data that a segment can have: what the MTU leaves with timestamps, and half of the largest
/// window (Linux, `tcp_bound_to_half_wnd`).
fn segment_limit<'a>(plan: &Plan, acks: impl Iterator<Item = &'a Journey>, scale: u8) -> u64 {
    let full = if plan.kernel.stamps == Stamps::Without { 1_460 } else { 1_448 };
    let largest = acks.map(|it| u64::from(it.window) << scale).max();
    largest.map_or(full, |window| full.min(window / 2)).max(1)
}

/// The packets of one direction of a connection.
pub(super) fn of_flow(
    journeys: &[Journey],
    from: SocketAddrV4,
    to: SocketAddrV4,
) -> impl Iterator<Item = &Journey> {
    journeys.iter().filter(move |it| (it.from, it.to) == (from, to))
}

fn data<'a>(journeys: &'a [&'a Journey]) -> impl Iterator<Item = &'a Journey> + Clone {
    journeys.iter().copied().filter(|it| it.len > 0 && !it.syn)
}

fn copies(forth: &[&Journey], offset: impl Fn(u32) -> u64) -> Vec<Copy> {
    let mut most = 0;
    let copy = |it: &Journey| {
        let start = offset(it.seq);
        let (end, again) = (start + u64::from(it.len), start < most);
        most = most.max(end);
        let gone = it.arrived.or(it.lost).unwrap_or(Nanos::MAX);
        Copy { start, end, sent: it.sent, gone, arrived: it.arrived.is_some(), again }
    };
    data(forth).map(copy).collect()
}

fn arrived_in_order(copies: &[Copy]) -> Steps<u64> {
    let mut arrivals: Vec<&Copy> = copies.iter().filter(|it| it.arrived).collect();
    arrivals.sort_by_key(|it| it.gone);
    let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut next, mut changes) = (0, Vec::new());
    for copy in arrivals {
        let end = waiting.entry(copy.start).or_default();
        *end = copy.end.max(*end);
        while let Some((&start, &end)) = waiting.first_key_value()
            && start <= next
        {
            waiting.pop_first();
            next = next.max(end);
        }
        changes.push((copy.gone, next));
    }
    Steps::growing(changes)
}

/// What an ACK takes that is not delayed is shorter.
fn delayed_acks(
    arrived: &Steps<u64>,
    ack_sent: &Steps<u64>,
    in_transit: &Steps<i32>,
) -> Steps<i32> {
    /// Our choice: a twentieth of Linux's shortest delay, and more than a program takes to wake up.
    const DELAYED: Nanos = 2_000_000;
    let mut times: Vec<Nanos> =
        arrived.times().chain(ack_sent.times()).chain(in_transit.times()).collect();
    times.sort_unstable();
    times.dedup();
    let withheld = |at: Nanos| in_transit.at(at) == 0 && arrived.at(at) > ack_sent.at(at);
    let spans = times.windows(2).map(|pair| (pair[0], pair[1]));
    Steps::count(spans.filter(|(from, until)| until - from >= DELAYED && withheld(*from)))
}

fn on_links(journey: &Journey) -> impl Iterator<Item = (Nanos, Nanos)> + '_ {
    journey.hops.iter().map(|hop| (hop.offered, hop.ends))
}

fn behind_others<'a>(
    all: &[Journey],
    ours: impl Iterator<Item = &'a Journey> + Clone,
) -> Steps<i32> {
    let Some(flow) = ours.clone().next().map(|it| (it.from, it.to)) else {
        return Steps::count([]);
    };
    let mut others: BTreeMap<LinkWay, Vec<(Nanos, Nanos)>> = BTreeMap::new();
    for journey in all.iter().filter(|it| (it.from, it.to) != flow) {
        for hop in &journey.hops {
            others.entry(hop.place).or_default().push((hop.begins, hop.ends));
        }
    }
    others.values_mut().for_each(|spans| spans.sort_unstable());
    let mut waits = Vec::new();
    for hop in ours.flat_map(|it| &it.hops) {
        let Some(busy) = others.get(&hop.place) else { continue };
        let first = busy.partition_point(|(_, ends)| *ends <= hop.offered);
        let during = busy[first..].iter().take_while(|(begins, _)| *begins < hop.begins);
        waits
            .extend(during.map(|(from, until)| (*from.max(&hop.offered), *until.min(&hop.begins))));
    }
    Steps::count(waits)
}

/// Times of `least` or more in which packets are late.
fn path_holds<'a>(
    plan: &Plan,
    journeys: impl Iterator<Item = &'a Journey>,
    least: Nanos,
) -> Steps<i32> {
    let late = |hop: &Hop| {
        let due = hop.ends + nanos(plan.delay(hop.place));
        let released = hop.delivered?.saturating_sub(hop.lateness);
        (released > due + SHORTEST).then_some((due, released))
    };
    let mut spans: Vec<_> = journeys.flat_map(|it| &it.hops).filter_map(late).collect();
    spans.sort_unstable();
    let mut joined: Vec<(Nanos, Nanos)> = Vec::new();
    for (from, until) in spans {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(until),
            _ => joined.push((from, until)),
        }
    }
    joined.retain(|(from, until)| until - from >= least);
    Steps::count(joined)
}

/// Two round trips: shorter holds are jitter.
fn long_hold(plan: &Plan) -> Nanos {
    nanos(2 * plan.round_trip()).max(5 * SHORTEST)
}

fn nanos(span: Duration) -> Nanos {
    Nanos::try_from(span.as_nanos()).unwrap_or(Nanos::MAX)
}

/// No hold is shorter (our choice).
const SHORTEST: Nanos = 2_000_000;

fn states(events: &[Event], sender: SocketAddrV4) -> Vec<(Nanos, State)> {
    let state = |event: &Event| match event.what {
        What::State(state) if event.local == sender => Some((event.at, state)),
        _ => None,
    };
    events.iter().filter_map(state).collect()
}

/// A probe tells the window as it was since the probe before it.
fn windows(events: &[Event], sender: SocketAddrV4, copies: &[Copy]) -> Steps<Window> {
    let probe = |event: &Event| match event.what {
        What::Probe { snd_cwnd, ssthresh } if event.local == sender => {
            Some((event.at, snd_cwnd, ssthresh))
        }
        _ => None,
    };
    let probes: Vec<_> = events.iter().filter_map(probe).collect();
    let states = Steps::new(State::Open, states(events, sender));
    let first = probes.first().map_or((0, 0), |it| (it.1, it.2));
    let before = Window { segments: first.0, threshold: first.1, cut_by_idle: false };
    let (mut changes, mut former) = (Vec::new(), None);
    for (this, next) in probes.iter().zip(probes.iter().skip(1)) {
        let idle = is_after_idle(copies, this.0, next.0);
        if next.1 < this.1 && idle && states.at(next.0) == State::Open {
            former = Some(former.unwrap_or(this.1));
        }
        former = former.filter(|former| next.1 < *former && states.at(next.0) == State::Open);
        let cut_by_idle = former.is_some();
        changes.push((this.0, Window { segments: next.1, threshold: next.2, cut_by_idle }));
    }
    Steps::new(before, changes)
}

/// Whether something was sent between these times that was the first for a while.
fn is_after_idle(copies: &[Copy], from: Nanos, until: Nanos) -> bool {
    /// The shortest retransmission timeout of Linux, after which it cuts the window.
    const IDLE: Nanos = 200_000_000;
    let first = copies.partition_point(|it| it.sent < from);
    let after = copies.get(first).filter(|it| it.sent <= until);
    let before = first.checked_sub(1).map(|index| copies[index]);
    after.zip(before).is_some_and(|(after, before)| after.sent - before.sent >= IDLE)
}

//! A connection of which only the first segments were seen: they are put off.
//!
//! Many connections are so at the same time, and in a busy server's capture most are over when they are
//! judged at last. So a newcomer takes little memory, which is used again for the next one.

use std::net::{IpAddr, SocketAddr};

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment, SeqNumber};

use super::{
    again_elsewhere::AgainElsewhere,
    endpoint_pair::EndpointPair,
    ends::{Ends, Survey},
    packet::{Packet, begins},
    teardown::Teardown,
    warm_up::WarmUp,
};
use crate::{attribution::Paces, closing::Closing, hop_limits::HopLimits, results::Here};

/// A connection that is not judged yet.
#[derive(Debug)]
pub(crate) struct Newcomer {
    pub(super) id: u32,
    pub(super) client: SocketAddr,
    pub(super) server: SocketAddr,
    /// It is the lesser of both ends.
    pub(super) client_is_first: bool,
    pub(super) warm_up: WarmUp,
    /// What its first segments have shown, once they have; what earlier connections have shown is missing
    /// then.
    pub(super) survey: Option<Survey>,
    /// What is known of its path since it was told what earlier connections have shown.
    pub(super) told: Option<Paces>,
    pub(super) teardown: Teardown,
    /// The client's initial sequence number, if its SYN was seen.
    pub(super) initial: Option<SeqNumber>,
    pub(super) closing: Closing,
    pub(super) first_seen: Instant,
    /// The end that is the capturing host.
    pub(super) here: Option<Here>,
    pub(super) again_elsewhere: AgainElsewhere,
    /// Of the client's packets, and of the server's.
    pub(super) hop_limits: [HopLimits; 2],
    /// The segment of the capture that it was seen in last.
    pub(super) touched: u64,
    /// What it costs, as its shard counts it.
    pub(super) charged: usize,
    /// It was seen to be used when memory was short.
    pub(super) spared: bool,
}

impl Default for Newcomer {
    fn default() -> Self {
        let nobody = SocketAddr::from(([0; 4], 0));
        Self {
            id: 0,
            client: nobody,
            server: nobody,
            client_is_first: true,
            warm_up: WarmUp::default(),
            survey: None,
            told: None,
            teardown: Teardown::default(),
            initial: None,
            closing: Closing::default(),
            first_seen: Instant::EPOCH,
            here: None,
            again_elsewhere: AgainElsewhere::default(),
            hop_limits: Default::default(),
            touched: 0,
            charged: 0,
            spared: false,
        }
    }
}

impl Newcomer {
    /// Its first segments were judged: of the memory for them, a usual connection's is kept.
    pub(crate) fn forget(&mut self) {
        self.warm_up.clear();
    }

    /// Becomes another one, which began at `now`, after it was [forgotten](Self::forget).
    pub(crate) fn renew(&mut self, id: u32, client: SocketAddr, server: SocketAddr, now: Instant) {
        let warm_up = std::mem::take(&mut self.warm_up);
        let client_is_first = EndpointPair::is_first(client, server);
        *self = Self {
            id,
            client,
            server,
            client_is_first,
            first_seen: now,
            warm_up,
            ..Self::default()
        };
    }

    /// Which way a segment from `source` goes.
    pub(crate) fn direction(&self, source: SocketAddr) -> Direction {
        if source == self.client { Direction::ToServer } else { Direction::ToClient }
    }

    /// The same if the lesser or the greater of both ends has sent it.
    pub(crate) const fn direction_in_order(&self, in_order: bool) -> Direction {
        if in_order == self.client_is_first { Direction::ToServer } else { Direction::ToClient }
    }

    /// Whether this SYN begins another connection between the same ports: a client that sends another
    /// initial sequence number has forgotten the old connection, whatever ended it.
    pub(crate) fn is_reused_by(&self, segment: &Segment) -> bool {
        begins(segment) && self.initial.is_some_and(|initial| initial != segment.seq)
    }

    /// Takes a segment that was captured. It is surveyed if that was the last that is put off, by `trial`, which is
    /// as new.
    pub(crate) fn handle(&mut self, packet: &Packet<'_>, direction: Direction, trial: &mut Ends) {
        self.again_elsewhere.note(packet);
        let flags = packet.segment.flags;
        HopLimits::note(&mut self.hop_limits, direction, flags, packet.hop_limit);
        self.closing.handle_segment(packet.segment, direction);
        self.teardown.note(packet.segment, direction);
        if begins(packet.segment) {
            self.initial = Some(packet.segment.seq);
        }
        if self.warm_up.add(packet, direction) {
            self.survey(trial);
        }
    }

    /// The path is known as well as the first segments can show it.
    pub(crate) fn survey(&mut self, trial: &mut Ends) {
        if self.survey.is_none() {
            self.survey = Some(trial.survey(&self.warm_up));
        }
    }

    /// Which hosts' earlier connections it has to learn from, and what it has to teach, before it can
    /// go on; `None` as long as its first segments are put off.
    pub(crate) const fn awaits_paces(&self) -> Option<([IpAddr; 2], &Paces)> {
        match (&self.survey, &self.told) {
            (Some(survey), None) => Some(([self.client.ip(), self.server.ip()], &survey.paces)),
            _ => None,
        }
    }

    /// Learns what is known of its path. Whether it can still wait to be judged: many connections say little more, and
    /// are never over.
    pub(crate) fn learn(&mut self, known: Paces) -> bool {
        self.told = Some(known);
        self.warm_up.has_room(0) && !self.may_be_over()
    }

    /// Whether a segment can be put off, too: once the path is known, as long as the connection takes little memory. A
    /// SYN may begin another one.
    pub(crate) const fn puts_off(&self, segment: &Segment, payload: &[u8]) -> bool {
        self.told.is_none() || !segment.flags.syn && self.warm_up.has_room(payload.len())
    }

    /// Whether it has to be judged because it may be over.
    #[inline]
    pub(crate) fn may_be_over(&self) -> bool {
        self.told.is_some() && self.teardown.may_be_over()
    }

    /// Whether both ends have sent something.
    pub(crate) fn is_mutual(&self) -> bool {
        self.warm_up.is_mutual()
    }

    /// Bytes that it takes in memory, about.
    pub(crate) fn cost(&self) -> usize {
        size_of::<Self>() + self.warm_up.held()
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::Flags;

    use super::*;

    const SYN: Segment = Segment {
        seq: SeqNumber(7),
        ack: None,
        flags: Flags::SYN,
        window: 0,
        options: ackwise_tcp::Options::NONE,
        time_wait_holder: None,
        len: 0,
    };

    /// Takes a SYN, and `count` segments behind it.
    fn newcomer(told: bool, count: usize) -> Newcomer {
        let mut newcomer = Newcomer::default();
        let data = Segment { seq: SeqNumber(8), flags: Flags::NONE, ..SYN };
        for segment in [SYN].iter().chain(std::iter::repeat_n(&data, count)) {
            let packet = Packet {
                number: 1,
                at: Instant::EPOCH,
                interface: 0,
                identification: 0,
                hop_limit: 64,
                segment,
                payload: &[],
            };
            newcomer.handle(&packet, Direction::ToServer, &mut Ends::default());
        }
        newcomer.told = told.then(Paces::default);
        newcomer
    }

    #[test]
    fn another_first_number_begins_another_connection() {
        let other = Segment { seq: SeqNumber(8), ..SYN };
        for (why, segment, reused) in [
            ("the same again", SYN, false),
            ("another", other, true),
            ("an answer", Segment { ack: Some(SeqNumber(1)), ..other }, false),
            ("no SYN", Segment { flags: Flags::NONE, ..other }, false),
        ] {
            assert_eq!(newcomer(false, 0).is_reused_by(&segment), reused, "{why}");
        }
        assert!(!Newcomer::default().is_reused_by(&other), "none was seen");
    }

    #[test]
    fn a_segment_is_put_off_until_the_path_is_known_and_while_it_takes_little_memory() {
        let data = Segment { flags: Flags::NONE, ..SYN };
        for (told, count, segment, bytes, puts_off) in [
            (false, 20, SYN, 9_000, true),
            (true, 0, SYN, 0, false),
            (true, 0, data, 1_024, true),
            (true, 0, data, 1_025, false),
            (true, 10, data, 0, true),
            (true, 11, data, 0, false),
        ] {
            let found = newcomer(told, count).puts_off(&segment, &vec![0; bytes]);
            assert_eq!(found, puts_off, "{told} {count} {bytes}");
        }
        for (count, waits) in [(10, true), (11, false)] {
            assert_eq!(newcomer(false, count).learn(Paces::default()), waits, "{count}");
        }
    }

    #[test]
    fn it_may_be_over_once_the_path_is_known() {
        for (told, reset, over) in [(true, true, true), (false, true, false), (true, false, false)]
        {
            let mut newcomer = newcomer(told, 0);
            if reset {
                let rst = Segment { flags: Flags::RST, ..SYN };
                newcomer.teardown.note(&rst, Direction::ToServer);
            }
            assert_eq!(newcomer.may_be_over(), over, "{told} {reset}");
            assert_eq!(newcomer.learn(Paces::default()), !reset);
        }
    }
}

//! What comes before the first exchange: TCP's handshake, and that of TLS.

use ackwise_cause::{Cause, Direction, Phase};
use ackwise_tcp::{Instant, Wait};

use crate::{
    attribution::{
        Account, Confidence, Distances, Evidence, Nanos, Rule, Stall, Verdict, gap::Gap,
        later::Resolution, sender::Departure,
    },
    conversation::TlsFlight,
    flow::packet::Packet,
};

/// The set-up of a connection, as far as it was seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    account: Option<Account>,
    syn: SeenSyn,
    reply: SeenSyn,
    /// From the first SYN to the answer to it.
    first_round_trip: Option<Nanos>,
    /// From the last SYN to the answer to it, and to no earlier one.
    last_round_trip: Option<Nanos>,
    /// Between the last two SYNs.
    between_syns: Nanos,
    established: bool,
    in_tls: bool,
    /// TLS's handshake is done.
    shaken: bool,
    /// A gap of TLS's handshake that ends with data that was sent again: the next packets show why.
    again: Option<(Gap, Direction)>,
    /// Accounts remember which time went where, in at most so many stretches.
    pub(crate) stretches: Option<usize>,
}

/// A SYN: when it was last seen, in which packet, how often.
#[derive(Clone, Copy, Debug, Default)]
struct SeenSyn {
    seen: Instant,
    packet: u64,
    times: u32,
    stamp: Option<u32>,
}

impl Setup {
    /// A SYN was seen, or the one in answer to it, which goes in `direction`.
    pub(crate) fn handle_syn(
        &mut self,
        direction: Direction,
        seen: &Packet<'_>,
        distances: &Distances,
    ) {
        let (at, packet) = (seen.at, seen.number);
        let timestamps = seen.segment.options.timestamps;
        let syn = match direction {
            Direction::ToServer => &mut self.syn,
            Direction::ToClient => &mut self.reply,
        };
        let before = *syn;
        let (times, stamp) = (syn.times.saturating_add(1), timestamps.map(|it| it.value));
        *syn = SeenSyn { seen: at, packet, times, stamp };
        let again = times > 1 && !self.answers(direction, at, before.packet);
        if direction == Direction::ToServer {
            self.between_syns = Nanos::between(before.seen, at);
        } else if self.reply.times == 1 {
            self.handle_answer(at, timestamps.map(|it| it.echo));
        }
        if self.account.is_none() {
            self.account = Some(self.new_account(at));
        }
        let packets = [before.packet, packet, 0];
        let verdict = again.then(|| self.syn_again(direction, packets, distances));
        if let Some((account, verdict)) = self.account.as_mut().zip(verdict) {
            account.add(at, verdict);
        }
    }

    /// The first answer to a SYN: to the last one if it echoes the timestamp of that (RFC 7323, section 4.3), or comes
    /// so soon after it that the time would be a coincidence.
    fn handle_answer(&mut self, at: Instant, echo: Option<u32>) {
        /// One in as many. Our choice.
        const COINCIDENCE: u64 = 100;
        let took = Nanos::between(self.syn.seen, at);
        if self.syn.times == 1 {
            self.first_round_trip = Some(took);
        }
        let is_soon = took * COINCIDENCE < self.between_syns;
        let echoes = self.syn.stamp.zip(echo).map(|(sent, echo)| sent == echo);
        if self.syn.times == 1 || echoes.unwrap_or(is_soon) {
            self.last_round_trip = Some(took);
        }
    }

    /// Why a SYN was sent again. What the server's own capture has was not lost before it.
    fn syn_again(
        &self,
        direction: Direction,
        packets: [u64; Evidence::MAX],
        distances: &Distances,
    ) -> Verdict {
        let (lost, refused) = (Cause::RetransmissionTimeout, Cause::AcceptQueueFull);
        let evidence = Evidence::of(packets);
        let of = |rule, cause| verdict(rule, cause, direction, evidence);
        if direction == Direction::ToClient || self.reply.packet > 0 {
            return of(Rule::TimerRepair, lost);
        }
        match distances.path_delays(direction).is_next_to_receiver() {
            true => of(Rule::Refused, refused).doubted(Rule::MayBeRefused, lost),
            false => of(Rule::TimerRepair, lost).doubted(Rule::MayBeRefused, refused),
        }
    }

    /// Whether a SYN, sent after the one in packet `before`, is the answer to the client's, which was sent again
    /// meanwhile: no timer of the server sent it then, unless it came too late.
    fn answers(&self, direction: Direction, seen: Instant, before: u64) -> bool {
        let usual = self.first_round_trip.unwrap_or_default();
        let is_soon = Nanos::between(self.syn.seen, seen) <= usual + Stall::least(usual);
        direction == Direction::ToClient && self.syn.packet > before && is_soon
    }

    /// The client's first segment after that, which opens the connection, unless data before it is missing
    /// (`is_first`). If it has data, the client may have waited for that, but not where it came at once.
    pub(crate) fn handle_opening(
        &mut self,
        seen: Instant,
        packet: u64,
        is_first: bool,
        has_data: bool,
        distances: &mut Distances,
    ) {
        if self.established || self.syn.packet.max(self.reply.packet) == 0 {
            return;
        }
        self.established = true;
        // The client has the answer, and the capture does not; or the client had it earlier.
        let is_whole = is_first && self.reply.packet > 0;
        if is_whole && self.reply.times == 1 {
            let to_client = Nanos::between(self.reply.seen, seen);
            distances.sample(Direction::ToClient, to_client);
            distances.compare(Direction::ToClient, to_client);
            if let Some(to_server) = self.last_round_trip {
                distances.sample(Direction::ToServer, to_server);
                distances.compare(Direction::ToServer, to_server);
            }
        }
        if let Some(account) = &mut self.account {
            let evidence = Evidence::of([self.syn.packet, self.reply.packet, packet]);
            // The client had the answer when it sent this.
            let sent = seen - distances.path_delays(Direction::ToClient).receiver;
            let verdict = verdict(Rule::SetUp, Cause::Handshake, Direction::ToServer, evidence);
            let usual = distances.whole();
            let took = Nanos::between(self.syn.seen.max(account.cursor()), seen);
            // The path may have held the SYN, its answer, or what opened the connection.
            let is_slow = took > usual + Stall::least(usual);
            let may_have_waited = has_data && Nanos::between(self.reply.seen, seen) > AT_ONCE;
            account.add(
                sent,
                match is_whole {
                    false => verdict.or(Cause::ApplicationLimited),
                    true if is_slow => verdict.or(Cause::PathStall),
                    true if may_have_waited => verdict.or(Cause::ApplicationLimited),
                    true => verdict,
                },
            );
        }
    }

    /// The account of what begins at `from`.
    pub(crate) fn new_account(&self, from: Instant) -> Account {
        let mut account = Account::new(from);
        if let Some(limit) = self.stretches {
            account.keep_stretches(limit);
        }
        account
    }

    /// Whether the server sent its SYN-ACK again.
    pub(crate) const fn was_answered_again(&self) -> bool {
        self.reply.times > 1
    }

    /// The connection speaks TLS.
    pub(crate) const fn begin_tls(&mut self) {
        self.in_tls = true;
    }

    /// No exchange has waited for it.
    pub(crate) fn forget(&mut self) {
        self.account = None;
    }

    /// Data was sent before there is an exchange, in answer to what the other end had sent in `answered`: before
    /// that had arrived, nothing held it.
    pub(crate) fn handle_gap(
        &mut self,
        gap: &Gap,
        direction: Direction,
        answered: Option<&Departure>,
    ) {
        self.divide_again();
        // Nobody waits for tickets, and when the client has something to ask is its own matter.
        let shaken = self.shaken;
        let Some(account) = self.account.as_mut().filter(|_| self.in_tls) else { return };
        let waited = Nanos::between(account.cursor(), gap.until);
        let is_its_own = gap.hold.wait == Wait::Application && waited > AT_ONCE;
        if shaken && (direction == Direction::ToClient || is_its_own) {
            return;
        }
        if let Some(flight) = answered {
            let evidence = Evidence::of([flight.packet, 0, 0]);
            let on_its_way =
                verdict(Rule::SetUp, Cause::TlsHandshake, direction.opposite(), evidence);
            account.add(flight.arrives.min(gap.until), on_its_way);
        }
        if gap.sends_again() {
            self.again = Some((*gap, direction));
        } else {
            gap.divide(Phase::Tls(direction), account);
        }
    }

    /// What an acknowledgement shows of data in `direction` that was sent again last.
    pub(crate) fn resolve(&mut self, direction: Direction, resolution: Resolution) {
        if let Some((gap, _)) = self.again.as_mut().filter(|it| it.1 == direction) {
            gap.later.note(resolution);
        }
    }

    fn divide_again(&mut self) {
        if let Some((account, (gap, direction))) = self.account.as_mut().zip(self.again.take()) {
            gap.settled().divide(Phase::Tls(direction), account);
        }
    }

    /// A flight of the TLS handshake is over, with a packet that was seen then: its own last, or the first
    /// of the other end's. What comes next left with that.
    pub(crate) fn handle_flight(
        &mut self,
        flight: &TlsFlight,
        seen: Instant,
        packet: u64,
        distances: &Distances,
    ) {
        self.divide_again();
        self.shaken |= flight.done;
        if let Some(account) = &mut self.account {
            let evidence = Evidence::of([packet, 0, 0]);
            let direction = flight.direction;
            let last = if flight.done { direction } else { direction.opposite() };
            let delays = distances.path_delays(last);
            let left = seen - delays.sender;
            let verdict = verdict(Rule::SetUp, Cause::TlsHandshake, direction, evidence);
            // Away from who answers, the path may have held the flight, or its answer.
            let usual = distances.whole();
            let took = Nanos::between(account.cursor(), left);
            let is_slow = !delays.is_next_to_sender() && took > usual + Stall::least(usual);
            // RFC 5246, section 7.3: after the server's Finished, the client may ask: when it has that.
            let lets_client_ask = flight.done && direction == Direction::ToClient;
            let until = if lets_client_ask { seen + delays.receiver } else { left };
            account.add(
                until,
                match is_slow {
                    true => verdict.doubted(Rule::QuietPath, Cause::PathStall),
                    false => verdict,
                },
            );
        }
    }

    /// The first exchange begins with `first`: the account of the set-up goes on as that of the
    /// exchange, unless the connection was opened in advance.
    pub(crate) fn begin_exchange(&mut self, first: &Departure, distances: &Distances) -> Account {
        self.divide_again();
        // The SYN left earlier than it was captured.
        let syn_way = distances.path_delays(Direction::ToServer).sender;
        let in_advance = |it: &Account| was_opened_in_advance(it, syn_way, first.sent);
        let account = self.account.take().filter(|it| !in_advance(it));
        let Some(mut account) = account else { return self.new_account(first.seen) };
        let evidence = Evidence::of([first.packet, 0, 0]);
        let waited = Nanos::between(account.cursor(), first.sent);
        let verdict =
            verdict(Rule::Written, Cause::ApplicationLimited, Direction::ToServer, evidence);
        let confidence = if waited > AT_ONCE { Confidence::Low } else { verdict.confidence };
        account.add(first.sent, Verdict { confidence, ..verdict });
        account
    }
}

/// Whether a connection whose set-up is in `account` was opened before there was a request for it, as by a browser:
/// then nobody waited for the set-up, and the exchange begins with its request at `asked`. The SYN was captured
/// `syn_way` after the client had sent it.
///
/// A client that has waited for the connection sends its request as soon as it runs again. How long a socket lies
/// idle that was opened in advance has nothing to do with how long its set-up took: that it is much shorter by
/// chance is unlikely. So a long set-up excuses a slow client, whose time is then its own.
fn was_opened_in_advance(account: &Account, syn_way: Nanos, asked: Instant) -> bool {
    /// The part of the set-up. Our choice: at a tenth, a busy client on a path of 20 ms is misread, at a half, one socket
    /// in three of a browser that asks after 0 to 100 ms is.
    const PART: u64 = 4;
    /// A client that may run again waits for a processor no longer than this, mostly: a tick of Linux at 250 Hz. `curl`
    /// took 1.1 ms on two busy processors.
    const TICK: Nanos = Nanos::from_millis(4);
    let took = syn_way + Nanos::between(account.from(), account.cursor());
    Nanos::between(account.cursor(), asked) > TICK.max(took / PART)
}

const fn verdict(rule: Rule, cause: Cause, direction: Direction, evidence: Evidence) -> Verdict {
    Verdict::new(rule, cause, direction, evidence, Confidence::High)
}

/// A program that has waited for nothing else asks within this time. Our choice.
const AT_ONCE: Nanos = Nanos::from_millis(1);

#[cfg(test)]
mod tests;

//! Units of a pipelined protocol: each request has one response, in the same order.
//!
//! Some requests are not judged, because a response to them comes whenever something happens, or never: nobody can say who
//! waits then. See [`Effect`].

use std::collections::VecDeque;

use ackwise_cause::Direction;

use super::{Event, ExchangeId, RequestHead, Switch, Text, Tunnel, log::Log, span::Edge};
use crate::limits::OPEN_REQUESTS;

/// What a request does to the order of responses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Effect {
    /// It is answered once, as soon as that can be done.
    #[default]
    Answered,
    /// It is answered once something has happened, or is a dialogue of its own: this one is not judged, and neither is what
    /// waits behind it.
    Waits(Tunnel),
    /// From its turn on, nothing on the connection can be paired.
    Ends(Tunnel),
}

/// The requests that have begun and have no response yet.
#[derive(Clone, Debug, Default)]
pub(super) struct InOrder {
    asked: VecDeque<Asked>,
    /// Requests behind them that are only counted: see [`OPEN_REQUESTS`].
    uncounted: u64,
    /// How many of `asked` wait for something.
    waiting: usize,
    /// A request was sent while another had no response.
    is_pipelined: bool,
    /// The last of `asked` has not ended.
    is_asking: bool,
    /// The response to the first of `asked` has begun.
    is_answering: bool,
    /// Up to where the server has the requests, if that is known.
    heard: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    /// `None` if it is not told of.
    exchange: Option<ExchangeId>,
    is_judged: bool,
    /// What was seen of it ends here.
    end: u64,
    effect: Effect,
}

/// The response that begins or ends cannot be that to the oldest request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mismatch;

impl InOrder {
    pub(super) const fn new() -> Self {
        Self {
            asked: VecDeque::new(),
            uncounted: 0,
            waiting: 0,
            is_pipelined: false,
            is_asking: false,
            is_answering: false,
            heard: None,
        }
    }

    /// Bytes that it holds.
    pub(super) fn cost(&self) -> usize {
        self.asked.capacity() * size_of::<Asked>()
    }

    /// Whether the client ever sent a request while another had no response.
    pub(super) const fn is_pipelined(&self) -> bool {
        self.is_pipelined
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.uncounted == 0
    }

    /// Whether a request is under way.
    pub(super) const fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// Whether a response is under way.
    pub(super) const fn is_answering(&self) -> bool {
        self.is_answering
    }

    /// The other end has what was sent in this direction before `position`.
    pub(super) fn handle_arrival(&mut self, direction: Direction, position: u64) {
        if direction == Direction::ToServer {
            self.heard = self.heard.max(Some(position));
        }
    }

    /// A request begins.
    pub(super) fn begin(&mut self, edge: Edge, log: &mut Log) {
        self.is_pipelined |= !self.is_empty();
        self.is_asking = true;
        if self.uncounted > 0 || self.asked.len() >= OPEN_REQUESTS {
            self.uncounted = self.uncounted.saturating_add(1);
            return log.pass_over();
        }
        let is_judged = self.waiting == 0;
        let exchange = is_judged.then(|| log.begin(0, edge));
        self.asked.push_back(Asked { exchange, is_judged, end: edge.at, effect: Effect::Answered });
    }

    /// The request that is under way has this name, and has come to `end`.
    pub(super) fn name(&mut self, name: Option<&'static str>, end: u64, log: &mut Log) {
        if let Some(Asked { exchange: Some(exchange), is_judged: true, .. }) = self.last() {
            log.push_head(*exchange, || RequestHead {
                method: name.map(Text::of_static),
                path: Some(Text::of_static("")),
                has_query: false,
                trace: None,
                end: Some(end),
                expects_continue: false,
                wants_close: false,
                grpc: None,
            });
        }
    }

    /// The request that is under way ends; whether its effect could be noted.
    pub(super) fn end(&mut self, edge: Edge, effect: Effect, log: &mut Log) -> bool {
        self.is_asking = false;
        let is_first = self.asked.len() == 1;
        let Some(last) = self.last() else { return effect == Effect::Answered };
        last.end = edge.at;
        if last.effect != Effect::Answered {
            return true;
        }
        last.effect = effect;
        if let (Some(exchange), true) = (last.exchange, last.is_judged) {
            match effect {
                Effect::Answered => {
                    log.push(Event::RequestEnds { exchange, position: edge.at, exact: edge.exact })
                }
                Effect::Waits(tunnel) | Effect::Ends(tunnel) => {
                    last.is_judged = false;
                    if is_first {
                        log.push(Event::TunnelBegins { exchange, tunnel });
                    }
                    log.push(Event::Unjudged { exchange });
                }
            }
        }
        self.waiting += usize::from(effect != Effect::Answered);
        true
    }

    /// The request that is under way is none.
    pub(super) fn forget(&mut self, log: &mut Log) {
        self.is_asking = false;
        if self.uncounted > 0 {
            self.uncounted -= 1;
        } else if let Some(Asked { exchange: Some(exchange), is_judged: true, .. }) =
            self.asked.pop_back()
        {
            log.push(Event::Unjudged { exchange });
        }
    }

    /// What comes next of the responses is a dialogue: the oldest request is not judged.
    pub(super) fn wait(&mut self, tunnel: Tunnel, log: &mut Log) {
        let Some(first) = self.asked.front_mut().filter(|it| it.effect == Effect::Answered) else {
            return;
        };
        first.effect = Effect::Waits(tunnel);
        self.waiting += 1;
        let (exchange, is_judged) = (first.exchange, std::mem::take(&mut first.is_judged));
        log.push(Event::TunnelBegins { exchange: exchange.unwrap_or(NOBODY), tunnel });
        if let (Some(exchange), true) = (exchange, is_judged) {
            log.push(Event::Unjudged { exchange });
        }
        self.abandon_judged_behind(log);
    }

    /// Whether it is the turn of a request behind which nothing can be paired.
    pub(super) fn ends(&self) -> bool {
        self.asked.front().is_some_and(|first| matches!(first.effect, Effect::Ends(_)))
    }

    /// A response begins, unless it has: a server may answer what the client has not ended.
    pub(super) fn answer(&mut self, edge: Edge, log: &mut Log) -> Result<(), Mismatch> {
        if std::mem::replace(&mut self.is_answering, true) {
            return Ok(());
        }
        let Some(first) = self.asked.front() else {
            return if self.uncounted > 0 { Ok(()) } else { Err(Mismatch) };
        };
        // A response is sent in the light of its request: its segment acknowledges that (RFC 9293, section 3.10.7.4).
        if self.heard.is_some_and(|heard| heard < first.end) {
            // What it answers was sent before, and is not in the capture.
            self.is_pipelined = true;
            return Err(Mismatch);
        }
        if let (Some(exchange), true) = (first.exchange, first.is_judged) {
            log.push(Event::ResponseBegins { exchange, position: edge.at, exact: edge.exact });
        }
        Ok(())
    }

    /// The response that is under way ends.
    pub(super) fn answered(&mut self, edge: Edge, log: &mut Log) {
        self.is_answering = false;
        let Some(first) = self.asked.pop_front() else {
            self.uncounted = self.uncounted.saturating_sub(1);
            return;
        };
        self.waiting -= usize::from(first.effect != Effect::Answered);
        match (first.exchange, first.effect) {
            (Some(exchange), _) if first.is_judged => {
                log.push(Event::ResponseEnds { exchange, position: edge.at, exact: edge.exact });
            }
            (exchange, Effect::Waits(_)) => {
                log.push(Event::TunnelEnds { exchange: exchange.unwrap_or(NOBODY) });
            }
            _ => {}
        }
        self.begin_next(log);
    }

    /// The response that is under way ends, if only a turn shows where: at `turn`. Whether it did.
    pub(super) fn answered_by_turn(&mut self, turn: Option<u64>, log: &mut Log) -> bool {
        let end = turn.filter(|_| self.is_answering);
        if let Some(end) = end {
            self.answered(Edge::guessed(end), log);
        }
        end.is_some()
    }

    /// It is the turn of a request whose wait nobody is to blame for.
    fn begin_next(&self, log: &mut Log) {
        if let Some(&Asked { exchange, effect, .. }) = self.asked.front()
            && let Effect::Waits(tunnel) | Effect::Ends(tunnel) = effect
        {
            log.push(Event::TunnelBegins { exchange: exchange.unwrap_or(NOBODY), tunnel });
        }
    }

    /// The capture does not show the responses to what was asked, nor how many are still to come: a client that has
    /// pipelined is not followed any more.
    pub(super) fn lose(&mut self, log: &mut Log) -> Option<Switch> {
        self.drain(log, |exchange| Event::Lost { exchange });
        self.is_pipelined.then(|| {
            let tunnel = Tunnel::Pipelined;
            log.push(Event::TunnelBegins { exchange: NOBODY, tunnel });
            Switch::NotDivided
        })
    }

    /// What comes next cannot be paired, by what the client has asked for.
    pub(super) fn give_up(&mut self, log: &mut Log) -> Switch {
        self.abandon_judged_behind(log);
        self.abandon(log);
        Switch::NotDivided
    }

    /// Nothing more comes.
    pub(super) fn abandon(&mut self, log: &mut Log) {
        self.drain(log, |exchange| Event::Abandoned { exchange, stream: None });
    }

    /// What waits behind something that nobody can judge is not judged, either.
    fn abandon_judged_behind(&mut self, log: &mut Log) {
        for asked in &mut self.asked {
            if let (Some(exchange), true) = (asked.exchange, asked.is_judged) {
                asked.is_judged = false;
                log.push(Event::Unjudged { exchange });
            }
        }
    }

    fn drain(&mut self, log: &mut Log, event: impl Fn(ExchangeId) -> Event) {
        for asked in self.asked.drain(..) {
            match asked {
                Asked { exchange: Some(exchange), is_judged: true, .. } => {
                    log.push(event(exchange))
                }
                Asked { exchange, effect: Effect::Waits(_), .. } => {
                    log.push(Event::TunnelEnds { exchange: exchange.unwrap_or(NOBODY) });
                }
                _ => {}
            }
        }
        let (heard, is_pipelined) = (self.heard, self.is_pipelined);
        *self = Self { heard, is_pipelined, ..Self::default() };
    }

    /// The request that is under way, unless it is only counted.
    fn last(&mut self) -> Option<&mut Asked> {
        if self.uncounted > 0 { None } else { self.asked.back_mut() }
    }
}

/// No exchange: nobody asked for what begins with it.
pub(super) const NOBODY: ExchangeId = ExchangeId(u32::MAX);

//! What is known about a server before the checks begin, and what they tell each
//! other.

use std::{rc::Rc, time::Duration};

use ackwise_cause::Software;

use crate::{
    http_client::{CONTENT_LIMIT, Exchange, Page},
    no_verdict::NoVerdict,
    server::Queue,
    verdict::Reason,
};

/// A server, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The page that was asked for, and how it came the first time.
    pub(crate) page: Page,
    /// Its answer.
    pub(crate) first: Exchange,
    /// Further pages by the user's word, with their sizes in bytes.
    pub(crate) others: Vec<(Page, u64)>,
    /// A larger page that the page refers to, with its size in bytes, if one was looked for.
    pub(crate) linked: Option<(Page, u64)>,
    /// The quickest handshake or answer: about one round trip.
    pub(crate) rtt: Duration,
    /// Slow checks are wanted.
    pub(crate) thorough: bool,
    /// Requests are GETs: they may ask for ranges, and may be pipelined.
    pub(crate) asks_by_get: bool,
    /// How long the client or balancer in front of the server keeps an idle connection, if the user says so.
    pub(crate) behind: Option<Duration>,
    /// What became of a connection left idle, if it was looked at.
    pub(crate) idle: Option<Idle>,
    /// The server's accept queue before the check, if the server is on this host.
    pub(crate) queue: Option<Queue>,
    /// The answers come in HTTP/2.
    pub is_http2: bool,
    /// The software that answers, if HTTP/1.1 has shown it.
    pub(crate) known_software: Option<Software>,
    /// Responses that were acknowledged at once, if they were asked for.
    pub(crate) prompt: Option<Series>,
    /// A cork holds the ends of responses.
    pub(crate) corked: bool,
}

/// Responses in several series, each after a silence.
pub(crate) type Series = Rc<Vec<Vec<Exchange>>>;

/// What became of a connection that was left idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Idle {
    /// How long it has been idle.
    pub(crate) lasted: Duration,
    /// How that ended.
    pub(crate) end: IdleEnd,
}

/// How the wait for the end of an idle connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum IdleEnd {
    /// With our patience.
    StillOpen,
    /// The server closed it.
    Closed,
    /// The same, after GOAWAY: a request that crosses it was not processed, and may be sent again (RFC 9113, section
    /// 6.8).
    ClosedAfterGoaway,
}

impl Idle {
    /// The server has closed it.
    #[must_use]
    pub(crate) fn closed_by_server(self) -> bool {
        self.end != IdleEnd::StillOpen
    }
}

/// What keeps connections in front of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Front {
    /// How long it keeps an idle one.
    pub(crate) keeps: Duration,
    /// How much longer the server must keep it.
    pub(crate) margin: Duration,
}

impl Front {
    /// How long the server must keep an idle connection.
    #[must_use]
    pub(crate) fn needs(self) -> Duration {
        self.keeps + self.margin
    }
}

impl Facts {
    /// What is in front of the server, if the user says so.
    ///
    /// The FIN and a request cross each other for a round trip.
    #[must_use]
    pub(crate) fn front(&self) -> Option<Front> {
        self.behind.map(|keeps| Front { keeps, margin: TIMERS + self.rtt })
    }

    /// For a check of the messages of a response, which a gRPC call need not have.
    pub(crate) fn has_message(&self) -> Result<(), NoVerdict> {
        match self.first.grpc_status() {
            Some(status) if self.first.is_trailers_only() => {
                let why = format!("the call ends without a message (gRPC status {status})");
                Err(NoVerdict::not_applicable(why))
            }
            _ => Ok(()),
        }
    }

    /// Whether the path is so long that a large flight may overflow a queue on it. SACK is then offered where a
    /// tail-loss probe does little harm: without, each packet lost takes a round trip of its own.
    pub(crate) fn is_far(&self) -> bool {
        self.rtt >= FAR
    }

    /// Whether the server listens on this host.
    pub(crate) fn is_same_host(&self) -> bool {
        self.queue.is_some()
    }

    /// What is known after `first` came for `page`.
    #[must_use]
    pub(crate) fn new(page: Page, first: Exchange, rtt: Duration) -> Self {
        Self {
            page,
            first,
            others: Vec::new(),
            linked: None,
            rtt,
            thorough: false,
            asks_by_get: true,
            behind: None,
            idle: None,
            queue: None,
            is_http2: false,
            known_software: None,
            prompt: None,
            corked: false,
        }
    }

    /// The software that answers, if its head shows that: in HTTP/2, where all names of fields are in lower case, only
    /// what HTTP/1.1 has shown.
    #[must_use]
    pub(crate) fn software(&self) -> Option<Software> {
        let fields = self.first.head.fields.iter();
        self.known_software.or_else(|| Software::recognise(fields).filter(|_| !self.is_http2))
    }

    /// Whether the server offers ranges of the page.
    #[must_use]
    pub(crate) fn takes_ranges(&self) -> bool {
        self.asks_by_get
            && self.first.head.status == 200
            && self.first.head.fields.list("Accept-Ranges").any(|unit| unit == b"bytes")
    }

    /// The page, or as much of it as is read to its end.
    #[must_use]
    pub(crate) fn page_to_its_end(&self) -> Page {
        match self.length() > CONTENT_LIMIT && self.takes_ranges() {
            true => self.page.range(0, PART - 1),
            false => self.page.clone(),
        }
    }

    /// Responses of several sizes: the page, the user's paths, and ranges of the page.
    #[must_use]
    pub(crate) fn sizes(&self) -> Vec<Page> {
        let length = self.length();
        let ranges = RANGES.iter().filter(|bytes| self.takes_ranges() && **bytes < length);
        std::iter::once(self.page_to_its_end())
            .chain(self.others.iter().map(|(page, _)| page.clone()))
            .chain(ranges.map(|bytes| self.page.range(0, bytes - 1)))
            .take(SIZES_LIMIT)
            .collect()
    }

    /// The page, the user's paths and what was found by a link, with their bytes of content.
    #[must_use]
    pub(crate) fn pages(&self) -> Vec<(Page, u64)> {
        let page = std::iter::once((self.page.clone(), self.length()));
        page.chain(self.others.iter().chain(&self.linked).cloned()).collect()
    }

    /// The largest response that is known, and its bytes of content.
    #[must_use]
    pub(crate) fn largest(&self) -> (Page, u64) {
        let page = (self.page.clone(), self.length());
        self.others
            .iter()
            .chain(&self.linked)
            .cloned()
            .fold(page, |largest, other| if other.1 > largest.1 { other } else { largest })
    }

    /// The largest response, for a check that needs one of `bytes`.
    pub(crate) fn at_least(&self, bytes: u64) -> Result<Page, NoVerdict> {
        match self.largest() {
            (page, largest) if largest >= bytes => Ok(page),
            (_, largest) => Err(NoVerdict::not_applicable(format!(
                "needs a response of {bytes} bytes (the largest seen has {largest}): add a larger \
                 page with --paths"
            ))),
        }
    }

    /// The same for a check that needs the whole response, on a connection that is used again: a larger one than is
    /// read to its end is asked for in part.
    pub(crate) fn at_least_to_its_end(&self, bytes: u64) -> Result<Page, NoVerdict> {
        self.at_least(bytes)?;
        let small = self.pages().into_iter().filter(|(_, size)| *size <= CONTENT_LIMIT);
        let largest = small.max_by_key(|(_, size)| *size).filter(|(_, size)| *size >= bytes);
        let part = || self.takes_ranges().then(|| self.page.range(0, CONTENT_LIMIT - 1));
        largest.map(|(page, _)| page).or_else(part).ok_or_else(|| {
            NoVerdict::not_applicable(format!(
                "needs a response of {bytes} to {CONTENT_LIMIT} bytes, or ranges of a larger one: add a page with --paths"
            ))
        })
    }

    /// Bytes of the page.
    #[must_use]
    pub(crate) fn length(&self) -> u64 {
        self.first.head.content_length.unwrap_or(self.first.content)
    }

    /// Whether the first answer says something about what comes after an answer.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub(crate) fn end(&self) -> Result<(), NoVerdict> {
        // A large one has an end, even if it was not read so far.
        let has_end = self.first.head.content_length.is_some();
        if has_end { Ok(()) } else { end(&self.first) }
    }

    /// Takes note of what any exchange may tell: that the path is no longer than request and answer
    /// took.
    pub(crate) fn note(&mut self, exchange: &Exchange) {
        self.rtt = exchange.first_byte().map_or(self.rtt, |took| self.rtt.min(took));
    }
}

/// Whether the end of `exchange` was seen, so that it says something about what comes after an answer.
pub(crate) fn end(exchange: &Exchange) -> Result<(), NoVerdict> {
    if exchange.head.status == SWITCHING_PROTOCOLS {
        let why = "the server switches to another protocol (status 101), so HTTP ends here";
        return Err(NoVerdict::not_applicable(why));
    }
    let bytes = exchange.head.content_length.filter(|bytes| *bytes > CONTENT_LIMIT);
    match (exchange.complete, bytes) {
        (true, _) => Ok(()),
        (false, Some(bytes)) => Err(NoVerdict::not_applicable(format!(
            "the response has {bytes} bytes, of which {CONTENT_LIMIT} are read: check a smaller page, too (--paths)"
        ))),
        (false, None) => {
            Err(NoVerdict::unknown(Reason::NoAnswer, "the response was not read to its end"))
        }
    }
}

/// RFC 9110, section 15.2.2: the last answer in HTTP on its connection.
const SWITCHING_PROTOCOLS: u16 = 101;

/// Sizes that stall under Nagle's algorithm: one small segment, and just above the 4,096 and 8,192
/// bytes that servers write at once.
const RANGES: [u64; 3] = [200, 4_100, 8_900];

/// What is asked for of a page that is too large to be read whole. Our choice: more than any first flight.
const PART: u64 = 64 << 10;

/// No more sizes than these are tried.
const SIZES_LIMIT: usize = 8;

/// How much later than set a timer for idle connections may fire, at either end. Our choice: many count in whole seconds.
const TIMERS: Duration = Duration::from_secs(1);

/// Longer than across a building; our choice.
const FAR: Duration = Duration::from_millis(5);

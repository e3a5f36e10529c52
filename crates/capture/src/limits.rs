//! What a capture may cost, whoever wrote it: each bound by its name, and how often it was reached.

use std::fmt;

/// A bound on memory or time. `docs/limits.md` is generated from these.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Limit {
    /// Connections of which one packet was seen.
    OnePacketConnections,
    /// Memory of connections that are not over.
    LiveConnections,
    /// Connections without an exchange that are listed.
    QuietConnections,
    /// Connections with exchanges that are listed.
    ListedConnections,
    /// Memory of exchanges that are over.
    ListedExchanges,
    /// Requests of a connection that wait for a response.
    OpenRequests,
    /// Work for a connection with many open requests.
    Work,
    /// Bytes of a method or path.
    RequestText,
    /// Fields of an HTTP/2 field block.
    BlockFields,
    /// Memory of connections that `--save-stripped` reads at the same time.
    StrippedConnections,
    /// Packets of a connection that `--save-stripped` holds.
    StrippedSegments,
}

impl Limit {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::OnePacketConnections,
        Self::LiveConnections,
        Self::QuietConnections,
        Self::ListedConnections,
        Self::ListedExchanges,
        Self::OpenRequests,
        Self::Work,
        Self::RequestText,
        Self::BlockFields,
        Self::StrippedConnections,
        Self::StrippedSegments,
    ];

    /// `one-packet-connections`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnePacketConnections => "one-packet-connections",
            Self::LiveConnections => "live-connections",
            Self::QuietConnections => "quiet-connections",
            Self::ListedConnections => "listed-connections",
            Self::ListedExchanges => "listed-exchanges",
            Self::OpenRequests => "open-requests",
            Self::Work => "work",
            Self::RequestText => "request-text",
            Self::BlockFields => "block-fields",
            Self::StrippedConnections => "stripped-connections",
            Self::StrippedSegments => "stripped-segments",
        }
    }

    /// Its value.
    #[must_use]
    pub const fn most(self) -> u64 {
        let most = match self {
            Self::OnePacketConnections => ONE_PACKET,
            Self::LiveConnections => LIVE_BYTES,
            Self::QuietConnections => QUIET_CONNECTIONS,
            Self::ListedConnections => LISTED_CONNECTIONS,
            Self::ListedExchanges => EXCHANGE_BYTES,
            Self::OpenRequests => OPEN_REQUESTS,
            Self::Work => WORK_PER_SEGMENT,
            Self::RequestText => KEPT_TEXT,
            Self::BlockFields => ackwise_http::http2::hpack::FIELDS_PER_BLOCK,
            Self::StrippedConnections => STRIPPED_BYTES,
            Self::StrippedSegments => STRIPPED_SEGMENTS,
        };
        most as u64
    }

    /// Whether [`Analyser::divide_limits`](crate::analysis::Analyser::divide_limits) makes it smaller.
    #[must_use]
    pub const fn is_divided(self) -> bool {
        match self {
            Self::OnePacketConnections
            | Self::LiveConnections
            | Self::QuietConnections
            | Self::ListedConnections
            | Self::ListedExchanges => true,
            Self::OpenRequests
            | Self::Work
            | Self::RequestText
            | Self::BlockFields
            | Self::StrippedConnections
            | Self::StrippedSegments => false,
        }
    }

    /// What is bounded: `connections of which only a SYN was seen`.
    #[must_use]
    pub const fn bounds(self) -> &'static str {
        match self {
            Self::OnePacketConnections => "connections of which one packet was captured",
            Self::LiveConnections => "bytes of memory for connections that have not ended",
            Self::QuietConnections => "listed connections without an exchange",
            Self::ListedConnections => "listed connections with exchanges",
            Self::ListedExchanges => "bytes of memory for finished exchanges",
            Self::OpenRequests => "unanswered requests of a connection",
            Self::Work => {
                "open requests that are looked at for a segment with data, plus one for each byte of \
                 it in the capture; a new request takes 32, and the first of a segment 128; what a \
                 segment does not use is left for later ones, and all connections together have \
                 2,097,152 more"
            }
            Self::RequestText => "bytes of a method or path",
            Self::BlockFields => "fields of an HTTP/2 field block",
            Self::StrippedConnections => {
                "bytes of memory for connections that --save-stripped follows"
            }
            Self::StrippedSegments => {
                "segments of a connection, in each direction, that --save-stripped holds until \
                 earlier data arrives"
            }
        }
    }

    /// What happens beyond it.
    #[must_use]
    pub const fn beyond(self) -> &'static str {
        match self {
            Self::OnePacketConnections => {
                "the oldest are counted but not listed; if one goes on, it is analysed as if the \
                 capture began after that packet"
            }
            Self::LiveConnections => {
                "the connections idle longest, those with packets in one direction first, are \
                 reported as they are; if one goes on, it counts as another connection, or is left out \
                 if that has happened once for 16 segments of the capture (256, with packets in one \
                 direction)"
            }
            Self::QuietConnections => "later ones are counted but not listed",
            Self::ListedConnections => {
                "later ones and their exchanges are included in the totals but not listed"
            }
            Self::ListedExchanges => {
                "the fastest half are included in the totals but not listed; percentiles and the \
                 table of paths cover the rest"
            }
            Self::OpenRequests => "further requests are counted but not explained",
            Self::Work => {
                "the time of all exchanges of the connection is unknown, and further requests are left out"
            }
            Self::RequestText => "the rest is cut off",
            Self::BlockFields => {
                "the rest of the block is not read, and entries of the dynamic table from before \
                 it are unknown"
            }
            Self::StrippedConnections => {
                "the connection idle longest is not followed any more: its later packets keep no \
                 content until a message begins"
            }
            Self::StrippedSegments => "the oldest is written without content",
        }
    }

    /// What is counted when it is reached: `connection`.
    #[must_use]
    pub const fn counts(self) -> &'static str {
        match self {
            Self::OnePacketConnections
            | Self::LiveConnections
            | Self::QuietConnections
            | Self::ListedConnections
            | Self::Work
            | Self::StrippedConnections => "connection",
            Self::ListedExchanges => "exchange",
            Self::OpenRequests | Self::RequestText => "request",
            Self::BlockFields => "field block",
            Self::StrippedSegments => "packet",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often each limit was reached.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Reached {
    times: [u64; Limit::ALL.len()],
    extent: Extent,
}

impl Reached {
    /// The limits that were reached, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (Limit, u64)> {
        Limit::ALL.into_iter().zip(self.times).filter(|(_, count)| *count > 0)
    }

    /// The value of a limit in this capture: that of [`Limit::most`] or less.
    #[must_use]
    pub const fn most(&self, limit: Limit) -> u64 {
        if limit.is_divided() { limit.most() / self.extent.divisor as u64 } else { limit.most() }
    }

    /// Adds what another part of a capture has reached.
    pub fn add(&mut self, other: &Self) {
        self.extent.divide(other.extent.divisor);
        for (limit, count) in other.iter() {
            self.count(limit, count);
        }
    }

    pub(crate) const fn count(&mut self, limit: Limit, times: u64) {
        let count = &mut self.times[limit as usize];
        *count = count.saturating_add(times);
    }

    pub(crate) const fn set_extent(&mut self, extent: Extent) {
        self.extent = extent;
    }
}

/// How much of what the limits allow is kept. Less if a flood must be reported at once, or if several
/// outputs share the memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Extent {
    divisor: usize,
}

impl Default for Extent {
    fn default() -> Self {
        Self { divisor: 1 }
    }
}

impl Extent {
    /// From now on at most one `divisor`th.
    pub(crate) fn divide(&mut self, divisor: usize) {
        self.divisor = self.divisor.max(divisor);
    }

    /// What is left of a limit.
    pub(crate) const fn of(self, most: usize) -> usize {
        most / self.divisor
    }
}

/// The most connections of which one packet was seen: 300 to 600 bytes each. Our choice.
pub(crate) const ONE_PACKET: usize = 1 << 16;

/// The most data of such a packet: with more, a connection costs what others do. Our choice.
pub(crate) const ONE_PACKET_BYTES: usize = 256;

/// The most memory of connections that are not over: some 30,000 of 4 KiB. Our choice.
pub(crate) const LIVE_BYTES: usize = 128 << 20;

/// The most connections without an exchange that are listed. Our choice.
pub(crate) const QUIET_CONNECTIONS: usize = 1 << 16;

/// The most connections with exchanges that are listed: each takes about 800 bytes. Our choice.
pub(crate) const LISTED_CONNECTIONS: usize = 1 << 17;

/// The most memory of exchanges that are over: some 250,000. Our choice.
pub(crate) const EXCHANGE_BYTES: usize = 64 << 20;

/// The most requests of a connection without a response. Servers allow 100 to 250 streams.
pub(crate) const OPEN_REQUESTS: usize = 1024;

/// What each segment with data adds to the work that may be done for its connection, beside one for each captured byte.
/// Our choice: all requests that a server allows may be open while the others send small messages.
pub(crate) const WORK_PER_SEGMENT: usize = 64;

/// What all connections together may have beyond that. Our choice: 128 of them may have 16 segments behind a hole, for
/// [`OPEN_REQUESTS`].
pub(crate) const WORK_IN_RESERVE: usize = 1 << 21;

/// The most bytes of a method, path or protocol name that are kept. Our choice: servers refuse request
/// lines of 8 KiB, and nobody reads more than this in a table.
pub(crate) const KEPT_TEXT: usize = 1024;

/// The most memory of connections that are stripped at the same time: some 25,000. Our choice.
pub(crate) const STRIPPED_BYTES: usize = 32 << 20;

/// The most segments of each direction that wait to be stripped: as many as wait to be put in order.
pub(crate) const STRIPPED_SEGMENTS: usize = 1024;

/// As much of a text as is kept.
pub(crate) fn kept(text: &str) -> &str {
    let fits = |end: &usize| *end <= KEPT_TEXT;
    match text.len() {
        ..=KEPT_TEXT => text,
        _ => &text[..text.char_indices().map(|(at, _)| at).take_while(fits).last().unwrap_or(0)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_a_place_and_a_name_of_its_own() {
        let mut names: Vec<_> = Limit::ALL.iter().map(|it| it.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Limit::ALL.len());
        for (place, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit as usize, place, "{limit}");
            let mut reached = Reached::default();
            reached.count(limit, 2);
            assert_eq!(reached.iter().collect::<Vec<_>>(), [(limit, 2)]);
        }
    }

    #[test]
    fn text_is_cut_between_characters() {
        let long = format!("{}ä", "a".repeat(KEPT_TEXT - 1));
        assert_eq!(kept(&long).len(), KEPT_TEXT - 1);
        assert_eq!(kept(&long[..KEPT_TEXT - 1]).len(), KEPT_TEXT - 1);
    }
}

//! What a conversation turned out to be. Positions are bytes of the stream of their direction.

use std::{num::NonZeroU64, time::Duration};

use ackwise_cause::{Direction, GrpcStatus, H2Window, Party};

use super::{Protocol, Text, Tunnel};

/// One request and its response; numbered from 0 in each connection, in the order the requests
/// begin.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ExchangeId(pub u32);

/// What the bytes of a connection say, oldest first.
///
/// Of each exchange there is one [`RequestBegins`](Self::RequestBegins), and, once the connection
/// has ended, one [`ResponseEnds`](Self::ResponseEnds), [`Abandoned`](Self::Abandoned),
/// [`Lost`](Self::Lost) or [`Unjudged`](Self::Unjudged); what is
/// between them comes in the order of the variants, each at most once except interim responses,
/// except that a response may begin before its request has ended. Events are told when they are
/// certain, which may be later than the bytes they are about: an end that only the other side's
/// turn shows is reported when that begins.
///
/// `exact` says that the protocol's own framing gives the position, or a start line at the
/// beginning of a segment. Otherwise only a turn of direction does: the head was cut off by the
/// snap length, the capture lost bytes, or the protocol cannot be read.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// What the connection speaks from here on. Told again after an upgrade, a CONNECT, or when it
    /// turns out not to speak that.
    Protocol(Protocol),
    /// One side's turn in a TLS handshake.
    TlsFlight(TlsFlight),
    /// The first byte of a request.
    RequestBegins {
        /// A number not used before.
        exchange: ExchangeId,
        /// The HTTP/2 stream; 0 for all other protocols.
        stream: u32,
        /// Of the first byte.
        position: u64,
        /// Whether more than a turn of direction says that.
        exact: bool,
    },
    /// What the request asks. Not told if not even the request line can be seen.
    RequestHead {
        /// Which.
        exchange: ExchangeId,
        /// What it says.
        head: Box<RequestHead>,
    },
    /// The request ends.
    RequestEnds {
        /// Which.
        exchange: ExchangeId,
        /// Of the first byte after it.
        position: u64,
        /// Whether more than a turn of direction says that.
        exact: bool,
    },
    /// A 1xx response. It begins no response: the final one is still to come.
    Interim {
        /// To which request.
        exchange: ExchangeId,
        /// The status code; 100 answers [`RequestHead::expects_continue`].
        status: u16,
        /// Of its first byte.
        start: u64,
        /// Of the first byte after it.
        end: u64,
    },
    /// The first byte of the final response.
    ResponseBegins {
        /// To which request.
        exchange: ExchangeId,
        /// Of the first byte.
        position: u64,
        /// Whether more than a turn of direction says that.
        exact: bool,
    },
    /// What the response says. Not told if not even the status line can be seen.
    ResponseHead {
        /// To which request.
        exchange: ExchangeId,
        /// What it says.
        head: ResponseHead,
    },
    /// The status of a gRPC call, which ends with it, or that of a stream, whose exchange is over before.
    GrpcStatus {
        /// Which.
        exchange: ExchangeId,
        /// What its trailers say.
        status: GrpcStatus,
    },
    /// The first message to the client ends of what may turn out to be a stream of them: if so, the response ends here.
    FirstMessage {
        /// Which.
        exchange: ExchangeId,
        /// Of the first byte after it.
        position: u64,
    },
    /// The response ends.
    ResponseEnds {
        /// To which request.
        exchange: ExchangeId,
        /// Of the first byte after it.
        position: u64,
        /// Whether more than a turn of direction says that.
        exact: bool,
    },
    /// Nothing more will come of an exchange: its stream was reset, or the connection ended before
    /// its response did.
    Abandoned {
        /// Which.
        exchange: ExchangeId,
        /// What ended its stream, if the connection goes on.
        stream: Option<StreamEnd>,
    },
    /// Its response cannot be identified: an unknown number of earlier messages is missing from the
    /// capture.
    Lost {
        /// Which.
        exchange: ExchangeId,
    },
    /// Nobody can say who waits for its response, and until when: it counts as no exchange.
    Unjudged {
        /// Which.
        exchange: ExchangeId,
    },
    /// What follows has no requests and responses that could be read, so nobody can tell who waits for
    /// whom: from here on, or until [`TunnelEnds`](Self::TunnelEnds), on the HTTP/2 stream or the connection. Told just
    /// before the response ends that opens it.
    TunnelBegins {
        /// What opened it; a number never used if that is unknown.
        exchange: ExchangeId,
        /// What it carries.
        tunnel: Tunnel,
    },
    /// The HTTP/2 stream ended that was a tunnel, or what nobody can judge on a connection.
    TunnelEnds {
        /// What opened it.
        exchange: ExchangeId,
    },
    /// Data came of the tunnel that `exchange` has opened, and what it holds of messages.
    Messages {
        /// What opened it.
        exchange: ExchangeId,
        /// Which way it goes.
        direction: Direction,
        /// What it holds.
        news: MessageNews,
    },
    /// Other exchanges overlap with this one and cannot be distinguished from it, as HTTP/2 under TLS.
    Multiplexed {
        /// Which.
        exchange: ExchangeId,
    },
    /// The server says that it answers no more requests on this connection than those that it names (HTTP/2).
    Goaway(Goaway),
    /// HTTP/2 flow control lets no more DATA go.
    FlowControlBlocked {
        /// Whose data; `None` if the connection's window is used up, and so everybody's.
        exchange: Option<ExchangeId>,
        /// Which windows hold data now.
        window: H2Window,
        /// Which way the data goes.
        direction: Direction,
        /// Of the first byte, in `direction`, after the DATA that used up the window.
        position: u64,
    },
    /// The capture lacks frames that may have used up a window or given it room: flow control is not followed any more.
    FlowControlUnseen {
        /// As many bytes to the server, and to the client, fit into any window from the beginning of the connection on.
        least: [u64; 2],
    },
    /// HTTP/2 may be under TLS: the server has sent as much as a window may have, and a record of the client that is as long
    /// as WINDOW_UPDATE may give that anew.
    SealedCredit {
        /// Of the first byte after the record.
        position: u64,
        /// Bytes of DATA that the server has sent before it.
        window: u64,
    },
    /// A window that was used up opens again: the frame has arrived
    /// ([`handle_arrival`](crate::conversation::ExchangeReader::handle_arrival)).
    FlowControlReopened {
        /// As when it was used up.
        exchange: Option<ExchangeId>,
        /// Which way the data goes.
        direction: Direction,
        /// Of the first byte after the WINDOW_UPDATE or SETTINGS, in the *other* direction.
        position: u64,
    },
}

/// What a piece of one direction's data holds of messages.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct MessageNews {
    /// A message was under way at its first byte.
    pub continues: bool,
    /// Messages that begin in it.
    pub begun: u32,
    /// Messages that end in it.
    pub ended: u32,
    /// Control frames and comments that end in it: nobody waits for them.
    pub control: u32,
    /// From here on, nobody knows where messages begin.
    pub lost: bool,
}

impl MessageNews {
    /// Adds those of the data behind it.
    pub(crate) const fn add(&mut self, next: Self) {
        self.begun = self.begun.saturating_add(next.begun);
        self.ended = self.ended.saturating_add(next.ended);
        self.control = self.control.saturating_add(next.control);
        self.lost |= next.lost;
    }

    /// Messages that have bytes in it.
    #[must_use]
    pub const fn touched(&self) -> u32 {
        self.begun.saturating_add(self.continues as u32)
    }
}

/// A frame that ended an HTTP/2 stream before its response did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StreamEnd {
    /// Who sent it.
    pub by: Party,
    /// The error code (RFC 9113, section 7), if it was captured.
    pub code: Option<u32>,
    /// It is a GOAWAY: the request was not processed.
    pub is_unprocessed: bool,
}

/// What a server's GOAWAY says (RFC 9113, section 6.8).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Goaway {
    /// The error code, if it was captured.
    pub code: Option<u32>,
    /// The debug data is that of gRPC's servers for a client whose keepalive pings come too often.
    pub says_too_many_pings: bool,
}

impl Goaway {
    /// Whether the server ends the connection because of too many pings, as gRPC's proposal A8 has it.
    #[must_use]
    pub fn is_too_many_pings(&self) -> bool {
        /// RFC 9113, section 7.
        const ENHANCE_YOUR_CALM: u32 = 11;
        self.code == Some(ENHANCE_YOUR_CALM) && self.says_too_many_pings
    }
}

/// Bytes that one side sends in a TLS handshake before it is the other's turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TlsFlight {
    /// Who sends.
    pub direction: Direction,
    /// Of the first byte.
    pub start: u64,
    /// Of the first byte after it.
    pub end: u64,
    /// Whether the handshake is done with it.
    pub done: bool,
}

/// What a request asks.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RequestHead {
    /// The method as sent; `None` if HTTP/2's header compression hides it.
    pub method: Option<Text>,
    /// The path without the query; `None` if hidden, shorter than the path if the capture cut it.
    pub path: Option<Text>,
    /// Whether a query follows the path, as far as the head was captured.
    pub has_query: bool,
    /// A digest of `X-Request-Id`, or of the trace of `traceparent`.
    pub trace: Option<NonZeroU64>,
    /// Of the first byte after the head; `None` if the capture cut it.
    pub end: Option<u64>,
    /// It says `Expect: 100-continue`: the client may wait for a 100 before it sends the body.
    pub expects_continue: bool,
    /// It says that it is the last on this connection: `Connection: close`, or HTTP/1.0.
    pub wants_close: bool,
    /// It is a call of gRPC, as far as the fields are known.
    pub grpc: Option<GrpcRequest>,
}

/// A call of gRPC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct GrpcRequest {
    /// How long the client waits at most (`grpc-timeout`), if it says so.
    pub timeout: Option<Duration>,
}

/// What a response says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ResponseHead {
    /// The status code; `None` if HTTP/2's header compression hides it.
    pub status: Option<u16>,
    /// Of the first byte after the head; `None` if the capture cut it.
    pub end: Option<u64>,
    /// It says that it is the last on this connection: `Connection: close`, HTTP/1.0, or a body
    /// that only the close ends.
    pub wants_close: bool,
}

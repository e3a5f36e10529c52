//! The checks: one file for each, with its name, its values, how it asks, and a pure function that decides.
//!
//! A check never fails anyone for being slow. Load makes things late, never early, so an arrival before our ACK
//! acquits, and an accusation needs releases that follow our ACK at two different delays, again and again
//! ([`follow`](crate::server::follow)).

pub(crate) mod accept_queue_full;
pub(crate) mod client_check;
pub(crate) mod close;
pub(crate) mod close_race;
pub(crate) mod connection_reuse;
pub(crate) mod cork_timer;
pub(crate) mod early_response;
pub(crate) mod expect_continue;
pub(crate) mod first_byte;
pub(crate) mod first_close;
pub(crate) mod h2_flow_control;
pub(crate) mod h2_streams;
pub(crate) mod happy_eyeballs;
pub(crate) mod idle_restart;
pub(crate) mod initial_window;
pub(crate) mod judged;
pub(crate) mod keep_alive;
pub(crate) mod nagle_delayed_ack;
pub(crate) mod pipelining;
pub(crate) mod refused_upload;
pub(crate) mod request_nagle;
pub(crate) mod request_segments;
pub(crate) mod response_pause;
pub(crate) mod send_buffer;
pub(crate) mod server_check;
pub(crate) mod short_initial_segment;
pub(crate) mod split_head;
pub(crate) mod stream_first_event;
pub(crate) mod stream_gaps;
pub(crate) mod stream_gzip;
pub(crate) mod stream_held;
#[cfg(test)]
mod stream_tests;
pub(crate) mod window_updates;

use std::{fmt, str::FromStr};

use ackwise_cause::{Cause, Remedy, Software};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use self::{client_check::ClientCheck, judged::Judged, server_check::ServerCheck};
use crate::{
    stream::Readings,
    verdict::{Reason, Verdict},
};

/// What is known about a check before it runs.
struct Check {
    subject: Subject,
    /// It looks for lost time: while it is open, no report says that none is lost.
    is_stall: bool,
    /// Remedies of its own for each problem that it can find, the usual problem first.
    remedies: &'static [&'static [Remedy]],
    run: Run,
}

/// What a check is about.
enum Subject {
    /// A cause of lost time, whose name, meaning and remedies are the check's too.
    Cause(Cause),
    /// Anything else: its name, and what is checked in one sentence, without a full stop.
    Fact(&'static str, &'static str),
}

/// How a check is made; this decides whom it grades.
enum Run {
    Server(ServerCheck),
    Client(ClientCheck),
    Stream(fn(&Readings) -> Judged),
}

/// From a line for each check: its file, and the name of its values.
macro_rules! checks {
    ($($(#[$doc:meta])* $file:ident: $id:ident,)*) => {
        $(pub use $file::$id;)*

        /// A check of a live server, client or stream; its result, a finding, has the same name.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum CheckId {
            $($(#[$doc])* $id,)*
        }

        /// The facts of one finding, under the keys of `docs/check`. What is not known is null.
        #[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Values {
            $($(#[$doc])* $id($id),)*
        }

        impl CheckId {
            /// All checks, in the order of the report card.
            pub const ALL: [Self; [$(Self::$id,)*].len()] = [$(Self::$id,)*];

            const fn check(self) -> &'static Check {
                match self { $(Self::$id => &$file::CHECK,)* }
            }
        }

        impl Values {
            /// Those of a check that has found out nothing.
            #[must_use]
            pub fn unknown(id: CheckId) -> Self {
                match id { $(CheckId::$id => $id::default().into(),)* }
            }
        }

        $(impl From<$id> for Values {
            fn from(values: $id) -> Self {
                Self::$id(values)
            }
        })*
    };
}

checks! {
    /// Whether the response head is sent in a separate segment.
    split_head: SplitHead,
    /// Whether the start of the response waits for the client's delayed ACK.
    short_initial_segment: ShortInitialSegment,
    /// Whether a small last segment is held until the client's ACK.
    nagle_delayed_ack: NagleDelayedAck,
    /// Whether it is held until a timer fires, whatever the client does.
    cork_timer: CorkTimer,
    /// How long the server takes to begin its responses.
    first_byte: FirstByte,
    /// Whether the server pauses in the middle of its responses, whatever the client does.
    response_pause: ResponsePause,
    /// Segments sent before the first ACK.
    initial_window: InitialWindow,
    /// The window before and after an idle period.
    idle_restart: IdleRestart,
    /// What limits the data in flight.
    send_buffer: SendBuffer,
    /// Whether the connection is kept, how long, and for how many requests.
    keep_alive: KeepAlive,
    /// Two requests in one segment.
    pipelining: Pipelining,
    /// Which end closes first, and the effect of an RST.
    close: Close,
    /// A request that arrives in two segments.
    request_segments: RequestSegments,
    /// Whether connections fitted into the server's accept queue.
    accept_queue_full: AcceptQueueFull,
    /// A response before the end of a request, and what becomes of the connection.
    early_response: EarlyResponse,
    /// How much a client may send before HTTP/2's windows make it wait.
    h2_flow_control: H2FlowControl,
    /// How many streams HTTP/2 may have open, and whether PING is answered.
    h2_streams: H2Streams,
    /// Whether the end of a client's request waits for the server's delayed ACK.
    request_nagle: RequestNagle,
    /// How long a client that sends `Expect: 100-continue` waits for the 100.
    expect_continue: ExpectContinue,
    /// Whether a client reuses its connection.
    connection_reuse: ConnectionReuse,
    /// What a client does about a request that meets the server's close.
    close_race: CloseRace,
    /// Which end closes first, if it is left to the client.
    first_close: FirstClose,
    /// Whether a client notices the response to an upload before its end.
    refused_upload: RefusedUpload,
    /// How long a client waits for an IPv6 address that does not answer.
    happy_eyeballs: HappyEyeballs,
    /// How much of a response a client allows in flight.
    window_updates: WindowUpdates,
    /// How long a stream takes to begin.
    stream_first_event: StreamFirstEvent,
    /// How the events of a stream follow each other.
    stream_gaps: StreamGaps,
    /// Whether something holds events back.
    stream_held: StreamHeld,
    /// Whether events come later if the stream is compressed.
    stream_gzip: StreamGzip,
}

/// The result of one check.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Finding {
    /// Name of the check.
    #[schemars(schema_with = "ids")]
    pub id: CheckId,
    /// The verdict.
    pub verdict: Verdict,
    /// Cost in milliseconds per response (or request), measured in this run; null if not measured.
    pub cost_ms: Option<f64>,
    /// What was observed, in one sentence.
    pub summary: String,
    /// Measured values; the keys depend on `id`.
    pub values: Values,
    /// A few packets (or reads), one tcpdump-like line each.
    pub evidence: Vec<String>,
    /// How to fix it; null if there is nothing to fix.
    pub remedy: Option<String>,
    /// Why the verdict is unknown; omitted if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

fn ids(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": CheckId::ALL.map(CheckId::name) })
}

/// What a check grades.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Role {
    /// A server, which `check URL` asks.
    #[default]
    Server,
    /// A client, which `check --listen` answers.
    Client,
    /// A server's stream of events, which `check --stream` reads.
    Stream,
}

impl Role {
    /// The name in reports and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Stream => "stream",
        }
    }
}

/// Serializes the [`name`](Role::name).
impl Serialize for Role {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl CheckId {
    /// What it grades.
    #[must_use]
    pub const fn role(self) -> Role {
        match self.check().run {
            Run::Server(_) => Role::Server,
            Run::Client(_) => Role::Client,
            Run::Stream(_) => Role::Stream,
        }
    }

    /// Those that grade the same, in the order of the report card.
    pub fn of(role: Role) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |id| id.role() == role)
    }

    /// Those of servers that look for lost time.
    pub fn stalls() -> impl Iterator<Item = Self> {
        Self::of(Role::Server).filter(|id| id.is_stall())
    }

    /// The cause of lost time that this checks for; `None` for facts without a direct cost.
    #[must_use]
    pub const fn cause(self) -> Option<Cause> {
        match self.check().subject {
            Subject::Cause(cause) => Some(cause),
            Subject::Fact(..) => None,
        }
    }

    /// The name on the command line, in reports and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.check().subject {
            Subject::Cause(cause) => cause.name(),
            Subject::Fact(name, _) => name,
        }
    }

    /// Whether it looks for lost time: while it is open, no report says that none is lost.
    #[must_use]
    pub const fn is_stall(self) -> bool {
        self.check().is_stall
    }

    /// What is checked, in one sentence, without a full stop.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self.check().subject {
            Subject::Cause(cause) => cause.meaning(),
            Subject::Fact(_, meaning) => meaning,
        }
    }

    /// What to change about the usual problem at the graded end, if that runs `software`; `None` if there is nothing
    /// to remove.
    #[must_use]
    pub fn remedy(self, software: Option<Software>) -> Option<Remedy> {
        let own = self.check().remedies.first().and_then(|own| Remedy::choose(own, software));
        own.or_else(|| self.cause()?.remedy_at_server(software))
    }

    /// Every remedy, those for recognised software first.
    pub fn remedies(self) -> impl Iterator<Item = Remedy> {
        let own = self.check().remedies.iter().copied().flatten().copied();
        own.chain(self.cause().into_iter().flat_map(Cause::remedies_at_server))
    }

    pub(crate) const fn of_server(self) -> Option<&'static ServerCheck> {
        match &self.check().run {
            Run::Server(check) => Some(check),
            Run::Client(_) | Run::Stream(_) => None,
        }
    }

    pub(crate) const fn of_client(self) -> Option<&'static ClientCheck> {
        match &self.check().run {
            Run::Client(check) => Some(check),
            Run::Server(_) | Run::Stream(_) => None,
        }
    }

    pub(crate) const fn of_stream(self) -> Option<fn(&Readings) -> Judged> {
        match self.check().run {
            Run::Stream(judge) => Some(judge),
            Run::Server(_) | Run::Client(_) => None,
        }
    }
}

/// Formats the [`name`](CheckId::name).
impl fmt::Display for CheckId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses a [`name`](CheckId::name).
impl FromStr for CheckId {
    type Err = UnknownCheck;

    fn from_str(name: &str) -> Result<Self, UnknownCheck> {
        Self::ALL.into_iter().find(|id| id.name() == name).ok_or(UnknownCheck)
    }
}

/// Serializes the [`name`](CheckId::name).
impl Serialize for CheckId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Not the name of a check. The caller is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown check (expected one of {})", CheckId::ALL.map(CheckId::name).join(", "))]
pub struct UnknownCheck;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_check_is_read_back_by_its_name() {
        for id in CheckId::ALL {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        let error = "Nagle".parse::<CheckId>().unwrap_err().to_string();
        assert!(
            error.starts_with("unknown check (expected one of split-head, short-in"),
            "{error}"
        );
    }

    #[test]
    fn each_check_of_a_server_has_a_turn_of_its_own() {
        let turns: BTreeSet<_> =
            CheckId::ALL.into_iter().filter_map(CheckId::of_server).map(|it| it.turn).collect();
        assert_eq!(turns.len(), CheckId::of(Role::Server).count());
    }

    #[test]
    fn what_is_not_known_has_its_name_all_the_same() {
        for id in CheckId::ALL {
            let values = serde_json::to_value(Values::unknown(id)).unwrap();
            let values = values.as_object().unwrap();
            assert!(!values.is_empty() && values.values().all(serde_json::Value::is_null), "{id}");
        }
    }

    #[test]
    fn a_setting_of_the_server_comes_before_the_socket_option() {
        use Software::{Apache, Jdk, Nginx, PythonHttpServer};
        for (id, software, begins) in [
            (CheckId::NagleDelayedAck, Some(PythonHttpServer), "disable_nagle_algorithm = True"),
            (CheckId::NagleDelayedAck, Some(Jdk), "-Dsun.net.httpserver.nodelay"),
            (CheckId::NagleDelayedAck, Some(Apache), "set TCP_NODELAY"),
            (CheckId::NagleDelayedAck, None, "set TCP_NODELAY"),
            (CheckId::SplitHead, Some(Nginx), "tcp_nopush on;"),
            (CheckId::SplitHead, None, "write head and body"),
            (CheckId::SendBuffer, Some(Nginx), "enlarge the send buffer"),
            (CheckId::IdleRestart, Some(Nginx), "on Linux: sysctl"),
        ] {
            let remedy = id.remedy(software).unwrap();
            assert!(remedy.text.starts_with(begins), "{id} {software:?}: {}", remedy.text);
        }
        assert_eq!(CheckId::Close.remedy(None), None, "a fact needs no remedy");
    }
}

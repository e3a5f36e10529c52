//! The protocols that are recognised: one row each. `docs/explain/protocols.md` has the same table, which is generated from this one.
//!
//! Layers compose: a header of a balancer ([`proxy_header`](super::proxy_header)), a request for encryption and TLS, and
//! the protocol itself. What begins a connection, and what comes behind such a header, is looked up here.
//!
//! A protocol that is judged by TCP alone is a variant of [`Protocol`], a line of [`PROTOCOLS`], and a file beside the
//! others with its row and its magic. Only an unambiguous magic is one: what else begins like that would be judged by the
//! wrong rules.
//!
//! Not here, since nothing that they begin with is theirs alone: Kafka (a length, and small numbers), Cassandra's OPTIONS
//! (nine bytes, mostly zeros), POP3 (`+OK`), memcached's binary protocol, TDS, and whatever begins in the middle.

mod amqp;
mod ftp;
mod http;
mod imap;
mod ldap;
mod memcached;
mod mongodb;
mod mqtt;
mod mysql;
mod postgres;
mod redis;
mod smtp;
mod ssh;
mod tls;

use ackwise_cause::Direction;

use super::{
    Tunnel,
    guess::Guess,
    span::Start,
    turn::{Shown, asks},
};

/// What a connection speaks.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/1.0 or HTTP/1.1.
    Http1,
    /// HTTP/2 without TLS.
    Http2,
    /// TLS; its exchanges are turns of application data.
    Tls,
    /// RESP, the protocol of Redis.
    Resp,
    /// The protocol of PostgreSQL, version 3, without TLS.
    Postgres,
    /// WebSocket (RFC 6455), which has no exchanges.
    WebSocket,
    /// The protocol of MySQL and MariaDB.
    MySql,
    /// The wire protocol of MongoDB.
    MongoDb,
    /// The text protocol of memcached.
    Memcached,
    /// SMTP (RFC 5321), or LMTP.
    Smtp,
    /// LDAP, version 3 (RFC 4511).
    Ldap,
    /// AMQP, 0-9-1 or 1.0.
    Amqp,
    /// MQTT, versions 3.1 to 5.
    Mqtt,
    /// SSH (RFC 4253).
    Ssh,
    /// IMAP (RFC 9051).
    Imap,
    /// The control connection of FTP (RFC 959).
    Ftp,
    /// Anything else; its exchanges are turns of data, and in a tunnel there are none.
    Opaque,
}

impl Protocol {
    /// In a word, for programs and for tables.
    ///
    /// ```
    /// use ackwise_capture::conversation::Protocol;
    ///
    /// assert_eq!([Protocol::Http1, Protocol::MySql].map(Protocol::name), ["http1", "mysql"]);
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().map_or("opaque", |row| row.name)
    }

    /// As it is written: `MySQL`. `None` if nothing is known of it.
    #[must_use]
    pub fn title(self) -> Option<&'static str> {
        self.row().map(|row| row.title)
    }

    /// Whether it is HTTP, or may be that inside.
    #[must_use]
    pub const fn may_be_http(self) -> bool {
        matches!(self, Self::Http1 | Self::Http2 | Self::Tls | Self::WebSocket)
    }

    /// Whether its reader asks up to where each end has what the other has sent.
    #[inline]
    pub(crate) const fn asks_for_arrivals(self) -> bool {
        !matches!(self, Self::Http1 | Self::Tls | Self::WebSocket | Self::Opaque)
    }

    /// Whether requests may be sent together, and are answered one by one in the same order.
    #[inline]
    pub(crate) const fn is_in_order(self) -> bool {
        matches!(self, Self::Resp | Self::Postgres)
    }

    /// Whether a client says nothing before the server has greeted it.
    pub(crate) const fn is_greeted(self) -> bool {
        matches!(self, Self::MySql | Self::Smtp)
    }

    fn row(self) -> Option<&'static KnownProtocol> {
        PROTOCOLS.iter().find(|row| row.protocol == self)
    }
}

/// One protocol.
#[derive(Debug)]
#[non_exhaustive]
pub struct KnownProtocol {
    /// Which.
    pub protocol: Protocol,
    /// In a word.
    pub name: &'static str,
    /// As it is written.
    pub title: &'static str,
    /// What it is recognised by, in Markdown.
    pub sign: &'static str,
    /// What its time is divided into.
    pub judged: Judged,
    pub(super) client: Magic,
    pub(super) server: Magic,
    pub(super) ends: Ends,
    /// What a segment is with which a client's turn begins.
    pub(super) turn: fn(&[u8]) -> Shown,
}

/// What the time of a protocol's connections is divided into.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Judged {
    /// Requests with their responses, as its own framing has them.
    Exchanges,
    /// Each message by itself.
    Messages,
    /// Turns of data: what the client sends, and what the server sends then.
    ByTcpAlone,
    /// Nothing: nobody can say who waits for whom.
    NotDivided(Tunnel),
}

impl Judged {
    /// In words, as a cell of the table.
    ///
    /// ```
    /// use ackwise_capture::conversation::Judged;
    ///
    /// assert_eq!(Judged::Exchanges.words(), "exchanges");
    /// ```
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Exchanges => "exchanges",
            Self::Messages => "messages",
            Self::ByTcpAlone => "by TCP alone",
            Self::NotDivided(_) => "not divided",
        }
    }
}

/// What one end begins with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Magic {
    /// Nothing that is its own.
    None,
    /// The first bytes of a connection.
    First(fn(&[u8]) -> Guess),
    /// These, or those of a segment in a capture that begins later.
    Any(fn(&[u8]) -> Guess),
    /// The former, or the latter, which are looked for by different rules.
    Either(fn(&[u8]) -> Guess, fn(&[u8]) -> Guess),
}

/// Of which ends the magic is needed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ends {
    /// One is enough.
    One,
    /// One alone may be anything.
    Both,
}

impl Magic {
    pub(super) fn guess(self, bytes: &[u8], start: Start) -> Guess {
        match (self, start) {
            (Self::None, _) | (Self::First(_), Start::Middle) => Guess::No,
            (Self::First(guess) | Self::Any(guess) | Self::Either(guess, _), Start::Beginning)
            | (Self::Any(guess) | Self::Either(_, guess), Start::Middle) => guess(bytes),
        }
    }
}

impl KnownProtocol {
    /// One without magics.
    const fn new(protocol: Protocol, name: &'static str, title: &'static str) -> Self {
        Self {
            protocol,
            name,
            title,
            sign: "",
            judged: Judged::ByTcpAlone,
            client: Magic::None,
            server: Magic::None,
            ends: Ends::One,
            turn: asks,
        }
    }

    pub(super) const fn magic(&self, direction: Direction) -> Magic {
        match direction {
            Direction::ToServer => self.client,
            Direction::ToClient => self.server,
        }
    }

    /// How many of these first bytes are its magic; what comes behind that may say anything.
    pub(super) fn magic_len(&self, direction: Direction, bytes: &[u8]) -> usize {
        let is_one = |&len: &usize| {
            self.magic(direction).guess(&bytes[..len], Start::Beginning) == Guess::Yes
        };
        (0..=bytes.len()).find(is_one).unwrap_or(0)
    }
}

/// All of them. Whose magic fits first, is it.
pub static PROTOCOLS: [KnownProtocol; 16] = [
    http::HTTP2,
    tls::TLS,
    http::HTTP1,
    redis::RESP,
    postgres::POSTGRES,
    http::WEBSOCKET,
    mysql::MYSQL,
    mongodb::MONGODB,
    memcached::MEMCACHED,
    smtp::SMTP,
    ldap::LDAP,
    amqp::AMQP,
    mqtt::MQTT,
    ssh::SSH,
    imap::IMAP,
    ftp::FTP,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_has_one_row_and_a_name_of_its_own() {
        for (place, row) in PROTOCOLS.iter().enumerate() {
            let others = || PROTOCOLS[..place].iter();
            assert!(others().all(|it| it.protocol != row.protocol && it.name != row.name));
            assert!(!row.sign.is_empty(), "{}", row.name);
            assert_eq!(row.protocol.name(), row.name);
        }
        assert_eq!((Protocol::Opaque.name(), Protocol::Opaque.title()), ("opaque", None));
    }
}

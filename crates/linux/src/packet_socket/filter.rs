//! Capture filters: a small subset of pcap-filter(7).
//!
//! ```text
//! filter    = part { "or" part }
//! part      = term { "and" term }
//! term      = "not" term | "(" filter ")" | primitive
//! primitive = "ip" | "ip6" | "tcp" | "udp"
//!           | [ "tcp" | "udp" ] [ "src" | "dst" ] "port" NUMBER
//!           | [ "src" | "dst" ] "host" ADDRESS
//!           | [ "src" | "dst" ] "net" ADDRESS "/" LENGTH
//! ```
//!
//! As there, a tunnel is matched by its outer header, and later fragments have no ports. Not here:
//! host and service names, link addresses, VLANs, and byte access (`tcp[13]`).

use std::{fmt, net::IpAddr, str::FromStr};

/// A parsed filter.
///
/// ```
/// use ackwise_linux::packet_socket::Filter;
///
/// let filter: Filter = "tcp port 80 and not net 10.0.0.0/8".parse()?;
/// assert_eq!(filter.to_string(), "tcp port 80 and not net 10.0.0.0/8");
/// let error = "port http".parse::<Filter>().unwrap_err();
/// assert_eq!(error.to_string(), "unexpected \"http\" (expected a port between 0 and 65535)");
/// # Ok::<(), ackwise_linux::packet_socket::FilterError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Filter {
    text: String,
    pub(super) expression: Expression,
}

/// The condition on a packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Expression {
    Version(Version),
    Protocol(Protocol),
    Port(Side, u16),
    Net(Side, Net),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Version {
    V4,
    V6,
}

/// Transport protocols by their IANA numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Protocol {
    Tcp = 6,
    Udp = 17,
}

/// Whose address or port is matched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Side {
    Source,
    Destination,
    Either,
}

/// Addresses that share their first `prefix` bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Net {
    pub address: IpAddr,
    pub prefix: u8,
}

/// Why a filter could not be parsed. Its author is at fault.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A word that the grammar does not allow here.
    #[error("unexpected \"{found}\" (expected {expected})")]
    Unexpected {
        /// The words that the grammar allows.
        expected: &'static str,
        /// The word found.
        found: String,
    },
    /// The filter ends where a word is required.
    #[error("incomplete filter (expected {0} at its end)")]
    Unfinished(&'static str),
    /// More than [`Filter::MOST_WORDS`] words.
    #[error("filter too long: {0} words (expected at most {max})", max = Filter::MOST_WORDS)]
    TooLong(usize),
}

impl Filter {
    /// Maximum number of words (our choice: hand-written filters are shorter).
    pub const MOST_WORDS: usize = 32;
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        if words.len() > Self::MOST_WORDS {
            return Err(FilterError::TooLong(words.len()));
        }
        let mut parser = Parser { words: &words };
        let expression = parser.filter()?;
        match parser.words {
            [] => Ok(Self { text: text.trim().to_owned(), expression }),
            [found, ..] => {
                let read = words.len() - parser.words.len();
                let protocol = matches!(words[read - 1], "tcp" | "udp");
                Err(unexpected(if protocol { AFTER_PROTOCOL } else { AFTER_TERM }, found))
            }
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The unread words. Each rule of the grammar is a method.
struct Parser<'a> {
    words: &'a [&'a str],
}

impl Parser<'_> {
    fn filter(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.part()?;
        while self.take("or") {
            left = Expression::Or(Box::new(left), Box::new(self.part()?));
        }
        Ok(left)
    }

    fn part(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.term()?;
        while self.take("and") {
            left = Expression::And(Box::new(left), Box::new(self.term()?));
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<Expression, FilterError> {
        if self.take("not") {
            return Ok(Expression::Not(Box::new(self.term()?)));
        }
        if !self.take("(") {
            return self.primitive();
        }
        let inner = self.filter()?;
        match self.next("\")\"")? {
            ")" => Ok(inner),
            found => Err(unexpected("\")\"", found)),
        }
    }

    fn primitive(&mut self) -> Result<Expression, FilterError> {
        for (word, version) in [("ip", Version::V4), ("ip6", Version::V6)] {
            if self.take(word) {
                return Ok(Expression::Version(version));
            }
        }
        for (word, protocol) in [("tcp", Protocol::Tcp), ("udp", Protocol::Udp)] {
            if self.take(word) {
                let protocol = Expression::Protocol(protocol);
                return match self.words {
                    ["port" | "src" | "dst", ..] => {
                        let side = self.side();
                        let port = self.port(side)?;
                        Ok(Expression::And(Box::new(protocol), Box::new(port)))
                    }
                    _ => Ok(protocol),
                };
            }
        }
        let side = self.side();
        match self.words {
            ["host", ..] => self.host(side),
            ["net", ..] => self.net(side),
            _ => self.port(side),
        }
    }

    fn side(&mut self) -> Side {
        if self.take("src") {
            Side::Source
        } else if self.take("dst") {
            Side::Destination
        } else {
            Side::Either
        }
    }

    fn port(&mut self, side: Side) -> Result<Expression, FilterError> {
        match self.next(PRIMITIVES)? {
            "port" => {}
            found => return Err(unexpected(PRIMITIVES, found)),
        }
        let word = self.next(PORT)?;
        let port = word.parse().map_err(|_| unexpected(PORT, word))?;
        Ok(Expression::Port(side, port))
    }

    fn host(&mut self, side: Side) -> Result<Expression, FilterError> {
        self.take("host");
        let word = self.next(ADDRESS)?;
        let address: IpAddr = word.parse().map_err(|_| unexpected(ADDRESS, word))?;
        let prefix = if address.is_ipv4() { 32 } else { 128 };
        Ok(Expression::Net(side, Net { address, prefix }))
    }

    fn net(&mut self, side: Side) -> Result<Expression, FilterError> {
        self.take("net");
        let word = self.next(NET)?;
        let net = word.split_once('/').and_then(|(address, prefix)| {
            let address: IpAddr = address.parse().ok()?;
            let longest = if address.is_ipv4() { 32 } else { 128 };
            let prefix = prefix.parse().ok().filter(|&prefix: &u8| prefix <= longest)?;
            Some(Net { address, prefix })
        });
        net.map(|net| Expression::Net(side, net)).ok_or_else(|| unexpected(NET, word))
    }

    /// Consumes the next word if it equals `word`. Returns whether it did.
    fn take(&mut self, word: &str) -> bool {
        match self.words {
            [first, rest @ ..] if *first == word => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }

    fn next(&mut self, expected: &'static str) -> Result<&str, FilterError> {
        let (first, rest) = self.words.split_first().ok_or(FilterError::Unfinished(expected))?;
        self.words = rest;
        Ok(first)
    }
}

fn unexpected(expected: &'static str, found: &str) -> FilterError {
    FilterError::Unexpected { expected, found: found.to_owned() }
}

const PRIMITIVES: &str = "tcp, udp, ip, ip6, port, host or net";

/// Expected after `tcp` or `udp`.
const AFTER_PROTOCOL: &str = "\"port\", \"src\", \"dst\", \"and\", \"or\" or the end of the filter";

/// Expected after any other term.
const AFTER_TERM: &str = "\"and\", \"or\" or the end of the filter";
const PORT: &str = "a port between 0 and 65535";
const ADDRESS: &str = "an IP address";
const NET: &str = "a network like 10.0.0.0/8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_binds_closer_than_or_and_not_closest() {
        let parse = |text: &str| text.parse::<Filter>().map(|it| it.expression);
        for (one, other) in [
            ("tcp or udp and ip", "tcp or (udp and ip)"),
            ("not tcp and ip", "(not tcp) and ip"),
            ("tcp port 80", "tcp and port 80"),
            ("udp src port 53", "udp and src port 53"),
            ("host 10.0.0.1", "net 10.0.0.1/32"),
            ("dst host ::1", "dst net ::1/128"),
        ] {
            assert_eq!(parse(one), parse(other), "{one}");
            assert!(parse(one).is_ok(), "{one}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (text, said) in [
            ("", "incomplete filter (expected tcp, udp, ip, ip6, port, host or net at its end)"),
            ("icmp", "unexpected \"icmp\" (expected tcp, udp, ip, ip6, port, host or net)"),
            (
                "tcp and",
                "incomplete filter (expected tcp, udp, ip, ip6, port, host or net at its end)",
            ),
            (
                "tcp udp",
                "unexpected \"udp\" (expected \"port\", \"src\", \"dst\", \"and\", \"or\" or the end of the \
                 filter)",
            ),
            ("ip udp", "unexpected \"udp\" (expected \"and\", \"or\" or the end of the filter)"),
            ("(tcp", "incomplete filter (expected \")\" at its end)"),
            ("port 65536", "unexpected \"65536\" (expected a port between 0 and 65535)"),
            ("host example", "unexpected \"example\" (expected an IP address)"),
            ("net 10.0.0.0/33", "unexpected \"10.0.0.0/33\" (expected a network like 10.0.0.0/8)"),
        ] {
            assert_eq!(text.parse::<Filter>().unwrap_err().to_string(), said, "{text}");
        }
        let long = vec!["tcp"; 40].join(" and ");
        assert_eq!(long.parse::<Filter>(), Err(FilterError::TooLong(79)));
    }
}

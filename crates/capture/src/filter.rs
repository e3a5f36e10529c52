//! Which TCP segments of a file are analysed: a small subset of pcap-filter(7).
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
//! It is the language that live captures have, which the kernel applies to packets as they are. Here, the
//! addresses and ports are those of the decoded segment: of a tunnelled packet, the innermost.
//!
//! *Not* here: packets without TCP, which no filter makes analysable (so `udp` matches nothing); host and
//! service names, link addresses, VLANs, and byte access (`tcp[13]`).

use std::{fmt, net::IpAddr, str::FromStr};

use crate::decode::Seen;

/// A parsed filter.
///
/// ```
/// use ackwise_capture::filter::Filter;
///
/// let filter: Filter = "tcp port 80 and not net 10.0.0.0/8".parse()?;
/// assert!(filter.matches_ends("192.0.2.1:50000".parse()?, "192.0.2.2:80".parse()?));
/// assert!(!filter.matches_ends("192.0.2.1:50000".parse()?, "10.1.2.3:80".parse()?));
///
/// let error = "port http".parse::<Filter>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unexpected \"http\" at character 6 (expected a port between 0 and 65535)"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Filter {
    text: String,
    condition: Condition,
}

impl Filter {
    /// Maximum number of words (our choice: hand-written filters are shorter). It bounds the depth of
    /// recursion, too.
    pub const MOST_WORDS: usize = 32;

    /// Whether the segment is to be analysed.
    #[must_use]
    pub fn matches(&self, seen: &Seen<'_>) -> bool {
        self.matches_ends(seen.source, seen.destination)
    }

    /// Whether a TCP segment between these ends matches.
    #[must_use]
    pub fn matches_ends(
        &self,
        source: std::net::SocketAddr,
        destination: std::net::SocketAddr,
    ) -> bool {
        self.condition.holds([(source.ip(), source.port()), (destination.ip(), destination.port())])
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a segment has to be like.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Condition {
    V4,
    V6,
    Tcp,
    Udp,
    Port(Side, u16),
    Net(Side, Net),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

impl Condition {
    /// Of a TCP segment between these ends.
    fn holds(&self, ends: [(IpAddr, u16); 2]) -> bool {
        match self {
            Self::V4 => ends[0].0.is_ipv4(),
            Self::V6 => ends[0].0.is_ipv6(),
            Self::Tcp => true,
            Self::Udp => false,
            Self::Port(side, port) => side.any(ends, |(_, it)| it == *port),
            Self::Net(side, net) => side.any(ends, |(it, _)| net.contains(it)),
            Self::Not(inner) => !inner.holds(ends),
            Self::And(one, other) => one.holds(ends) && other.holds(ends),
            Self::Or(one, other) => one.holds(ends) || other.holds(ends),
        }
    }
}

/// Whose address or port is matched.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Side {
    Source,
    Destination,
    Either,
}

impl Side {
    fn any(
        self,
        [source, destination]: [(IpAddr, u16); 2],
        matches: impl Fn((IpAddr, u16)) -> bool,
    ) -> bool {
        match self {
            Self::Source => matches(source),
            Self::Destination => matches(destination),
            Self::Either => matches(source) || matches(destination),
        }
    }
}

/// Addresses that share their first `prefix` bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Net {
    address: IpAddr,
    prefix: u32,
}

impl Net {
    fn of_host(address: IpAddr) -> Self {
        Self { address, prefix: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// `10.0.0.0/8`.
    fn parse(word: &str) -> Option<Self> {
        let (address, prefix) = word.split_once('/')?;
        let whole = Self::of_host(address.parse().ok()?);
        // As a byte, because "+8" is a number, and 300 is none.
        let prefix = prefix.parse::<u8>().ok().map(u32::from)?;
        (prefix <= whole.prefix).then_some(Self { prefix, ..whole })
    }

    fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(net), IpAddr::V4(it)) => {
                (net.to_bits() ^ it.to_bits()).leading_zeros() >= self.prefix
            }
            (IpAddr::V6(net), IpAddr::V6(it)) => {
                (net.to_bits() ^ it.to_bits()).leading_zeros() >= self.prefix
            }
            _ => false,
        }
    }
}

/// Why a filter could not be parsed. Its author is at fault.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A word that the grammar does not allow here.
    #[error("unexpected \"{found}\" at character {position} (expected {expected})")]
    Unexpected {
        /// The word found.
        found: String,
        /// Its first character, counted from 1.
        position: usize,
        /// What the grammar allows.
        expected: &'static str,
    },
    /// The filter ends where a word is required.
    #[error("incomplete filter (expected {0} at its end)")]
    Unfinished(&'static str),
    /// More than [`Filter::MOST_WORDS`] words.
    #[error("filter too long: {0} words (expected at most {max})", max = Filter::MOST_WORDS)]
    TooLong(usize),
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let words = words(text);
        if words.len() > Self::MOST_WORDS {
            return Err(FilterError::TooLong(words.len()));
        }
        let mut parser = Parser { words: &words, after: AFTER_TERM };
        let condition = parser.filter()?;
        match parser.words.first() {
            None => Ok(Self { text: text.trim().to_owned(), condition }),
            Some(word) => Err(word.unexpected(parser.after)),
        }
    }
}

/// A word or a parenthesis.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    /// Its first character, counted from 1.
    position: usize,
}

impl Word<'_> {
    fn unexpected(&self, expected: &'static str) -> FilterError {
        let (found, position) = (self.text.to_owned(), self.position);
        FilterError::Unexpected { found, position, expected }
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut begun = None;
    let ends = |it: char| it.is_whitespace() || matches!(it, '(' | ')');
    for (position, (at, character)) in (1..).zip(text.char_indices()) {
        if !ends(character) {
            begun.get_or_insert((position, at));
            continue;
        }
        if let Some((position, from)) = begun.take() {
            words.push(Word { text: &text[from..at], position });
        }
        if !character.is_whitespace() {
            words.push(Word { text: &text[at..=at], position });
        }
    }
    if let Some((position, from)) = begun {
        words.push(Word { text: &text[from..], position });
    }
    words
}

/// The unread words. Each rule of the grammar is a method.
struct Parser<'a> {
    words: &'a [Word<'a>],
    /// What may follow the term read last.
    after: &'static str,
}

impl<'a> Parser<'a> {
    fn filter(&mut self) -> Result<Condition, FilterError> {
        let mut left = self.part()?;
        while self.take("or") {
            left = Condition::Or(Box::new(left), Box::new(self.part()?));
        }
        Ok(left)
    }

    fn part(&mut self) -> Result<Condition, FilterError> {
        let mut left = self.term()?;
        while self.take("and") {
            left = Condition::And(Box::new(left), Box::new(self.term()?));
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<Condition, FilterError> {
        if self.take("not") {
            return Ok(Condition::Not(Box::new(self.term()?)));
        }
        if !self.take("(") {
            return self.primitive();
        }
        let inner = self.filter()?;
        let word = self.next(CLOSING)?;
        self.after = AFTER_TERM;
        if word.text == ")" { Ok(inner) } else { Err(word.unexpected(CLOSING)) }
    }

    fn primitive(&mut self) -> Result<Condition, FilterError> {
        self.after = AFTER_TERM;
        for (word, version) in [("ip", Condition::V4), ("ip6", Condition::V6)] {
            if self.take(word) {
                return Ok(version);
            }
        }
        for (word, protocol) in [("tcp", Condition::Tcp), ("udp", Condition::Udp)] {
            if self.take(word) {
                if !matches!(self.peek(), Some("port" | "src" | "dst")) {
                    self.after = AFTER_PROTOCOL;
                    return Ok(protocol);
                }
                let side = self.side();
                let port = self.port(side, "\"port\"")?;
                return Ok(Condition::And(Box::new(protocol), Box::new(port)));
            }
        }
        let side = self.side();
        if self.take("host") {
            let word = self.next(ADDRESS)?;
            let address = word.text.parse().map_err(|_| word.unexpected(ADDRESS))?;
            return Ok(Condition::Net(side, Net::of_host(address)));
        }
        if self.take("net") {
            let word = self.next(NET)?;
            let net = Net::parse(word.text).ok_or_else(|| word.unexpected(NET))?;
            return Ok(Condition::Net(side, net));
        }
        let expected = if side == Side::Either { PRIMITIVES } else { AFTER_SIDE };
        self.port(side, expected)
    }

    fn side(&mut self) -> Side {
        match () {
            () if self.take("src") => Side::Source,
            () if self.take("dst") => Side::Destination,
            () => Side::Either,
        }
    }

    fn port(&mut self, side: Side, expected: &'static str) -> Result<Condition, FilterError> {
        let word = self.next(expected)?;
        if word.text != "port" {
            return Err(word.unexpected(expected));
        }
        let word = self.next(PORT)?;
        let port = word.text.parse().map_err(|_| word.unexpected(PORT))?;
        Ok(Condition::Port(side, port))
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.first().map(|word| word.text)
    }

    /// Consumes the next word if it equals `word`. Returns whether it did.
    fn take(&mut self, word: &str) -> bool {
        let takes = self.peek() == Some(word);
        self.words = &self.words[usize::from(takes)..];
        takes
    }

    fn next(&mut self, expected: &'static str) -> Result<Word<'a>, FilterError> {
        let (first, rest) = self.words.split_first().ok_or(FilterError::Unfinished(expected))?;
        self.words = rest;
        Ok(*first)
    }
}

const PRIMITIVES: &str = "host, net, port, src, dst, tcp, udp, ip, ip6, not or \"(\"";
const AFTER_SIDE: &str = "host, net or port";
const AFTER_PROTOCOL: &str = "\"port\", \"src\", \"dst\", \"and\", \"or\" or the end of the filter";
const AFTER_TERM: &str = "\"and\", \"or\" or the end of the filter";
const CLOSING: &str = "\")\"";
const PORT: &str = "a port between 0 and 65535";
const ADDRESS: &str = "an IP address";
const NET: &str = "a network like 10.0.0.0/8";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filter(text: &str) -> Filter {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_segment_matches_by_its_addresses_and_ports() {
        let (client, server) = ("10.1.2.3:50000", "192.0.2.2:80");
        let (client6, server6) = ("[2001:db8::1]:50000", "[2001:db9::2]:80");
        for (text, to_server, to_client, to_server6) in [
            ("tcp", true, true, true),
            ("udp", false, false, false),
            ("not udp", true, true, true),
            ("ip", true, true, false),
            ("ip6", false, false, true),
            ("port 80", true, true, true),
            ("dst port 80", true, false, true),
            ("tcp src port 80", false, true, false),
            ("udp port 80", false, false, false),
            ("port 8", false, false, false),
            ("host 10.1.2.3", true, true, false),
            ("dst host 10.1.2.3", false, true, false),
            ("src net 10.0.0.0/8", true, false, false),
            ("net 10.1.2.4/31", false, false, false),
            ("net 10.1.2.2/31", true, true, false),
            ("net 1.2.3.4/0", true, true, false),
            ("net 2001:db8::/32", false, false, true),
            ("net ::/0", false, false, true),
            ("host 10.1.2.3 and port 81", false, false, false),
            ("port 81 or host 10.1.2.3 and port 80", true, true, false),
            ("(port 81 or host 10.1.2.3) and not dst port 80", false, true, false),
            ("not not port 80", true, true, true),
        ] {
            let filter = filter(text);
            let [client, server, client6, server6] =
                [client, server, client6, server6].map(|end| end.parse().unwrap());
            let found = [
                filter.matches_ends(client, server),
                filter.matches_ends(server, client),
                filter.matches_ends(client6, server6),
            ];
            assert_eq!(found, [to_server, to_client, to_server6], "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_position() {
        const START: &str = "host, net, port, src, dst, tcp, udp, ip, ip6, not or \"(\"";
        for (text, said) in [
            ("", format!("incomplete filter (expected {START} at its end)")),
            ("icmp", format!("unexpected \"icmp\" at character 1 (expected {START})")),
            ("tcp and  http", format!("unexpected \"http\" at character 10 (expected {START})")),
            ("\u{e9} port", format!("unexpected \"\u{e9}\" at character 1 (expected {START})")),
            (
                "port 80 80",
                "unexpected \"80\" at character 9 (expected \"and\", \"or\" or the end of the filter)"
                    .into(),
            ),
            (
                "tcp udp",
                "unexpected \"udp\" at character 5 (expected \"port\", \"src\", \"dst\", \"and\", \"or\" \
                 or the end of the filter)"
                    .into(),
            ),
            ("src 10.0.0.1", "unexpected \"10.0.0.1\" at character 5 (expected host, net or port)".into()),
            ("(tcp", "incomplete filter (expected \")\" at its end)".into()),
            ("(tcp]", "unexpected \"tcp]\" at character 2".into()),
            ("host example", "unexpected \"example\" at character 6 (expected an IP address)".into()),
            ("port 65536", "unexpected \"65536\" at character 6 (expected a port between 0".into()),
            ("net 10.0.0.0/33", "unexpected \"10.0.0.0/33\" at character 5 (expected a network".into()),
            ("net 10.0.0.0", "unexpected \"10.0.0.0\" at character 5".into()),
            (&vec!["tcp"; 40].join(" and "), "filter too long: 79 words (expected at most 32)".into()),
        ] {
            let error = text.parse::<Filter>().unwrap_err().to_string();
            assert!(error.starts_with(&said), "{text}: {error}");
        }
    }

    /// Words of the language, and some that are none.
    fn word() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "and",
            "or",
            "not",
            "(",
            ")",
            "src",
            "dst",
            "host",
            "net",
            "port",
            "tcp",
            "udp",
            "ip",
            "ip6",
            "10.0.0.1",
            "::1",
            "10.0.0.0/8",
            "::/0",
            "80",
            "65536",
            "x",
            "\u{fc}(",
        ])
    }

    proptest! {
        #[test]
        fn any_text_is_understood_or_refused_at_a_position_within_it(
            words in prop::collection::vec(word(), 0..40),
            noise in "\\PC{0,20}",
        ) {
            for text in [words.join(" "), words.concat(), noise] {
                match text.parse::<Filter>() {
                    Ok(filter) => prop_assert_eq!(filter.to_string().parse(), Ok(filter)),
                    Err(FilterError::Unexpected { found, position, .. }) => {
                        let rest: String = text.chars().skip(position - 1).collect();
                        prop_assert!(rest.starts_with(&found));
                    }
                    Err(FilterError::Unfinished(_) | FilterError::TooLong(_)) => {}
                }
            }
        }

        #[test]
        fn de_morgan_holds(
            one in primitive(), other in primitive(), from: [u8; 4], to: [u8; 4], ports: [u16; 2],
        ) {
            let both = filter(&format!("not ({one} and {other})"));
            let either = filter(&format!("not {one} or not {other}"));
            let source = (from, ports[0] % 100).into();
            let destination = (to, ports[1] % 100).into();
            prop_assert_eq!(
                both.matches_ends(source, destination),
                either.matches_ends(source, destination)
            );
        }
    }

    fn primitive() -> impl Strategy<Value = String> {
        let side = prop::sample::select(vec!["", "src ", "dst "]);
        (side, any::<[u8; 4]>(), 0..=32_u8, 0..100_u16, 0..3).prop_map(
            |(side, [a, b, c, d], prefix, port, kind)| match kind {
                0 => format!("{side}port {port}"),
                1 => format!("{side}host {a}.{b}.{c}.{d}"),
                _ => format!("{side}net {a}.{b}.{c}.{d}/{prefix}"),
            },
        )
    }
}

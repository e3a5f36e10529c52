//! What the user wants every request to say: methods, fields, credentials and addresses as given.

use std::net::{IpAddr, SocketAddr};

use ackwise_http::Method;
use ackwise_net::Target;
use base64::{Engine, prelude::BASE64_STANDARD};

use crate::card::Protocol;

/// The methods that a check can use: those whose responses may have content.
const METHODS: [Method; 5] =
    [Method::Get, Method::Post, Method::Put, Method::Delete, Method::Options];

/// Fields that a check writes itself: they say where a message ends, and whether the connection persists.
const RESERVED: [&str; 4] = ["Connection", "Content-Length", "Transfer-Encoding", "Range"];

/// Another address for a host and port, as in `curl --resolve`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resolve {
    host: String,
    server: SocketAddr,
}

/// Which addresses of a name are used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Family {
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}

impl Family {
    /// Whether `address` is of this family.
    #[must_use]
    pub const fn has(self, address: &SocketAddr) -> bool {
        match self {
            Self::Ipv4 => address.is_ipv4(),
            Self::Ipv6 => address.is_ipv6(),
        }
    }

    /// As in a message.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }
}

impl Resolve {
    /// Reads `HOST:PORT:ADDRESS`; an IPv6 address may have brackets.
    ///
    /// # Errors
    ///
    /// If it is not that.
    pub fn parse(given: &str) -> Result<Self, String> {
        let parse = || {
            let (host, rest) = match given.strip_prefix('[') {
                Some(rest) => rest.split_once("]:")?,
                None => given.split_once(':')?,
            };
            let (port, address) = rest.split_once(':')?;
            let address =
                address.strip_prefix('[').map_or(Some(address), |it| it.strip_suffix(']'));
            let address: IpAddr = address?.parse().ok()?;
            let port: u16 = port.parse().ok().filter(|port| *port != 0)?;
            (!host.is_empty())
                .then(|| Self { host: host.to_owned(), server: SocketAddr::new(address, port) })
        };
        parse().ok_or_else(|| {
            format!("{given:?} is not an address for a host (expected HOST:PORT:ADDRESS, such as example.org:443:192.0.2.1)")
        })
    }

    /// The address for `target`, if this is about it.
    #[must_use]
    pub fn address_of(&self, target: &Target) -> Option<SocketAddr> {
        let same =
            target.host().eq_ignore_ascii_case(&self.host) && target.port() == self.server.port();
        same.then_some(self.server)
    }
}

/// Reads a version of HTTP.
///
/// # Errors
///
/// If it is none that can be checked.
pub fn parse_version(given: &str) -> Result<Protocol, String> {
    match given {
        "1.1" => Ok(Protocol::Http1),
        "2" => Ok(Protocol::Http2),
        _ => Err(format!(
            "{given:?} is not a version of HTTP that can be checked (expected 1.1 or 2)"
        )),
    }
}

/// Reads a method.
///
/// # Errors
///
/// If it is none that a check can use.
pub fn parse_method(given: &str) -> Result<Method, String> {
    METHODS.into_iter().find(|it| it.as_str() == given).ok_or_else(|| {
        let names = METHODS.map(Method::as_str).join(", ");
        format!("{given:?} is not a method that can be checked (expected one of {names})")
    })
}

/// Reads a field, `NAME: VALUE`.
///
/// # Errors
///
/// If it cannot stand in a request, or is one that the check itself must write.
pub fn parse_field(given: &str) -> Result<(String, String), String> {
    let refuse = |why: &str| Err(format!("{given:?} is not a header field: {why}"));
    let Some((name, value)) = given.split_once(':') else {
        return refuse("the colon is missing (expected NAME: VALUE)");
    };
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return refuse("the name is not a token (RFC 9110, section 5.1)");
    }
    if RESERVED.iter().any(|it| it.eq_ignore_ascii_case(name)) {
        return refuse("ackwise writes this field itself");
    }
    if !value.chars().all(|c| !c.is_control() || c == '\t') {
        return refuse("the value has control characters");
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Reads `NAME:PASSWORD`, and makes the field of it (RFC 7617).
///
/// # Errors
///
/// If the colon is missing, or there are control characters.
pub fn parse_user(given: &str) -> Result<(String, String), String> {
    // A password is not to be repeated on a screen.
    if !given.contains(':') || given.chars().any(char::is_control) {
        return Err("not a user and a password (expected NAME:PASSWORD)".to_owned());
    }
    Ok(("Authorization".to_owned(), format!("Basic {}", BASE64_STANDARD.encode(given))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_for_a_host_is_as_in_curl() {
        let target: Target = "http://Example.org:8080/a".parse().unwrap();
        for (given, address) in [
            ("example.org:8080:192.0.2.1", Some("192.0.2.1:8080")),
            ("example.org:8080:[2001:db8::1]", Some("[2001:db8::1]:8080")),
            ("example.org:8080:2001:db8::1", Some("[2001:db8::1]:8080")),
            ("example.org:80:192.0.2.1", None),
            ("other:8080:192.0.2.1", None),
        ] {
            let resolve = Resolve::parse(given).unwrap();
            let expected = address.map(|it| it.parse().unwrap());
            assert_eq!(resolve.address_of(&target), expected, "{given}");
        }
        for given in ["", "h", "h:80", "h:80:x", "h:0:1.2.3.4", ":80:1.2.3.4", "h:80:[::1"] {
            assert!(Resolve::parse(given).unwrap_err().contains("HOST:PORT:ADDRESS"), "{given}");
        }
        let six: Target = "http://[::1]:80/".parse().unwrap();
        let resolve = Resolve::parse("[::1]:80:127.0.0.1").unwrap();
        assert_eq!(resolve.address_of(&six), Some("127.0.0.1:80".parse().unwrap()));
    }

    #[test]
    fn a_field_stays_one_field() {
        let read = |given| parse_field(given).map(|(name, value)| format!("{name}={value}"));
        assert_eq!(read("Cookie: a=b; c"), Ok("Cookie=a=b; c".to_owned()));
        assert_eq!(read("X-Empty:"), Ok("X-Empty=".to_owned()));
        for (given, why) in [
            ("Cookie", "colon"),
            (": x", "token"),
            ("A b: x", "token"),
            ("X: a\r\nY: b", "control"),
            ("connection: close", "itself"),
            ("Content-Length: 3", "itself"),
        ] {
            assert!(parse_field(given).unwrap_err().contains(why), "{given}");
        }
    }

    #[test]
    fn a_user_becomes_the_field_of_rfc_7617() {
        // The example of its section 2.
        let field = parse_user("Aladdin:open sesame").unwrap();
        assert_eq!(field.1, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let refused = parse_user("secret").unwrap_err();
        assert!(!refused.contains("secret"), "{refused}");
    }

    #[test]
    fn methods_are_case_sensitive() {
        assert_eq!(parse_method("POST"), Ok(Method::Post));
        for given in ["post", "HEAD", "CONNECT", ""] {
            assert!(parse_method(given).is_err(), "{given}");
        }
    }
}

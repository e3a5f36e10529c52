//! What the user names: a URL, or a host with or without a port.

use std::{
    fmt,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    str::FromStr,
    sync::mpsc,
    thread,
    time::Duration,
};

use http::Uri;

/// A server and a page on it.
///
/// ```
/// use ackwise_net::Target;
///
/// let target: Target = "[::1]:8080".parse()?;
/// assert_eq!(target.to_string(), "http://[::1]:8080/");
/// # Ok::<(), ackwise_net::TargetError>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    secure: bool,
    /// Without the brackets of an IPv6 address.
    host: String,
    port: u16,
    path: String,
}

/// A target that cannot be understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{problem} (expected http://HOST[:PORT][/PATH], https://… or HOST[:PORT])")]
pub struct TargetError {
    problem: String,
}

/// The name of a server has no address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("cannot resolve {host}: {reason}")]
pub struct Unresolved {
    host: String,
    reason: String,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(given: &str) -> Result<Self, TargetError> {
        let refuse = |problem: &dyn fmt::Display| TargetError { problem: problem.to_string() };
        let url = if given.contains("://") { given.to_owned() } else { format!("http://{given}") };
        if url.ends_with("://") {
            return Err(refuse(&NO_HOST));
        }
        let uri: Uri = percent_encoded(&url).parse().map_err(|error| refuse(&error))?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(other) => return Err(refuse(&format_args!("{other} is not supported"))),
            None => return Err(refuse(&"the scheme is missing")),
        };
        let authority = uri.authority().ok_or_else(|| refuse(&NO_HOST))?;
        if authority.as_str().contains('@') {
            return Err(refuse(&"user names and passwords do not belong into a URL: use --user"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(refuse(&NO_HOST));
        }
        // The resolver would take a number for an address.
        if host.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refuse(&format_args!(
                "{host} is not a host; for a port of this host, write http://localhost:{host}/"
            )));
        }
        // `Uri` takes any digits for a port and says `None` when they make no number.
        let after_host = &authority.as_str()[authority.host().len()..];
        let port = match authority.port_u16() {
            Some(0) => return Err(refuse(&"port 0 cannot have a listener")),
            Some(port) => port,
            None if after_host.is_empty() => default_port(secure),
            None => {
                return Err(refuse(&format_args!(
                    "invalid port {:?}",
                    after_host.trim_start_matches(':')
                )));
            }
        };
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        // RFC 9112, section 3.2.1: what the server is asked for begins with a slash.
        let slash = if path.starts_with('/') { "" } else { "/" };
        Ok(Self { secure, host, port, path: format!("{slash}{path}") })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

impl Target {
    /// Whether it is `https`.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host's name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the `Host` field says: the port only where it is not the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == default_port(self.secure) { host } else { format!("{host}:{}", self.port) }
    }

    /// Where `location`, seen in a response for this target, leads.
    ///
    /// # Errors
    ///
    /// If it is no `http` or `https` reference.
    pub fn join(&self, location: &str) -> Result<Self, TargetError> {
        let reference = location.split('#').next().unwrap_or_default();
        if reference.contains("://") {
            return reference.parse();
        }
        if let Some(rest) = reference.strip_prefix("//") {
            return format!("{}://{rest}", if self.secure { "https" } else { "http" }).parse();
        }
        let path = if reference.starts_with('/') {
            reference.to_owned()
        } else {
            let page = self.path.split('?').next().unwrap_or("/");
            let folder = page.rfind('/').map_or("/", |slash| &page[..=slash]);
            format!("{folder}{reference}")
        };
        Ok(Self { path: percent_encoded(&path), ..self.clone() })
    }

    /// Whether `other` is on the same server: then it may be asked too.
    #[must_use]
    pub fn shares_server_with(&self, other: &Self) -> bool {
        (self.secure, &self.host, self.port) == (other.secure, &other.host, other.port)
    }

    /// Whether `other` is on the same host, by the other scheme.
    pub fn differs_in_scheme_from(&self, other: &Self) -> bool {
        self.secure != other.secure && self.host == other.host
    }

    /// The same page by `https` instead of `http`, or the other way round. Another port than the
    /// scheme's own stays.
    pub fn with_other_scheme(&self) -> Self {
        let secure = !self.secure;
        let own_port = self.port == default_port(self.secure);
        let port = if own_port { default_port(secure) } else { self.port };
        Self { secure, port, ..self.clone() }
    }

    /// Its addresses, in the order of the resolver: at least one, at most four. The
    /// system's resolver cannot be interrupted; after `limit` it is left to itself.
    ///
    /// # Errors
    ///
    /// If the name has no address, or it is not known in time.
    pub fn resolve_within(&self, limit: Duration) -> Result<Vec<SocketAddr>, Unresolved> {
        let (tell, hear) = mpsc::channel();
        let target = self.clone();
        thread::spawn(move || {
            // The command has ended if nobody listens.
            let _ = tell.send(target.resolve());
        });
        hear.recv_timeout(limit).unwrap_or_else(|_| {
            let reason = format!("no answer from the resolver within {limit:.1?}");
            Err(Unresolved { host: self.host.clone(), reason })
        })
    }

    fn resolve(&self) -> Result<Vec<SocketAddr>, Unresolved> {
        let refuse = |reason| Unresolved { host: self.host.clone(), reason };
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found = found.map_err(|error| refuse(resolver_reason(&error.to_string())))?;
        let addresses: Vec<_> = found.take(ADDRESSES_LIMIT).map(connectable).collect();
        if addresses.is_empty() {
            return Err(refuse("the name has no address".to_owned()));
        }
        Ok(addresses)
    }
}

/// The same with the characters that cannot stand in a request line as the bytes of their UTF-8 (RFC 3986, section 2.1).
fn percent_encoded(text: &str) -> String {
    let encoded = |character: char| match character.is_ascii() {
        true => character.to_string(),
        false => character.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
    };
    text.chars().map(encoded).collect()
}

/// What a server listens on is not what a client connects to: the kernel takes the unspecified address for loopback.
fn connectable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// The reason alone: the standard library puts before it that the lookup has failed.
fn resolver_reason(error: &str) -> String {
    let reason = error.strip_prefix("failed to lookup address information: ").unwrap_or(error);
    let mut letters = reason.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

const NO_HOST: &str = "the host is missing";

#[expect(clippy::fn_params_excessive_bools, reason = "all that it depends on")]
fn default_port(secure: bool) -> u16 {
    if secure { 443 } else { 80 }
}

/// More addresses of one name are not tried.
const ADDRESSES_LIMIT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_an_address_is_said_to_be_unknown_once() {
        assert_eq!(
            resolver_reason("failed to lookup address information: Name or service not known"),
            "name or service not known"
        );
        assert_eq!(resolver_reason("nothing else"), "nothing else");
    }

    #[test]
    fn a_target_is_a_url_or_a_host() {
        for (given, understood, authority) in [
            ("http://localhost", "http://localhost/", "localhost"),
            ("localhost:8080", "http://localhost:8080/", "localhost:8080"),
            ("127.0.0.1:80/a?b", "http://127.0.0.1/a?b", "127.0.0.1"),
            ("http://h?b", "http://h/?b", "h"),
            ("[::1]", "http://[::1]/", "[::1]"),
            ("[::1]:99", "http://[::1]:99/", "[::1]:99"),
            ("https://example.org", "https://example.org/", "example.org"),
            ("https://example.org:443/x", "https://example.org/x", "example.org"),
            ("HTTP://h:80", "http://h/", "h"),
            ("http://h/\u{fc}?\u{20ac}=1", "http://h/%C3%BC?%E2%82%AC=1", "h"),
        ] {
            let target: Target = given.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(target.to_string(), understood, "{given}");
            assert_eq!(target.authority(), authority, "{given}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_reason() {
        for given in [
            "",
            "ftp://h/",
            "http://",
            "http:///x",
            "h:0",
            "h:99999",
            "h:x",
            "http://u:p@h/",
            "a b",
            "http://h:/",
            "http://[::1",
        ] {
            let error = given.parse::<Target>().expect_err(given);
            assert!(error.to_string().contains("expected http://"), "{error}");
        }
    }

    #[test]
    fn a_number_and_a_password_get_the_advice_that_helps() {
        for (given, advice) in [
            ("22001", "write http://localhost:22001/"),
            ("http://80/", "write http://localhost:80/"),
            ("http://u:secret@h/", "use --user"),
        ] {
            let error = given.parse::<Target>().expect_err(given).to_string();
            assert!(error.contains(advice) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_unspecified_address_is_loopback_for_a_client() {
        for (given, address) in [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80")] {
            let target: Target = given.parse().unwrap();
            let addresses = target.resolve_within(Duration::from_secs(5)).unwrap();
            assert_eq!(addresses, [address.parse::<SocketAddr>().unwrap()], "{given}");
        }
    }

    #[test]
    fn a_location_is_read_relative_to_its_page() {
        let page: Target = "http://h:8/a/b?c".parse().unwrap();
        for (location, leads_to) in [
            ("/x", "http://h:8/x"),
            ("x", "http://h:8/a/x"),
            ("//i/x", "http://i/x"),
            ("https://h/x#y", "https://h/x"),
            ("", "http://h:8/a/"),
        ] {
            assert_eq!(page.join(location).unwrap().to_string(), leads_to, "{location}");
        }
        assert!(page.join("mailto://x").is_err());
    }

    #[test]
    fn the_other_scheme_keeps_a_port_that_was_chosen() {
        for (given, other) in [
            ("http://h/a?b", "https://h/a?b"),
            ("https://h/", "http://h/"),
            ("http://h:8443/", "https://h:8443/"),
        ] {
            let target: Target = given.parse().unwrap();
            assert_eq!(target.with_other_scheme().to_string(), other);
            assert!(target.differs_in_scheme_from(&target.with_other_scheme()));
        }
    }
}

//! How a check is to be done.

use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, time::Duration};

use ackwise_net::Target;
use ackwise_tcp::policy::Preset;

use super::{
    CheckError,
    asked::{Family, Resolve},
};
use crate::{
    card::{CheckId, Protocol},
    http_client::Template,
    stack::distance::Distance,
};

/// What the caller of [`check`](super::check) can choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose TCP plays the client.
    pub stack: StackChoice,
    /// In which versions of HTTP.
    pub http: HttpChoice,
    /// What our own TCP copies where no check needs something else; `None`: what the standards recommend,
    /// with the timers of Linux.
    pub preset: Option<Preset>,
    /// Only these checks; `None` for all.
    pub only: Option<BTreeSet<CheckId>>,
    /// Slow checks too.
    pub thorough: bool,
    /// How long to wait for a connection, for one answer, and for an idle connection to be closed.
    pub max_wait: Duration,
    /// How long the client or balancer in front of the server keeps an idle connection. Whether the server keeps it
    /// longer is then measured, however long [`max_wait`](Self::max_wait) is.
    pub behind: Option<Duration>,
    /// Requests in all.
    pub max_requests: u32,
    /// Time in all.
    pub time: Duration,
    /// Further paths on the same server, for responses of other sizes; see
    /// [`parse_path`](Self::parse_path).
    pub paths: Vec<String>,
    /// What all requests say.
    pub template: Template,
    /// The status that every page must have; any, for `None`.
    pub expect: Option<u16>,
    /// Addresses for names, instead of the resolver's.
    pub resolve: Vec<Resolve>,
    /// Only addresses of this family.
    pub family: Option<Family>,
    /// A path that is put between our own TCP and the server.
    pub distance: Option<Distance>,
    /// Which of the pages that the page refers to may be asked for.
    pub follow: Follow,
    /// Do not verify the server's certificate.
    pub insecure: bool,
    /// Trust the certificates of this PEM file, and no others.
    pub ca_file: Option<PathBuf>,
    /// Let our own TCP change the host's packet filter and forwarding, where a server cannot be
    /// reached otherwise. Each change is announced by [`Progress`](super::Progress) and undone.
    pub allow_host_changes: bool,
}

/// Which pages that the page refers to may be asked for, where a larger one is needed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Follow {
    /// Any, but none if requests carry credentials.
    #[default]
    Public,
    /// Any, with the same credentials.
    All,
}

/// In which versions of HTTP a server is checked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum HttpChoice {
    /// In each that it offers: HTTP/1.1, then HTTP/2.
    #[default]
    Offered,
    /// In this one.
    Only(Protocol),
}

/// Whose TCP plays the client.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum StackChoice {
    /// The one that finds out most without changing the host.
    #[default]
    Auto,
    /// The kernel's sockets.
    Kernel,
    /// Our own TCP on a TUN device, or an error that says what is missing.
    Ackwise,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stack: StackChoice::Auto,
            http: HttpChoice::Offered,
            preset: None,
            only: None,
            thorough: false,
            max_wait: Duration::from_secs(10),
            behind: None,
            max_requests: MAX_REQUESTS,
            time: Duration::from_secs(15),
            paths: Vec::new(),
            template: Template::default(),
            expect: None,
            resolve: Vec::new(),
            family: None,
            distance: None,
            follow: Follow::Public,
            insecure: false,
            ca_file: None,
            allow_host_changes: false,
        }
    }
}

impl Options {
    /// A path for [`Options::paths`], as it stands in a request line.
    ///
    /// # Errors
    ///
    /// If it is no path on the server: it does not begin with `/`, or what it holds cannot stand in a
    /// request line.
    pub fn parse_path(given: &str) -> Result<String, String> {
        let stands = |c: char| c.is_ascii_graphic() && c != '#';
        match given.starts_with('/') && given.chars().all(stands) {
            true => Ok(given.to_owned()),
            false => Err(format!(
                "{given:?} is not a path (expected a leading /; write spaces, '#', control characters \
                 and non-ASCII characters as %XX)"
            )),
        }
    }

    /// Where `target` is: at least one address.
    pub(super) fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, CheckError> {
        if let Some(address) = self.resolve.iter().find_map(|it| it.address_of(target)) {
            return Ok(vec![address]);
        }
        let mut addresses = target.resolve_within(self.time)?;
        if let Some(family) = self.family {
            addresses.retain(|it| family.has(it));
            if addresses.is_empty() {
                let (host, family) = (target.host(), family.name());
                return Err(CheckError::Options(format!("{host} has no {family} address")));
            }
        }
        Ok(addresses)
    }

    /// Whether `id` is asked for.
    #[must_use]
    pub fn wants(&self, id: CheckId) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&id))
    }
}

/// Requests in all, unless the caller says otherwise. Our choice: enough for five pages and every check; the
/// first one alone asks for a page 36 times, and more if it stalls.
pub const MAX_REQUESTS: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_on_this_server() {
        for path in ["/", "/a/b.html?c=d&e", "/%20", "//a"] {
            assert_eq!(Options::parse_path(path).as_deref(), Ok(path));
        }
        for other in
            ["", "nope", "*", "http://h/", "/a b", "/a\r\nHost: b", "/\u{7f}", "/ü", "/a#b"]
        {
            let refused = Options::parse_path(other).unwrap_err();
            assert!(refused.contains("is not a path"), "{refused}");
        }
    }
}

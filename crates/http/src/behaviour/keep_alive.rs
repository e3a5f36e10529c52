//! Whether a server keeps a connection open after a response, and which fields announce it.

use core::{num::NonZeroU32, time::Duration};

use crate::{ConnectionOptions, KeepAlive, ResponseBuilder, Version};

/// How a server treats persistent connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum KeepAlivePolicy {
    /// Closes after every response ("simple HTTP" in the papers).
    Never,
    /// Persists, and announces it in a `Keep-Alive` field as servers did in 1996.
    Announced {
        /// How long an idle connection stays open.
        idle: Duration,
        /// Requests per connection; `None` for no limit.
        max_requests: Option<NonZeroU32>,
    },
    /// Persists, and sends only what HTTP/1.1 requires.
    Silent {
        /// How long an idle connection stays open.
        idle: Duration,
        /// Requests per connection; `None` for no limit.
        max_requests: Option<NonZeroU32>,
    },
}

/// Whether a connection persists after a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outlook {
    /// It stays open; the head carries these fields.
    Persists {
        /// Whether `Connection: keep-alive` must be sent, because the client uses HTTP/1.0.
        say_keep_alive: bool,
        /// The `Keep-Alive` field, if one is sent.
        keep_alive: Option<KeepAlive>,
    },
    /// The server closes it; the head carries `Connection: close`.
    Closes,
}

impl KeepAlivePolicy {
    /// How long an idle connection stays open; `None` if connections are never idle.
    #[must_use]
    pub const fn idle(self) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::Announced { idle, .. } | Self::Silent { idle, .. } => Some(idle),
        }
    }

    /// How long after a response a client sends another request on the connection; `None` if the server has not
    /// announced when it closes. A request that is sent later may cross the server's FIN.
    ///
    /// One second less than announced, as in Node.js (`agentKeepAliveTimeoutBuffer`), but at least half of it (our
    /// choice).
    #[must_use]
    pub fn reusable_for(self) -> Option<Duration> {
        match self {
            Self::Announced { idle, .. } => Some(idle.saturating_sub(MARGIN).max(idle / 2)),
            Self::Never | Self::Silent { .. } => None,
        }
    }

    /// Requests per connection; `None` for no limit.
    #[must_use]
    pub const fn max_requests(self) -> Option<NonZeroU32> {
        match self {
            Self::Never => Some(NonZeroU32::MIN),
            Self::Announced { max_requests, .. } | Self::Silent { max_requests, .. } => {
                max_requests
            }
        }
    }

    /// The version of the response to a request of version `asked`.
    ///
    /// RFC 9110, section 2.5: "A server SHOULD send a response version equal to the highest version
    /// to which the server is conformant". `Announced` departs from it on purpose: it models a
    /// server of 1996, which answers HTTP/1.0 with HTTP/1.0.
    #[must_use]
    pub const fn version_for(self, asked: Version) -> Version {
        match self {
            Self::Announced { .. } => asked,
            Self::Never | Self::Silent { .. } => Version::Http11,
        }
    }

    /// Decides after the `nth` request of a connection, counted from one.
    ///
    /// RFC 9112, section 9.3: `close` takes precedence; otherwise HTTP/1.1 persists, and HTTP/1.0
    /// persists with `keep-alive`.
    #[must_use]
    pub fn after(self, version: Version, options: ConnectionOptions, nth: u32) -> Outlook {
        let wants_more = !options.close && (version == Version::Http11 || options.keep_alive);
        let left = self.max_requests().map(|max| max.get().saturating_sub(nth));
        if !wants_more || left == Some(0) {
            return Outlook::Closes;
        }
        let announced = match self {
            Self::Announced { idle, .. } => Some(KeepAlive { timeout: Some(idle), max: left }),
            Self::Never | Self::Silent { .. } => None,
        };
        Outlook::Persists {
            say_keep_alive: announced.is_some() || version == Version::Http10,
            keep_alive: announced,
        }
    }
}

impl Outlook {
    /// Adds the corresponding fields to `head`.
    pub fn announce(self, head: ResponseBuilder) -> ResponseBuilder {
        use alloc::string::ToString;
        match self {
            Self::Closes => head.field("Connection", "close"),
            Self::Persists { say_keep_alive, keep_alive } => {
                let head = match keep_alive {
                    Some(said) => head.field("Keep-Alive", said.to_string()),
                    None => head,
                };
                if say_keep_alive { head.field("Connection", "Keep-Alive") } else { head }
            }
        }
    }
}

/// See [`KeepAlivePolicy::reusable_for`].
const MARGIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use Version::{Http10, Http11};

    #[test]
    fn a_client_stops_before_the_announced_end() {
        let announced = |millis| KeepAlivePolicy::Announced {
            idle: Duration::from_millis(millis),
            max_requests: None,
        };
        for (idle, usable) in [(15_000, 14_000), (2_000, 1_000), (1_200, 600), (0, 0)] {
            assert_eq!(
                announced(idle).reusable_for(),
                Some(Duration::from_millis(usable)),
                "{idle}"
            );
        }
        let idle = Duration::from_secs(15);
        assert_eq!(KeepAlivePolicy::Silent { idle, max_requests: None }.reusable_for(), None);
        assert_eq!(KeepAlivePolicy::Never.reusable_for(), None);
    }

    #[test]
    fn the_client_decides_within_the_policy() {
        const IDLE: Duration = Duration::from_secs(15);
        let max_requests = NonZeroU32::new(3);
        let announced = KeepAlivePolicy::Announced { idle: IDLE, max_requests };
        let silent = KeepAlivePolicy::Silent { idle: IDLE, max_requests };
        let [none, close, keep] = [(false, false), (true, true), (false, true)]
            .map(|(close, keep_alive)| ConnectionOptions { close, keep_alive });
        let said = |max| Some(KeepAlive { timeout: Some(IDLE), max: Some(max) });
        let persists =
            |say_keep_alive, keep_alive| Outlook::Persists { say_keep_alive, keep_alive };
        #[rustfmt::skip]
        let table = [
            (KeepAlivePolicy::Never, Http11, keep,  1, Outlook::Closes),
            (announced,              Http10, none,  1, Outlook::Closes),
            (announced,              Http10, keep,  1, persists(true, said(2))),
            (announced,              Http10, keep,  2, persists(true, said(1))),
            (announced,              Http10, keep,  3, Outlook::Closes),
            (announced,              Http11, none,  1, persists(true, said(2))),
            (announced,              Http11, close, 1, Outlook::Closes),
            (silent,                 Http10, none,  1, Outlook::Closes),
            (silent,                 Http10, keep,  1, persists(true, None)),
            (silent,                 Http11, none,  1, persists(false, None)),
            (silent,                 Http11, close, 1, Outlook::Closes),
            (silent,                 Http11, none,  4, Outlook::Closes),
        ];
        for (policy, version, options, nth, expected) in table {
            let outlook = policy.after(version, options, nth);
            assert_eq!(outlook, expected, "{policy:?} {version} {options:?} request {nth}");
        }
    }
}

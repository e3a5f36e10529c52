//! Servers, and server languages, with specific settings.

/// A server, or a language's library, with a specific setting.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Software {
    /// nginx and OpenResty.
    Nginx,
    /// Apache httpd.
    Apache,
    /// lighttpd.
    Lighttpd,
    /// HAProxy.
    HaProxy,
    /// Squid.
    Squid,
    /// Node.js.
    Node,
    /// Go's net/http.
    Go,
    /// Tomcat, Jetty, Netty, and the JDK's built-in server.
    Java,
    /// Python's http.server, gunicorn, uvicorn.
    Python,
    /// hyper, in Rust.
    Hyper,
}

impl Software {
    /// Recognises the product names of a `Server` field; `None` if none of them is known.
    ///
    /// ```
    /// use ackwise_cause::Software;
    ///
    /// assert_eq!(Software::recognise("nginx/1.26.3"), Some(Software::Nginx));
    /// assert_eq!(Software::recognise("Apache-Coyote/1.1"), Some(Software::Java));
    /// assert_eq!(Software::recognise("my-server"), None);
    /// ```
    #[must_use]
    pub fn recognise(server: &str) -> Option<Self> {
        let server = server.to_ascii_lowercase();
        let row = PRODUCTS.iter().find(|(name, _)| server.contains(name));
        row.map(|(_, software)| *software)
    }

    /// The product's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Apache => "Apache",
            Self::Lighttpd => "lighttpd",
            Self::HaProxy => "HAProxy",
            Self::Squid => "Squid",
            Self::Node => "Node",
            Self::Go => "Go",
            Self::Java => "Java",
            Self::Python => "Python",
            Self::Hyper => "hyper",
        }
    }
}

/// Product names in lower case; the first match counts (Tomcat sends Apache-Coyote).
const PRODUCTS: &[(&str, Software)] = &[
    ("nginx", Software::Nginx),
    ("openresty", Software::Nginx),
    ("coyote", Software::Java),
    ("jetty", Software::Java),
    ("netty", Software::Java),
    ("apache", Software::Apache),
    ("lighttpd", Software::Lighttpd),
    ("haproxy", Software::HaProxy),
    ("squid", Software::Squid),
    ("node", Software::Node),
    ("golang", Software::Go),
    ("python", Software::Python),
    ("gunicorn", Software::Python),
    ("uvicorn", Software::Python),
    ("hyper", Software::Hyper),
];

//! The client that the checks share: whom it talks to, how it connects, what it may still use.

use std::{net::SocketAddr, time::Duration};

use ackwise_http::ConnectionOption;

use super::{
    Budget, ExchangeError, HttpConnection, Page, Request, Template, TlsSettings, layer::Layer,
    request::Addressee, tls::Tls,
};
use crate::{
    http_client::Protocol,
    stack::{
        Acknowledge, Capabilities, Hold, Receiver, Stack, StackName, Whose, distance::PathLoss,
    },
};

/// A client of one server.
pub struct Client {
    stack: Box<dyn Stack>,
    server: SocketAddr,
    /// What `Host` says.
    host: String,
    template: Template,
    /// `None` for `http://`.
    tls: Option<TlsSettings>,
    protocol: Protocol,
    /// How long after its beginning a connection takes further requests; `None` for as long as the server likes.
    hold: Option<Duration>,
    /// What is left of requests and time.
    pub budget: Budget,
}

impl Client {
    /// A client that talks to `server` alone and calls it `host`.
    #[must_use]
    pub fn new(stack: Box<dyn Stack>, server: SocketAddr, host: String, budget: Budget) -> Self {
        let (template, protocol) = (Template::default(), Protocol::Http1);
        Self { stack, server, host, template, tls: None, protocol, hold: None, budget }
    }

    /// The same client, speaking `protocol`.
    #[must_use]
    pub fn speaking(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// What it speaks.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whose TCP it has.
    #[must_use]
    pub fn stack_name(&self) -> StackName {
        self.stack.name()
    }

    /// Its TCP, for another client of the same server.
    #[must_use]
    pub fn into_stack(self) -> Box<dyn Stack> {
        self.stack
    }

    /// The same client, talking TLS.
    #[must_use]
    pub fn over_tls(self, settings: Option<TlsSettings>) -> Self {
        Self { tls: settings, ..self }
    }

    /// The same client, with other requests than plain GETs.
    #[must_use]
    pub fn with_template(self, template: Template) -> Self {
        Self { template, ..self }
    }

    /// Whom it talks to.
    #[must_use]
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// Whether it talks TLS.
    #[must_use]
    pub fn is_over_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Keeps no connection for longer than `hold`, and the response after that: others wait for the server meanwhile.
    pub fn hold_at_most(&mut self, hold: Duration) {
        self.hold = Some(hold);
    }

    /// How long after its beginning a connection takes further requests, if others wait meanwhile.
    #[must_use]
    pub fn hold(&self) -> Option<Duration> {
        self.hold
    }

    /// What its requests have in common.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// What its TCP can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.stack.capabilities()
    }

    /// What the kernel's TCP can do, if it is another and may be used too.
    pub fn kernel_capabilities(&mut self) -> Option<Capabilities> {
        self.stack.kernel().map(|kernel| kernel.capabilities())
    }

    /// Whether the emulated path loses packets, if there is one.
    pub fn emulate(&mut self, loss: PathLoss) {
        self.stack.emulate(loss);
    }

    /// The time by the stack's clock.
    #[must_use]
    pub fn now(&self) -> std::time::Instant {
        self.stack.now()
    }

    /// Lets `span` pass without a request.
    pub fn rest(&mut self, span: Duration) {
        self.stack.rest(self.budget.cap(self.now() + span));
    }

    /// A request for `page`; `connection` is what it says about persistence.
    ///
    /// # Errors
    ///
    /// If the path cannot stand in a request.
    pub fn ask_for(
        &self,
        page: &Page,
        connection: Option<ConnectionOption>,
    ) -> Result<Request, ExchangeError> {
        Ok(Request::new(self.addressee(), &self.template, page, connection)?)
    }

    /// The head of a request for `page` that announces `length` bytes of content.
    ///
    /// # Errors
    ///
    /// If the path cannot stand in a request.
    pub fn announce(&self, page: &Page, length: u64) -> Result<Request, ExchangeError> {
        let mut template = Template { content: None, ..self.template.clone() };
        template.fields.push(("Content-Length".to_owned(), length.to_string()));
        Ok(Request::new(self.addressee(), &template, page, None)?)
    }

    /// A request for `page` with one more field.
    ///
    /// # Errors
    ///
    /// If the path or the field cannot stand in a request.
    pub fn ask_for_with(
        &self,
        page: &Page,
        (name, value): (&str, &str),
    ) -> Result<Request, ExchangeError> {
        let mut template = self.template.clone();
        template.fields.push((name.to_owned(), value.to_owned()));
        Ok(Request::new(self.addressee(), &template, page, None)?)
    }

    fn addressee(&self) -> Addressee<'_> {
        let scheme = if self.is_over_tls() { "https" } else { "http" };
        Addressee { host: &self.host, protocol: self.protocol, scheme }
    }

    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// If there is none in time.
    pub fn open(&mut self, receiver: Receiver) -> Result<HttpConnection, ExchangeError> {
        let now = self.stack.now();
        self.budget.check_time(now)?;
        let deadline = self.budget.answer_by(now);
        let mut connection = match receiver.whose {
            Whose::Stack => self.stack.connect(self.server, receiver, deadline)?,
            Whose::Kernel => {
                let kernel = self.stack.kernel().expect("it is asked for only if there is one");
                kernel.connect(self.server, receiver, deadline)?
            }
        };
        let mut early = Vec::new();
        let layer = match &self.tls {
            None => Layer::clear(),
            Some(settings) => {
                let mut tls = Tls::establish(settings, connection.as_mut(), deadline)?;
                if self.protocol == Protocol::Http2 && !tls.has_agreed_on(ALPN_HTTP2) {
                    return Err(ExchangeError::Http2(NOT_OFFERED.to_owned()));
                }
                early = tls.take_early();
                Layer::Tls(Box::new(tls))
            }
        };
        let last_request = self.hold.map(|hold| now + hold);
        Ok(HttpConnection::new(self.protocol, connection, layer, early, last_request))
    }
}

impl Receiver {
    /// A receiver on an Ethernet that never gets in the way: large window, acknowledges promptly.
    pub const ETHERNET: Self = Self {
        mss: 1460,
        window: 1 << 20,
        sack: false,
        acknowledge: Acknowledge::Promptly,
        whose: Whose::Stack,
        hold: Hold::Off,
    };
}

/// RFC 9113, section 3.2.
const ALPN_HTTP2: &[u8] = b"h2";

const NOT_OFFERED: &str = "the server does not choose h2 (ALPN)";

//! The configuration of a server.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use ackwise_http::Behaviour;

use crate::{Limits, Site};

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address to listen on; port 0 lets the kernel choose.
    pub bind: SocketAddr,
    /// What the paths stand for.
    pub documents: Documents,
    /// How requests are answered.
    pub behaviour: Behaviour,
    /// Limits on clients.
    pub limits: Limits,
    /// Whether CLIENT_CLOSE is supported ([`ackwise_http::client_close`]): the connection closes
    /// without a response. Otherwise the response is 501.
    pub client_close: bool,
    /// Whether GETWEB is supported ([`ackwise_http::getweb`]). Otherwise the response is 501.
    pub getweb: bool,
    /// How a connection sends after it was idle.
    pub after_idle: AfterIdle,
}

/// How a connection sends after it was idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AfterIdle {
    /// As the kernel does.
    Kernel,
    /// One window, paced over one round trip. Has no effect where the kernel cuts the window
    /// ([`kernel_keeps_the_window`](crate::kernel_keeps_the_window)), and outside Linux.
    Paced,
}

impl Config {
    /// A server of generated documents on a free port of 127.0.0.1, without support for CLIENT_CLOSE and GETWEB.
    #[must_use]
    pub fn loopback(behaviour: Behaviour) -> Self {
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            bind,
            documents: Documents::Generated,
            behaviour,
            limits: Limits::default(),
            client_close: false,
            getweb: false,
            after_idle: AfterIdle::Kernel,
        }
    }
}

/// What a server's paths stand for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Documents {
    /// `/N` has N bytes: see [`Document`](crate::Document).
    Generated,
    /// The files of a directory.
    Stored(Arc<Site>),
}

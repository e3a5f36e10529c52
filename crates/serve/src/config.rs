//! The configuration of a server.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use ackwise_http::{
    Behaviour, Request,
    behaviour::{HeadFlush, KeepAlivePolicy},
};

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
    /// How the bytes of a file reach the socket.
    pub copies: Copies,
    /// How large the send buffers are.
    pub send_buffers: SendBuffers,
    /// What is done for clients that ignore data in the segment of the head.
    pub remedies: Vec<Remedy>,
    /// How a connection sends after it was idle.
    pub after_idle: AfterIdle,
}

/// How the bytes of a file reach the socket (Heidemann 1996, section 2.5).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Copies {
    /// Read into a buffer and written from there.
    #[default]
    Read,
    /// Through the buffers of stdio for input and output: "up to six data copies", 4 KB at a time.
    Stdio,
    /// By the kernel, without a copy in the program (`sendfile`; Linux).
    Sendfile,
    /// Files of more than `over` bytes: mapped into memory, from where the kernel copies them (`mmap`; Linux). Others
    /// as with [`Read`](Self::Read).
    Mmap {
        /// The paper: "Since there is a fixed overhead in setting up memory-mapping we enable it only for files larger
        /// than 8KB" ([`MMAP_OVER`](Self::MMAP_OVER)).
        over: u64,
    },
}

impl Copies {
    /// The limit of the paper for [`Mmap`](Self::Mmap).
    pub const MMAP_OVER: u64 = 8 * 1024;
}

/// How large the send buffers are.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum SendBuffers {
    /// As the behaviour says (`Behaviour::send_buffer`), or as the kernel tunes them.
    #[default]
    Fixed,
    /// By E-ATBT for each connection ([`ackwise_tuning::Eatbt`]): from its losses and its round trip; Linux.
    Eatbt,
}

/// What is done for one kind of client (Heidemann 1996, section 2.6: "data sent in the same segment as the HTTP headers
/// is ignored").
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Remedy {
    /// Part of the client's `User-Agent`.
    pub agent: String,
    /// What is done.
    pub by: RemedyBy,
}

/// The two remedies of the paper.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RemedyBy {
    /// The head leaves in a segment of its own.
    HeadApart,
    /// The connection does not persist.
    NoPersistence,
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
    /// How `request` is answered: as its client needs it.
    pub(crate) fn behaviour_for(&self, request: &Request) -> Behaviour {
        let mut behaviour = self.behaviour;
        let agent = request.fields.text("User-Agent").unwrap_or_default();
        for remedy in self.remedies.iter().filter(|remedy| agent.contains(&remedy.agent)) {
            match remedy.by {
                RemedyBy::HeadApart => behaviour.head_flush = HeadFlush::Apart,
                RemedyBy::NoPersistence => behaviour.keep_alive = KeepAlivePolicy::Never,
            }
        }
        behaviour
    }

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
            copies: Copies::Read,
            send_buffers: SendBuffers::Fixed,
            remedies: Vec::new(),
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

//! Without `NETLINK_SOCK_DIAG`, neither end can be inspected.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use super::time_wait::Held;

/// Never constructed.
pub(super) enum End {}

impl End {
    pub(super) fn of_server(
        _server: SocketAddr,
        _process: Option<u32>,
        _clients: Option<IpAddr>,
        _starts: &[Option<IpAddr>],
    ) -> Result<Self, String> {
        Err(NEEDS_LINUX.to_owned())
    }

    pub(super) fn of_clients(_server: SocketAddr) -> Result<Self, String> {
        Err(NEEDS_LINUX.to_owned())
    }

    pub(super) fn cost(&self) -> Duration {
        match *self {}
    }

    pub(super) fn count(&mut self) -> Result<Held, String> {
        match *self {}
    }
}

pub(super) fn check_process(_process: u32) -> Result<(), String> {
    Err(NEEDS_LINUX.to_owned())
}

pub(super) fn ignores_resets(_process: Option<u32>) -> Option<bool> {
    None
}

const NEEDS_LINUX: &str = "cannot count sockets in TIME-WAIT: it needs Linux";

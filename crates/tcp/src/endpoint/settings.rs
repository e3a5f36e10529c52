//! What an application changes on an open connection.
//!
//! The configuration is shared between endpoints until one of them changes it: then it gets its own.

use alloc::sync::Arc;
use core::time::Duration;

use super::{Config, Endpoint, Event};
use crate::{
    policy::{AckPolicy, BufferTuning, ClosePolicy, HoldPolicy},
    units::IpVersion,
};

impl Endpoint {
    /// Changes when small segments are held (`TCP_NODELAY`, `TCP_CORK`).
    pub fn set_hold(&mut self, hold: HoldPolicy) {
        self.sender.sequence_mut().begin_call();
        if self.config.policies.hold != hold {
            self.own_config().policies.hold = hold;
        }
        self.sender.hold();
    }

    /// Changes when data is acknowledged, from the next segment on. [`AckPolicy::LinuxQuickAck`] learns from
    /// then on.
    pub fn set_ack(&mut self, ack: AckPolicy) {
        self.own_config().policies.ack = ack;
    }

    /// Chooses how this connection closes: a socket option, where the policies are the host's.
    ///
    /// It counts for a [`close`](Self::close) that is still to come, unless the ends have agreed who waits:
    /// that is negotiated when the connection opens, so [`ClosePolicy::Negotiated`] changes nothing later.
    pub fn set_close(&mut self, close: ClosePolicy) {
        self.own_config().policies.close = close;
    }

    /// Changes how long the peer may be silent before the connection is given up (`TCP_USER_TIMEOUT`),
    /// from the next timeout on.
    pub fn set_user_timeout(&mut self, user_timeout: Duration) {
        self.own_config().user_timeout = user_timeout;
    }

    /// Changes how many bytes [`write`](Self::write) takes before they are acknowledged (`SO_SNDBUF`):
    /// from now on, it has this size.
    /// What was written stays, also if it is more.
    pub fn set_send_buffer(&mut self, bytes: u32) {
        self.sender.sequence_mut().begin_call();
        let had_room = self.sender.has_room(&self.config);
        let config = self.own_config();
        config.send_buffer = bytes;
        config.policies.send_tuning = BufferTuning::Off;
        if !had_room && self.sender.has_room(&self.config) {
            self.events.push(Event::Writable);
        }
    }

    /// Changes the largest window that is advertised (`SO_RCVBUF`); from now on, it is this one. A smaller one takes back nothing
    /// that was advertised (RFC 9293, SHLD-14); a larger one is limited by the shift that the first SYN
    /// has announced, also while the handshake lasts. The peer learns of it with the next segment.
    pub fn set_receive_buffer(&mut self, bytes: u32) {
        let config = self.own_config();
        config.receive_buffer = bytes;
        config.policies.receive_tuning = BufferTuning::Off;
        self.receiver.sequence_mut().set_buffer(bytes);
    }

    /// Has the SYN announce a window shift that suffices for a receive buffer of `bytes`, to which
    /// [`set_receive_buffer`](Self::set_receive_buffer) may then enlarge it (Linux: the maximum of
    /// `net.ipv4.tcp_rmem`). Before the SYN leaves only; later, it changes nothing.
    pub fn expect_receive_buffer(&mut self, bytes: u32) {
        self.receiver.sequence_mut().expect_buffer(bytes);
    }

    /// Says which IP carries the connection, IPv4 unless this is called; before the handshake only.
    /// It decides the segment size that holds without an MSS option, and the size of the IP header.
    pub const fn set_ip_version(&mut self, ip: IpVersion) {
        self.ip = ip;
    }

    fn own_config(&mut self) -> &mut Config {
        Arc::make_mut(&mut self.config)
    }
}

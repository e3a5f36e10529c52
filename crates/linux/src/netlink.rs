//! The two things that we ask of route netlink: bring an interface up, and set its queue.
//!
//! The older `ioctl` for the queue wants the capability in the first user namespace, netlink only in the
//! one of the network. A library for the rest of rtnetlink(7) would be larger than everything else here.

use std::{io, os::fd::AsRawFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// What is to change of an interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    /// `IFF_UP`.
    Up,
    /// Packets that wait for being sent.
    QueueLength(u32),
}

/// Changes the interface with number `index` of the current namespace.
pub(crate) fn change_link(index: u32, change: Change) -> io::Result<()> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let request = request(index, change);
    sendto(socket.as_raw_fd(), &request, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 256];
    let len = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    verdict(&answer[..len])
}

/// `struct nlmsghdr`, `struct ifinfomsg` and an attribute, in host byte order (rtnetlink(7)).
fn request(index: u32, change: Change) -> Vec<u8> {
    let (flags, attribute) = match change {
        Change::Up => (IFF_UP, None),
        Change::QueueLength(length) => (0, Some(length)),
    };
    let length: u32 = if attribute.is_some() { 40 } else { 32 };
    let mut message = Vec::with_capacity(40);
    message.extend_from_slice(&length.to_ne_bytes());
    message.extend_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message.extend_from_slice(&(NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    message.extend_from_slice(&1_u32.to_ne_bytes()); // sequence number
    message.extend_from_slice(&0_u32.to_ne_bytes()); // port: the kernel
    message.extend_from_slice(&[0, 0, 0, 0]); // family, padding, device type
    message.extend_from_slice(&index.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes()); // which of them to change
    if let Some(value) = attribute {
        message.extend_from_slice(&8_u16.to_ne_bytes()); // length
        message.extend_from_slice(&IFLA_TXQLEN.to_ne_bytes());
        message.extend_from_slice(&value.to_ne_bytes());
    }
    message
}

/// NLMSG_ERROR carries zero, or an errno with its sign turned.
fn verdict(answer: &[u8]) -> io::Result<()> {
    let field = |at: usize, len: usize| answer.get(at..at + len);
    let kind = field(4, 2).and_then(|octets| octets.try_into().ok()).map(u16::from_ne_bytes);
    let error = field(16, 4).and_then(|octets| octets.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, error) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "netlink answered something else")),
    }
}

const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
const IFLA_TXQLEN: u16 = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_length_that_it_claims() {
        for change in [Change::Up, Change::QueueLength(7)] {
            let request = request(1, change);
            let claimed = u32::from_ne_bytes(request[..4].try_into().unwrap());
            assert_eq!(request.len(), usize::try_from(claimed).unwrap(), "{change:?}");
        }
    }

    #[test]
    fn a_refusal_becomes_its_errno_and_a_short_answer_an_error() {
        let mut refusal = vec![0; 36];
        refusal[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert!(verdict(&refusal).is_ok());
        refusal[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(verdict(&refusal).unwrap_err().raw_os_error(), Some(1));
        assert!(verdict(&refusal[..10]).is_err());
    }
}

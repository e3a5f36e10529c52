//! The one thing that we ask of route netlink: bring an interface up.
//!
//! A library for the rest of rtnetlink(7) would be larger than everything else here.

use std::{io, os::fd::AsRawFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// Sets `IFF_UP` on the interface with number `index` of the current namespace.
pub(crate) fn bring_up(index: i32) -> io::Result<()> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let request = bring_up_request(index);
    sendto(socket.as_raw_fd(), &request, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 256];
    let len = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    verdict(&answer[..len])
}

/// `struct nlmsghdr` and `struct ifinfomsg`, both in host byte order (rtnetlink(7)).
fn bring_up_request(index: i32) -> Vec<u8> {
    let mut message = Vec::with_capacity(usize::from(LENGTH));
    message.extend_from_slice(&u32::from(LENGTH).to_ne_bytes());
    message.extend_from_slice(&RTM_NEWLINK.to_ne_bytes());
    message.extend_from_slice(&(NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
    message.extend_from_slice(&1_u32.to_ne_bytes()); // sequence number
    message.extend_from_slice(&0_u32.to_ne_bytes()); // port: the kernel
    message.extend_from_slice(&[0, 0, 0, 0]); // family, padding, device type
    message.extend_from_slice(&index.to_ne_bytes());
    message.extend_from_slice(&IFF_UP.to_ne_bytes()); // flags
    message.extend_from_slice(&IFF_UP.to_ne_bytes()); // which of them to change
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

const LENGTH: u16 = 32;
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_length_that_it_claims() {
        assert_eq!(bring_up_request(1).len(), usize::from(LENGTH));
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

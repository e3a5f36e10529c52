//! A route whose connections have timestamps in microseconds, which old versions of ip(8) cannot add.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use anyhow::{Context, ensure};
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// As `ip route add TO/32 dev DEVICE features tcp_usec_ts` (Linux 6.7), in the current namespace.
pub(super) fn with_microseconds(to: Ipv4Addr, device: &str) -> anyhow::Result<()> {
    let index = if_nametoindex(device).with_context(|| format!("no device {device}"))?;
    let flags = SockFlag::SOCK_CLOEXEC;
    let netlink = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    let address = NetlinkAddr::new(0, 0);
    sendto(netlink.as_raw_fd(), &request(to, index), &address, MsgFlags::empty())?;
    let mut answer = [0; 256];
    let len = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    let error = answer[..len].get(16..20).and_then(|it| it.try_into().ok()).map(i32::from_ne_bytes);
    ensure!(error == Some(0), "no timestamps in microseconds, error {error:?} (since Linux 6.7)");
    Ok(())
}

/// `struct nlmsghdr`, `struct rtmsg` and attributes (rtnetlink(7)).
fn request(to: Ipv4Addr, index: u32) -> Vec<u8> {
    let feature = attribute(RTAX_FEATURES, RTAX_FEATURE_TCP_USEC_TS.to_ne_bytes());
    let body = [
        &[AF_INET, 32, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0, 0, 0, 0]
            [..],
        &attribute(RTA_DST, to.octets()),
        &attribute(RTA_OIF, index.to_ne_bytes()),
        &12_u16.to_ne_bytes(),
        &u16::from(RTA_METRICS).to_ne_bytes(),
        &feature,
    ]
    .concat();
    let length = u32::try_from(16 + body.len()).expect("it is short");
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let head = [
        &length.to_ne_bytes()[..],
        &RTM_NEWROUTE.to_ne_bytes(),
        &flags.to_ne_bytes(),
        // Sequence number 1, to the kernel.
        &1_u32.to_ne_bytes(),
        &0_u32.to_ne_bytes(),
    ];
    [head.concat(), body].concat()
}

/// `struct rtattr` with a value of four bytes.
fn attribute(kind: u8, value: [u8; 4]) -> Vec<u8> {
    [&8_u16.to_ne_bytes()[..], &u16::from(kind).to_ne_bytes(), &value].concat()
}

const RTM_NEWROUTE: u16 = 24;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const AF_INET: u8 = 2;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const RTA_DST: u8 = 1;
const RTA_OIF: u8 = 4;
const RTA_METRICS: u8 = 8;
const RTAX_FEATURES: u8 = 12;
const RTAX_FEATURE_TCP_USEC_TS: u32 = 1 << 4;

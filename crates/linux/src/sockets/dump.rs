//! One `NETLINK_SOCK_DIAG` request and the datagrams of its response (sock_diag(7)).

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use ackwise_tcp::State;
use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_sock_diag::{
    SockDiagMessage,
    constants::{AF_INET, AF_INET6, IPPROTO_TCP},
    inet::{ExtensionFlags, InetRequest, InetResponse, SocketId, StateFlags, nlas::Nla},
};
use netlink_sys::Socket;

use super::{Family, Query, TcpInfo, TcpSocket};

/// Sends the request and passes each entry to `visit`.
pub(super) fn run(
    socket: &Socket,
    buffer: &mut [u8],
    family: Family,
    query: Query,
    visit: &mut impl FnMut(&TcpSocket),
) -> io::Result<()> {
    let request = request(family, query);
    let sent = socket.send(&request, 0)?;
    if sent != request.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    // Bounded: the kernel ends every dump after the entries of the existing sockets.
    loop {
        let size = socket.recv(&mut &mut *buffer, 0)?;
        let datagram = buffer.get(..size).ok_or(io::ErrorKind::InvalidData)?;
        if read_datagram(datagram, visit)? == Rest::Done {
            return Ok(());
        }
    }
}

/// Whether further datagrams follow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rest {
    Follows,
    Done,
}

fn read_datagram(mut bytes: &[u8], visit: &mut impl FnMut(&TcpSocket)) -> io::Result<Rest> {
    let malformed = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    while !bytes.is_empty() {
        let message = NetlinkMessage::<SockDiagMessage>::deserialize(bytes);
        let message = message.map_err(|error| malformed(error.to_string()))?;
        match message.payload {
            NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => {
                if let Some(socket) = tcp_socket(&response) {
                    visit(&socket);
                }
            }
            NetlinkPayload::Done(_) => return Ok(Rest::Done),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            _ => {}
        }
        let length = message.header.length as usize;
        bytes = bytes.get(length.max(1).next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    }
    Ok(Rest::Follows)
}

fn request(family: Family, query: Query) -> Vec<u8> {
    let (family, id) = match family {
        Family::V4 => (AF_INET, SocketId::new_v4()),
        Family::V6 => (AF_INET6, SocketId::new_v6()),
    };
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: if query.info { ExtensionFlags::INFO } else { ExtensionFlags::empty() },
        states: StateFlags::from_bits_retain(query.states),
        // In a dump the kernel compares only nonzero ports.
        socket_id: SocketId {
            source_port: query.local_port,
            destination_port: query.remote_port,
            ..id
        },
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// `None` for a state added by a later kernel.
fn tcp_socket(response: &InetResponse) -> Option<TcpSocket> {
    let header = &response.header;
    let id = &header.socket_id;
    let address = |ip: IpAddr, port| SocketAddr::new(ip.to_canonical(), port);
    let (_, state) = STATES.iter().find(|(number, _)| *number == header.state)?;
    Some(TcpSocket {
        local: address(id.source_address, id.source_port),
        remote: address(id.destination_address, id.destination_port),
        family: if header.family == AF_INET6 { Family::V6 } else { Family::V4 },
        state: *state,
        cookie: u64::from_ne_bytes(id.cookie),
        inode: header.inode,
        receive_queue: header.recv_queue,
        send_queue: header.send_queue,
        info: response.nlas.iter().find_map(|attribute| match attribute {
            Nla::TcpInfo(bytes) => TcpInfo::read(bytes),
            _ => None,
        }),
    })
}

/// `include/net/tcp_states.h`.
pub(super) const STATES: [(u8, State); 12] = [
    (1, State::Established),
    (2, State::SynSent),
    (3, State::SynReceived),
    (4, State::FinWait1),
    (5, State::FinWait2),
    (6, State::TimeWait),
    (7, State::Closed),
    (8, State::CloseWait),
    (9, State::LastAck),
    (10, State::Listen),
    (11, State::Closing),
    (12, State::SynReceived), // TCP_NEW_SYN_RECV: a handshake that has no socket yet.
];

/// `NLMSG_ALIGNTO`.
const ALIGNMENT: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_is_an_error_and_not_a_panic() {
        let mut seen = 0;
        for length in [1, 4, 15, 16, 40] {
            let junk = vec![0xff; length];
            assert!(read_datagram(&junk, &mut |_| seen += 1).is_err(), "{length} bytes");
        }
        assert_eq!((read_datagram(&[], &mut |_| seen += 1).unwrap(), seen), (Rest::Follows, 0));
    }
}

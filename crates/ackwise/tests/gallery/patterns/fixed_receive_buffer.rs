//! The client sets the size of its receive buffer, and the kernel no longer does.

use std::fs;

use ackwise_cause::{Cause, Party};
use socket2::{Domain, Socket, Type};

use super::*;

#[test]
fn a_fixed_receive_buffer_on_a_long_path() {
    Exhibit {
        title: "A fixed receive buffer on a long path",
        source: include_str!("fixed_receive_buffer.rs"),
        network: Network::Link(long_way),
        server: |stream, _| answer(stream, 1_000_000),
        client: download,
        verdict: Claim::Costs(Cause::ReceiveWindow, Party::Client, 70.0),
    }
    .show();
}

fn download(server: SocketAddr, version: Version) -> io::Result<()> {
    // Whether the kernel's own tuning keeps up with slow start is another question.
    fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 8388608 33554432")?;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if version == Version::Buggy {
        socket.set_recv_buffer_size(16_384)?;
    }
    socket.connect(&server.into())?;
    let mut stream = TcpStream::from(socket);
    be_patient(&stream);
    ask(&mut stream)
}

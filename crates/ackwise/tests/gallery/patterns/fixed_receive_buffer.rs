//! The client sets the size of its receive buffer, and the kernel no longer does.

use ackwise_http::cause::{Cause, Party};
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
        verdict: Verdict::Costs(Cause::ReceiveWindow, Party::Client, 70.0),
    }
    .show();
}

fn download(server: SocketAddr, version: Version) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    if version == Version::Buggy {
        socket.set_recv_buffer_size(16_384)?;
    }
    socket.connect(&server.into())?;
    let mut stream = TcpStream::from(socket);
    be_patient(&stream);
    ask(&mut stream)
}

//! One module for each pattern.

mod closes_first;
mod early_refusal;
mod empty_last_frame;
mod fixed_receive_buffer;
mod flow_control;
mod idle_close;
mod idle_restart;
mod just_over_a_segment;
mod more_to_come;
mod mtu_black_hole;
mod never_continues;
mod notsent_lowat;
mod record_per_write;
mod split_request;
mod two_writes;

use std::{
    io::{self, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use ackwise_link::LinkConfig;
use ackwise_linux::emulator::EmulatorOptions;

use super::{
    exhibit::{Claim, Exhibit, Network, Version, be_patient},
    http,
};

/// Connects, with patience.
fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(server)?;
    be_patient(&stream);
    Ok(stream)
}

/// A client without fault: twenty requests on one connection.
fn twenty_requests(server: SocketAddr, _: Version) -> io::Result<()> {
    let mut stream = connect(server)?;
    (0..20).try_for_each(|_| ask(&mut stream))
}

/// Asks, and reads the answer.
fn ask(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(http::GET)?;
    http::read_message(stream)
}

/// A server without fault: answers in one write.
fn answer(stream: &mut TcpStream, body: usize) -> io::Result<()> {
    let response = [http::response_head(body), http::body(body)].concat();
    loop {
        http::read_message(stream)?;
        stream.write_all(&response)?;
    }
}

/// A round trip of 40 ms, nothing else.
fn long_way() -> EmulatorOptions {
    EmulatorOptions::symmetric(LinkConfig { delay: Duration::from_millis(20), ..LinkConfig::IDEAL })
}

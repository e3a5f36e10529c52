//! Two streams over a pipe that drops every seventh packet: a client asks, a server answers, and time
//! is a number.
//!
//! ```sh
//! cargo run -p ackwise-tcp --example pipe
//! ```

use std::{collections::VecDeque, net::SocketAddr, time::Duration};

use ackwise_tcp::{
    Config, Endpoint, Event, Instant, Policies, SeqNumber, State,
    driver::{ListenOutcome, Listener, Stream},
    wire,
};

/// A packet on its way: when it arrives, and its bytes.
type OnItsWay = (Instant, Vec<u8>);

/// One end: a stream, its address, and what is on its way to it.
struct End {
    name: &'static str,
    address: SocketAddr,
    stream: Option<Stream>,
    inbox: VecDeque<OnItsWay>,
}

const ONE_WAY: Duration = Duration::from_millis(10);
const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";
const RESPONSE_BYTES: usize = 50_000;
/// More than the exchange needs: what exceeds it goes on for ever.
const MOST_STEPS: usize = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = std::sync::Arc::new(Config::new(Policies::LINUX_6));
    let mut now = Instant::EPOCH;
    let mut packets = 0;
    let connecting = Endpoint::connect(config.clone(), SeqNumber(1_000), now);
    let mut client = end("client", "192.0.2.1:49152", Some(Stream::new(connecting)))?;
    let mut server = end("server", "192.0.2.2:80", None)?;
    let mut listener = Listener::new(1);
    let (mut request, mut response) = (Vec::new(), Vec::new());

    for _ in 0..MOST_STEPS {
        // What the programs do.
        if let Some(stream) = &mut client.stream {
            while let Some(event) = stream.endpoint_mut().poll_event() {
                if event == Event::Connected {
                    assert_eq!(stream.write(REQUEST), REQUEST.len());
                } else if event == Event::PeerClosed {
                    stream.endpoint_mut().close();
                }
            }
            read_all(stream, &mut response);
        }
        if let Some(stream) = &mut server.stream {
            if stream.endpoint_mut().poll_event() == Some(Event::Connected) {
                listener.end(Some(()));
                assert_eq!(listener.accept(), Some(()));
            }
            read_all(stream, &mut request);
            if request == REQUEST && stream.endpoint().written() == 0 {
                assert_eq!(stream.write(&[b'x'; RESPONSE_BYTES]), RESPONSE_BYTES);
                stream.endpoint_mut().close();
            }
        }
        // What leaves, and what time it is next.
        send(&mut client, &mut server, &mut packets, now)?;
        send(&mut server, &mut client, &mut packets, now)?;
        let Some(next) = [&client, &server].into_iter().filter_map(next_time).min() else { break };
        now = now.max(next);
        // What arrives.
        for end in [&mut client, &mut server] {
            if let Some(stream) = &mut end.stream {
                stream.endpoint_mut().handle_timeout(now);
            }
            while end.inbox.front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, packet)) = end.inbox.pop_front() else { break };
                let packet = wire::parse(&packet)?;
                if end.stream.is_none()
                    && listener.handle_packet(&packet, now) == ListenOutcome::Open
                {
                    let endpoint = Endpoint::listen(config.clone(), SeqNumber(5_000));
                    end.stream = Some(Stream::new(endpoint));
                }
                if let Some(stream) = &mut end.stream {
                    stream.handle_segment(&packet.segment, packet.payload, now);
                }
            }
        }
    }
    let state = |end: &End| end.stream.as_ref().map(|stream| stream.endpoint().state());
    assert_eq!((response.len(), state(&client)), (RESPONSE_BYTES, Some(State::Closed)));
    println!("{} bytes in {packets} packets, the last at {now}", response.len());
    Ok(())
}

fn end(
    name: &'static str,
    address: &str,
    stream: Option<Stream>,
) -> Result<End, std::net::AddrParseError> {
    Ok(End { name, address: address.parse()?, stream, inbox: VecDeque::new() })
}

fn read_all(stream: &mut Stream, into: &mut Vec<u8>) {
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            0 => return,
            len => into.extend_from_slice(&buffer[..len]),
        }
    }
}

/// Puts on the pipe what leaves; every seventh packet is lost.
fn send(
    from: &mut End,
    to: &mut End,
    packets: &mut u32,
    now: Instant,
) -> Result<(), wire::WriteError> {
    let Some(stream) = &mut from.stream else { return Ok(()) };
    let mut payload = Vec::new();
    while let Some(transmit) = stream.poll_transmit(&mut payload, now) {
        let mut packet = Vec::new();
        wire::write(&mut packet, from.address, to.address, &transmit.segment, &payload)?;
        *packets += 1;
        let lost = packets.is_multiple_of(7);
        let note = if lost { " (lost)" } else { "" };
        println!("{now} {} sends {} bytes{note}", from.name, packet.len());
        if !lost {
            to.inbox.push_back((now + ONE_WAY, packet));
        }
    }
    Ok(())
}

/// When something happens at an end by itself.
fn next_time(end: &End) -> Option<Instant> {
    let timer = end.stream.as_ref().and_then(|stream| stream.endpoint().poll_timeout());
    let arrival = end.inbox.front().map(|(at, _)| *at);
    timer.map(|deadline| deadline.at).into_iter().chain(arrival).min()
}

//! Carries a plan of writes out on a socket: each write one call, as far as the kernel takes it.

use std::{
    io::{self, IoSlice, Write},
    net::TcpStream,
    ops::Range,
    time::{Duration, Instant},
};

use ackwise_http::{
    Behaviour,
    behaviour::{self, Nagle, Tail},
};

use crate::{
    Document,
    reply::{Content, Reply},
    stop::StopSignal,
};

/// Sets what a behaviour says about the socket itself.
pub(crate) fn configure(stream: &TcpStream, behaviour: &Behaviour) -> io::Result<()> {
    stream.set_nodelay(behaviour.nagle == Nagle::Off)
}

/// Sends `reply` by `behaviour`'s plan before `deadline`.
pub(crate) fn send(
    stream: &TcpStream,
    reply: &Reply,
    behaviour: &Behaviour,
    stop: &StopSignal,
    deadline: Instant,
) -> io::Result<()> {
    let (document, content) = match &reply.content {
        Some(Content { document, range }) => (Some(*document), range.clone()),
        None => (None, 0..0),
    };
    if behaviour.tail == Tail::Corked {
        set_cork(stream, false)?; // The last response left it in.
    }
    for write in behaviour.writes(reply.head.len(), content.end - content.start) {
        let behaviour::Write { after, head, body, corked, .. } = write;
        if !stop.sleep(after) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if corked {
            set_cork(stream, true)?;
        }
        let body = content.start + body.start..content.start + body.end;
        write_all(stream, &reply.head[head], document, body, deadline)?;
    }
    Ok(())
}

/// Writes both parts by one gathering call, and the rest by further ones if the kernel stops short.
fn write_all(
    mut stream: &TcpStream,
    mut head: &[u8],
    document: Option<Document>,
    mut body: Range<u64>,
    deadline: Instant,
) -> io::Result<()> {
    while !head.is_empty() || !body.is_empty() {
        stream.set_write_timeout(Some(left_until(deadline)?))?;
        let mut slices = Vec::with_capacity(2);
        if !head.is_empty() {
            slices.push(IoSlice::new(head));
        }
        if let Some(document) = document {
            document.gather(body.clone(), &mut slices);
        }
        let written = match stream.write_vectored(&slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let of_head = written.min(head.len());
        head = &head[of_head..];
        body.start += (written - of_head) as u64;
    }
    Ok(())
}

/// The time left until `deadline`, as a time-out for a socket, which must not be zero.
///
/// # Errors
///
/// `TimedOut` if there is none.
pub(crate) fn left_until(deadline: Instant) -> io::Result<Duration> {
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left.max(Duration::from_millis(1))),
    }
}

#[cfg(target_os = "linux")]
fn set_cork(stream: &TcpStream, cork: bool) -> io::Result<()> {
    socket2::SockRef::from(stream).set_tcp_cork(cork)
}

#[cfg(not(target_os = "linux"))]
fn set_cork(_: &TcpStream, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

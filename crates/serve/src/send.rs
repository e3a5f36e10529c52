//! Executes a plan of writes on a socket: one call per write, unless the kernel accepts only a
//! part.

use std::{
    io::{self, IoSlice, Write},
    net::TcpStream,
    ops::Range,
    time::{Duration, Instant},
};

use ackwise_http::{
    Behaviour,
    behaviour::{self, Nagle, Tail, Writes},
};

use crate::{reply::Reply, stop::StopSignal};

/// Sets the socket options of a behaviour.
pub(crate) fn configure(stream: &TcpStream, behaviour: &Behaviour) -> io::Result<()> {
    stream.set_nodelay(behaviour.nagle == Nagle::Off)
}

/// Sends `replies` by the plan of `behaviour` before `deadline`; several replies as one stream.
pub(crate) fn send(
    stream: &TcpStream,
    replies: &[Reply],
    behaviour: &Behaviour,
    stop: &StopSignal,
    deadline: Instant,
) -> io::Result<()> {
    if behaviour.tail == Tail::Corked {
        set_cork(stream, false)?; // The last response left the cork set.
    }
    for write in writes(replies, behaviour) {
        let behaviour::Write { after, head, body, corked, .. } = write;
        if !stop.sleep(after) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if corked {
            set_cork(stream, true)?;
        }
        let range = head.start as u64 + body.start..head.end as u64 + body.end;
        write_all(stream, replies, range, deadline)?;
    }
    Ok(())
}

fn writes<'b>(replies: &[Reply], behaviour: &'b Behaviour) -> Writes<'b> {
    match replies {
        [reply] => behaviour.writes(reply.head.len(), reply.content_length()),
        _ => behaviour.gathered_writes(replies.iter().map(Reply::length).sum()),
    }
}

/// Writes `range` of the concatenated replies with one gathering call, and with further calls if
/// the kernel accepts only a part.
fn write_all(
    mut stream: &TcpStream,
    replies: &[Reply],
    mut range: Range<u64>,
    deadline: Instant,
) -> io::Result<()> {
    while !range.is_empty() {
        stream.set_write_timeout(Some(left_until(deadline)?))?;
        match stream.write_vectored(&gather(replies, range.clone())) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => range.start += written as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The bytes in `range`, up to the limit of one gathering write.
fn gather(replies: &[Reply], range: Range<u64>) -> Vec<IoSlice<'_>> {
    let mut slices = Vec::with_capacity(2);
    let mut start = 0;
    for reply in replies {
        let end = start + reply.length();
        let part = range.start.max(start)..range.end.min(end);
        if !part.is_empty() {
            reply.gather(part.start - start..part.end - start, &mut slices);
        }
        start = end;
    }
    slices
}

/// The time left until `deadline`, as a socket timeout, which must not be zero.
///
/// # Errors
///
/// `TimedOut` if the deadline has passed.
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

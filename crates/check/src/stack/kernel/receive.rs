//! Reading with the time of arrival: the kernel stamps a segment when it arrives, not when we wake.

use std::{
    io,
    sync::LazyLock,
    time::{Duration, Instant, SystemTime},
};

use socket2::{Domain, Socket, Type};

/// The reading side of a socket.
pub(super) struct Receiving {
    buffer: Box<[u8]>,
    /// Stamps are made monotonic by this.
    latest: Instant,
}

impl Receiving {
    pub(super) fn new(socket: &Socket) -> Self {
        ask_for_stamps(socket);
        Self { buffer: vec![0; READ_SIZE].into_boxed_slice(), latest: Instant::now() }
    }

    /// Reads the bytes of the segment that came first (or of several that the kernel has merged);
    /// none mean that the peer has closed.
    ///
    /// The time is that of their arrival, or of the read where the kernel does not tell.
    pub(super) fn read(&mut self, socket: &Socket) -> io::Result<(Instant, &[u8])> {
        let len = self.one_segment(socket)?;
        let (len, stamp) = receive(socket, &mut self.buffer[..len], Take::Away)?;
        let (wall, now) = both_clocks();
        let at = stamp.and_then(|stamp| on_monotonic_clock(stamp, wall, now)).unwrap_or(now);
        self.latest = self.latest.max(at);
        Ok((self.latest, &self.buffer[..len]))
    }

    /// How many bytes share the stamp of the first one.
    ///
    /// A read goes across segments and tells the stamp of the last. So it is tried, without taking
    /// anything away, how long a read may be before the stamp changes.
    fn one_segment(&mut self, socket: &Socket) -> io::Result<usize> {
        let (available, last) = receive(socket, &mut self.buffer, Take::Peek)?;
        let mut peek = |len| receive(socket, &mut self.buffer[..len], Take::Peek);
        if last.is_none() || available < 2 || peek(1)?.1 == last {
            return Ok(available.max(1));
        }
        let first = peek(1)?.1;
        let (mut same, mut other) = (1, available);
        while other - same > 1 {
            let middle = same.midpoint(other);
            if peek(middle)?.1 == first { same = middle } else { other = middle }
        }
        Ok(same)
    }
}

/// Whether a read takes the bytes away.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Take {
    Away,
    Peek,
}

/// The same moment on both clocks, the monotonic one a little late if at all: an arrival that seems
/// late accuses nobody, one that seems early acquits.
fn both_clocks() -> (SystemTime, Instant) {
    let mut tries = (0..CLOCK_TRIES).map(|_| {
        let before = Instant::now();
        let wall = SystemTime::now();
        let after = Instant::now();
        (after - before, wall, after)
    });
    // On a busy machine another process may run between two readings.
    let first = tries.next().expect("there is at least one try");
    let quickest = tries.take_while(|_| first.0 > CLOCK_READING).min_by_key(|(took, ..)| *took);
    let (_, wall, now) = quickest.filter(|(took, ..)| *took < first.0).unwrap_or(first);
    (wall, now)
}

/// Stamps are wall-clock time. Converted at once, so that a step of the wall clock spoils at most
/// the one stamp that it falls on, and an implausible one is dropped.
fn on_monotonic_clock(stamp: SystemTime, wall: SystemTime, now: Instant) -> Option<Instant> {
    let age = wall.duration_since(stamp).ok()?;
    (age <= OLDEST_STAMP).then(|| now.checked_sub(age))?
}

/// Makes the kernel stamp what arrives from now on, and waits until it does.
///
/// Linux stamps nothing while no socket of the system asks for it, and begins some time after one
/// does: too late for the first answers of a server nearby. So one socket of this process asks early
/// and is kept.
pub(super) fn enable_timestamps() {
    static KEPT: LazyLock<Option<Socket>> = LazyLock::new(|| {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).ok()?;
        ask_for_stamps(&socket);
        std::thread::sleep(WARM_UP);
        Some(socket)
    });
    LazyLock::force(&KEPT);
}

#[cfg(target_os = "linux")]
fn ask_for_stamps(socket: &Socket) {
    use nix::sys::socket::{setsockopt, sockopt::ReceiveTimestampns};
    let _ = setsockopt(socket, ReceiveTimestampns, &true); // Without, the time of the read serves.
}

#[cfg(target_os = "linux")]
fn receive(
    socket: &Socket,
    buffer: &mut [u8],
    take: Take,
) -> io::Result<(usize, Option<SystemTime>)> {
    use nix::sys::{
        socket::{ControlMessageOwned, MsgFlags, recvmsg},
        time::TimeSpec,
    };
    use std::os::fd::AsRawFd;

    let mut control = nix::cmsg_space!(TimeSpec);
    let mut parts = [io::IoSliceMut::new(buffer)];
    let flags = match take {
        Take::Away => MsgFlags::empty(),
        Take::Peek => MsgFlags::MSG_PEEK,
    };
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let stamp = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(stamp) => {
            Some(SystemTime::UNIX_EPOCH + Duration::from(stamp))
        }
        _ => None,
    });
    // The kernel gives a stamp of zero for a segment that came before it was asked for stamps.
    Ok((message.bytes, stamp.filter(|stamp| *stamp != SystemTime::UNIX_EPOCH)))
}

#[cfg(not(target_os = "linux"))]
fn ask_for_stamps(_: &Socket) {}

#[cfg(not(target_os = "linux"))]
fn receive(
    mut socket: &Socket,
    buffer: &mut [u8],
    take: Take,
) -> io::Result<(usize, Option<SystemTime>)> {
    match take {
        Take::Away => io::Read::read(&mut socket, buffer).map(|len| (len, None)),
        Take::Peek => Ok((buffer.len(), None)), // Without stamps there is nothing to look for.
    }
}

/// Linux needs a few milliseconds to change its own code (a static key) for stamps.
const WARM_UP: Duration =
    if cfg!(target_os = "linux") { Duration::from_millis(20) } else { Duration::ZERO };

/// Reading three clocks takes less.
const CLOCK_READING: Duration = Duration::from_micros(5);

const CLOCK_TRIES: usize = 3;

/// More than one read never takes.
const READ_SIZE: usize = 65_536;

/// A byte does not lie in the socket longer than this while a check runs.
const OLDEST_STAMP: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_becomes_the_same_moment_on_the_monotonic_clock() {
        let (wall, now) = (SystemTime::now(), Instant::now());
        let ms = Duration::from_millis;
        let at = |stamp| on_monotonic_clock(stamp, wall, now);
        assert_eq!(at(wall - ms(3)), Some(now - ms(3)));
        assert_eq!(at(wall), Some(now));
        assert_eq!(at(wall + ms(1)), None, "the wall clock was set back");
        assert_eq!(at(wall - ms(60_000)), None, "the wall clock was set forward");
    }
}

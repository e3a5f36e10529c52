//! Executes a plan of writes on a socket: one call per write, unless the kernel accepts only a
//! part.

use std::{
    hint::black_box,
    io::{self, IoSlice},
    net::TcpStream,
    ops::Range,
    time::{Duration, Instant},
};

use ackwise_http::{
    Behaviour,
    behaviour::{self, Nagle, Tail, Writes},
};

use socket2::SockRef;

use crate::{
    Copies, Document,
    content::{OpenFile, Part},
    document::GATHER_LIMIT,
    pace::{self, Restart},
    reply::Reply,
    send_buffer::{SendBuffer, TUNED_WRITE},
    site::{Site, Stored},
    stop::StopSignal,
};

/// Sets the socket options of a behaviour.
pub(crate) fn configure(stream: &TcpStream, behaviour: &Behaviour) -> io::Result<()> {
    stream.set_nodelay(behaviour.nagle == Nagle::Off)
}

/// Sends `replies` by the plan of `behaviour` before `deadline`; several replies as one stream.
pub(crate) fn send(
    stream: &TcpStream,
    replies: &[Reply],
    behaviour: &Behaviour,
    copies: Copies,
    timing: Timing<'_>,
    stop: &StopSignal,
    deadline: Instant,
) -> io::Result<()> {
    if behaviour.tail == Tail::Corked {
        set_cork(stream, false)?; // The last response left the cork set.
    }
    let copier = Copier { copies, ..Copier::default() };
    let Timing { restart, buffer } = timing;
    let mut writer = Writer { stream, replies, restart, buffer, stop, deadline, copier };
    for write in writes(replies, behaviour) {
        let behaviour::Write { after, head, body, corked, .. } = write;
        if !stop.sleep(after) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if corked {
            set_cork(stream, true)?;
        }
        let range = head.start as u64 + body.start..head.end as u64 + body.end;
        // What the kernel sends by itself has no flag that says that more follows.
        let joins = copies == Copies::Sendfile && behaviour.tail != Tail::Corked;
        let joins = joins && has_files(replies, range.clone());
        if joins {
            set_cork(stream, true)?;
        }
        writer.write_all(range)?;
        if joins {
            set_cork(stream, false)?;
        }
    }
    Ok(())
}

fn writes<'b>(replies: &[Reply], behaviour: &'b Behaviour) -> Writes<'b> {
    match replies {
        [reply] => behaviour.writes(reply.head.len(), reply.content.length()),
        _ => behaviour.gathered_writes(replies.iter().map(Reply::length).sum()),
    }
}

/// What else decides when bytes leave.
pub(crate) struct Timing<'c> {
    /// The first window is paced.
    pub(crate) restart: Option<Restart>,
    /// The connection's send buffer.
    pub(crate) buffer: &'c mut SendBuffer,
}

/// Writes ranges of the concatenated replies.
struct Writer<'r> {
    stream: &'r TcpStream,
    replies: &'r [Reply],
    restart: Option<Restart>,
    buffer: &'r mut SendBuffer,
    stop: &'r StopSignal,
    deadline: Instant,
    copier: Copier,
}

/// Copies bytes of replies into memory.
#[derive(Debug, Default)]
pub(crate) struct Copier {
    copies: Copies,
    file: OpenFile,
    /// The buffers of stdio, for input and for the program itself.
    stdio: [Vec<u8>; 2],
    /// What was read from files, and what is between.
    copied: Vec<u8>,
}

/// Consecutive bytes of a reply.
enum Piece<'r> {
    Memory(&'r [u8]),
    Generated(Document, Range<u64>),
    Stored(&'r Site, &'r Stored, Range<u64>),
}

impl<'r> Writer<'r> {
    /// Writes `range` with one gathering call, and with further calls if the kernel accepts only a part, or if
    /// there is more than one call takes. Segments are filled across these calls.
    fn write_all(&mut self, mut range: Range<u64>) -> io::Result<()> {
        while !range.is_empty() {
            self.stream.set_write_timeout(Some(left_until(self.deadline)?))?;
            self.buffer.adjust(self.stream)?;
            let now = self.allowed(range.clone())?;
            // A window that is paced ends with a full segment.
            let more = self.restart.is_none() && now.end < range.end;
            match self.write_some(now, if more { MORE_FOLLOWS } else { 0 }) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    range.start += written as u64;
                    if let Some(restart) = &mut self.restart {
                        restart.bytes -= (written as u64).min(restart.bytes);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The part of `range` that may be written: what follows a paced window waits for its first ACK.
    fn allowed(&mut self, range: Range<u64>) -> io::Result<Range<u64>> {
        let Some(restart) = self.restart else { return Ok(self.per_look(range)) };
        if restart.bytes > 0 {
            return Ok(range.start..range.end.min(range.start + restart.bytes));
        }
        self.restart = None;
        if !self.stop.sleep(restart.until.saturating_duration_since(Instant::now())) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        pace::lift(self.stream)?;
        Ok(self.per_look(range))
    }

    /// The part of `range` after which the buffer is looked at again.
    fn per_look(&self, range: Range<u64>) -> Range<u64> {
        if !self.buffer.is_tuned() {
            return range;
        }
        range.start..range.end.min(range.start + TUNED_WRITE)
    }

    /// Writes the beginning of `range`; all of it with these `flags`.
    fn write_some(&mut self, range: Range<u64>, flags: i32) -> io::Result<usize> {
        let wanted = range.end - range.start;
        #[cfg(target_os = "linux")]
        if self.copier.copies == Copies::Sendfile
            && let Some(Piece::Stored(site, stored, range)) =
                pieces(self.replies, range.clone()).next()
        {
            return self.copier.file.send(site, stored, range, self.stream);
        }
        #[cfg(target_os = "linux")]
        if let Copies::Mmap { over } = self.copier.copies
            && let Some(mapped) = mapped_after(self.replies, range.clone(), over)
        {
            let Mapped { before, file, more_follows } = mapped;
            let flags = if more_follows { MORE_FOLLOWS } else { flags };
            return self.copier.file.send_mapped(file, &before, flags, self.stream);
        }
        let reads_files = has_files(self.replies, range.clone());
        let slices = if reads_files {
            vec![IoSlice::new(self.copier.copy(self.replies, range)?)]
        } else {
            gather(self.replies, range)
        };
        let length: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
        let flags = if length < wanted { MORE_FOLLOWS } else { flags };
        SockRef::from(self.stream).send_vectored_with_flags(&slices, flags)
    }
}

impl Copier {
    /// Copies the bytes from the start of `range` on, as many as one call takes.
    ///
    /// # Errors
    ///
    /// If a file is not what its length was taken from.
    pub(crate) fn copy(&mut self, replies: &[Reply], range: Range<u64>) -> io::Result<&[u8]> {
        self.copied.clear();
        let limit = if self.copies == Copies::Stdio { STDIO_BUFFER } else { COPY_LIMIT };
        for piece in pieces(replies, range) {
            // It is mapped by the next call.
            if !self.copied.is_empty() && piece.is_mapped(self.copies) {
                break;
            }
            let room = limit - self.copied.len();
            match piece {
                Piece::Memory(bytes) => {
                    self.copied.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                Piece::Generated(document, range) => {
                    let mut slices = Vec::new();
                    document.gather(at_most(range, room), &mut slices);
                    for slice in slices {
                        self.copied.extend_from_slice(&slice);
                    }
                }
                Piece::Stored(site, stored, range) if self.copies == Copies::Stdio => {
                    let [input, program] = &mut self.stdio;
                    input.clear();
                    self.file.append(site, stored, at_most(range, room), input)?;
                    // fread and fwrite: each copies.
                    program.clear();
                    program.extend_from_slice(black_box(input));
                    self.copied.extend_from_slice(black_box(program));
                }
                Piece::Stored(site, stored, range) => {
                    self.file.append(site, stored, at_most(range, room), &mut self.copied)?;
                }
            }
            // With sendfile, what follows is not copied.
            if self.copied.len() >= limit || self.copies == Copies::Sendfile {
                break;
            }
        }
        Ok(&self.copied)
    }
}

/// A file that is sent from mapped memory, with what is before it.
#[cfg(target_os = "linux")]
struct Mapped<'r> {
    before: Vec<IoSlice<'r>>,
    file: (&'r Site, &'r Stored, Range<u64>),
    more_follows: bool,
}

/// The first file in `range` if it is mapped and only memory is before it.
#[cfg(target_os = "linux")]
fn mapped_after(replies: &[Reply], range: Range<u64>, over: u64) -> Option<Mapped<'_>> {
    let mut before = Vec::new();
    let mut pieces = pieces(replies, range);
    while before.len() < GATHER_LIMIT {
        match pieces.next()? {
            Piece::Memory(bytes) => before.push(IoSlice::new(bytes)),
            Piece::Stored(site, stored, part) if stored.length > over => {
                let more_follows = pieces.next().is_some();
                return Some(Mapped { before, file: (site, stored, part), more_follows });
            }
            Piece::Generated(..) | Piece::Stored(..) => return None,
        }
    }
    None
}

/// Whether one write of `range` has to do with files.
fn has_files(replies: &[Reply], range: Range<u64>) -> bool {
    pieces(replies, range).take(GATHER_LIMIT).any(|piece| matches!(piece, Piece::Stored(..)))
}

/// The bytes in `range`, up to the limit of one gathering write. None of them is in a file.
fn gather(replies: &[Reply], range: Range<u64>) -> Vec<IoSlice<'_>> {
    let mut slices = Vec::with_capacity(2);
    for piece in pieces(replies, range) {
        match piece {
            Piece::Memory(bytes) => slices.push(IoSlice::new(bytes)),
            Piece::Generated(document, range) => document.gather(range, &mut slices),
            Piece::Stored(..) => break,
        }
        if slices.len() >= GATHER_LIMIT {
            break;
        }
    }
    slices
}

/// The pieces of the concatenated replies within `range`; none is empty.
fn pieces(replies: &[Reply], range: Range<u64>) -> impl Iterator<Item = Piece<'_>> {
    let whole = replies.iter().flat_map(|reply| {
        let content = reply.content.parts().iter().map(|part| match part {
            Part::Memory(bytes) => Piece::Memory(bytes),
            Part::Generated { document, range } => Piece::Generated(*document, range.clone()),
            Part::Stored { site, stored, range } => Piece::Stored(site, stored, range.clone()),
        });
        std::iter::once(Piece::Memory(&reply.head)).chain(content)
    });
    let mut start = 0;
    whole.filter_map(move |piece| {
        let length = piece.length();
        let from = range.start.clamp(start, start + length) - start;
        let to = range.end.clamp(start, start + length) - start;
        start += length;
        (from < to).then(|| piece.part(from..to))
    })
}

impl Piece<'_> {
    fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Generated(_, range) | Self::Stored(_, _, range) => range.end - range.start,
        }
    }

    /// Whether it is sent from mapped memory.
    const fn is_mapped(&self, copies: Copies) -> bool {
        match (self, copies) {
            (Self::Stored(_, stored, _), Copies::Mmap { over }) => stored.length > over,
            _ => false,
        }
    }

    /// The bytes in `part` of this piece.
    fn part(self, part: Range<u64>) -> Self {
        let within = |range: Range<u64>| range.start + part.start..range.start + part.end;
        match self {
            Self::Memory(bytes) => {
                let at =
                    |offset| usize::try_from(offset).map_or(bytes.len(), |at| at.min(bytes.len()));
                Self::Memory(&bytes[at(part.start)..at(part.end)])
            }
            Self::Generated(document, range) => Self::Generated(document, within(range)),
            Self::Stored(site, stored, range) => Self::Stored(site, stored, within(range)),
        }
    }
}

/// The first `limit` bytes of `range`.
fn at_most(range: Range<u64>, limit: usize) -> Range<u64> {
    range.start..range.end.min(range.start + limit as u64)
}

/// Bytes that are read from files before they are written (our choice: what a pipe holds; the first write then
/// has far more than the two segments that a receiver's delayed ACK waits for).
const COPY_LIMIT: usize = 64 * 1024;

/// `BUFSIZ` of BSD's stdio as in Apache 1.1, which wrote 4 KB at a time (Heidemann 1996, section 2.2).
const STDIO_BUFFER: usize = 4096;

/// A short segment waits for the call that follows.
#[cfg(target_os = "linux")]
const MORE_FOLLOWS: i32 = nix::libc::MSG_MORE;
#[cfg(not(target_os = "linux"))]
const MORE_FOLLOWS: i32 = 0;

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
#[expect(clippy::fn_params_excessive_bools, reason = "a switch of the kernel's")]
fn set_cork(stream: &TcpStream, cork: bool) -> io::Result<()> {
    SockRef::from(stream).set_tcp_cork(cork)
}

#[cfg(not(target_os = "linux"))]
fn set_cork(_: &TcpStream, _: bool) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

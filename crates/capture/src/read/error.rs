//! Why a capture cannot be read on: whoever wrote the file is at fault, or the disk.

use std::{fmt, io, path::PathBuf};

/// Why a capture cannot be read on. What was read of it before is right.
#[derive(Debug)]
pub struct ReadError {
    /// Which file: `-` is standard input.
    pub file: PathBuf,
    /// Where: bytes from its beginning, of what it holds uncompressed.
    pub offset: u64,
    /// What is wrong there.
    pub problem: Problem,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, offset, problem } = self;
        let file = match file.to_str() {
            Some("-") => "standard input".into(),
            _ => file.to_string_lossy(),
        };
        match (offset, problem) {
            (_, Problem::Open(error)) => write!(f, "cannot open {file}: {error}"),
            (0, problem) => write!(f, "cannot read {file}: {problem}"),
            (offset, problem) => write!(f, "cannot read {file} beyond byte {offset}: {problem}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Open(error) | Problem::Input(error) => Some(error),
            _ => None,
        }
    }
}

/// What of a file is not read because of an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unread {
    /// All of it.
    Whole,
    /// What it lacks: it ends in the middle.
    End,
    /// What is behind the damage.
    Rest,
}

impl ReadError {
    /// What of the file is not read.
    #[must_use]
    pub fn unread(&self) -> Unread {
        match &self.problem {
            // The format's own header is not whole.
            _ if self.offset == 0 => Unread::Whole,
            Problem::Open(_) | Problem::TooManyOpen => Unread::Whole,
            Problem::CutOff { .. } => Unread::End,
            Problem::Input(error) if error.kind() == io::ErrorKind::UnexpectedEof => Unread::End,
            _ => Unread::Rest,
        }
    }
}

/// What is wrong with a capture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be opened.
    #[error("{0}")]
    Open(#[source] io::Error),
    /// The file cannot be read, or what it was compressed with is broken.
    #[error("{0}")]
    Input(#[source] io::Error),
    /// There is nothing in it, not even a header.
    #[error("the file is empty (expected a capture)")]
    Empty,
    /// It begins as no capture does.
    #[error("not a pcap or pcapng file (its first four bytes are \"{}\")", .found.escape_ascii())]
    NotACapture {
        /// How it begins.
        found: [u8; 4],
    },
    /// It was compressed with something that is not read.
    #[error("compressed by {by}: not supported (expected a capture; decompress it first)")]
    Compressed {
        /// Which program compresses like that.
        by: &'static str,
    },
    /// A version of the format that nobody has specified.
    #[error("unsupported format version {major}.{minor} (expected {expected})")]
    Version {
        /// Which ones are read.
        expected: &'static str,
        /// Major.
        major: u16,
        /// Minor.
        minor: u16,
    },
    /// It ends in the middle: whoever captured was killed, or the disk was full.
    #[error("{what} is cut off after {found} of {needed} bytes")]
    CutOff {
        /// Of what.
        what: &'static str,
        /// Bytes that it has.
        needed: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// A length that cannot be.
    #[error("{what} has length {claimed} (expected {least} to {most} bytes)")]
    Length {
        /// Of what.
        what: &'static str,
        /// The length field.
        claimed: u64,
        /// The least that can be.
        least: u64,
        /// The most that can be or is read.
        most: u64,
    },
    /// A block's length is no multiple of four.
    #[error("block has length {claimed} (expected a multiple of 4)")]
    Alignment {
        /// The length field.
        claimed: u32,
    },
    /// The two lengths of a block, before and behind it, are not the same.
    #[error("block ends with length {last} (expected {first}, as at its start)")]
    BlockEnd {
        /// The length before it.
        first: u32,
        /// The length behind it.
        last: u32,
    },
    /// A byte order mark that is none.
    #[error("found {found:#010x} (expected a byte order mark)")]
    ByteOrder {
        /// What stands there.
        found: u32,
    },
    /// A packet of an interface that nobody has described.
    #[error("packet of unknown interface {interface} (expected a number below {described})")]
    UnknownInterface {
        /// The interface it names.
        interface: u32,
        /// How many the section has described so far.
        described: usize,
    },
    /// More than [`MOST_INTERFACES`].
    #[error("too many interfaces (expected at most {MOST_INTERFACES})")]
    TooManyInterfaces,
    /// More than [`MOST_OPEN`] files whose times overlap.
    #[error("too many captures overlap in time (expected at most {MOST_OPEN})")]
    TooManyOpen,
}

/// The most interfaces of a capture. Our choice.
pub const MOST_INTERFACES: usize = 4096;

/// The most files with overlapping times that are read at once. Our choice: each takes a buffer and a
/// file descriptor.
pub const MOST_OPEN: usize = 64;

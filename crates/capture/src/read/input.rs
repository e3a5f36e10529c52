//! Where the bytes of a capture come from, and what they were compressed with.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use flate2::read::MultiGzDecoder;

use super::Problem;

/// Opens a file, or standard input for `-`, and takes gzip or zstd off.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>, Problem> {
    if is_standard_input(path) {
        return uncompressed(Box::new(io::stdin()));
    }
    uncompressed(Box::new(File::open(path).map_err(Problem::Input)?))
}

/// Whether a file can be opened twice and begins anew: a pipe cannot.
pub(super) fn is_regular(path: &Path) -> bool {
    !is_standard_input(path) && path.metadata().is_ok_and(|file| file.is_file())
}

/// What `input` holds before it was compressed. Waits for its first bytes.
pub(super) fn uncompressed(
    mut input: Box<dyn Read + Send>,
) -> Result<Box<dyn Read + Send>, Problem> {
    let mut magic = Vec::with_capacity(MAGIC);
    input.by_ref().take(MAGIC as u64).read_to_end(&mut magic).map_err(Problem::Input)?;
    let compression = Compression::of(&magic);
    let input = io::Cursor::new(magic).chain(input);
    match compression {
        Compression::None => Ok(Box::new(input)),
        Compression::Gzip => Ok(Box::new(MultiGzDecoder::new(input))),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(input).map_err(Problem::Input)?;
            decoder.window_log_max(LARGEST_ZSTD_WINDOW_LOG).map_err(Problem::Input)?;
            Ok(Box::new(decoder))
        }
        Compression::Other(by) => Err(Problem::Compressed { by }),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

enum Compression {
    None,
    Gzip,
    Zstd,
    /// One that is known, but not read.
    Other(&'static str),
}

impl Compression {
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            // RFC 8878, sections 3.1.1 and 3.1.2: a frame, or one to be skipped before it.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Self::Zstd,
            [0xfd, b'7', b'z', b'X'] => Self::Other("xz"),
            [b'B', b'Z', b'h', _] => Self::Other("bzip2"),
            [0x04, 0x22, 0x4d, 0x18] => Self::Other("lz4"),
            [b'P', b'K', 3, 4] => Self::Other("zip"),
            _ => Self::None,
        }
    }
}

/// Bytes that tell what a file is.
const MAGIC: usize = 4;

/// What a zstd file may make us remember: 128 MiB, which `zstd --long` wants. Others want 8 MiB or
/// less.
const LARGEST_ZSTD_WINDOW_LOG: u32 = 27;

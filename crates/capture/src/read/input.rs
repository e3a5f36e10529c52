//! Where the bytes of a capture come from, and what they were compressed with.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use flate2::read::MultiGzDecoder;

use super::Problem;

/// Opens a file: here, or in another thread for one that may open nothing.
pub(super) type Opener = Box<dyn FnMut(&Path) -> io::Result<File> + Send>;

/// Lets `opener` open a file, or takes standard input for `-`, and takes gzip or zstd off.
pub(super) fn open(path: &Path, opener: &mut Opener) -> Result<Box<dyn Read + Send>, Problem> {
    if is_standard_input(path) {
        return uncompressed(Box::new(io::stdin()));
    }
    uncompressed(Box::new(opener(path).map_err(Problem::Open)?))
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
    let compressed = Arc::new(AtomicU64::new(0));
    let counted = Counted { input, bytes: Arc::clone(&compressed) };
    match compression {
        Compression::None => Ok(Box::new(counted.input)),
        Compression::Gzip => {
            let input = MultiGzDecoder::new(counted);
            Ok(Box::new(Expanded { input, compressed, bytes: 0, unit: "gzip stream" }))
        }
        Compression::Zstd => {
            let mut input = zstd::stream::read::Decoder::new(counted).map_err(Problem::Input)?;
            input.window_log_max(LARGEST_ZSTD_WINDOW_LOG).map_err(Problem::Input)?;
            Ok(Box::new(Expanded { input, compressed, bytes: 0, unit: "zstd frame" }))
        }
        Compression::Other(by) => Err(Problem::Compressed { by }),
    }
}

/// Counts what is read.
struct Counted<R> {
    input: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// What was compressed: a small file may hold any number of bytes, and reading them takes time.
struct Expanded<R> {
    input: R,
    compressed: Arc<AtomicU64>,
    bytes: u64,
    /// What it consists of.
    unit: &'static str,
}

impl<R: Read> Read for Expanded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.compressed.load(Ordering::Relaxed).saturating_mul(MOST_EXPANSION);
        if self.bytes > most.max(EXPANSION_FROM) {
            return Err(io::Error::other(format!(
                "it expands to more than {MOST_EXPANSION} times its size (decompress it to read on)"
            )));
        }
        let count = self.input.read(buffer).map_err(|error| self.named(error))?;
        self.bytes += count as u64;
        Ok(count)
    }
}

impl<R> Expanded<R> {
    /// Says of what the end is missing: what decompresses calls it a frame, as if of a network.
    fn named(&self, error: io::Error) -> io::Error {
        match error.kind() {
            kind @ io::ErrorKind::UnexpectedEof => {
                io::Error::new(kind, format!("the {} is cut off", self.unit))
            }
            _ => error,
        }
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

/// Times its size that a compressed capture is read to. Captures of real traffic compress to a third, and
/// those of one packet again and again to a hundredth. Our choice.
const MOST_EXPANSION: u64 = 256;

/// Bytes that are read of any compressed capture. Our choice.
const EXPANSION_FROM: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_that_expands_without_end_is_not_read_to_its_end() {
        let zeros = io::repeat(0).take(3 * EXPANSION_FROM);
        let mut bomb = Vec::new();
        flate2::read::GzEncoder::new(zeros, flate2::Compression::best())
            .read_to_end(&mut bomb)
            .unwrap();
        assert!(bomb.len() as u64 * MOST_EXPANSION < 2 * EXPANSION_FROM);
        let mut read = uncompressed(Box::new(io::Cursor::new(bomb))).unwrap();
        let error = io::copy(&mut read, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("256 times"), "{error}");
    }

    #[test]
    fn a_small_capture_is_read_whole_however_it_was_compressed() {
        let zeros = io::repeat(0).take(1 << 20);
        let mut small = Vec::new();
        flate2::read::GzEncoder::new(zeros, flate2::Compression::best())
            .read_to_end(&mut small)
            .unwrap();
        let mut read = uncompressed(Box::new(io::Cursor::new(small))).unwrap();
        assert_eq!(io::copy(&mut read, &mut io::sink()).unwrap(), 1 << 20);
    }
}

//! The classic capture file: one header, then frame after frame, each with its time.
//!
//! Written without help: a header of 24 bytes, and one of 16 before each frame
//! (draft-ietf-opsawg-pcap, sections 4 and 5). Reading is what needs a library: the other byte order
//! and resolution, pcapng, lengths that lie. Always little-endian, so that one run gives the same file
//! on every machine; always nanoseconds, which virtual time has.

use std::{
    fmt,
    io::{self, Write},
};

use ackwise_tcp::Instant;

/// Writes Ethernet frames into a pcap file, one `write_all` for each: an output that is not fast wants
/// a [`std::io::BufWriter`] around it. Nothing is kept but one frame.
pub struct PcapWriter<W> {
    output: W,
    snap_length: u32,
    frames: u64,
    record: Vec<u8>,
}

impl<W: Write> PcapWriter<W> {
    /// Begins a file in which at most `snap_length` bytes of each frame stand, see
    /// [`WHOLE_FRAMES`].
    ///
    /// # Errors
    ///
    /// If `output` takes no more.
    pub fn new(output: W, snap_length: u32) -> Result<Self, PcapError> {
        let mut writer = Self { output, snap_length, frames: 0, record: Vec::new() };
        writer.record.extend(NANOSECOND_MAGIC.to_le_bytes());
        writer.record.extend(MAJOR_VERSION.to_le_bytes());
        writer.record.extend(MINOR_VERSION.to_le_bytes());
        // Section 4: "Reserved1 […] MUST be filled with 0", and Reserved2 alike.
        writer.record.extend([0; 8]);
        writer.record.extend(snap_length.to_le_bytes());
        writer.record.extend(LINKTYPE_ETHERNET.to_le_bytes());
        writer.put()?;
        Ok(writer)
    }

    /// Adds a frame: its link header and the packet in it. Frames stand in the order of the calls.
    ///
    /// # Errors
    ///
    /// If the output takes no more, in which case the file ends somewhere in this frame; or if the
    /// file format cannot say the time or the length, in which case the frame is left out.
    pub fn write(
        &mut self,
        link_header: &[u8],
        packet: &[u8],
        at: Instant,
    ) -> Result<(), PcapError> {
        let bytes = link_header.len() + packet.len();
        let length = u32::try_from(bytes).map_err(|_| PcapError::TooLong { bytes })?;
        let seconds = u32::try_from(at.as_nanos() / NANOS_PER_SECOND);
        let seconds = seconds.map_err(|_| PcapError::TooLate { at })?;
        let nanos = u32::try_from(at.as_nanos() % NANOS_PER_SECOND).expect("less than a second");
        let captured = length.min(self.snap_length);
        self.record.clear();
        for field in [seconds, nanos, captured, length] {
            self.record.extend(field.to_le_bytes());
        }
        let end = self.record.len() + captured as usize;
        self.record.extend(link_header);
        self.record.extend(packet);
        self.record.truncate(end);
        self.put()?;
        self.frames += 1;
        Ok(())
    }

    /// How many frames were written.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Flushes the output and gives it back. Dropping a writer flushes nothing of its own: what was
    /// written has been handed to the output.
    ///
    /// # Errors
    ///
    /// If the output cannot be flushed.
    pub fn finish(mut self) -> Result<W, PcapError> {
        let Self { frames, .. } = self;
        self.output.flush().map_err(|source| PcapError::Output { frames, source })?;
        Ok(self.output)
    }

    fn put(&mut self) -> Result<(), PcapError> {
        let Self { frames, .. } = *self;
        self.output.write_all(&self.record).map_err(|source| PcapError::Output { frames, source })
    }
}

impl<W> fmt::Debug for PcapWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output: _, snap_length, frames, record: _ } = self;
        f.debug_struct("PcapWriter")
            .field("snap_length", snap_length)
            .field("frames", frames)
            .finish_non_exhaustive()
    }
}

/// Why a frame is not in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PcapError {
    /// The output takes no more.
    #[error("cannot write the capture after {frames} frames: {source}")]
    Output {
        /// How many are in the file.
        frames: u64,
        /// What the output says.
        source: io::Error,
    },
    /// The caller's frame is longer than the file format can say.
    #[error("frame of {bytes} bytes, the maximum is {}", u32::MAX)]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The caller's time is later than the file format can say.
    #[error("frame at {at} s, the latest time is {} s", u32::MAX)]
    TooLate {
        /// When the frame was seen.
        at: Instant,
    },
}

/// A snap length that leaves nothing out of any frame with an IP packet in it; the one that tcpdump
/// takes by default.
pub const WHOLE_FRAMES: u32 = 262_144;

/// Section 4: "the timestamps are in seconds and nanoseconds".
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
const MAJOR_VERSION: u16 = 2;
const MINOR_VERSION: u16 = 4;
const LINKTYPE_ETHERNET: u32 = 1;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Frame, frames};

    #[test]
    fn a_reader_finds_what_was_written() {
        let mut writer = PcapWriter::new(Vec::new(), 6).unwrap();
        writer.write(b"head", b"packet", Instant::from_nanos(3_000_000_007)).unwrap();
        writer.write(b"", b"", Instant::EPOCH).unwrap();
        assert_eq!(writer.frames(), 2);
        let file = writer.finish().unwrap();
        assert_eq!(file[16..24], [6, 0, 0, 0, 1, 0, 0, 0]);
        let cut = Frame { nanos: 3_000_000_007, length: 10, bytes: b"headpa".to_vec() };
        assert_eq!(frames(&file), [cut, Frame { nanos: 0, length: 0, bytes: Vec::new() }]);
    }

    #[test]
    fn an_output_that_is_full_says_after_how_many_frames() {
        let mut disk = [0; 24 + 16 + 3];
        let mut writer = PcapWriter::new(&mut disk[..], WHOLE_FRAMES).unwrap();
        writer.write(b"abc", b"", Instant::EPOCH).unwrap();
        let error = writer.write(b"abc", b"", Instant::EPOCH).unwrap_err();
        assert!(
            error.to_string().starts_with("cannot write the capture after 1 frames: "),
            "{error}"
        );
        assert!(PcapWriter::new(&mut disk[..23], WHOLE_FRAMES).is_err());
    }

    #[test]
    fn a_time_that_does_not_fit_is_refused_and_the_file_stays_whole() {
        let mut writer = PcapWriter::new(Vec::new(), WHOLE_FRAMES).unwrap();
        assert!(matches!(
            writer.write(b"abc", b"", Instant::FAR_FUTURE),
            Err(PcapError::TooLate { .. })
        ));
        assert_eq!(writer.finish().unwrap().len(), 24);
    }
}

//! One file: which format it has, and which packet is the current one.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use ackwise_tcp::Instant;

use super::{
    Frame, Problem, ReadError,
    frame::Record,
    input,
    interfaces::Interfaces,
    pcap::{self, Pcap},
    pcapng::{self, PcapNg},
    window::ReadBuffer,
};

/// A file that is being read.
pub(super) struct Capture {
    file: PathBuf,
    window: ReadBuffer,
    /// Known once the first bytes are there.
    format: Option<Format>,
    current: Option<Record>,
}

impl Capture {
    /// Opens a file; `-` is standard input. Reads no more than what tells how it is compressed.
    pub(super) fn open(file: &Path) -> Result<Self, ReadError> {
        let named = |problem| ReadError { file: file.to_owned(), offset: 0, problem };
        Ok(Self::new(file, input::open(file).map_err(named)?))
    }

    /// The same of any input, which `file` is the name of.
    pub(super) fn of(file: &Path, input: Box<dyn Read + Send>) -> Result<Self, ReadError> {
        let named = |problem| ReadError { file: file.to_owned(), offset: 0, problem };
        Ok(Self::new(file, input::uncompressed(input).map_err(named)?))
    }

    fn new(file: &Path, input: Box<dyn Read + Send>) -> Self {
        let window = ReadBuffer::new(input);
        Self { file: file.to_owned(), window, format: None, current: None }
    }

    /// Makes the next packet the current one. Whether there is one.
    pub(super) fn advance(&mut self, interfaces: &mut Interfaces) -> Result<bool, ReadError> {
        if let Some(last) = self.current.take() {
            self.window.consume(last.whole);
        }
        match self.next(interfaces) {
            Ok(record) => {
                self.current = record;
                Ok(self.current.is_some())
            }
            Err(problem) => {
                let offset = self.window.record_offset();
                Err(ReadError { file: self.file.clone(), offset, problem })
            }
        }
    }

    /// When the current packet was captured.
    pub(super) fn at(&self) -> Option<Instant> {
        self.current.as_ref().map(|record| record.at)
    }

    /// What has a number of its own before the current packet, but is none.
    pub(super) fn numbered_before(&self) -> u64 {
        self.current.as_ref().map_or(0, |record| record.numbered_before)
    }

    /// The current packet.
    pub(super) fn frame(&self, number: u64) -> Option<Frame<'_>> {
        let Record { at, interface, link_type, original_len, direction, lost_before, .. } =
            *self.current.as_ref()?;
        let bytes = self.window.bytes().get(self.current.as_ref()?.packet.clone())?;
        Some(Frame {
            number,
            at,
            interface,
            link_type,
            original_len,
            bytes,
            direction,
            lost_before,
        })
    }

    /// Gives the interfaces back.
    pub(super) fn end(self, interfaces: &mut Interfaces) {
        match self.format {
            Some(Format::Pcap(pcap)) => pcap.end(interfaces),
            Some(Format::PcapNg(pcapng)) => pcapng.end(interfaces),
            None => {}
        }
    }

    fn next(&mut self, interfaces: &mut Interfaces) -> Result<Option<Record>, Problem> {
        let format = match &mut self.format {
            Some(format) => format,
            none => none.insert(Format::begin(&mut self.window, interfaces)?),
        };
        match format {
            Format::Pcap(pcap) => pcap.advance(&mut self.window),
            Format::PcapNg(pcapng) => pcapng.advance(&mut self.window, interfaces),
        }
    }
}

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

impl Format {
    fn begin(window: &mut ReadBuffer, interfaces: &mut Interfaces) -> Result<Self, Problem> {
        if window.begin_record()? {
            return Err(Problem::Empty);
        }
        let bytes = window.need(4, "a file header")?;
        let &found = bytes.first_chunk().expect("four bytes are there");
        match pcap::Variant::of(found) {
            Some(variant) => Ok(Self::Pcap(Pcap::begin(variant, window, interfaces)?)),
            None if pcapng::begins(found) => Ok(Self::PcapNg(PcapNg::default())),
            None => Err(Problem::NotACapture { found }),
        }
    }
}

//! One file: which format it has, and which packet is the current one.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use ackwise_tcp::Instant;

use super::{
    Frame, Problem, ReadError,
    frame::Record,
    input::{self, Opener},
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
    pub(super) fn open(file: &Path, opener: &mut Opener) -> Result<Self, ReadError> {
        let named = |problem| ReadError { file: file.to_owned(), offset: 0, problem };
        let input = input::open(file, opener).map_err(named)?;
        Ok(match input::is_regular(file) {
            true => Self::new(file, ReadBuffer::that_fills_up(input)),
            false => Self::new(file, ReadBuffer::new(input)),
        })
    }

    /// The same of any input, which `file` is the name of.
    pub(super) fn of(file: &Path, input: Box<dyn Read + Send>) -> Result<Self, ReadError> {
        let named = |problem| ReadError { file: file.to_owned(), offset: 0, problem };
        let input = input::uncompressed(input).map_err(named)?;
        Ok(Self::new(file, ReadBuffer::new(input)))
    }

    fn new(file: &Path, window: ReadBuffer) -> Self {
        Self { file: file.to_owned(), window, format: None, current: None }
    }

    /// Passes all packets behind the current one that are in memory already, and hands over the buffer in
    /// which they are, with the current one, for another. `on` gets each with the count of what has a
    /// number of its own before it.
    #[inline(always)]
    pub(super) fn pass_block(
        &mut self,
        interfaces: &mut Interfaces,
        next: &mut Vec<u8>,
        mut on: impl FnMut(Frame<'_>, u64),
    ) -> Result<(), ReadError> {
        self.pass();
        let mut found = Ok(());
        while let Some(record) = self.next_in_memory(interfaces) {
            match record {
                Ok(record) => {
                    let Some(frame) = record.frame(0, self.window.bytes()) else { break };
                    on(frame, record.numbered_before);
                    self.window.consume(record.whole);
                }
                Err(problem) => {
                    found = Err(self.error(problem));
                    break;
                }
            }
        }
        self.window.exchange(next);
        found
    }

    #[inline(always)]
    fn next_in_memory(&mut self, interfaces: &mut Interfaces) -> Option<Result<Record, Problem>> {
        match &mut self.format {
            Some(Format::Pcap(pcap)) => {
                let record = pcap.record_in(self.window.bytes())?;
                self.window.note_record();
                Some(Ok(record))
            }
            Some(Format::PcapNg(pcapng)) => {
                pcapng.advance_in_memory(&mut self.window, interfaces).transpose()
            }
            None => None,
        }
    }

    fn error(&self, problem: Problem) -> ReadError {
        ReadError { file: self.file.clone(), offset: self.window.record_offset(), problem }
    }

    /// Makes the next packet the current one. Whether there is one.
    pub(super) fn advance(&mut self, interfaces: &mut Interfaces) -> Result<bool, ReadError> {
        self.pass();
        match self.next(interfaces) {
            Ok(record) => {
                self.current = record;
                Ok(self.current.is_some())
            }
            Err(problem) => Err(self.error(problem)),
        }
    }

    /// Leaves the current packet.
    fn pass(&mut self) {
        if let Some(last) = self.current.take() {
            self.window.consume(last.whole);
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
        self.current.as_ref()?.frame(number, self.window.bytes())
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

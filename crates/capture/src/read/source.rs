//! Several files, one capture.

use std::{
    collections::VecDeque,
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use ackwise_tcp::Instant;

use super::{
    Drops, Frame, Interface, MOST_OPEN, Problem, ReadError,
    capture::Capture,
    input::{self, Opener},
    interfaces::Interfaces,
};

/// One capture out of any number of files and pipes.
///
/// The packets of several files come in the order of time; those of one file as they stand there. A
/// file is opened when its time has come, so any number of files that `tcpdump -C` has written one
/// after the other takes the memory of one.
///
/// ```
/// use std::io::Cursor;
/// use ackwise_capture::{PcapWriter, WHOLE_FRAMES, read::Source};
/// use ackwise_tcp::Instant;
///
/// let mut file = PcapWriter::new(Vec::new(), WHOLE_FRAMES)?;
/// file.write(b"link header", b"packet", Instant::from_nanos(5))?;
/// let file = Cursor::new(file.finish()?);
///
/// let mut source = Source::of("made up", file);
/// while let Some(frame) = source.next()? {
///     assert_eq!((frame.number, frame.at.as_nanos()), (1, 5));
///     assert_eq!(frame.bytes, b"link headerpacket");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Source {
    opener: Opener,
    /// What is yet to be opened, the earliest first.
    waiting: VecDeque<Waiting>,
    /// Files with a current packet, except the one that `given` names, which is advanced first.
    open: Vec<Capture>,
    /// Whose current packet was given last.
    given: Option<usize>,
    interfaces: Interfaces,
    may_wait: bool,
    has_blocks: bool,
    packets: u64,
    /// The number of the packet given last.
    number: u64,
}

struct Waiting {
    file: PathBuf,
    /// When its first packet was captured. What cannot be read twice, or not at all, comes first.
    first: Instant,
    /// What to read instead of the file of that name.
    input: Option<Box<dyn Read + Send>>,
}

impl Source {
    /// The packets of `files`, in any order; `-` is standard input. What is wrong with a file is
    /// said by [`next`](Self::next), so that the others are read nevertheless.
    ///
    /// Of several files the first packets are looked at here already.
    pub fn open<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Self {
        Self::open_by(|file| File::open(file), files)
    }

    /// The same, but `opener` opens each file when its time has come: it can ask another thread, for one that may open
    /// nothing.
    pub fn open_by<P: AsRef<Path>>(
        opener: impl FnMut(&Path) -> io::Result<File> + Send + 'static,
        files: impl IntoIterator<Item = P>,
    ) -> Self {
        let mut opener: Opener = Box::new(opener);
        let files: Vec<_> = files.into_iter().map(|file| file.as_ref().to_owned()).collect();
        let several = files.len() > 1;
        let may_wait = !files.iter().all(|file| input::is_regular(file));
        let mut waiting: Vec<_> = files
            .into_iter()
            .map(|file| {
                let first = several.then(|| first_packet(&file, &mut opener)).flatten();
                Waiting { file, first: first.unwrap_or(Instant::EPOCH), input: None }
            })
            .collect();
        waiting.sort_by_key(|waiting| waiting.first);
        Self { may_wait, has_blocks: !several && !may_wait, ..Self::new(opener, waiting) }
    }

    /// The packets of `input`, which errors call `name`.
    pub fn of(name: impl AsRef<Path>, input: impl Read + Send + 'static) -> Self {
        let file = name.as_ref().to_owned();
        let waiting = Waiting { file, first: Instant::EPOCH, input: Some(Box::new(input)) };
        Self::new(Box::new(|_| Err(io::ErrorKind::Unsupported.into())), vec![waiting])
    }

    fn new(opener: Opener, waiting: Vec<Waiting>) -> Self {
        Self {
            opener,
            waiting: waiting.into(),
            open: Vec::new(),
            given: None,
            interfaces: Interfaces::default(),
            may_wait: true,
            has_blocks: false,
            packets: 0,
            number: 0,
        }
    }

    /// Waits for the next packet; `None` at the end of all files. What it borrows is overwritten by
    /// the next call.
    ///
    /// # Errors
    ///
    /// If a file cannot be read on. What was read of it before is right, the other files are not
    /// concerned: the next call goes on with them.
    #[expect(clippy::should_implement_trait, reason = "an iterator's items cannot borrow from it")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        if let Some(given) = self.given.take() {
            self.advance(given)?;
        }
        self.open_what_is_due()?;
        self.given = self.earliest();
        let Some(given) = self.given else { return Ok(None) };
        let given = &self.open[given];
        self.packets += 1;
        self.number += 1 + given.numbered_before();
        Ok(given.frame(self.number))
    }

    /// Whether packets can be read with [`next_block`](Self::next_block): those of a single file can.
    #[must_use]
    pub const fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// Gives many packets to `on`, and then the block of memory in which their bytes are, at the same
    /// addresses, in exchange for `next`, which the next block is read into. False if there are no more
    /// packets.
    ///
    /// # Errors
    ///
    /// As of [`next`](Self::next); what was given to `on` before is right, and its block is in `next`.
    pub fn next_block(
        &mut self,
        next: &mut Vec<u8>,
        mut on: impl FnMut(&Frame<'_>),
    ) -> Result<bool, ReadError> {
        let Some(first) = self.next()? else { return Ok(false) };
        on(&first);
        let Some(given) = self.given.filter(|_| self.has_blocks) else { return Ok(true) };
        let (mut packets, mut number) = (self.packets, self.number);
        let passed = self.open[given].pass_block(&mut self.interfaces, next, |frame, before| {
            packets += 1;
            number += 1 + before;
            on(&Frame { number, ..frame });
        });
        (self.packets, self.number) = (packets, number);
        if passed.is_err() {
            self.given = None;
            self.open.remove(given).end(&mut self.interfaces);
        }
        passed.map(|()| true)
    }

    /// Whether [`next`](Self::next) may have to wait for somebody who writes: files have it all.
    #[must_use]
    pub const fn may_wait(&self) -> bool {
        self.may_wait
    }

    /// How many packets were given so far.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The interfaces so far, by the numbers that frames have.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        self.interfaces.all()
    }

    /// What the capture itself has lost, as far as its files have said so far: most say it at their
    /// end.
    #[must_use]
    pub const fn drops(&self) -> Drops {
        self.interfaces.drops()
    }

    /// Lines of key logs that stood in the files since the last call (draft-ietf-opsawg-pcapng, section 4.7: secrets
    /// are for the packets behind them).
    pub fn take_secrets(&mut self) -> Vec<u8> {
        self.interfaces.take_secrets()
    }

    /// Lets the file at `index` go on to its next packet, or go.
    fn advance(&mut self, index: usize) -> Result<(), ReadError> {
        match self.open[index].advance(&mut self.interfaces) {
            Ok(true) => Ok(()),
            over => {
                self.open.remove(index).end(&mut self.interfaces);
                over.map(drop)
            }
        }
    }

    /// Opens every file that may have a packet before the earliest current one.
    fn open_what_is_due(&mut self) -> Result<(), ReadError> {
        while let Some(next) = self.waiting.front() {
            let earliest = self.earliest().and_then(|index| self.open[index].at());
            if earliest.is_some_and(|earliest| earliest < next.first) {
                break;
            }
            let Some(Waiting { file, first: _, input }) = self.waiting.pop_front() else { break };
            if self.open.len() >= MOST_OPEN {
                return Err(ReadError { file, offset: 0, problem: Problem::TooManyOpen });
            }
            self.open.push(match input {
                Some(input) => Capture::of(&file, input)?,
                None => Capture::open(&file, &mut self.opener)?,
            });
            self.advance(self.open.len() - 1)?;
        }
        Ok(())
    }

    /// The file with the earliest current packet; of several the one that was opened first.
    fn earliest(&self) -> Option<usize> {
        (0..self.open.len()).min_by_key(|&index| self.open[index].at())
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting, open, given: _, interfaces, packets, .. } = self;
        f.debug_struct("Source")
            .field("waiting", &waiting.len())
            .field("open", &open.len())
            .field("interfaces", interfaces)
            .field("packets", packets)
            .finish_non_exhaustive()
    }
}

/// When the first packet of a file was captured; `None` if that cannot be told, or only once.
fn first_packet(file: &Path, opener: &mut Opener) -> Option<Instant> {
    if !input::is_regular(file) {
        return None;
    }
    let mut capture = Capture::open(file, opener).ok()?;
    capture.advance(&mut Interfaces::default()).ok()?;
    capture.at()
}

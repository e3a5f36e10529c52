//! A capture, read until it ends or nobody wants more.

use std::{
    fmt,
    io::{self, Write},
    net::SocketAddr,
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use ackwise_capture::{
    analysis::{Analyser, Analysis, Batch},
    decode::{IcmpError, LeftOut, NotTcp, QuicConnections, RawSegment},
    filter::Filter,
    keys::KeyLog,
    limits::Reached,
    read::{Drops, Frame, ReadError, Source, Unread},
    strip::Stripper,
};

use ackwise_text::words::counted;

use super::{followed::Followed, joined::Joined};

/// Packets as they come, of files or of an interface.
pub trait Frames {
    /// What is wrong with one of them.
    type Error: fmt::Display;

    /// Waits for the next packet; `None` when there are no more.
    ///
    /// # Errors
    ///
    /// If something cannot be read. What was read before is right, and the next call goes on with
    /// what is left.
    fn next(&mut self) -> Result<Option<Frame<'_>>, Self::Error>;

    /// Waits for the next packet, or for a change of what is captured.
    ///
    /// # Errors
    ///
    /// As of [`next`](Self::next).
    fn step(&mut self) -> Result<Step<'_>, Self::Error> {
        let frame = self.next()?;
        Ok(frame.map_or(Step::End, |frame| Step::Packet { frame, is_interrupted: false }))
    }

    /// What of a file an error leaves unread; `None` if what is read is no file.
    fn unread(_error: &Self::Error) -> Option<Unread> {
        None
    }

    /// Whether a connection is captured, by both ends: all are in files.
    fn keeps(&self, _ends: [SocketAddr; 2]) -> bool {
        true
    }

    /// What the capture itself has lost, as far as that is known by now.
    fn drops(&self) -> Drops;

    /// Lines of TLS key logs that stood in front of the packets since the last call.
    fn take_secrets(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// How many connections were captured until now.
    fn followed(&self) -> Followed {
        Followed::default()
    }

    /// Whether [`next`](Self::next) may wait long: files never do.
    fn may_wait(&self) -> bool {
        true
    }

    /// Lets `takes` have many packets at once, which then are in its block of memory: `None` if packets
    /// are not in blocks, or else whether there may be more.
    ///
    /// # Errors
    ///
    /// As of [`next`](Self::next).
    fn next_block(&mut self, _takes: &mut Packets) -> Option<Result<bool, Self::Error>> {
        None
    }
}

/// What comes next of a capture.
#[derive(Debug)]
pub enum Step<'a> {
    /// A packet.
    Packet {
        /// It.
        frame: Frame<'a>,
        /// Packets like it were not captured while only a part of all was.
        is_interrupted: bool,
    },
    /// From now on, those connections are captured that [`Frames::keeps`] says.
    Follows {
        /// Fewer than before.
        narrower: bool,
        /// Everything.
        whole: bool,
    },
    /// There is nothing more.
    End,
}

impl Frames for Source {
    type Error = ReadError;

    fn next(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        self.next()
    }

    fn unread(error: &ReadError) -> Option<Unread> {
        Some(error.unread())
    }

    fn drops(&self) -> Drops {
        self.drops()
    }

    fn take_secrets(&mut self) -> Vec<u8> {
        self.take_secrets()
    }

    fn may_wait(&self) -> bool {
        self.may_wait()
    }

    fn next_block(&mut self, takes: &mut Packets) -> Option<Result<bool, ReadError>> {
        if !self.has_blocks() {
            return None;
        }
        // Exchanged for the block in which the packets are.
        let mut block = takes.batch.take_block();
        let read = self.next_block(&mut block, |frame| takes.take(frame, Taken::InPlace));
        takes.batch.own(block);
        Some(read)
    }
}

/// A capture that is being read, by one thread while another may end it.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    // Locked for a packet or a few of them, but not while waiting long: whoever ends it need not.
    state: Arc<Mutex<State>>,
    packets: Arc<AtomicU64>,
    /// Somebody wants to end it: the reader lets go of the state after the packet that it is at.
    ending: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` once it was ended.
    analyser: Option<Analyser>,
    packets: Packets,
    drops: Drops,
    followed: Followed,
    /// Segments before everything was captured again.
    whole_since: u64,
    warnings: Vec<String>,
    unread: UnreadFiles,
    nothing_read: Option<String>,
}

/// Packets that the analyser does not have yet, and what becomes of the others.
#[derive(Debug, Default)]
pub struct Packets {
    batch: Batch,
    filter: Option<Filter>,
    filtered_out: u64,
    left_out: LeftOut,
    quic: QuicConnections,
    read: u64,
    /// What ICMP says, which the analyser does not have yet.
    errors: Vec<IcmpError>,
    /// Where to save what can be passed on.
    stripper: Option<Stripper<Box<dyn Write + Send>>>,
    /// Why that is not there.
    not_saved: Option<io::Error>,
}

/// What a capture said, and what could not be read of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// Connections, exchanges, causes.
    pub analysis: Analysis,
    /// Packets read.
    pub packets: u64,
    /// Packets without a TCP segment that could be read, by reason.
    pub left_out: LeftOut,
    /// Connections of QUIC, which are not analysed.
    pub quic: QuicConnections,
    /// TCP segments that the filter excluded.
    pub filtered_out: u64,
    /// What the capture itself has lost.
    pub drops: Drops,
    /// How many connections it followed.
    pub followed: Followed,
    /// What could not be read on, and where.
    pub warnings: Vec<String>,
    /// How many files that concerns.
    pub unread: UnreadFiles,
    /// The first of these errors because of which nothing could be read.
    pub nothing_read: Option<String>,
    /// Why the stripped capture was not saved that was asked for.
    pub not_saved: Option<io::Error>,
    /// The limits that the stripped capture has reached.
    pub stripping: Reached,
    /// What it has in common with a capture at the other end.
    pub joined: Option<Joined>,
}

/// Numbers of files that were not read to their end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct UnreadFiles {
    /// Nothing of them could be read.
    pub whole: u64,
    /// They end in the middle of a packet.
    pub cut_off: u64,
    /// What is behind the damage could not be read.
    pub damaged: u64,
}

impl UnreadFiles {
    const fn count(&mut self, unread: Unread) {
        match unread {
            Unread::Whole => self.whole += 1,
            Unread::End => self.cut_off += 1,
            Unread::Rest => self.damaged += 1,
        }
    }

    pub(super) const fn add(&mut self, other: Self) {
        let Self { whole, cut_off, damaged } = other;
        self.whole += whole;
        self.cut_off += cut_off;
        self.damaged += damaged;
    }
}

impl Explained {
    /// The limits that were reached, of the analysis and of the stripped copy.
    #[must_use]
    pub fn reached(&self) -> Reached {
        let mut reached = self.analysis.reached;
        reached.add(&self.stripping);
        reached
    }
}

impl Reading {
    /// Nothing was read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::by(Analyser::default())
    }

    /// Nothing was read yet; what a report draws is to be kept, too.
    #[must_use]
    pub fn with_series() -> Self {
        Self::by(Analyser::default().with_series())
    }

    /// Nothing was read yet; this is to read it.
    #[must_use]
    pub fn by(analyser: Analyser) -> Self {
        let reading = Self::default();
        reading.lock().analyser = Some(analyser);
        reading
    }

    /// Measures every connection, too: round trips, windows and reordering.
    #[must_use]
    pub fn with_measures(self) -> Self {
        let analyser = self.lock().analyser.take();
        self.lock().analyser = analyser.map(Analyser::with_measures);
        self
    }

    /// Reads what TLS has sealed, as far as these are its secrets.
    #[must_use]
    pub fn with_keys(self, keys: &Arc<KeyLog>) -> Self {
        let analyser = self.lock().analyser.take();
        self.lock().analyser = analyser.map(|it| it.with_keys(keys));
        self
    }

    /// Analyses, and saves, only what matches.
    pub fn set_filter(&self, filter: Filter) {
        self.lock().packets.filter = Some(filter);
    }

    /// Reads with this many threads. The result is the same for any number.
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        let analyser = self.lock().analyser.take();
        self.lock().analyser = analyser.map(|it| it.with_threads(threads));
        self
    }

    /// Keeps at most one `divisor`th of what the limits on lists and on open connections allow, because
    /// other outputs need memory, too.
    #[must_use]
    pub fn with_limits_divided(self, divisor: NonZeroUsize) -> Self {
        if let Some(analyser) = &mut self.lock().analyser {
            analyser.divide_limits(divisor);
        }
        self
    }

    /// Writes also what can be passed on of the capture, as [`Stripper`] does.
    ///
    /// # Errors
    ///
    /// If `output` takes nothing.
    pub fn save_stripped(&self, output: Box<dyn Write + Send>) -> io::Result<()> {
        self.lock().packets.stripper = Some(Stripper::new(output)?);
        Ok(())
    }

    /// Reads packets until there are no more or the reading is ended.
    pub fn read(&self, frames: &mut impl Frames) {
        while self.read_some(frames) {}
    }

    /// Reads one packet, or of a file as many as are judged together: some milliseconds of work, during
    /// which nobody else has the state. Whether there may be more.
    fn read_some(&self, frames: &mut impl Frames) -> bool {
        let more = match frames.may_wait() {
            true => self.read_one(frames),
            false => self.read_many(frames),
        };
        // Now and not at the end, which whoever ends the reading does not wait for.
        self.lock().drops = frames.drops();
        more
    }

    fn read_one<F: Frames>(&self, frames: &mut F) -> bool {
        self.lock().use_secrets(&frames.take_secrets());
        let step = frames.step();
        if self.ending.load(Ordering::Relaxed) {
            return false;
        }
        let mut state = self.lock();
        let State { analyser: Some(analyser), packets, whole_since, followed, .. } = &mut *state
        else {
            return false;
        };
        let more = match step {
            Ok(Step::Packet { frame, is_interrupted }) => {
                let since = is_interrupted.then_some(*whole_since);
                packets.take(&frame, Taken::AtOnce { analyser, since });
                true
            }
            Ok(Step::Follows { narrower, whole }) => {
                if narrower {
                    analyser.keep_only(|ends| frames.keeps(ends));
                    analyser.divide_limits(FLOODED);
                }
                if whole {
                    *whole_since = analyser.segments();
                }
                *followed = frames.followed();
                true
            }
            Ok(Step::End) => false,
            Err(error) => {
                state.note::<F>(&error);
                true
            }
        };
        self.count(&mut state);
        more
    }

    fn read_many<F: Frames>(&self, frames: &mut F) -> bool {
        if self.ending.load(Ordering::Relaxed) {
            return false;
        }
        let mut state = self.lock();
        if state.analyser.is_none() {
            return false;
        }
        let read = match frames.next_block(&mut state.packets) {
            Some(read) => read,
            None => copy_some(frames, &mut state.packets, &self.ending),
        };
        let more = read.unwrap_or_else(|error| {
            state.note::<F>(&error);
            true
        });
        state.use_secrets(&frames.take_secrets());
        state.hand_on();
        self.count(&mut state);
        more
    }

    fn count(&self, state: &mut State) {
        self.packets.fetch_add(std::mem::take(&mut state.packets.read), Ordering::Relaxed);
        let State { analyser: Some(analyser), packets, .. } = state else { return };
        packets.errors.drain(..).for_each(|it| analyser.handle_error(it));
    }

    /// How many packets were read so far.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Asks whoever reads to stop, and does not wait: what that thread is at takes some milliseconds more.
    pub fn stop(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }

    /// Whether it was stopped or ended.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.ending.load(Ordering::Relaxed)
    }

    /// Ends it: what was read until now is all there is. `None` if it was ended before.
    #[must_use]
    pub fn end(&self) -> Option<Explained> {
        self.stop();
        let mut state = self.lock();
        let analysis = state.analyser.take()?.finish();
        let Packets { stripper, mut not_saved, filtered_out, left_out, quic, .. } =
            std::mem::take(&mut state.packets);
        let stripping = stripper.as_ref().map(Stripper::reached).unwrap_or_default();
        if let Some(Err(error)) = stripper.map(|it| it.finish(state.drops)) {
            not_saved = Some(error);
        }
        state.note_twice(&analysis);
        Some(Explained {
            analysis,
            packets: self.packets(),
            left_out,
            quic,
            filtered_out,
            drops: state.drops,
            followed: std::mem::take(&mut state.followed).end(Instant::now()),
            warnings: std::mem::take(&mut state.warnings),
            unread: state.unread,
            nothing_read: state.nothing_read.take(),
            not_saved,
            stripping,
            joined: None,
        })
    }

    /// The state is sound after each packet, so a panic elsewhere does no harm.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// More warnings than this are not kept: as many as a terminal shows. Our choice.
    const MAX_WARNINGS: usize = 20;

    /// Warns of connections that are in two of the files.
    fn note_twice(&mut self, analysis: &Analysis) {
        let twice = analysis.connections.iter().filter(|it| it.quality.in_two_captures).count();
        if twice > 0 {
            self.warnings.push(format!(
                "{} in two of the captures: packets count twice, so the verdicts are wrong (captures of both ends \
                 are read with --pair CLIENT SERVER)",
                counted(twice as u64, "connection"),
            ));
        }
    }

    fn note<F: Frames>(&mut self, error: &F::Error) {
        if self.warnings.len() < Self::MAX_WARNINGS {
            self.warnings.push(error.to_string());
        }
        let unread = F::unread(error);
        if let Some(unread) = unread {
            self.unread.count(unread);
        }
        if matches!(unread, None | Some(Unread::Whole)) {
            self.nothing_read.get_or_insert_with(|| error.to_string());
        }
    }

    /// Lets the analyser have what was read.
    /// Secrets are for what comes next.
    fn use_secrets(&mut self, lines: &[u8]) {
        if let Some(analyser) = self.analyser.as_mut().filter(|_| !lines.is_empty()) {
            analyser.handle_secrets(lines);
        }
    }

    fn hand_on(&mut self) {
        let batch = &mut self.packets.batch;
        if let Some(analyser) = self.analyser.as_mut().filter(|_| !batch.is_empty()) {
            *batch = analyser.handle_batch(std::mem::take(batch));
        }
    }
}

impl Packets {
    #[inline(always)]
    fn take(&mut self, frame: &Frame<'_>, how: Taken<'_>) {
        self.read += 1;
        let is_usual = self.filter.is_none() && self.stripper.is_none();
        if let (Taken::InPlace, true) = (&how, is_usual)
            && let Some(segment) = RawSegment::find_plain(frame)
        {
            return self.batch.push_in_place(&segment);
        }
        self.take_any(frame, how);
    }

    /// The same, whatever it is.
    #[inline(never)]
    fn take_any(&mut self, frame: &Frame<'_>, how: Taken<'_>) {
        match RawSegment::find(frame) {
            Ok(segment) if self.filter.as_ref().is_some_and(|it| excludes(it, &segment)) => {
                self.filtered_out += 1;
                return;
            }
            Ok(segment) => match how {
                Taken::AtOnce { analyser, since } => {
                    let seen = segment.decode();
                    if let Some(since) = since {
                        analyser.keep_if_seen_since(&seen, since);
                    }
                    analyser.handle(&seen);
                }
                Taken::InPlace => self.batch.push_in_place(&segment),
                Taken::Copied => self.batch.push(&segment),
            },
            Err(why) => {
                let is_quic = why == NotTcp::Udp && self.quic.handle(frame);
                self.left_out.count(if is_quic { NotTcp::Quic } else { why });
                let error = || IcmpError::find(frame).ok();
                self.errors.extend((why == NotTcp::OtherProtocol).then(error).flatten());
            }
        }
        // What is broken is not written on; the report is worth having nevertheless.
        if let Some(Err(error)) = self.stripper.as_mut().map(|it| it.handle(frame)) {
            self.stripper = None;
            self.not_saved = Some(error);
        }
    }
}

/// Reads packets until they are enough to be judged together. Whether there may be more.
fn copy_some<F: Frames>(
    frames: &mut F,
    packets: &mut Packets,
    ending: &AtomicBool,
) -> Result<bool, F::Error> {
    /// Packets after which whoever wants to end it gets the state, whatever they were. Our choice.
    const MOST: u64 = 1 << 14;
    let is_wanted = || ending.load(Ordering::Relaxed);
    while packets.read < MOST && !packets.batch.is_full() && !is_wanted() {
        let Some(frame) = frames.next()? else { return Ok(false) };
        packets.take(&frame, Taken::Copied);
    }
    Ok(true)
}

fn excludes(filter: &Filter, segment: &RawSegment<'_>) -> bool {
    let [source, destination] = segment.ends();
    !filter.matches_ends(source, destination)
}

/// A flood leaves this part of what the limits allow, so that the report comes at once after Ctrl-C (our
/// choice: what all of it takes to be added up is 1.3 s).
const FLOODED: NonZeroUsize = NonZeroUsize::new(16).expect("not zero");

/// How a packet reaches the analyser.
#[derive(Debug)]
enum Taken<'a> {
    /// By itself: the next may be a long time coming. If its connection was seen only before the segment
    /// `since`, it was not captured between.
    AtOnce { analyser: &'a mut Analyser, since: Option<u64> },
    /// In a batch that gets the block of memory in which it is.
    InPlace,
    /// In a batch that has a copy of it.
    Copied,
}

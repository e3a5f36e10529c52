//! What a run leaves behind beside its measures: files for Wireshark and for plotting programs.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ackwise_capture::WHOLE_FRAMES;
use ackwise_explain::Explained;
use ackwise_sim::{
    Observer, Scenario,
    observe::{ConnectionId, Message, Sighting},
    scenario::NodeId,
};
use ackwise_tcp::Instant;
use ackwise_text::OutputFile;

use super::{
    explainer::Explainer,
    pcap::{Capture, CaptureError},
    series::TimeSequence,
};

/// Which files a run is to write.
#[derive(Clone, Debug)]
pub struct Recording {
    /// A capture, as tcpdump would take it at one host.
    pub pcap: Option<PathBuf>,
    /// The name of the host where the run is captured and explained; else it is the first
    /// application's client. If it is named, the time sequence is its own, else that of all hosts.
    pub vantage: Option<String>,
    /// Bytes of each frame that stand in the capture, at most.
    pub snap_length: u32,
    /// Sequence numbers over time, see [`TimeSequence::COLUMNS`].
    pub time_sequence: Option<PathBuf>,
    /// Whether the run is explained.
    pub explain: bool,
    /// When this becomes true, the run is given up, and its files are not written.
    pub stop: Arc<AtomicBool>,
}

/// No files.
impl Default for Recording {
    fn default() -> Self {
        Self {
            pcap: None,
            vantage: None,
            snap_length: WHOLE_FRAMES,
            time_sequence: None,
            explain: false,
            stop: Arc::default(),
        }
    }
}

/// Watches one run and writes the files of a [`Recording`].
///
/// The first error ends the run early, with
/// [`RunError::Stopped`](ackwise_sim::RunError::Stopped): ask [`Recorder::give_up`] first, which knows
/// why.
#[derive(Debug)]
pub struct Recorder {
    pcap: Option<Recorded<Capture<BufWriter<File>>>>,
    time_sequence: Option<Recorded<TimeSequence<BufWriter<File>>>>,
    explainer: Option<Explainer>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Recorded<T> {
    path: PathBuf,
    file: OutputFile,
    observer: T,
}

impl Recorder {
    /// Begins the files for a run of `scenario`.
    ///
    /// # Errors
    ///
    /// If a file cannot be written, or the scenario has no such host.
    pub fn begin(recording: &Recording, scenario: &Scenario) -> Result<Self, RecordError> {
        let Recording { pcap, vantage, snap_length, time_sequence, explain, stop } = recording;
        let named = vantage.as_deref().map(|name| host(scenario, name)).transpose()?;
        let vantage = match named {
            Some(host) => host,
            None => scenario.applications.first().map_or(NodeId(0), |first| first.client),
        };
        let pcap = pcap.as_deref().map(|path| {
            let (file, output) = create(path)?;
            let observer = Capture::new(output, *snap_length, vantage);
            let observer = observer.map_err(|source| RecordError::capture(path, source))?;
            Ok(Recorded { path: path.to_owned(), file, observer })
        });
        let time_sequence = time_sequence.as_deref().map(|path| {
            let (file, output) = create(path)?;
            let observer = TimeSequence::new(output, named);
            let observer = observer.map_err(|source| RecordError::write(path, source))?;
            Ok(Recorded { path: path.to_owned(), file, observer })
        });
        let (pcap, time_sequence) = (pcap.transpose()?, time_sequence.transpose()?);
        let explainer = explain.then(|| Explainer::begin(vantage)).transpose();
        let explainer = explainer.map_err(RecordError::Explain)?;
        Ok(Self { pcap, time_sequence, explainer, stop: Arc::clone(stop) })
    }

    /// Puts the files of a complete run in their places; what there is to say of the run if it was to
    /// be explained.
    ///
    /// # Errors
    ///
    /// The first one that is not complete, and why.
    pub fn finish(self) -> Result<Option<Explained>, RecordError> {
        if let Some(Recorded { path, file, observer }) = self.pcap {
            observer.finish().map_err(|source| RecordError::capture(&path, source))?;
            file.finish().map_err(|source| RecordError::write(&path, source))?;
        }
        if let Some(Recorded { path, file, observer }) = self.time_sequence {
            observer.finish().map_err(|source| RecordError::write(&path, source))?;
            file.finish().map_err(|source| RecordError::write(&path, source))?;
        }
        self.explainer.map(Explainer::finish).transpose().map_err(RecordError::Explain)
    }

    /// Removes the files of a run that did not end.
    ///
    /// # Errors
    ///
    /// Why this recorder ended it, if it did.
    pub fn give_up(self) -> Result<(), RecordError> {
        if let Some(Recorded { path, observer, .. }) = self.pcap {
            observer.finish().map_err(|source| RecordError::capture(&path, source))?;
        }
        if let Some(Recorded { path, observer, .. }) = self.time_sequence {
            observer.finish().map_err(|source| RecordError::write(&path, source))?;
        }
        let explained = self.explainer.map(Explainer::finish).transpose();
        explained.map(drop).map_err(RecordError::Explain)
    }

    fn each(&mut self, mut tell: impl FnMut(&mut dyn Observer)) {
        if let Some(pcap) = &mut self.pcap {
            tell(&mut pcap.observer);
        }
        if let Some(time_sequence) = &mut self.time_sequence {
            tell(&mut time_sequence.observer);
        }
        if let Some(explainer) = &mut self.explainer {
            tell(explainer);
        }
    }
}

impl Observer for Recorder {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.each(|observer| observer.on_sent(sighting, now));
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.each(|observer| observer.on_received(sighting, now));
    }

    fn on_dropped(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.each(|observer| observer.on_dropped(sighting, now));
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        self.each(|observer| observer.on_message(message, now));
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.each(|observer| observer.on_over(connection, now));
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        let mut goes_on = !self.stop.load(Ordering::Relaxed);
        self.each(|observer| goes_on &= observer.goes_on(now));
        goes_on
    }
}

fn host(scenario: &Scenario, name: &str) -> Result<NodeId, RecordError> {
    let hosts = (0..).map(NodeId).zip(&scenario.nodes).filter(|(_, node)| node.tcp.is_some());
    let found = hosts.clone().find(|(_, node)| node.name == name);
    found.map(|(id, _)| id).ok_or_else(|| {
        let mut known: Vec<_> = hosts.map(|(_, node)| node.name.clone()).collect();
        let more = known.len().saturating_sub(HOSTS_NAMED);
        known.truncate(HOSTS_NAMED);
        if more > 0 {
            known.push(format!("{more} more"));
        }
        RecordError::NoSuchHost { name: name.to_owned(), known: known.join(", ") }
    })
}

fn create(path: &Path) -> Result<(OutputFile, BufWriter<File>), RecordError> {
    let file = OutputFile::create(path);
    let both = file.and_then(|file| file.handle().map(|handle| (file, BufWriter::new(handle))));
    both.map_err(|source| RecordError::write(path, source))
}

/// Why a file of a recording is not there, or not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The vantage point is not in the scenario.
    #[error("unknown host \"{name}\" (expected one of {known})")]
    NoSuchHost {
        /// The name.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The file system takes no more.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// The run cannot be explained.
    #[error(transparent)]
    Explain(CaptureError),
    /// The capture is not complete.
    #[error("{}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// Why.
        source: CaptureError,
    },
}

impl RecordError {
    fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    fn capture(path: &Path, source: CaptureError) -> Self {
        Self::Capture { path: path.to_owned(), source }
    }
}

/// Most hosts that an error lists.
const HOSTS_NAMED: usize = 10;

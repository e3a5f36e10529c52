//! What `ackwise explain` says of a run: its packets go through a capture and back, and no file is
//! needed.

use std::{
    io::{self, BufWriter, PipeWriter},
    panic,
    thread::{self, JoinHandle},
};

use ackwise_capture::{WHOLE_FRAMES, read::Source};
use ackwise_explain::{Explained, Reading};
use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Message, Sighting},
    scenario::NodeId,
};
use ackwise_tcp::Instant;

use super::pcap::{Capture, CaptureError};

/// Watches a run as tcpdump would at one host, and explains what it sees meanwhile, on a thread of
/// its own.
///
/// The pipe between them holds what the system gives a pipe (64 KiB on Linux): a run that is faster
/// than its analysis waits.
#[derive(Debug)]
pub struct Explainer {
    capture: Capture<BufWriter<PipeWriter>>,
    reading: Reading,
    reader: JoinHandle<()>,
}

impl Explainer {
    /// Watches the host `vantage`.
    ///
    /// # Errors
    ///
    /// If the system has no pipe to give.
    pub fn begin(vantage: NodeId) -> Result<Self, CaptureError> {
        let (output, input) = io::pipe().map_err(CaptureError::Pipe)?;
        let reading = Reading::with_series();
        let reader = reading.clone();
        let reader = thread::spawn(move || reader.read(&mut Source::of("the run", output)));
        let capture = Capture::new(BufWriter::new(input), WHOLE_FRAMES, vantage)?;
        Ok(Self { capture, reading, reader })
    }

    /// What there is to say.
    ///
    /// # Errors
    ///
    /// What ended the capture before its time.
    pub fn finish(self) -> Result<Explained, CaptureError> {
        let Self { capture, reading, reader } = self;
        capture.finish()?;
        if let Err(panicked) = reader.join() {
            panic::resume_unwind(panicked);
        }
        Ok(reading.end().expect("nobody else ends it"))
    }
}

impl Observer for Explainer {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.capture.on_sent(sighting, now);
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.capture.on_received(sighting, now);
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        self.capture.on_message(message, now);
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.capture.on_over(connection, now);
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        self.capture.goes_on(now)
    }
}

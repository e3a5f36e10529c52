//! A client who transfers files one after the other: what it does next, without a clock or a connection of its own.
//!
//! The simulator drives it in virtual time, crate `live` with sockets of the kernel, as they do a
//! [`User`](crate::user::User). Not here: opening and closing connections, which the driver does.

use std::time::Duration;

use ackwise_link::Stream;
use ackwise_tcp::Instant;

use crate::{
    measure::{Document, Progress},
    scenario::{Bulk, BulkSender},
    user::Ask,
};

/// The thesis' FTP, or a flow that never ends. `C` is the driver's name for a connection.
#[derive(Clone, Debug)]
pub struct BulkClient<'a, C> {
    bulk: &'a Bulk,
    stream: Stream,
    /// Files left; `None` for no limit.
    left: Option<u32>,
    has_file: bool,
    /// Its open connection, which can carry the next file.
    kept: Option<C>,
    /// When the transfer of the present file began.
    began: Instant,
}

impl<'a, C: Copy + PartialEq> BulkClient<'a, C> {
    /// A client that begins at `start`: call [`begin_file`](Self::begin_file) then.
    #[must_use]
    pub fn new(bulk: &'a Bulk, stream: Stream, start: Instant) -> Self {
        let left = bulk.files.map(u32::from);
        Self { bulk, stream, left, has_file: false, kept: None, began: start }
    }

    /// How far it came until `end`.
    #[must_use]
    pub fn progress(&self, end: Instant) -> Progress {
        match self.has_file {
            false if self.began > end => Progress::NotStarted,
            false if self.bulk.file.is_some() => Progress::NoDocument,
            _ => Progress::Documents,
        }
    }

    /// Begins with a file. Returns the connection that the last one left open; use it unless its idle time is over, or
    /// open another one.
    ///
    /// Call [`ask`](Self::ask) with the connection next, or this again after
    /// [`PAUSE_AFTER_FAILURE`](crate::user::PAUSE_AFTER_FAILURE) if none could be
    /// opened.
    pub const fn begin_file(&mut self, now: Instant) -> Option<C> {
        self.began = now;
        self.kept.take()
    }

    /// What to send on a connection. A client that sends the file closes its end behind it: the end of the connection
    /// is the end of the file.
    pub fn ask(&mut self, connection: C) -> Ask {
        let file = self.bulk.file.map_or(ENDLESS, |bytes| bytes.0);
        match self.bulk.sender {
            BulkSender::Server => {
                self.kept = Some(connection);
                Ask::of_a_file(self.bulk.request.0, file)
            }
            BulkSender::Client => Ask::of_a_file(file, 0),
        }
    }

    /// All of a file, `bytes` long, has arrived at whoever receives it. Call [`next_pause`](Self::next_pause) next.
    pub fn handle_file(&mut self, bytes: u64, now: Instant) -> Document {
        self.has_file = true;
        self.left = self.left.map(|left| left - 1);
        Document { files: 1, bytes, time: now.saturating_since(self.began) }
    }

    /// How long it waits before the next file; `None` if it has no more to transfer. It draws random numbers: call it
    /// once after each file.
    pub fn next_pause(&mut self) -> Option<Duration> {
        (self.left != Some(0)).then(|| self.bulk.pause.draw(&mut self.stream))
    }

    /// A connection can no longer be used.
    pub fn handle_gone(&mut self, connection: C) {
        self.kept.take_if(|kept| *kept == connection);
    }

    /// The connection that can carry the next file, if there is one.
    #[must_use]
    pub const fn kept(&self) -> Option<C> {
        self.kept
    }

    /// What it was created with.
    #[must_use]
    pub const fn bulk(&self) -> &'a Bulk {
        self.bulk
    }
}

/// The length of what never ends: long enough that no run reaches the end, short enough to add to.
pub const ENDLESS: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use ackwise_http::{Behaviour, workload::Span};
    use ackwise_link::Seed;
    use ackwise_tcp::ByteCount;

    use super::*;

    fn bulk(sender: BulkSender, file: Option<u64>) -> Bulk {
        Bulk {
            clients: NonZeroU32::MIN,
            files: NonZeroU32::new(2),
            file: file.map(ByteCount),
            sender,
            request: ByteCount(40),
            pause: Span::Fixed(Duration::from_secs(3)),
            behaviour: Behaviour::FIXED,
        }
    }

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Duration::from_millis(millis)
    }

    #[test]
    fn a_client_fetches_its_files_on_one_connection_and_counts_from_its_request() {
        let bulk = bulk(BulkSender::Server, Some(5_000));
        let mut client = BulkClient::new(&bulk, Seed(1).stream(), at(100));
        assert_eq!(client.progress(at(99)), Progress::NotStarted);
        assert_eq!(client.begin_file(at(100)), None, "nothing is open yet");
        assert_eq!(client.ask('a'), Ask::of_a_file(40, 5_000));
        assert_eq!(client.progress(at(150)), Progress::NoDocument);
        assert_eq!(client.handle_file(5_000, at(180)).time, Duration::from_millis(80));
        assert_eq!(client.next_pause(), Some(Duration::from_secs(3)));
        assert_eq!(client.progress(at(180)), Progress::Documents);
        assert_eq!(client.begin_file(at(3_180)), Some('a'));
        let _ = client.ask('a');
        client.handle_gone('b');
        assert_eq!(client.kept(), Some('a'), "another connection is gone");
        client.handle_gone('a');
        assert_eq!(client.begin_file(at(3_200)), None, "its own is gone, so it begins again");
        let _ = client.ask('b');
        assert_eq!(client.handle_file(5_000, at(3_210)).time, Duration::from_millis(10));
        assert_eq!(client.next_pause(), None, "two files");
    }

    #[test]
    fn a_client_that_sends_needs_a_connection_for_each_file() {
        let bulk = bulk(BulkSender::Client, Some(5_000));
        let mut client = BulkClient::new(&bulk, Seed(1).stream(), at(0));
        assert_eq!(client.begin_file(at(0)), None);
        assert_eq!(client.ask('a'), Ask::of_a_file(5_000, 0));
        let _ = client.handle_file(5_000, at(10));
        assert_eq!(client.begin_file(at(20)), None);
    }

    #[test]
    fn a_file_without_an_end_is_progress_as_soon_as_it_begins() {
        let bulk = bulk(BulkSender::Server, None);
        let mut client = BulkClient::new(&bulk, Seed(1).stream(), at(5));
        assert_eq!(client.progress(at(4)), Progress::NotStarted);
        let _ = client.begin_file(at(5));
        assert_eq!(client.ask('a').body, ENDLESS);
        assert_eq!(client.progress(at(6)), Progress::Documents);
    }
}

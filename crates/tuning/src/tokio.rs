//! Places for a server on tokio, behind the feature `tokio`: a stream that is admitted reports its reads and writes, and ends
//! when its place is needed.
//!
//! ```no_run
//! # use std::{num::NonZeroU64, time::Duration};
//! # use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # async fn server(accept: impl AsyncFn() -> tokio::io::DuplexStream) {
//! let gate = ackwise_tuning::tokio::Gate::new(NonZeroU64::new(200).unwrap(), Duration::from_secs(1));
//! loop {
//!     let stream = accept().await;
//!     let mut stream = gate.admit(stream).await;
//!     // The end of the stream comes from the client, or because the place is needed.
//!     tokio::spawn(async move { while stream.read_u8().await.is_ok() {} });
//! }
//! # }
//! ```

use std::{
    io,
    num::NonZeroU64,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use ackwise_tcp::{Instant, Nanos};
use hashbrown::HashMap;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time,
};

use crate::places::{Answer, Places};

/// Admits streams while there are places, and has idle ones end when there is none. Clones share the places.
#[derive(Clone, Debug)]
pub struct Gate {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something has become idle, or a place is free.
    changed: Notify,
    began: time::Instant,
    next: AtomicU64,
}

#[derive(Debug)]
struct State {
    places: Places<u64>,
    waiting: u64,
    /// Those that wait for input, to wake them when they are to end.
    readers: HashMap<u64, Waker>,
    ended: u64,
}

/// A stream that has a place until it is dropped.
///
/// It is idle while its reader waits and the last data was the server's. Then it may end: its reader gets the end of the
/// stream, as after a client's FIN, unless a request has come meanwhile.
#[derive(Debug)]
pub struct Admitted<S> {
    stream: S,
    key: u64,
    shared: Arc<Shared>,
    last: Last,
    /// Who waits for input. It may have begun to before the last response was written.
    reader: Option<Waker>,
}

/// What was last on a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Last {
    /// A request, or a part of a response that cannot leave yet. Nothing counts as well: the first request of a new
    /// stream is on its way.
    Busy,
    /// A response, or a part of it.
    Written,
    /// A response, and the reader waits.
    Idle,
    /// Its reader got the end of the stream.
    Ended,
}

impl Gate {
    /// `limit` places. A stream ends for another when it has been idle for `idle_at_least`. A response that is produced
    /// slowly looks idle between two writes: give a longer time.
    #[must_use]
    pub fn new(limit: NonZeroU64, idle_at_least: Duration) -> Self {
        let state = State {
            places: Places::new(limit, Nanos::of(idle_at_least)),
            waiting: 0,
            readers: HashMap::new(),
            ended: 0,
        };
        let shared = Shared {
            state: Mutex::new(state),
            changed: Notify::new(),
            began: time::Instant::now(),
            next: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Waits until `stream` has a place. Other streams end for it, the longest idle first. If it is dropped meanwhile, nobody waits.
    pub async fn admit<S>(&self, stream: S) -> Admitted<S> {
        let shared = &self.shared;
        let key = shared.next.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting::new(shared);
        loop {
            let changed = shared.changed.notified();
            let Some(due) = shared.ask() else { break };
            match due {
                None => changed.await,
                Some(due) => {
                    let due = shared.began + Duration::from_nanos(due.as_nanos());
                    let _ = time::timeout_at(due, changed).await;
                }
            }
        }
        Admitted { stream, key, shared: Arc::clone(shared), last: Last::Busy, reader: None }
    }

    /// How many places are taken.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.shared.lock().places.open()
    }

    /// How many streams have ended for others.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.shared.lock().ended
    }
}

/// One who waits for a place.
struct Waiting<'a>(&'a Shared);

impl<'a> Waiting<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.lock().waiting += 1;
        Self(shared)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Instant {
        Instant::EPOCH + Nanos::of(self.began.elapsed())
    }

    /// `None`: there is a place. Otherwise when to ask again at the latest.
    fn ask(&self) -> Option<Option<Instant>> {
        let now = self.now();
        let mut state = self.lock();
        let waiting = state.waiting;
        match state.places.ask(waiting, now) {
            Answer::Admit => None,
            Answer::Wait(due) => Some(due),
            Answer::Close(closing) => {
                let reader = state.readers.remove(&closing.key);
                drop(state);
                reader.into_iter().for_each(Waker::wake);
                Some(None)
            }
        }
    }
}

impl<S> Admitted<S> {
    /// A request came, or a response cannot leave.
    fn becomes_busy(&mut self) {
        if matches!(self.last, Last::Idle | Last::Ended) {
            let mut state = self.shared.lock();
            let was_closing = state.places.is_closing(&self.key);
            state.places.became_busy(&self.key);
            state.readers.remove(&self.key);
            drop(state);
            // Somebody waits for this place, and needs another.
            if was_closing {
                self.shared.changed.notify_waiters();
            }
        }
        self.last = Last::Busy;
    }

    fn has_written(&mut self) {
        self.becomes_busy();
        self.last = Last::Written;
        self.may_be_idle();
    }

    /// The reader waits. Returns whether the stream is to end.
    fn waits(&mut self, context: &Context<'_>) -> bool {
        if self.last == Last::Ended {
            return true;
        }
        self.reader = Some(context.waker().clone());
        if self.last == Last::Idle {
            let mut state = self.shared.lock();
            if state.places.is_closing(&self.key) {
                state.ended += 1;
                self.last = Last::Ended;
                return true;
            }
            state.readers.insert(self.key, context.waker().clone());
        }
        self.may_be_idle();
        false
    }

    fn may_be_idle(&mut self) {
        let Some(reader) = self.reader.as_ref().filter(|_| self.last == Last::Written) else {
            return;
        };
        let now = self.shared.now();
        let mut state = self.shared.lock();
        state.readers.insert(self.key, reader.clone());
        state.places.became_idle(self.key, now);
        let is_waited_for = state.waiting > 0;
        drop(state);
        self.last = Last::Idle;
        if is_waited_for {
            self.shared.changed.notify_waiters();
        }
    }

    /// Notes what became of a write.
    fn wrote(&mut self, poll: &Poll<io::Result<usize>>) {
        match poll {
            Poll::Pending => self.becomes_busy(),
            Poll::Ready(_) => self.has_written(),
        }
    }
}

impl<S> Drop for Admitted<S> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.readers.remove(&self.key);
        state.places.gone(&self.key);
        drop(state);
        self.shared.changed.notify_waiters();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Admitted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        // Also if it is to end: a request may have come.
        let poll = Pin::new(&mut self.stream).poll_read(context, buffer);
        match poll {
            Poll::Pending if self.waits(context) => Poll::Ready(Ok(())),
            Poll::Ready(Ok(())) if buffer.filled().len() > before => {
                self.reader = None;
                self.becomes_busy();
                poll
            }
            poll => poll,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Admitted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(&poll);
        poll
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.wrote(&poll);
        poll
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

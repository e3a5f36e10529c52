//! Drives users over a transport.

use std::{collections::BTreeMap, ops::ControlFlow, time::Duration};

use ackwise_http::page::{Connections, PageFetch, Pause, Step};
use ackwise_net::{Slot, Transport};

use super::{
    KeptConnections, LoadedPage, LoadedPages, PAGES_LIMIT, PageLoad, WebPage,
    connection::Connection,
    user::{Loading, State, User},
};
use crate::generator::{Failure, RunError, ThinkScope};

/// Loads pages by `load`. `watch` gets each page, and `None` at least every [`WATCH_INTERVAL`], and
/// may end the run.
///
/// # Errors
///
/// If the local system is at fault, or something of a page is not allowed in a request. Failures of the server are in
/// the pages.
///
/// # Panics
///
/// If `load` has no page, or one without files.
pub fn load_pages<T: Transport>(
    transport: &mut T,
    load: &PageLoad,
    mut watch: impl FnMut(Option<&LoadedPage>) -> ControlFlow<()>,
) -> Result<LoadedPages, RunError> {
    load.site.iter().try_for_each(WebPage::check).map_err(RunError::Request)?;
    let mut run = Run::new(transport, load);
    let (mut ready, mut told) = (Vec::new(), 0);
    loop {
        run.begin_due()?;
        for slot in std::mem::take(&mut ready) {
            if run.serve(slot)? {
                ready.push(slot);
            }
        }
        run.sweep();
        let mut goes_on = watch(None);
        while let Some(page) = run.done.pages.get(told) {
            goes_on = if goes_on.is_break() { goes_on } else { watch(Some(page)) };
            told += 1;
        }
        if goes_on.is_break() {
            run.stop();
        }
        if run.is_over() {
            break;
        }
        let wake = if ready.is_empty() { run.wake() } else { run.transport.now() };
        run.transport.poll(wake, &mut ready).map_err(RunError::Poll)?;
    }
    Ok(run.done)
}

pub(super) struct Run<'r, T> {
    pub(super) transport: &'r mut T,
    pub(super) load: &'r PageLoad,
    pub(super) began: Duration,
    pub(super) users: Vec<User>,
    /// By slot.
    pub(super) connections: Vec<Option<Connection>>,
    pub(super) free: Vec<Slot>,
    /// Pages that may still begin.
    pub(super) left: u64,
    pub(super) next_page: usize,
    pub(super) done: LoadedPages,
    pub(super) buffer: Vec<u8>,
}

impl<'r, T: Transport> Run<'r, T> {
    fn new(transport: &'r mut T, load: &'r PageLoad) -> Self {
        assert!(
            !load.site.is_empty() && load.site.iter().all(|page| !page.files.is_empty()),
            "a load has a page, and each page a file"
        );
        let began = transport.now();
        let stream = |seed: ackwise_link::Seed, name: &str, user: usize| {
            seed.named(name).named(&user.to_string()).stream()
        };
        let think = load.think.as_ref().map_or(load.cache.seed, |think| think.seed);
        let users = (0..load.users).map(|user| User {
            state: State::Waiting(began),
            kept: Vec::new(),
            thinks: stream(think, "page thinks", user),
            caches: stream(load.cache.seed, "page caches", user),
        });
        Self {
            began,
            users: users.collect(),
            connections: std::iter::repeat_with(|| None).take(load.slots()).collect(),
            free: (0..load.slots()).rev().map(Slot).collect(),
            left: load.pages.unwrap_or(u64::MAX).min(PAGES_LIMIT as u64),
            next_page: 0,
            done: LoadedPages::default(),
            buffer: vec![0; READ_SIZE],
            transport,
            load,
        }
    }

    /// Begins the pages that are due, and goes on with those that have paused.
    fn begin_due(&mut self) -> Result<(), RunError> {
        let now = self.transport.now();
        for user in 0..self.users.len() {
            match &mut self.users[user].state {
                State::Waiting(due) if *due <= now => self.begin(user, now)?,
                State::Loading(loading) => {
                    if let Some((_, step)) = loading.paused.take_if(|(due, _)| *due <= now) {
                        self.perform(user, step)?;
                        self.advance(user)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn begin(&mut self, user: usize, now: Duration) -> Result<(), RunError> {
        let ended = self.load.duration.is_some_and(|limit| now >= self.began + limit);
        if self.left == 0 || ended {
            self.leave(user);
            return Ok(());
        }
        self.left -= 1;
        let page = self.next_page;
        self.next_page = (page + 1) % self.load.site.len();
        let files = self.load.site[page].files.len();
        let cached = self.users[user].cached(self.load, files);
        let (connections, plan) = self.connections_of(user);
        let lengths = self.load.site[page].lengths();
        let fetch = PageFetch::new(self.load.transfer, &lengths, plan, |file| cached[file]);
        let so_far = LoadedPage {
            user,
            page,
            began: now - self.began,
            took: Duration::ZERO,
            connections: 0,
            requests: 0,
            files: 0,
            content: 0,
            sent: 0,
            received: 0,
            failure: None,
        };
        self.users[user].state = State::Loading(Box::new(Loading {
            fetch,
            page,
            cached,
            began: now,
            deadline: now.saturating_add(self.load.timeout),
            connections,
            paused: None,
            thought: Duration::ZERO,
            so_far,
        }));
        self.advance(user)
    }

    /// The connections that a page may use, by their numbers.
    fn connections_of(&mut self, user: usize) -> (BTreeMap<u32, Slot>, Connections) {
        if self.load.connections == KeptConnections::PerPage {
            return (BTreeMap::new(), Connections::OfThePage);
        }
        let kept: BTreeMap<u32, Slot> = (0..).zip(self.users[user].kept.drain(..)).collect();
        for (number, slot) in &kept {
            if let Some(connection) = &mut self.connections[slot.0] {
                connection.owner = Some((user, *number));
            }
        }
        let open = u32::try_from(kept.len()).unwrap_or(u32::MAX);
        (kept, Connections::Kept { open })
    }

    /// Does what the plan allows now.
    pub(super) fn advance(&mut self, user: usize) -> Result<(), RunError> {
        loop {
            let State::Loading(loading) = &mut self.users[user].state else { return Ok(()) };
            if loading.paused.is_some() {
                return Ok(());
            }
            if loading.fetch.has_failed() {
                self.fail(user, Failure::Closed);
                return Ok(());
            }
            if loading.fetch.is_complete() {
                self.finish(user);
                return Ok(());
            }
            let Some(step) = loading.fetch.poll() else { break };
            let pause = self.pause_before(user, &step);
            if pause.is_zero() {
                self.perform(user, step)?;
                continue;
            }
            let now = self.transport.now();
            if let State::Loading(loading) = &mut self.users[user].state {
                loading.paused = Some((now + pause, step));
                loading.deadline = loading.deadline.saturating_add(pause);
                if !loading.connections.values().any(|slot| is_busy(&self.connections, *slot)) {
                    loading.thought += pause;
                }
            }
            break;
        }
        self.flush_user(user)
    }

    /// How long a user pauses before `step`.
    fn pause_before(&mut self, user: usize, step: &Step) -> Duration {
        let (Step::Open { pause, .. } | Step::Request { pause, .. }) = step;
        let stream = &mut self.users[user].thinks;
        let think = self.load.think.as_ref();
        match (pause, think) {
            (Pause::OpenGap, _) => self.load.open_gap.draw(stream),
            (Pause::File, Some(think)) if think.scope == ThinkScope::File => {
                think.span.draw(stream)
            }
            // Before the first step of a page: the user has thought in `State::Waiting`.
            _ => Duration::ZERO,
        }
    }

    fn perform(&mut self, user: usize, step: Step) -> Result<(), RunError> {
        match step {
            Step::Open { connection, .. } => self.open(user, connection),
            Step::Request { connection, files, response, option, .. } => {
                let files = files.start as usize..files.end as usize;
                self.request(user, connection, files, response, option);
                Ok(())
            }
        }
    }

    /// The page of `user` cannot be completed.
    pub(super) fn fail(&mut self, user: usize, failure: Failure) {
        if let State::Loading(loading) = &mut self.users[user].state {
            loading.so_far.failure.get_or_insert(failure);
        }
        self.finish(user);
    }

    /// Counts a page, closes or keeps its connections, and has the user think.
    pub(super) fn finish(&mut self, user: usize) {
        let now = self.transport.now();
        let state = std::mem::replace(&mut self.users[user].state, State::Gone);
        let State::Loading(loading) = state else { return };
        let Loading { connections, so_far, began, thought, .. } = *loading;
        let took = (now - began).saturating_sub(thought);
        self.done.elapsed = now - self.began;
        self.done.pages.push(LoadedPage { took, ..so_far });
        let keeps = self.load.connections == KeptConnections::Kept && so_far.failure.is_none();
        for slot in connections.into_values() {
            match keeps {
                true => self.users[user].kept.push(slot),
                false => self.close(slot, so_far.failure),
            }
        }
        let pause = match &self.load.think {
            Some(think) => think.span.draw(&mut self.users[user].thinks),
            None => Duration::ZERO,
        };
        self.users[user].state = State::Waiting(now + pause);
    }

    /// Ends what takes too long.
    fn sweep(&mut self) {
        let now = self.transport.now();
        for user in 0..self.users.len() {
            if let State::Loading(loading) = &self.users[user].state
                && loading.deadline <= now
            {
                self.fail(user, Failure::TimedOut);
            }
        }
        for slot in (0..self.connections.len()).map(Slot) {
            let late = |it: &Connection| it.owner.is_none() && it.deadline <= now;
            if self.connections[slot.0].as_ref().is_some_and(late) {
                self.transport.abort(slot);
                self.release(slot);
                self.done.not_closed += 1;
            }
        }
    }

    /// A user who loads no more pages closes what it kept.
    fn leave(&mut self, user: usize) {
        self.users[user].state = State::Gone;
        for slot in std::mem::take(&mut self.users[user].kept) {
            self.close(slot, None);
        }
    }

    /// Ends the run: pages that are not complete are not counted.
    fn stop(&mut self) {
        self.left = 0;
        for user in 0..self.users.len() {
            self.leave(user);
        }
        for slot in (0..self.connections.len()).map(Slot) {
            if self.connections[slot.0].is_some() {
                self.transport.abort(slot);
                self.release(slot);
            }
        }
    }

    fn is_over(&self) -> bool {
        let gone = |user: &User| matches!(user.state, State::Gone);
        self.users.iter().all(gone) && self.connections.iter().all(Option::is_none)
    }

    fn wake(&self) -> Duration {
        let latest = self.transport.now() + WATCH_INTERVAL;
        let due = self.users.iter().filter_map(|user| match &user.state {
            State::Waiting(due) => Some(*due),
            State::Loading(loading) => loading.paused.as_ref().map(|(due, _)| *due),
            State::Gone => None,
        });
        due.fold(latest, Duration::min)
    }
}

fn is_busy(connections: &[Option<Connection>], slot: Slot) -> bool {
    connections[slot.0].as_ref().is_some_and(Connection::is_waiting)
}

/// How long nothing may be told (our choice).
pub const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes of one read (our choice).
const READ_SIZE: usize = 64 * 1024;

//! The connections of all users: opened, written, read, lost and closed.

use std::{io, ops::Range};

use ackwise_http::{ConnectionOption, client_close};
use ackwise_net::{AfterWrite, ConnectError, ConnectionError, Read, Slot, Transport};

use super::{
    PageClose,
    connection::{Connection, Exchanged},
    run::Run,
    user::State,
    web_page::Wanted,
};
use crate::generator::{Failure, RunError};

impl<T: Transport> Run<'_, T> {
    pub(super) fn open(&mut self, user: usize, number: u32) -> Result<(), RunError> {
        let Some(slot) = self.free.pop().or_else(|| self.evict()) else {
            unreachable!("each user has more slots than open connections")
        };
        let failure = match self.transport.connect(slot) {
            Ok(()) => None,
            Err(ConnectError::Failed(error)) => Some(error),
            Err(ConnectError::NoPort) => {
                (self.done.ran_out_of_ports, self.left) = (true, 0);
                Some(ConnectionError::System(io::ErrorKind::AddrNotAvailable))
            }
            Err(error) => return Err(RunError::Connect(error)),
        };
        if let Some(failure) = failure {
            self.free.push(slot);
            self.fail(user, failure.into());
            return Ok(());
        }
        self.connections[slot.0] = Some(Connection::new((user, number)));
        if let State::Loading(loading) = &mut self.users[user].state {
            loading.connections.insert(number, slot);
            loading.so_far.connections += 1;
        }
        Ok(())
    }

    /// The slot of a connection that only waits for the server's close.
    pub(super) fn evict(&mut self) -> Option<Slot> {
        let closing = |it: &Option<Connection>| it.as_ref().is_some_and(|it| it.owner.is_none());
        let slot = Slot(self.connections.iter().position(closing)?);
        self.transport.abort(slot);
        self.connections[slot.0] = None;
        self.done.not_closed += 1;
        Some(slot)
    }

    pub(super) fn request(
        &mut self,
        user: usize,
        number: u32,
        files: Range<usize>,
        length: u64,
        option: ConnectionOption,
    ) {
        let State::Loading(loading) = &mut self.users[user].state else { return };
        // Gone already: the plan was told when it was lost, and asks again.
        let Some(slot) = loading.connections.get(&number) else { return };
        let Some(connection) = &mut self.connections[slot.0] else { return };
        let (mut bytes, mut outstanding) = (Vec::new(), Vec::new());
        let page = &self.load.site[loading.page];
        let transfer = self.load.transfer;
        let wanted = Wanted { transfer, files, length, option, cached: &loading.cached };
        let encoded = page.encode(&wanted, &mut bytes, &mut outstanding);
        encoded.expect("all requests were encoded before the run");
        loading.so_far.requests += u32::try_from(outstanding.len()).unwrap_or(u32::MAX);
        loading.so_far.sent += bytes.len() as u64;
        connection.ask(&bytes, outstanding, option);
    }

    pub(super) fn flush_user(&mut self, user: usize) -> Result<(), RunError> {
        let State::Loading(loading) = &self.users[user].state else { return Ok(()) };
        let slots: Vec<Slot> = loading.connections.values().copied().collect();
        slots.into_iter().try_for_each(|slot| self.flush(slot))
    }

    /// Writes what has not been sent: all requests of a turn together, so that they fill segments.
    pub(super) fn flush(&mut self, slot: Slot) -> Result<(), RunError> {
        while let Some(connection) = &mut self.connections[slot.0]
            && !connection.unsent.is_empty()
        {
            let follows =
                if connection.closes_after { AfterWrite::Close } else { AfterWrite::Nothing };
            match self.transport.write(slot, &connection.unsent, follows) {
                Ok(0) => return Ok(()),
                Ok(written) => drop(connection.unsent.drain(..written)),
                Err(error) => return self.broken(slot, error.into()),
            }
        }
        if let Some(connection) = &self.connections[slot.0]
            && connection.closes_after
        {
            // A server that does not know CLIENT_CLOSE answers, so its answer is read to the end.
            self.transport.half_close(slot);
            if let Some(connection) = &mut self.connections[slot.0] {
                connection.closes_after = false;
                connection.ends = true;
            }
        }
        Ok(())
    }

    /// Writes and reads until neither makes progress, or until others have to be served too. Returns whether there may
    /// be more to read.
    pub(super) fn serve(&mut self, slot: Slot) -> Result<bool, RunError> {
        self.flush(slot)?;
        for _ in 0..READS_PER_TURN {
            if self.connections[slot.0].is_none() {
                return Ok(false);
            }
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = self.transport.read(slot, &mut buffer);
            let served = match read {
                Ok(Read::Nothing) => Ok(false),
                Ok(Read::ByteCount(bytes)) => self.hear(slot, &buffer[..bytes]).map(|()| true),
                Ok(Read::End) => self.hear_end(slot).map(|()| false),
                Err(error) => self.broken(slot, error.into()).map(|()| false),
            };
            self.buffer = buffer;
            if !served? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn hear(&mut self, slot: Slot, mut bytes: &[u8]) -> Result<(), RunError> {
        let Some(owner) = self.owner(slot) else { return Ok(()) };
        if let Some((user, _)) = owner
            && let State::Loading(loading) = &mut self.users[user].state
        {
            loading.so_far.received += bytes.len() as u64;
        }
        let mut has_news = false;
        while let Some(connection) = &mut self.connections[slot.0] {
            match connection.handle_bytes(&mut bytes) {
                Ok(None) => break,
                Ok(Some(exchanged)) => has_news |= self.exchanged(slot, exchanged),
                Err(failure) => return self.broken(slot, failure),
            }
        }
        match owner {
            Some((user, _)) if has_news => self.advance(user),
            _ => Ok(()),
        }
    }

    /// The user and number of a connection, if there is a connection.
    pub(super) fn owner(&self, slot: Slot) -> Option<Option<(usize, u32)>> {
        self.connections[slot.0].as_ref().map(|connection| connection.owner)
    }

    /// Counts a response. Returns whether the plan may have a next step.
    pub(super) fn exchanged(&mut self, slot: Slot, exchanged: Exchanged) -> bool {
        let Some(connection) = &mut self.connections[slot.0] else { return false };
        let Some((user, number)) = connection.owner else { return false };
        let State::Loading(loading) = &mut self.users[user].state else { return false };
        let Exchanged { files, content, completes, failure } = exchanged;
        let so_far = &mut loading.so_far;
        so_far.files += files;
        so_far.content += content;
        so_far.failure = so_far.failure.or(failure);
        if completes {
            loading.fetch.on_response(number);
        }
        if connection.ends {
            loading.fetch.on_close(number);
            loading.connections.remove(&number);
            connection.owner = None;
            connection.deadline = self.transport.now().saturating_add(self.load.timeout);
        }
        completes || self.owner(slot) == Some(None)
    }

    pub(super) fn hear_end(&mut self, slot: Slot) -> Result<(), RunError> {
        let Some(connection) = &mut self.connections[slot.0] else { return Ok(()) };
        let owner = connection.owner;
        match connection.handle_end() {
            Ok(exchanged) => {
                if let Some(exchanged) = exchanged {
                    self.exchanged(slot, exchanged);
                }
            }
            Err(failure) => return self.broken(slot, failure),
        }
        self.transport.close(slot);
        self.release(slot);
        match owner {
            Some((user, number)) => {
                if let State::Loading(loading) = &mut self.users[user].state {
                    loading.fetch.on_close(number);
                    loading.connections.remove(&number);
                }
                self.users[user].kept.retain(|kept| *kept != slot);
                self.advance(user)
            }
            None => Ok(()),
        }
    }

    /// A connection broke, or what it carried is no response.
    pub(super) fn broken(&mut self, slot: Slot, failure: Failure) -> Result<(), RunError> {
        let owner = self.owner(slot).flatten();
        self.transport.abort(slot);
        self.release(slot);
        let Some((user, number)) = owner else { return Ok(()) };
        self.users[user].kept.retain(|kept| *kept != slot);
        self.lose(user, number, failure)
    }

    pub(super) fn release(&mut self, slot: Slot) {
        self.connections[slot.0] = None;
        self.free.push(slot);
    }

    /// The plan loses a connection: it may open another, or the page fails.
    pub(super) fn lose(
        &mut self,
        user: usize,
        number: u32,
        failure: Failure,
    ) -> Result<(), RunError> {
        let State::Loading(loading) = &mut self.users[user].state else { return Ok(()) };
        loading.connections.remove(&number);
        loading.fetch.on_close(number);
        let repeats = matches!(failure, Failure::Closed | Failure::Connection(_));
        if !repeats || loading.fetch.has_failed() {
            self.fail(user, failure);
            return Ok(());
        }
        self.advance(user)
    }

    /// The client closes.
    pub(super) fn close(&mut self, slot: Slot, failure: Option<Failure>) {
        let Some(connection) = &mut self.connections[slot.0] else { return };
        connection.owner = None;
        let resets = connection.is_waiting() || failure.is_some();
        match self.load.close {
            _ if resets => self.transport.abort(slot),
            PageClose::ClientByReset => self.transport.abort(slot),
            PageClose::Client => self.transport.close(slot),
            PageClose::ClientClose => {
                let host = &self.load.site[0].host;
                let request = client_close::encode(host).expect("it was encoded in requests");
                connection.unsent.extend(request);
                connection.closes_after = true;
                connection.deadline = self.transport.now().saturating_add(self.load.timeout);
                // An error is the end of a connection that has no owner.
                let _ = self.flush(slot);
                return;
            }
        }
        self.release(slot);
    }
}

/// Reads from one connection before another one is served, and the limits are checked (our choice).
const READS_PER_TURN: usize = 16;

//! What a run does for `--pace`.

use ackwise_linux::{foreign::Holders, sockets::TcpSocket};

use super::{Run, named, processes};
use crate::{
    Act, Line, Pacing, TuneError,
    pace::{self, Outcome, Pacer},
    undo::{CONGESTION, paced_line},
};

impl Run<'_> {
    /// Registers what this run's sockets will use, while it is allowed to.
    pub(super) fn start_pacing(&mut self, listeners: &[TcpSocket]) -> Result<(), TuneError> {
        if self.options.pacing == Pacing::Off {
            return Ok(());
        }
        let mut sockets = self.connected(self.query())?;
        sockets.extend(listeners);
        let inodes = sockets.iter().map(|socket| socket.inode).collect();
        self.pacer = Pacer::start(&sockets, &Holders::of(&inodes))?;
        if let (Some(_), Some(journal)) = (&self.pacer, &mut self.journal) {
            journal.add_pacing()?;
        }
        Ok(())
    }

    /// Sets it on listening sockets that are new.
    pub(super) fn pace_listeners(
        &mut self,
        new: &[TcpSocket],
        holders: &Holders,
    ) -> Result<(), TuneError> {
        if self.options.pacing == Pacing::Off {
            return Ok(());
        }
        for listener in new {
            let outcome = match &self.pacer {
                Some(pacer) => pacer.set(listener, holders),
                None => pace::replacement(listener, holders)
                    .map_or_else(Outcome::Other, |_| Outcome::Gone),
            };
            let who = processes(holders, listener.inode);
            self.say_paced(
                listener,
                &outcome,
                &format!("{who} accepts connections that inherit it"),
            );
        }
        Ok(())
    }

    /// Sets it on connections that are due. A route can give them another one than their listening socket's.
    pub(super) fn pace_connections(&mut self, due: &[TcpSocket], holders: &Holders) {
        for socket in due {
            let Some(pacer) = &self.pacer else { return };
            let outcome = pacer.set(socket, holders);
            let reason = match self.connections.was_there(socket.cookie) {
                true => "open before the run",
                false => "the server or the route had given it another one",
            };
            if matches!(outcome, Outcome::Set(_)) {
                self.say_paced(socket, &outcome, reason);
            }
        }
    }

    /// Gives back. Returns whether something is left to be done.
    pub(super) fn stop_pacing(&mut self) -> bool {
        let Some(pacer) = self.pacer.take() else { return false };
        let taken = pace::take_back(self.options.target.port());
        self.tell(&paced_line(&taken, self.began.elapsed()));
        drop(pacer);
        taken.failed.is_some()
    }

    /// What a run with `apply` would do.
    pub(super) fn would_pace(&mut self, listeners: &[TcpSocket], holders: &Holders) {
        if self.options.pacing == Pacing::Off {
            return;
        }
        for listener in listeners {
            let who = processes(holders, listener.inode);
            let (act, reason) = match pace::replacement(listener, holders) {
                Ok(base) => {
                    let (old, new) = (base.name(), base.paced());
                    let reason =
                        format!("{old} -> {new}: {who} would accept connections that inherit it");
                    (Act::WouldSet, reason)
                }
                Err(other) => (Act::Left, stays(&other)),
            };
            self.say_congestion(listener, act, reason);
        }
    }

    fn say_paced(&mut self, socket: &TcpSocket, outcome: &Outcome, why: &str) {
        match outcome {
            Outcome::Set(base) => {
                self.summary.set += 1;
                let reason = format!("{} -> {}: {why}", base.name(), base.paced());
                self.say_congestion(socket, Act::Set, reason);
            }
            Outcome::Other(name) => self.say_congestion(socket, Act::Left, stays(name)),
            Outcome::Refused(base, error) => {
                let reason = format!("{} stays: {error}", base.name());
                self.say_congestion(socket, Act::Left, reason);
            }
            Outcome::Already | Outcome::Gone => {}
        }
    }

    fn say_congestion(&mut self, socket: &TcpSocket, act: Act, reason: String) {
        let mut line = Line::new(self.began.elapsed(), act, reason);
        (line.socket, line.option) = (Some(named(socket)), Some(CONGESTION));
        self.tell(&line);
    }
}

fn stays(name: &str) -> String {
    format!(
        "{name} is not changed: only cubic and reno are paced, because the kernel cuts their window after idle"
    )
}

//! Gives sockets a congestion control that restarts by rate after idle (`ackwise-bpf`), and takes it back.
//!
//! It replaces the kernel's CUBIC and Reno; BBR and others stay, because the kernel does not cut their window.
//! A socket that has it is known by its name, also one that inherited it, so every socket of the port gets
//! back what its name says, and no record is needed for each.

use std::{io, thread, time::Duration};

use ackwise_bpf::{Base, Paced};
use ackwise_linux::{
    foreign::{CopyError, ForeignSocket, Holders},
    privileges,
    sockets::TcpSocket,
};

use crate::TuneError;

/// Whether a run restarts connections by rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pacing {
    /// It does not.
    Off,
    /// It does.
    On,
}

impl Pacing {
    /// Gives up all capabilities but those that such a run needs.
    pub(crate) fn keep_privileges(self) -> io::Result<()> {
        match self {
            Self::Off => privileges::keep_foreign_sockets(),
            Self::On => privileges::keep_foreign_congestion(),
        }
    }
}

/// The registered congestion controls of a run.
#[derive(Debug)]
pub(crate) struct Pacer {
    bases: Vec<Base>,
    _registered: Paced,
}

/// What became of a socket.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It had this congestion control, and has the paced one now.
    Set(Base),
    /// It has the paced one.
    Already,
    /// It has another one, which stays.
    Other(String),
    /// The kernel does not allow it.
    Refused(Base, io::Error),
    /// The socket is gone.
    Gone,
}

impl Pacer {
    /// Registers what can replace the congestion controls of `sockets`. `None` if there is nothing to
    /// replace.
    pub(crate) fn start(
        sockets: &[TcpSocket],
        holders: &Holders,
    ) -> Result<Option<Self>, TuneError> {
        let mut bases: Vec<_> = sockets
            .iter()
            .filter_map(|socket| base_of(&copy(socket, holders).ok()?.congestion().ok()?))
            .collect();
        bases.sort_unstable();
        bases.dedup();
        if bases.is_empty() {
            return Ok(None);
        }
        let registered = Paced::register(&bases).map_err(TuneError::Pace)?;
        Ok(Some(Self { bases, _registered: registered }))
    }

    /// Gives `socket` the paced form of what it has.
    pub(crate) fn set(&self, socket: &TcpSocket, holders: &Holders) -> Outcome {
        let Ok(copy) = copy(socket, holders) else { return Outcome::Gone };
        let Ok(name) = copy.congestion() else { return Outcome::Gone };
        match base_of(&name).filter(|base| self.bases.contains(base)) {
            None if of_paced(&name).is_some() => Outcome::Already,
            None => Outcome::Other(name),
            Some(base) => match copy.set_congestion(base.paced()) {
                Ok(()) => Outcome::Set(base),
                Err(error) => Outcome::Refused(base, error),
            },
        }
    }
}

/// What a run would replace on `socket`, or the name of what it has instead.
pub(crate) fn replacement(socket: &TcpSocket, holders: &Holders) -> Result<Base, String> {
    let name = copy(socket, holders).ok().and_then(|copy| copy.congestion().ok());
    let name = name.unwrap_or_else(|| "an unknown congestion control".to_owned());
    base_of(&name).ok_or(name)
}

/// What was taken back.
#[derive(Debug, Default)]
pub(crate) struct TakenBack {
    pub(crate) sockets: u64,
    /// Why one could not be.
    pub(crate) failed: Option<String>,
}

/// Gives every socket of `port`, or of all, its own congestion control back, whoever holds it.
pub(crate) fn take_back(port: Option<u16>) -> TakenBack {
    let mut taken = TakenBack::default();
    for round in 0..ROUNDS {
        if round > 0 {
            thread::sleep(ROUND_PAUSE);
        }
        let holders = Holders::of_every_socket();
        let mut found = 0;
        taken.failed = (holders.closed() > 0)
            .then(|| format!("{} processes cannot be inspected", holders.closed()));
        for holder in holders.first_of_each() {
            let Ok(socket) = ForeignSocket::copy_any(holder) else { continue };
            let Some(base) = socket.congestion().ok().as_deref().and_then(of_paced) else {
                continue;
            };
            if port.is_some() && socket.local_port() != port {
                continue;
            }
            match socket.set_congestion(base.name()) {
                Ok(()) => found += 1,
                Err(error) => taken.failed = Some(error.to_string()),
            }
        }
        taken.sockets += found;
        if found == 0 {
            break;
        }
    }
    taken
}

fn copy(socket: &TcpSocket, holders: &Holders) -> Result<ForeignSocket, CopyError> {
    ForeignSocket::copy(holders.of_inode(socket.inode), socket.cookie)
}

fn base_of(name: &str) -> Option<Base> {
    Base::ALL.into_iter().find(|base| base.name() == name)
}

fn of_paced(name: &str) -> Option<Base> {
    Base::ALL.into_iter().find(|base| base.paced() == name)
}

/// A connection may have been accepted from a listening socket that was not set back yet. Our choice.
const ROUNDS: usize = 3;
/// Our choice: a server accepts what waits.
const ROUND_PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_socket_had() {
        for base in Base::ALL {
            assert_eq!((base_of(base.name()), of_paced(base.name())), (Some(base), None));
            assert_eq!((base_of(base.paced()), of_paced(base.paced())), (None, Some(base)));
            // TCP_CA_NAME_MAX, with the final zero.
            assert!(base.paced().len() < 16);
        }
        assert_eq!((base_of("bbr"), of_paced("bbr")), (None, None));
    }
}

//! Restores the values of a journal.
//!
//! Sockets are found by inode and compared by cookie, so that no other socket is touched. A value that is
//! no longer what the run set belongs to whoever changed it since, and stays. This does not hold for buffers,
//! which a run sets many times: the journal has the first of these values only.

use std::{collections::BTreeSet, ops::ControlFlow, path::Path, time::Duration};

use ackwise_linux::foreign::{CopyError, ForeignSocket, Holders};

use ackwise_text::words::counted;

use crate::{
    Act, Line, Socket, TuneError,
    journal::{self, Content, Record},
    namespace,
    pace::{self, TakenBack},
};

/// What became of a record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Fate {
    /// It has its old value.
    Restored,
    /// It has another value than the run gave it.
    Changed(u32),
    /// The socket is gone.
    Gone,
    /// It could not be restored: try again.
    Failed(String),
}

/// Gives back what runs that have ended left behind. Returns whether everything is as it was.
///
/// # Errors
///
/// If a journal cannot be read or written, or this is not root. What the other journals say is given back.
pub fn undo(
    directory: &Path,
    mut tell: impl FnMut(&Line) -> ControlFlow<()>,
) -> Result<bool, TuneError> {
    if !nix::unistd::geteuid().is_root() {
        return Err(TuneError::NotRoot);
    }
    namespace::check_proc()?;
    journal::remove_unfinished(directory);
    let paths = journal::all(directory)?;
    let (mut is_complete, mut unreadable) = (true, None);
    if paths.is_empty() {
        let _ = tell(&Line::new(Duration::ZERO, Act::Note, "nothing to restore"));
    }
    for path in paths {
        let content = match Content::read(&path) {
            Ok(content) => content,
            // Its run has ended meanwhile, and has given everything back.
            Err(_) if !path.exists() => continue,
            // The others do not wait for somebody to look at it.
            Err(error) => {
                unreadable.get_or_insert(error);
                continue;
            }
        };
        if content.is_active() {
            let Content { process, port, .. } = content;
            let what = port.map_or_else(|| "a process".to_owned(), |port| format!("port {port}"));
            let reason = format!("process {process} still tunes {what}: stop it first");
            let _ = tell(&Line::new(Duration::ZERO, Act::Left, reason));
        } else {
            is_complete &= undo_one(&path, content, &mut tell)?;
        }
    }
    unreadable.map_or(Ok(is_complete), Err)
}

/// Gives back what is in one journal. What could not be restored stays in it.
pub(crate) fn undo_one(
    path: &Path,
    mut content: Content,
    mut tell: impl FnMut(&Line) -> ControlFlow<()>,
) -> Result<bool, TuneError> {
    let fates = restore(&content.records);
    for (record, fate) in content.records.iter().zip(&fates) {
        // Whether anybody reads the lines does not matter here.
        let _ = tell(&line(record, fate, Duration::ZERO));
    }
    let mut fates = fates.iter();
    content.records.retain(|_| matches!(fates.next(), Some(Fate::Failed(_))));
    if content.paces {
        let taken = pace::take_back(content.port);
        let _ = tell(&paced_line(&taken, Duration::ZERO));
        content.paces = taken.failed.is_some();
    }
    content.rewrite(path)?;
    Ok(content.records.is_empty() && !content.paces)
}

/// A line about the congestion control of all sockets.
pub(crate) fn paced_line(taken: &TakenBack, at: Duration) -> Line {
    let sockets = counted(taken.sockets, "socket");
    let (act, reason) = match &taken.failed {
        None => (Act::GivenBack, format!("{sockets} have their original congestion control again")),
        Some(why) => {
            let reason =
                format!("{sockets} restored; {why}; run `ackwise tune --undo` to try again");
            (Act::Left, reason)
        }
    };
    let mut line = Line::new(at, act, reason);
    (line.option, line.count) = (Some(CONGESTION), Some(taken.sockets));
    line
}

/// A line about one record.
pub(crate) fn line(record: &Record, fate: &Fate, at: Duration) -> Line {
    let (act, reason) = match fate {
        Fate::Restored => (Act::GivenBack, "the value before the run".to_owned()),
        Fate::Changed(value) => (Act::Left, format!("is {value}, which this run did not set")),
        Fate::Gone => (Act::Left, "the socket is gone".to_owned()),
        Fate::Failed(why) => (Act::Left, format!("{why}; run `ackwise tune --undo` to try again")),
    };
    let mut line = Line::new(at, act, reason);
    line.option = record.option().map(|option| option.name());
    if *fate == Fate::Restored {
        (line.old, line.new) = (Some(record.new), Some(record.old));
    }
    let Record { local, remote, cookie, .. } = *record;
    line.socket = Some(Socket { local, remote, upward: false, cookie });
    line
}

/// Restores every record, and says what became of it, in the same order.
pub(crate) fn restore(records: &[Record]) -> Vec<Fate> {
    let mut fates = vec![Fate::Gone; records.len()];
    // A process that passed its socket on and ended was perhaps missed once.
    for _ in 0..ROUNDS {
        let open = |(_, fate): &(&Record, &mut Fate)| **fate == Fate::Gone;
        let inodes: BTreeSet<u32> =
            records.iter().zip(&mut fates).filter(open).map(|(record, _)| record.inode).collect();
        if inodes.is_empty() {
            break;
        }
        let holders = Holders::of(&inodes);
        // The last change first: a buffer's size before the lock that setting it closes.
        for (record, fate) in records.iter().zip(&mut fates).rev().filter(open) {
            *fate = restore_one(record, &holders);
            if *fate == Fate::Gone && holders.closed() > 0 {
                *fate = Fate::Failed("some processes cannot be inspected".to_owned());
            }
        }
    }
    fates
}

fn restore_one(record: &Record, holders: &Holders) -> Fate {
    let Some(option) = record.option() else {
        return Fate::Failed("the option belongs to another version of ackwise".to_owned());
    };
    let socket = match ForeignSocket::copy(holders.of_inode(record.inode), record.cookie) {
        Ok(socket) => socket,
        Err(CopyError::Gone) => return Fate::Gone,
        Err(error) => return Fate::Failed(error.to_string()),
    };
    let restored = socket.option(option).and_then(|value| {
        // The run may have been killed between writing the journal and setting the option.
        if value == record.old && !option.is_set_often() {
            return Ok(Fate::Restored);
        }
        if value != record.new && !option.is_set_often() {
            return Ok(Fate::Changed(value));
        }
        socket.set_option(option, record.old).map(|()| Fate::Restored)
    });
    restored.unwrap_or_else(|error| Fate::Failed(error.to_string()))
}

/// The option's name.
pub(crate) const CONGESTION: &str = "TCP_CONGESTION";
/// Our choice: one repetition.
const ROUNDS: usize = 2;

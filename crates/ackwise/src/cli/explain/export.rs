//! `--export N FILE`: the packets of one exchange, found by reading the files again; with `--export-secrets`, what
//! decrypts them, too.

use std::{
    fs::File,
    io::{self, BufWriter},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use ackwise_capture::{
    analysis::ConnectionResult,
    attribution::Confidence,
    export::ExchangeWriter,
    keys::{KeyLog, NoSecrets},
    read::Source,
};
use ackwise_explain::Explained;
use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
};

use super::outputs::Output;
use crate::cli::{outcome::Failure, privileges};

/// What to export, from which files.
#[derive(Debug)]
pub(super) struct Request<'a> {
    exchange: usize,
    captures: &'a [PathBuf],
    /// Where secrets are taken from, if they are asked for.
    secrets: Option<Arc<KeyLog>>,
}

impl<'a> Request<'a> {
    /// Reads the two values of the option. `captures` must be files, because a pipe has its packets only
    /// once.
    pub(super) fn parse(values: &'a [PathBuf], captures: &'a [PathBuf]) -> Result<Self, Failure> {
        let [number, _] = values else { unreachable!("clap takes two values") };
        let number = number.to_string_lossy();
        let exchange = number.parse().map_err(|_| {
            Failure::Usage(format!(
                "--export: invalid exchange number {number:?} (expected a number from the report, and \
                 then a file: --export 17 exchange.pcapng)"
            ))
        })?;
        if let Some(pipe) = captures.iter().find(|it| !can_be_read_again(it)) {
            let name = match pipe == Path::new("-") {
                true => "standard input".into(),
                false => pipe.to_string_lossy(),
            };
            return Err(Failure::Usage(format!(
                "--export: cannot read {name} a second time (expected files: save the capture first)"
            )));
        }
        Ok(Self { exchange, captures, secrets: None })
    }

    /// Writes secrets out of `keys`, too.
    pub(super) fn with_secrets(self, keys: &Arc<KeyLog>) -> Self {
        Self { secrets: Some(Arc::clone(keys)), ..self }
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(&self, explained: &Explained, output: Output<'_>) -> Result<(), Failure> {
        let analysis = &explained.analysis;
        let Some(exchange) = analysis.exchanges.get(self.exchange) else {
            return Err(Failure::Usage(no_such_exchange(self.exchange, analysis.exchanges.len())));
        };
        // Connections are numbered from 0 without gaps.
        let connection = &analysis.connections[exchange.connection as usize];
        let secrets = self.secrets.as_ref().map(|keys| connection.secrets(keys)).transpose();
        let secrets = secrets.map_err(|why| Failure::Usage(no_secrets(self.exchange, why)))?;
        let stopped = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&stopped)).map_err(Failure::Signals)?;
        }
        let source = super::source(self.captures);
        if secrets.is_some() {
            output.restrict()?;
        }
        output.complete_with(|file| {
            let file = BufWriter::new(file);
            let mut writer = match &secrets {
                Some(secrets) => ExchangeWriter::with_secrets(file, connection, exchange, secrets),
                None => ExchangeWriter::new(file, connection, exchange),
            }?;
            let copy = || {
                privileges::confine();
                copy(&mut source(), &mut writer, &stopped)
            };
            thread::scope(|scope| scope.spawn(copy).join().expect("it does not panic"))?;
            writer.finish().map(drop)
        })?;
        if secrets.is_some() {
            anstream::eprintln!("ackwise: {WARNING}");
        }
        if let Some(limit) = limit(connection) {
            anstream::eprintln!("ackwise: {limit}");
        }
        Ok(())
    }
}

const WARNING: &str = "--export-secrets: whoever has the exported file can read all that it holds of this connection, \
                       passwords and cookies included";

fn no_secrets(exchange: usize, why: NoSecrets) -> String {
    format!("--export-secrets: no secrets of the connection of exchange {exchange}: {why}")
}

/// What the whole connection shows of the confidence that a verdict can have, and the exported packets alone do not.
fn limit(connection: &ConnectionResult) -> Option<String> {
    let most = match connection.quality.confidence() {
        Some(Confidence::High) => return None,
        Some(most) => format!("has at most {} confidence", most.name()),
        None => "is unknown".to_owned(),
    };
    Some(format!(
        "--export: the capture lacks packets of this connection, or they are out of order, so what is reported \
         about its exchanges {most}. The exported file alone does not show that."
    ))
}

fn copy(
    source: &mut Source,
    writer: &mut ExchangeWriter<BufWriter<File>>,
    stopped: &AtomicBool,
) -> io::Result<()> {
    while !writer.is_done() {
        if stopped.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match source.next() {
            Ok(Some(frame)) => writer.handle(&frame)?,
            Ok(None) => break,
            // The first pass has warned of it, and the next call goes on behind it.
            Err(_) => {}
        }
    }
    Ok(())
}

/// What is not there is no pipe: the first pass says that it is not there.
fn can_be_read_again(file: &Path) -> bool {
    file != Path::new("-") && file.metadata().map_or(true, |it| it.is_file())
}

fn no_such_exchange(number: usize, count: usize) -> String {
    let there_are = match count {
        0 => "the capture has none".to_owned(),
        1 => "the capture has one, number 0".to_owned(),
        _ => format!("the capture has {count} exchanges, numbered from 0 to {}", count - 1),
    };
    format!("--export: no exchange {number}: {there_are}")
}

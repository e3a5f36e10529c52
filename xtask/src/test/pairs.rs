//! Runs test programs that wait more than they compute, two at a time. The output of each stays together.

use std::slice;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::tally::Tally;
use super::targets::Program;
use crate::console::Printer;
use xtask::process::{End, Ended};

/// Runs `run` for each of `programs`. The result is a failure if one of them failed, and an error if one could not be
/// run.
///
/// # Errors
///
/// Those of `run`.
pub(super) fn run(
    programs: &[Program],
    printer: &Printer,
    tally: &mut Tally,
    run: impl Fn(&Program, &Printer, &mut Tally) -> anyhow::Result<Ended> + Sync,
) -> anyhow::Result<Ended> {
    let queue = Mutex::new(programs.iter());
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(program) = next(&queue) {
                    let (mine, mut counted) = (printer.apart(), Tally::default());
                    let ended = run(program, &mine, &mut counted);
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    printer.take(mine);
                    results.push((ended, counted));
                }
            });
        }
    });
    let mut all = Ended { end: End::Succeeded, cpu: std::time::Duration::ZERO };
    for (ended, counted) in results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let ended = ended?;
        tally.add(counted);
        all.cpu += ended.cpu;
        if all.end == End::Succeeded {
            all.end = ended.end;
        }
    }
    Ok(all)
}

fn next<'a>(queue: &Mutex<slice::Iter<'a, Program>>) -> Option<&'a Program> {
    queue.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// Our choice: with two, of which each runs [two tests](super::steps) at a time, half of the machine's time is still free.
const AT_ONCE: usize = 2;

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;
    use std::time::Duration;

    use super::*;

    fn program(name: &str) -> Program {
        Program { file: name.into(), directory: "/".into() }
    }

    #[test]
    fn one_failure_is_the_result_and_all_are_counted() {
        let programs = ["cork", "nagle", "wire"].map(program);
        let failed = End::Failed(ExitStatus::from_raw(256));
        let mut tally = Tally::default();
        let ended = run(&programs, &Printer::plain(), &mut tally, |one, _, tally| {
            tally.on_line("test result: ok. 2 passed; 0 failed");
            let end = if *one == program("nagle") { failed } else { End::Succeeded };
            Ok(Ended { end, cpu: Duration::from_secs(1) })
        });
        assert_eq!(ended.unwrap(), Ended { end: failed, cpu: Duration::from_secs(3) });
        assert_eq!(tally.passed, 6);
    }

    #[test]
    fn what_cannot_run_is_an_error() {
        let programs = [program("cork")];
        let (printer, mut tally) = (Printer::plain(), Tally::default());
        let ended = run(&programs, &printer, &mut tally, |_, _, _| anyhow::bail!("no cargo"));
        assert_eq!(ended.unwrap_err().to_string(), "no cargo");
    }
}

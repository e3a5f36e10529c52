//! Measures several things at a time, because each mostly waits.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{anyhow, ensure};
use xtask::process;

use crate::progress::Progress;

/// What `measure` finds of each of `numbers`, in their order, `together` at a time. `line` says what was found, as soon as
/// it was.
///
/// # Errors
///
/// The first one ends the others; so does Ctrl-C.
pub(super) fn measure_all<Found: Send>(
    numbers: &[u64],
    together: usize,
    measure: impl Fn(u64) -> anyhow::Result<Found> + Sync,
    line: impl Fn(&Found) -> String + Sync,
) -> anyhow::Result<Vec<Found>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Vec::new(), Progress::new(numbers.len() as u64)));
    let work = || -> anyhow::Result<()> {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(&number) = numbers.get(place) else { return Ok(()) };
            ensure!(!process::interrupted(), "interrupted");
            let found = measure(number).inspect_err(|_| {
                // The other threads begin nothing more.
                next.store(numbers.len(), Ordering::Relaxed);
            })?;
            let mut done = done.lock().expect("nobody panics with it");
            done.1.step(&line(&found));
            done.0.push((place, found));
        }
    };
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..together).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    for result in results {
        result.map_err(|_| anyhow!("a measurement panicked"))??;
    }
    let (mut all, _) = done.into_inner().map_err(|_| anyhow!("a measurement panicked"))?;
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, found)| found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_found_in_order_or_the_first_error() {
        let numbers: Vec<u64> = (0..20).rev().collect();
        let line = |found: &u64| found.to_string();
        assert_eq!(measure_all(&numbers, 3, Ok, line).unwrap(), numbers);
        let odd = |number| if number == 7 { Err(anyhow!("seven")) } else { Ok(number) };
        assert_eq!(measure_all(&numbers, 3, odd, line).unwrap_err().to_string(), "seven");
    }
}

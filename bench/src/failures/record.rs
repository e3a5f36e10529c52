//! Records the cases of a run: some labs at the same time, and in each all its cases. A lab has one capture at each
//! end, which is cut by the server's ports: a case has a port of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::{anyhow, ensure};

use super::draw::{self, Case};
use super::kind::Family;
use super::lab::{Course, Lab};
use super::options::Settings;
use super::pcap::Capture;
use super::play::{self, Stage};
use super::score::CapturedAt;
use super::truth::{Diary, Truth};
use crate::progress::Progress;
use crate::tap::Tap;
use crate::witness::clock::Clock;
use xtask::process;

/// Records all cases below `folder`; returns why some are left out.
///
/// # Errors
///
/// If the kernel refuses something.
pub(super) fn record(settings: &Settings, folder: &Path) -> anyhow::Result<Vec<String>> {
    let cases = draw::cases(settings.seed, settings.only);
    let courses = draw::courses(settings.seed);
    let next = AtomicUsize::new(0);
    let left_out = Mutex::new(Vec::new());
    let progress = Mutex::new(Progress::new(courses.len() as u64));
    let work = || -> anyhow::Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(course) = courses.get(number) else { return Ok(()) };
            ensure!(!process::interrupted(), "interrupted");
            let cases: Vec<&Case> = cases.iter().filter(|it| it.lab == number).collect();
            if !cases.is_empty() {
                let why = record_lab(number, *course, &cases, folder)?;
                left_out.lock().map_err(|_| anyhow!("a lab panicked"))?.extend(why);
            }
            let mut progress = progress.lock().map_err(|_| anyhow!("a lab panicked"))?;
            progress.step(&format!("{} cases", cases.len()));
        }
    };
    thread::scope(|scope| {
        let labs: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        labs.into_iter().try_for_each(|it| it.join().map_err(|_| anyhow!("a lab panicked"))?)
    })?;
    left_out.into_inner().map_err(|_| anyhow!("a lab panicked"))
}

fn record_lab(
    number: usize,
    course: Course,
    cases: &[&Case],
    folder: &Path,
) -> anyhow::Result<Vec<String>> {
    let lab = Lab::build(course)?;
    let whole = folder.join(format!("lab-{number:02}"));
    fs::create_dir_all(&whole)?;
    let taps = lab.tap(&whole)?;
    let lab = &lab;
    let results: Vec<anyhow::Result<Truth>> = thread::scope(|scope| {
        let one = |(port, case): (u16, &&Case)| {
            let case = (*case).clone();
            scope.spawn(move || {
                thread::sleep(case.after);
                play_one(lab, course, port, &case, &folder.join(&case.name))
            })
        };
        let threads: Vec<_> = (FIRST_PORT..).zip(cases).map(one).collect();
        let end = |it: thread::ScopedJoinHandle<'_, _>| {
            it.join().unwrap_or_else(|_| Err(anyhow!("a case panicked")))
        };
        threads.into_iter().map(end).collect()
    });
    taps.into_iter().try_for_each(Tap::stop)?;
    let ends = ["client.pcap", "server.pcap"];
    let last = FIRST_PORT + u16::try_from(cases.len())?;
    let mut captures = Vec::new();
    for end in ends {
        captures.push(Capture::read(&whole.join(end))?.by_port(FIRST_PORT..last));
    }
    fs::remove_dir_all(&whole)?;
    let mut left_out = Vec::new();
    for ((port, case), result) in (FIRST_PORT..).zip(cases).zip(results) {
        let folder = folder.join(&case.name);
        let truth = match result {
            Ok(it) => it,
            Err(why) => {
                left_out.push(format!("{}: {why:#}", case.name).replace('\n', " "));
                fs::remove_dir_all(&folder)?;
                continue;
            }
        };
        for (end, captures) in ends.iter().zip(&captures) {
            if let Some(it) = captures.get(&port) {
                it.write(&folder.join(end))?;
            }
        }
        truth.write(&folder)?;
    }
    Ok(left_out)
}

fn play_one(
    lab: &Lab,
    course: Course,
    port: u16,
    case: &Case,
    folder: &Path,
) -> anyhow::Result<Truth> {
    fs::create_dir_all(folder)?;
    let diary = Arc::new(Diary::new(Clock::start()));
    let stage = Stage { lab, port, rtt: course.rtt, diary: &diary, folder };
    let played = lab.client.run(|| play::play(case.family, stage, case.dice()))??;
    Ok(Truth {
        name: case.name.clone(),
        family: case.family,
        seed: case.seed,
        rtt_ms: course.rtt.as_secs_f64() * 1e3,
        answered: played.answered,
        failed: played.failed,
        diary: diary.take(),
    })
}

/// The captures of a case, by place. Of ordinary traffic there are also captures that lack something.
pub(super) fn captures(
    folder: &Path,
    family: Family,
) -> anyhow::Result<Vec<(String, Vec<PathBuf>)>> {
    let [client, server] = ["client.pcap", "server.pcap"].map(|it| folder.join(it));
    let mut all = Vec::new();
    let there = [client.exists(), server.exists()];
    if there[0] {
        all.push((CapturedAt::Client.name().to_owned(), vec![client.clone()]));
    }
    if there[1] {
        all.push((CapturedAt::Server.name().to_owned(), vec![server.clone()]));
    }
    if there == [true; 2] {
        all.push((CapturedAt::Pair.name().to_owned(), vec![client, server]));
    }
    if let Family::Plain(_) = family {
        for (end, _) in all.clone().iter().filter(|it| it.1.len() == 1) {
            all.extend(damaged(folder, end)?);
        }
    }
    Ok(all)
}

/// One direction only, and cut at the beginning or at the end.
fn damaged(folder: &Path, end: &str) -> anyhow::Result<Vec<(String, Vec<PathBuf>)>> {
    let whole = Capture::read(&folder.join(format!("{end}.pcap")))?;
    let port = whole.server_port().unwrap_or_default();
    let parts = [
        ("to-server", whole.sent_to(port)),
        ("to-client", whole.sent_from(port)),
        ("begun-late", whole.part(0.4, 1.0)),
        ("ended-early", whole.part(0.0, 0.6)),
    ];
    let mut all = Vec::new();
    for (name, capture) in parts.into_iter().filter(|it| it.1.len() > 0) {
        let name = format!("{end}-{name}");
        let path = folder.join(format!("{name}.pcap"));
        capture.write(&path)?;
        all.push((name, vec![path]));
    }
    Ok(all)
}

const FIRST_PORT: u16 = 20_000;
/// Labs that run at the same time: they mostly wait. Our choice.
const AT_ONCE: usize = 4;

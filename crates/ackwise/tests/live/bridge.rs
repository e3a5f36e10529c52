//! A packet that is seen four times on its way through a host, twice with other addresses, is one.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use ackwise_capture::{analysis::Analysis, read::Source};
use ackwise_cause::Cause;
use ackwise_explain::{Budget, Live, Reading};
use ackwise_testing::skip;

use crate::{
    lab::{self, Host},
    program::{PORT, SETTLE, curl, missing, nginx},
    router::{Addresses, Cluster, SERVICE},
    tap::Tap,
    verdicts::differences,
};

#[test]
fn behind_a_bridge_and_dnat_all_interfaces_say_what_one_says() {
    judge("behind_a_bridge_and_dnat", Addresses::Kept);
}

#[test]
fn behind_a_bridge_and_two_translations_all_interfaces_say_what_one_says() {
    judge("behind_a_bridge_and_two_translations", Addresses::Translated);
}

fn judge(name: &str, clients: Addresses) {
    /// Other programs may have had the processors. Ours.
    const ATTEMPTS: u32 = 3;
    /// Times are real, and there are few processors.
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let programs = ["nginx", "curl", "setpriv", "nft"];
    if let Some(missing) = lab::missing().or_else(|| missing(&programs)) {
        return skip(name, missing);
    }
    let mut found = Vec::new();
    for _ in 0..ATTEMPTS {
        found = attempt(name, clients);
        if found.is_empty() {
            return;
        }
        println!("{name}: {found:#?}");
    }
    panic!("{name}: {found:#?}");
}

/// What differs between the captures, if anything does.
fn attempt(name: &str, clients: Addresses) -> Vec<String> {
    let cluster = Cluster::new(PORT, clients);
    let _nginx = nginx(&cluster.server.namespace, name);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let clean = Tap::at(&cluster.clean, &folder.join(format!("{name}.clean.pcap")));
    let cooked = Tap::at(&cluster.any, &folder.join(format!("{name}.any.pcap")));
    let live = live(&cluster.any);
    let small = format!("http://{SERVICE}/small?[1-10]");
    curl(&cluster.client.namespace, &[&small, &format!("http://{SERVICE}/large?[1-3]")]);
    thread::sleep(SETTLE);
    let live = live.end().expect("nobody else ends it");
    let [clean, cooked] = [clean, cooked].map(|tap| analyse(&tap.stop()));
    let mut found = stalls(&clean);
    for (how, analysis) in [("cooked", &cooked), ("live", &live.analysis)] {
        let mut each = differences(&clean, analysis);
        if analysis.copies < clean.segments || analysis.segments - analysis.copies != clean.segments
        {
            each.push(format!("{} of {} segments are copies", analysis.copies, analysis.segments));
        }
        found.extend(each.into_iter().map(|it| format!("{how}: {it}")));
    }
    found
}

/// Whether there is something to agree on.
fn stalls(analysis: &Analysis) -> Vec<String> {
    let stalls = analysis.exchanges.iter().map(|it| it.owed_to(Cause::NagleDelayedAck));
    let (count, stalls) = (analysis.exchanges.len(), stalls.sum::<Duration>());
    // The first responses of a connection are acknowledged at once.
    let good = count == 13 && stalls > Duration::from_millis(4 * 40);
    if good { Vec::new() } else { vec![format!("{count} exchanges, stalls of {stalls:?}")] }
}

fn analyse(file: &Path) -> Analysis {
    let reading = Reading::new();
    reading.read(&mut Source::open([file]));
    reading.end().expect("nobody else ends it").analysis
}

/// A live capture of a host, in this process.
fn live(host: &Host) -> Reading {
    let live = host.inside(|| Live::open(None, Some(&"tcp".parse().unwrap()), Live::LONGEST));
    // The budget is the process's, and other tests are in it.
    let (reading, mut live) = (Reading::new(), live.unwrap().with_budget(Budget::percent(400)));
    let reader = reading.clone();
    thread::spawn(move || reader.read(&mut live));
    reading
}

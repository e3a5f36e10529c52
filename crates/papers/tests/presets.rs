//! What the simulations of the papers are made of does not follow the preset of today's Linux.

use std::{fs, path::Path};

use ackwise_lab::experiment::Experiment;
use ackwise_tcp::{
    Policies,
    policy::{
        BufferTuning, DSackPolicy, DeferralPolicy, FrtoPolicy, LossDetection, ReductionPolicy,
        SlowStartPolicy, UndoPolicy, UnusedWindow,
    },
};

/// The cases that ask what Linux does, as part of their file's name and of their labels.
const LINUX: &[(&str, &str)] = &[("restart_links.toml", "linux-6")];

/// Whether a sender does anything that only the preset of Linux does.
fn is_of_today(policies: &Policies) -> bool {
    policies.slow_start == SlowStartPolicy::HyStart
        || policies.reduction != ReductionPolicy::AtOnce
        || policies.undo != UndoPolicy::Off
        || policies.frto != FrtoPolicy::Off
        || policies.loss_detection == LossDetection::Rack
        || policies.receive_tuning != BufferTuning::Off
        || policies.unused_window != UnusedWindow::Kept
        || policies.d_sack != DSackPolicy::Off
        || policies.deferral != DeferralPolicy::Off
}

fn entries(folder: &str) -> fs::ReadDir {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    fs::read_dir(path).expect("a readable folder")
}

#[test]
fn only_cases_that_name_linux_do_what_linux_does_today() {
    let folders = ["experiments", "../lab/experiments"];
    let (mut files, mut of_today) = (0, 0);
    for entry in folders.into_iter().flat_map(entries) {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in ASCII");
        if !name.ends_with(".toml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a readable file");
        let experiment = Experiment::parse(name, &text).unwrap_or_else(|error| panic!("{error}"));
        assert!(experiment.title().is_some(), "{name} says what it shows");
        files += 1;
        for case in experiment.cases() {
            let today = case.scenario.nodes.iter().filter_map(|node| node.tcp.as_ref());
            if today.into_iter().any(|config| is_of_today(&config.policies)) {
                let labels = format!("{:?}", case.labels);
                let named = |(file, label): &(&str, &str)| *file == name && labels.contains(label);
                assert!(LINUX.iter().any(named), "{name}: {labels}");
                of_today += 1;
            }
        }
    }
    assert!(files > 30 && of_today > 0, "{files} files, {of_today} cases of today");
}

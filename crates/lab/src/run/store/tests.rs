//! A store has the rows that a run without one has, whoever fills it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    thread,
};

use super::*;
use crate::run::run_all as run_without;

const SWEEP: &str = r#"
duration = "2 s"
seeds = 2

[host]
client = {}
server = {}

[link.wire]
ends = ["client", "server"]
rate = "1.5 Mb/s"
delay = "50 ms"

[application.web]
kind = "web"
client = "client"
server = "server"
workload = "heidemann"
transfer = "persistent"
think = { uniform = { from = "100 ms", to = "200 ms" } }

[grid]
"application.web.transfer" = ["serial", "persistent"]
"application.web.users" = [1, 2]
"link.wire.delay" = ["10 ms", "50 ms", "100 ms"]
"#;

fn sweep() -> Experiment {
    Experiment::parse("sweep.toml", SWEEP).unwrap()
}

/// A directory for stores, removed in the end.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn store(&self) -> PathBuf {
        self.0.path().join("store")
    }
}

fn filled(experiment: &Experiment, directory: &Path) -> Result<Vec<Row>, String> {
    let rows = run_all(experiment, &Options::default(), directory, &mut |_| {});
    rows.map_err(|error| error.to_string())
}

fn plain(experiment: &Experiment) -> Vec<Row> {
    run_without(experiment, &Options::default(), &mut |_| {}).unwrap()
}

/// Sets a key of a plan that there is.
fn change_plan(directory: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = directory.join(directory::PLAN);
    let mut plan = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut plan);
    fs::write(path, plan.to_string()).unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn rows_are_those_of_a_run_without_a_store() {
    let scratch = Scratch::new();
    for settings in [&[][..], &["application.web.start=9s"]] {
        let experiment = sweep().with_all_set(settings.iter().copied()).unwrap();
        let directory = scratch.0.path().join(settings.len().to_string());
        let rows = filled(&experiment, &directory).unwrap();
        assert_eq!(rows, plain(&experiment));
        assert_eq!(rows.iter().any(|row| !row.warnings.is_empty()), !settings.is_empty());
        // Another time nothing is run, and nothing has changed.
        let before = names(&directory);
        let mut finished = 0;
        let again = run_all(&experiment, &Options::default(), &directory, &mut |step| {
            finished += usize::from(matches!(step, Step::Finished(_)));
        });
        assert_eq!((again.unwrap(), finished), (rows, 0));
        assert_eq!(names(&directory), before);
    }
}

#[test]
fn all_chunks_have_the_same_columns() {
    let scratch = Scratch::new();
    let experiment = sweep().with_set("grid.\"duration\"=[\"1 ms\",\"2 s\"]").unwrap();
    filled(&experiment, &scratch.store()).unwrap();
    let read = |name: String| {
        let file = fs::File::open(scratch.store().join(name)).unwrap();
        let columns = ackwise_report::columns::read(file).unwrap();
        columns.into_iter().map(|it| (it.name, std::mem::discriminant(&it.values)))
    };
    let files = names(&scratch.store()).into_iter().filter(|name| name.ends_with("parquet"));
    let all: Vec<Vec<_>> = files.map(|name| read(name).collect()).collect();
    assert!(all.len() > 10 && all.iter().all(|columns| *columns == all[0]), "{}", all.len());
    assert!(all[0].iter().any(|(name, _)| name == "web.rate_mean"), "null in the short rows");
}

#[test]
fn two_that_fill_one_store_at_once_share_the_work() {
    let scratch = Scratch::new();
    let experiment = sweep().with_set("duration=200s").unwrap();
    let ran = thread::scope(|scope| {
        let runs = [(); 2].map(|()| {
            scope.spawn(|| {
                let mut ran = 0;
                let options = Options { threads: 1.try_into().unwrap(), ..Options::default() };
                let rows = run_all(&experiment, &options, &scratch.store(), &mut |step| {
                    ran += usize::from(matches!(step, Step::Finished(_)));
                });
                (rows.unwrap(), ran)
            })
        });
        runs.map(|run| run.join().unwrap())
    });
    let rows = plain(&experiment);
    assert!(ran.iter().all(|(found, _)| *found == rows));
    let left = names(&scratch.store()).into_iter().filter(|name| name.ends_with(".part"));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_chunk_that_others_have_begun_comes_last_and_is_run_all_the_same() {
    let scratch = Scratch::new();
    let experiment = sweep();
    let stop = Arc::default();
    let store = Store::open(&scratch.store(), &experiment, On::Simulator, &stop).unwrap();
    let begun = store.files.begin(0).unwrap();
    let mut order = Vec::new();
    let options = Options { threads: 1.try_into().unwrap(), ..Options::default() };
    crew::run(&store, &options, &mut |step| {
        if let Step::Finished(row) = step {
            order.push(row.row);
        }
    })
    .unwrap();
    assert_eq!(order.last(), Some(&(store.files.chunks().range(0).end - 1)));
    assert_eq!(order.len(), 24);
    // The one that was slower finds it there.
    assert_eq!(begun.complete_once(b"late").unwrap(), ackwise_text::output_file::Placed::Existed);
    assert_eq!(store.rows().unwrap(), plain(&experiment));
}

#[test]
fn what_was_stopped_is_resumed() {
    let scratch = Scratch::new();
    let options = Options { threads: 1.try_into().unwrap(), ..Options::default() };
    let stop = Arc::clone(&options.stop);
    let mut count = 0;
    let stopped = run_all(&sweep(), &options, &scratch.store(), &mut |step| {
        count += usize::from(matches!(step, Step::Finished(_)));
        stop.store(count >= 5, Ordering::Relaxed);
    });
    let Err(RunAllError::Stopped { finished, of: 24 }) = stopped else { panic!("{stopped:?}") };
    assert!((4..24).contains(&finished), "{finished}");
    let mut resumed = 0;
    let rows = run_all(&sweep(), &Options::default(), &scratch.store(), &mut |step| {
        resumed += usize::from(matches!(step, Step::Finished(_)));
    });
    assert_eq!((rows.unwrap(), resumed), (plain(&sweep()), 24 - finished));
}

#[test]
fn another_experiment_or_build_is_refused_with_the_difference() {
    let scratch = Scratch::new();
    let store = scratch.store();
    filled(&sweep(), &store).unwrap();
    for (setting, expected) in [
        (
            "link.wire.rate=2 Mb/s",
            "experiment: link.wire.rate is \"2 Mb/s\" (the store has \"1.5 Mb/s\")",
        ),
        ("link.wire.loss=1 %", "experiment: link.wire.loss is \"1 %\" (the store has no value)"),
        ("seeds=3", "experiment: seeds is [1, 2, 3] (the store has [1, 2])"),
        (
            "grid.\"application.web.users\"=[1]",
            "experiment: grid.application.web.users is [1] (the store has [1, 2])",
        ),
    ] {
        let refused = filled(&sweep().with_set(setting).unwrap(), &store).unwrap_err();
        assert!(refused.contains(&format!("another {expected}")), "{refused}");
    }
    // What is shown is not what is run.
    assert!(filled(&sweep().with_set("title=\"Other\"").unwrap(), &store).is_ok());
    change_plan(&store, |plan| plan["build"] = "0.0.1".into());
    let refused = filled(&sweep(), &store).unwrap_err();
    assert!(
        refused.contains("another build: build is ") && refused.contains("(the store has 0.0.1)")
    );
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let scratch = Scratch::new();
    let store = scratch.store();
    fs::create_dir(&store).unwrap();
    fs::write(store.join("thesis.tex"), "years of work").unwrap();
    let refused = filled(&sweep(), &store).unwrap_err();
    assert!(refused.contains("it has thesis.tex and no plan.json"), "{refused}");
    assert_eq!(names(&store), ["thesis.tex"]);
    let refused = filled(&sweep(), &store.join("thesis.tex")).unwrap_err();
    assert!(refused.contains("cannot use") && refused.contains("thesis.tex"), "{refused}");
}

#[test]
fn foreign_files_are_refused_only_where_they_would_count_as_rows() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let rows = filled(&sweep(), &store).unwrap();
    fs::write(store.join("notes.txt"), "").unwrap();
    assert_eq!(filled(&sweep(), &store).unwrap(), rows);
    for name in ["other.parquet", "chunk-99999.parquet", "chunk-0.parquet"] {
        fs::write(store.join(name), "").unwrap();
        let refused = filled(&sweep(), &store).unwrap_err();
        assert!(refused.contains(&format!("{name} is not one of its chunks")), "{refused}");
        fs::remove_file(store.join(name)).unwrap();
    }
}

#[test]
fn damaged_files_are_refused_by_name() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let rows = filled(&sweep(), &store).unwrap();
    let refused = |file: &Path| {
        let refused = filled(&sweep(), &store).unwrap_err();
        assert!(refused.contains(&file.display().to_string()), "{refused}");
        refused
    };
    let chunk = store.join("chunk-00001.parquet");
    let whole = fs::read(&chunk).unwrap();
    for damaged in [&[][..], &whole[..whole.len() / 2], &whole[whole.len() / 2..]] {
        fs::write(&chunk, damaged).unwrap();
        assert!(refused(&chunk).contains("remove the file and run again"));
    }
    fs::copy(store.join("chunk-00000.parquet"), &chunk).unwrap();
    assert!(refused(&chunk).contains("has other rows (expected rows 1 to 1"));
    fs::remove_file(&chunk).unwrap();
    assert_eq!(filled(&sweep(), &store).unwrap(), rows);
    assert_eq!(fs::read(&chunk).unwrap(), whole, "the same bytes");

    let plan = store.join(directory::PLAN);
    let text = fs::read(&plan).unwrap();
    for length in [0, 1, text.len() / 2, text.len() - 3] {
        fs::write(&plan, &text[..length]).unwrap();
        assert!(refused(&plan).contains("expected the plan of a store"));
    }
    fs::write(&plan, text).unwrap();
    change_plan(&store, |plan| plan["format"] = "ackwise-store 2".into());
    assert!(refused(&plan).contains("ackwise-store 2"));
}

#[test]
fn what_killed_processes_have_left_is_removed_once_it_is_of_no_use() {
    let scratch = Scratch::new();
    let store = scratch.store();
    filled(&sweep(), &store).unwrap();
    let (chunk, left) = ("chunk-00001.parquet", ".chunk-00001.parquet.abcdefghijkl.part");
    fs::remove_file(store.join(chunk)).unwrap();
    fs::write(store.join(left), "half").unwrap();
    filled(&sweep(), &store).unwrap();
    assert!(names(&store).contains(&chunk.to_owned()));
    assert!(!names(&store).contains(&left.to_owned()), "{:?}", names(&store));
}

//! `ackwise run` as a user and a script see it.

mod schema;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio, id},
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::Value;

const SWEEP: &str = r#"
title = "Two delays, two transfers"
duration = "5 s"
seeds = 2
show = ["web.page_time_mean_ms"]

[host]
client = {}
server = {}

[link.wire]
ends = ["client", "server"]
rate = "1.5 Mb/s"
queue = "25 packets"
loss = "1 %"

[application.web]
kind = "web"
client = "client"
server = "server"
workload = "heidemann"
transfer = "serial"
think = { uniform = { from = "100 ms", to = "200 ms" } }

[grid]
"link.wire.delay" = ["10 ms", "50 ms"]
"application.web.transfer" = ["serial", "persistent"]
"#;

/// A directory with the experiment, removed in the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("ackwise-run-{}-{count}", id()));
        fs::create_dir(&path).expect("a directory for tests");
        fs::write(path.join("sweep.toml"), SWEEP).expect("a file for tests");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("ackwise starts")
    }

    /// What a successful run prints; nothing goes to standard error unless somebody watches.
    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).expect("text");
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// What a run complains about, with exit code 2 and nothing on standard output.
    fn complains(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
        String::from_utf8(output.stderr).expect("text")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn help_has_examples_and_the_built_in_experiments() {
    let directory = Directory::new();
    for help in ["-h", "--help"] {
        let help = directory.prints(&["run", help]);
        assert!(help.contains("Examples:"), "{help}");
    }
    let help = directory.prints(&["run", "--help"]);
    assert!(help.contains("dumbbell") && help.contains("docs/experiments.md"), "{help}");
}

#[test]
fn a_table_is_the_default() {
    let table = Directory::new().prints(&["run", "sweep.toml"]);
    assert!(
        table.starts_with("link.wire.delay  application.web.transfer  web.page_time"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 5 + 2, "{table}");
    let other = Directory::new().prints(&["run", "sweep.toml", "--show", "web.documents,link.*"]);
    assert!(other.lines().next().unwrap().contains("link.wire.back.drop_pct"), "{other}");
}

#[test]
fn what_a_run_could_not_measure_is_a_warning() {
    let directory = Directory::new();
    let late = ["run", "sweep.toml", "--set", "application.web.start=9s", "--seeds", "1"];
    let output = directory.run(&late);
    let warnings = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), warnings.lines().count()), (Some(0), 4), "{warnings}");
    for line in warnings.lines() {
        assert!(line.starts_with("warning: link.wire.delay = "), "{line}");
        assert!(line.contains("application \"web\": 1 of 1 users start after the end"), "{line}");
    }
    let json = directory.prints(&[&late[..], &["--json"]].concat());
    let document = schema::keeping_to("run", json);
    assert_eq!(document["rows"][0]["warnings"][0]["kind"], "never-started");
}

#[test]
fn the_list_has_all_cases_and_runs_none() {
    let directory = Directory::new();
    let list = directory.prints(&["run", "sweep.toml", "--list"]);
    assert_eq!(list.lines().count(), 5, "{list}");
    assert!(list.ends_with("cases: 4, seeds: 2, rows: 8\n"), "{list}");
    let json = directory.prints(&["run", "sweep.toml", "--list", "--json"]);
    let json = schema::keeping_to("run-list", json);
    assert_eq!(json["cases"][1]["application.web.transfer"], "persistent");
}

#[test]
fn json_is_the_same_on_any_number_of_threads() {
    let directory = Directory::new();
    let [one, two] =
        ["1", "2"].map(|n| directory.prints(&["run", "sweep.toml", "--json", "--threads", n]));
    assert_eq!(one, two);
    let document = schema::keeping_to("run", &one);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for row in rows {
        assert!(row["case"].is_object() && row["seed"].is_u64() && row["measures"].is_object());
    }
}

#[test]
fn a_page_is_the_same_on_any_number_of_threads() {
    let directory = Directory::new();
    let [one, two] = ["1", "2"].map(|n| {
        directory.prints(&["run", "sweep.toml", "--html", "page.html", "--threads", n]);
        fs::read_to_string(directory.file("page.html")).unwrap()
    });
    assert_eq!(one, two);
    assert!(one.contains("<h2>By link.wire.delay</h2>"), "the first number");
    assert!(one.contains("application.web.transfer = persistent"), "a line for each of the others");
    assert!(one.contains("4 cases, 2 seeds each"), "how much was run");
}

#[test]
fn a_page_of_one_run_has_its_packets() {
    let directory = Directory::new();
    let pages = [1, 2].map(|_| {
        let chosen = ["--case", "2", "--seed", "2", "--vantage", "server"];
        directory.prints(&[&["run", "sweep.toml", "--html", "page.html"], &chosen[..]].concat());
        fs::read_to_string(directory.file("page.html")).unwrap()
    });
    assert_eq!(pages[0], pages[1]);
    assert!(pages[0].contains("<h2>Exchanges and packets</h2>"));
    assert!(pages[0].contains("1 case, 1 seed each"));
    let lonely = directory.complains(&["run", "sweep.toml", "--case", "2"]);
    assert!(lonely.contains("--html"), "{lonely}");
}

#[test]
fn options_supply_what_a_file_lacks() {
    let directory = Directory::new();
    fs::write(directory.file("draft.toml"), SWEEP.replace("duration = \"5 s\"\n", "")).unwrap();
    let lacks = directory.complains(&["run", "draft.toml"]);
    assert!(lacks.contains("the key \"duration\" is missing"), "{lacks}");
    let supplied = directory.prints(&["run", "draft.toml", "--set", "duration=5s"]);
    assert_eq!(supplied, directory.prints(&["run", "sweep.toml"]));
}

#[test]
fn what_is_wrong_is_one_line_and_exit_code_2() {
    let directory = Directory::new();
    let broken = SWEEP.replace("queue =", "quuee =");
    fs::write(directory.file("broken.toml"), broken).unwrap();
    for (arguments, expected) in [
        (
            &["run", "broken.toml"][..],
            "ackwise: broken.toml:14:1: link.wire: unknown key \"quuee\" (similar: \"queue\")\n",
        ),
        (
            &["run", "sweep.toml", "--set", "link.wire.rate=1 MB"],
            "ackwise: --set link.wire.rate=1 MB: link.wire.rate: found \"1 MB\" (expected a rate in b/s, \
             kb/s, Mb/s or Gb/s, such as \"1.5 Mb/s\", more than 0, at most \"1000 Gb/s\")\n",
        ),
        (
            &["run", "none.toml"],
            "ackwise: cannot run none.toml: no such file, and no built-in experiment has this name (built \
             in: arrivals, dumbbell, idle_restart, million, stalls)\n",
        ),
        (
            &["run", "sweep.toml", "--show", "web.rate"],
            "ackwise: --show web.rate: unknown metric \"web.rate\" (similar: \"web.rate_sum\")\n",
        ),
        (
            &["run", "/dev/zero"],
            "ackwise: cannot read /dev/zero: file too long (expected at most 16777216 bytes)\n",
        ),
        (
            &["run", "sweep.toml", "--csv", "sweep.toml"],
            "ackwise: cannot write sweep.toml: it is also an input\n",
        ),
        (
            &["run", "sweep.toml", "--csv", "out", "--html", "./out"],
            "ackwise: cannot write ./out: it is also another output (out)\n",
        ),
        (&["run", "sweep.toml", "--csv", "."], "ackwise: cannot write .: is a directory\n"),
        (
            &["run", "sweep.toml", "--csv", "none/out.csv"],
            "ackwise: cannot write none/out.csv: No such file or directory (os error 2)\n",
        ),
        (
            &["run", "sweep.toml", "--pcap", "a.pcap", "--case", "1", "--seed", "9"],
            "ackwise: cannot record seed 9: not a seed of the experiment (use --set seeds=[9] to replace its \
             seeds)\n",
        ),
    ] {
        assert_eq!(directory.complains(arguments), expected);
    }
}

#[test]
fn a_device_gets_its_rows() {
    let directory = Directory::new();
    let both = directory.prints(&["run", "sweep.toml", "--csv", "/dev/stdout"]);
    assert!(both.contains("application.web.transfer"), "{both}");
    // Standard output may be a file. It gets both, and is still the same file.
    let file = fs::File::create(directory.file("both")).unwrap();
    let mut command = directory.command(&["run", "sweep.toml", "--csv", "/dev/stdout"]);
    assert!(command.stdout(file).status().unwrap().success());
    assert_eq!(fs::read_to_string(directory.file("both")).unwrap(), both);
    assert!(Path::new("/dev/stdout").is_symlink());
    let full = directory.complains(&["run", "sweep.toml", "--csv", "/dev/full"]);
    assert_eq!(full, "ackwise: cannot write /dev/full: No space left on device (os error 28)\n");
}

#[test]
fn more_threads_than_can_be_started_are_refused() {
    let directory = Directory::new();
    for threads in ["0", "1025"] {
        let refused = directory.complains(&["run", "sweep.toml", "--threads", threads]);
        assert!(refused.contains("from 1 to 1024"), "{refused}");
    }
}

#[test]
fn the_seed_of_a_recording_can_be_chosen() {
    let directory = Directory::new();
    let trace = |more: &[&str]| {
        let record = ["run", "sweep.toml", "--json", "--case", "1", "--time-sequence", "t.csv"];
        let json = directory.prints(&[&record, more].concat());
        let document: Value = serde_json::from_str(&json).unwrap();
        (document["rows"][0]["seed"].as_u64().unwrap(), fs::read(directory.file("t.csv")).unwrap())
    };
    let [first, second] = [&["--seed", "1"][..], &["--seed", "2"]].map(trace);
    assert_eq!((first.0, second.0), (1, 2));
    assert_ne!(first.1, second.1);
    assert_eq!(trace(&[]), first);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_store_needs_a_build_with_parquet() {
    let directory = Directory::new();
    let complaint = directory.complains(&["run", "sweep.toml", "--store", "store"]);
    let expected = "ackwise: cannot use a store: this build of ackwise lacks Parquet (expected a released program, \
                    the Python package, or a build with `--features parquet`)\n";
    assert_eq!(complaint, expected);
    assert!(!directory.file("store").exists());
}

#[cfg(feature = "parquet")]
mod in_a_store {
    use std::{process::Child, thread, time::Duration};

    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };

    use super::*;

    /// Each row takes long enough to be killed in it.
    const LONG: [&str; 4] = ["run", "sweep.toml", "--set", "duration=3000 s"];

    fn start(directory: &Directory, more: &[&str]) -> Child {
        let mut command = directory.command(&[&LONG, more].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("ackwise starts")
    }

    /// Finished chunks, or unfinished ones.
    fn count(directory: &Directory, ending: &str) -> usize {
        let Ok(entries) = fs::read_dir(directory.file("store")) else { return 0 };
        let names = entries.map(|it| it.expect("an entry").file_name());
        let names = names.map(|it| it.into_string().expect("our names are text"));
        names.filter(|name| name.ends_with(ending)).count()
    }

    /// Waits for a first chunk.
    fn wait_for_a_chunk(directory: &Directory) {
        for _ in 0..1_200 {
            if count(directory, ".parquet") > 0 {
                return;
            }
            thread::sleep(Duration::from_millis(25));
        }
        panic!("no chunk within 30 s");
    }

    #[test]
    fn two_processes_print_what_one_without_a_store_prints() {
        let directory = Directory::new();
        let both = ["one.csv", "two.csv"]
            .map(|csv| start(&directory, &["--store", "store", "--csv", csv, "--threads", "1"]));
        let both = both.map(|child| child.wait_with_output().unwrap());
        let plain = directory.prints(&[&LONG[..], &["--csv", "plain.csv"]].concat());
        let csv = |name| fs::read_to_string(directory.file(name)).unwrap();
        for (output, name) in both.into_iter().zip(["one.csv", "two.csv"]) {
            assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), plain);
            assert_eq!(csv(name), csv("plain.csv"));
        }
        assert_eq!((count(&directory, ".parquet"), count(&directory, ".part")), (8, 0));
        let json = directory.prints(&[&LONG[..], &["--json"]].concat());
        assert_eq!(directory.prints(&[&LONG[..], &["--json", "--store", "store"]].concat()), json);
    }

    #[test]
    fn a_run_that_was_killed_is_resumed() {
        let directory = Directory::new();
        let stored = ["--store", "store", "--threads", "1"];
        let mut child = start(&directory, &stored);
        wait_for_a_chunk(&directory);
        child.kill().unwrap();
        child.wait().unwrap();
        let kept = count(&directory, ".parquet");
        assert!((1..=8).contains(&kept), "{kept}");
        let resumed = directory.prints(&[&LONG[..], &stored].concat());
        assert_eq!(resumed, directory.prints(&LONG));
        assert_eq!((count(&directory, ".parquet"), count(&directory, ".part")), (8, 0));
    }

    #[test]
    fn what_was_played_in_real_time_is_not_played_again() {
        let test = "what_was_played_in_real_time_is_not_played_again";
        if let Err(missing) = ackwise_linux::Namespace::create() {
            return ackwise_testing::skip(test, missing);
        }
        let directory = Directory::new();
        let run = ["run", "sweep.toml", "--on", "kernel", "--set", "duration=500 ms"];
        let linux = ["--set", "tcp.preset=\"linux-6\"", "--seeds", "1", "--csv"];
        let play = |more: &[&str]| {
            let output = directory.run(&[&run[..], &linux, more].concat());
            // Warnings differ: runs may be disturbed.
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            fs::read_to_string(directory.file(more[0])).unwrap()
        };
        let first = play(&["first.csv", "--store", "store"]);
        assert_eq!(first.lines().count(), 5, "{first}");
        assert_eq!((count(&directory, ".parquet"), count(&directory, ".part")), (4, 0));
        assert_eq!(play(&["second.csv", "--store", "store"]), first);
        assert_ne!(play(&["third.csv"]), first, "real time never repeats itself");
    }

    #[test]
    fn a_run_that_was_interrupted_says_where_its_rows_are() {
        let directory = Directory::new();
        let child = start(&directory, &["--store", "store", "--threads", "1"]);
        wait_for_a_chunk(&directory);
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        // If it is over by now, the test has nothing to say.
        let _ = kill(pid, Signal::SIGINT);
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            return;
        }
        let kept = count(&directory, ".parquet");
        let message = String::from_utf8(output.stderr).unwrap();
        let expected = format!(
            "ackwise: interrupted after {kept} of 8 rows; they are in store, and the same command \
             resumes the run\n"
        );
        assert_eq!((output.status.code(), message), (Some(130), expected));
        assert_eq!(count(&directory, ".part"), 0);
    }

    #[test]
    fn what_is_not_its_own_is_refused_in_one_line() {
        let directory = Directory::new();
        let run = ["run", "sweep.toml", "--store", "store"];
        fs::create_dir(directory.file("store")).unwrap();
        fs::write(directory.file("store/thesis.tex"), "").unwrap();
        assert_eq!(
            directory.complains(&run),
            "ackwise: cannot use store as a store: it has thesis.tex and no plan.json (expected an \
             empty directory or a store)\n"
        );
        fs::remove_file(directory.file("store/thesis.tex")).unwrap();
        let table = directory.prints(&run);
        assert_eq!(
            directory.complains(&[&run[..], &["--set", "link.wire.loss=2 %"]].concat()),
            "ackwise: cannot use store: the store of another experiment: link.wire.loss is \"2 %\" (the \
             store has \"1 %\") (choose another directory)\n"
        );
        fs::write(directory.file("store/other.parquet"), "").unwrap();
        assert_eq!(
            directory.complains(&run),
            "ackwise: cannot use the store: store/other.parquet is not one of its chunks (expected no \
             other Parquet files)\n"
        );
        fs::remove_file(directory.file("store/other.parquet")).unwrap();
        let plan = fs::read_to_string(directory.file("store/plan.json")).unwrap();
        fs::write(directory.file("store/plan.json"), &plan[..plan.len() / 2]).unwrap();
        let complaint = directory.complains(&run);
        assert!(complaint.starts_with("ackwise: cannot read store/plan.json: EOF"), "{complaint}");
        fs::write(directory.file("store/plan.json"), plan).unwrap();
        assert_eq!(directory.prints(&run), table);
    }
}

//! The processes of a control group, while they come and go.

use super::*;

#[test]
fn a_server_that_restarts_in_its_control_group_is_found_again() {
    let test = "a_server_that_restarts_in_its_control_group_is_found_again";
    run(test, || {
        let (group, port) = (Group::new(test)?, free_port());
        let python = program("python3", "python3")?;
        let server = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(group.0.join("cgroup.procs"));
            shell.arg(&python).args(["-c", PYTHON, &port.to_string()]);
            Running::start(shell, port)
        };
        let is_tuned = || median_response(port) < Duration::from_millis(20);
        let first = server();
        let mut tuning = Tuning::start(&["--of", group.0.to_str().unwrap(), "--nodelay", "--json"]);
        let is_listener = |line: &str| {
            let line = schema::keeping_to("tune", line);
            line["act"] == "set" && line["socket"]["remote"].is_null()
        };
        wait_until("the first is tuned", is_tuned);
        drop(first);
        let second = server();
        // A look for connections may come before the one for listening sockets.
        tuning.read_until(is_listener);
        wait_until("the second is tuned", is_tuned);
        drop(second);
        let text = tuning.rest();
        assert_eq!(text.lines().filter(|line| is_listener(line)).count(), 2, "{text}");
        assert!(text.contains("has had no process for 10 s"), "{text}");
        Ok(())
    });
}

/// A control group of this test's own.
struct Group(PathBuf);

impl Group {
    fn new(test: &str) -> Result<Self, String> {
        let name = format!("ackwise-{test}-{}", std::process::id());
        // The only hierarchy, or one of several (cgroups(7)).
        let hierarchies = ["", "unified", "pids"].map(|it| Path::new("/sys/fs/cgroup").join(it));
        let made = hierarchies.into_iter().map(|it| it.join(&name)).find(|directory| {
            let is_made = fs::create_dir(directory).is_ok();
            let is_group = directory.join("cgroup.procs").exists();
            if is_made && !is_group {
                let _ = fs::remove_dir(directory);
            }
            is_made && is_group
        });
        made.map(Self).ok_or_else(|| "a control group; mount cgroup2 on /sys/fs/cgroup".to_owned())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

//! Keeps two programs apart from each other, and from whatever else this machine is busy with.
//!
//! For the kernel's stack two segments that follow each other closely are two reads only if the reader is
//! awake between them. It is not when it shares a processor with the server, which is where a kernel
//! likes to wake the two ends of a connection.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use ackwise_testing::debian::find;

use crate::missing::Missing;

/// Which of the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    Server,
    Client,
}

/// A command that runs `path` on a processor of its role, before others if the kernel allows it.
pub(crate) fn undisturbed(role: Role, path: &Path) -> Result<Command, Missing> {
    let mut command = Command::new(find("nice", "coreutils")?);
    command.arg("--adjustment=-15").stdin(Stdio::null());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let [server, client] = ends(&status);
    if server != client {
        let cpu = if role == Role::Server { server } else { client };
        command.arg(find("taskset", "util-linux")?).args(["--cpu-list", cpu]);
    }
    command.arg(path);
    Ok(command)
}

/// The first and the last processor on which a process with this status may run.
fn ends(status: &str) -> [&str; 2] {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let list = line.unwrap_or_default().trim();
    let numbers = || list.split([',', '-']);
    [numbers().next(), numbers().next_back()].map(Option::unwrap_or_default)
}

#[test]
fn a_list_of_processors_has_two_ends() {
    for (list, expected) in
        [("0-1", ["0", "1"]), ("3", ["3", "3"]), ("0,2-3,7", ["0", "7"]), ("", ["", ""])]
    {
        assert_eq!(ends(&format!("Name:\tx\nCpus_allowed_list:\t{list}\nz: 1\n")), expected);
    }
}

//! Somebody else's programs, which read what we have written.

use std::{
    io,
    path::Path,
    process::{Command, Stdio},
};

/// What `program` says about a capture on standard output; else why it cannot run here.
pub(crate) fn read(program: &str, arguments: &[&str], capture: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.arg("-r").arg(capture).args(arguments).stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("there is no {program}: apt-get install {program}"));
        }
        Err(error) => panic!("{program}: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Columns of tshark, a row for each frame. It verifies checksums and puts streams in order.
pub(crate) fn fields(names: &[&str], capture: &Path) -> Result<Vec<Vec<String>>, String> {
    let mut arguments = VERIFYING.to_vec();
    arguments.extend(["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=;"]);
    names.iter().for_each(|name| arguments.extend(["-e", name]));
    let text = read("tshark", &arguments, capture)?;
    Ok(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// The bytes of both directions of the first streams, the client's first, as tshark puts them
/// together.
pub(crate) fn streams(count: usize, capture: &Path) -> Result<Vec<[Vec<u8>; 2]>, String> {
    let wanted: Vec<_> = (0..count).map(|number| format!("follow,tcp,raw,{number}")).collect();
    let mut arguments = VERIFYING.to_vec();
    arguments.push("-q");
    wanted.iter().for_each(|stream| arguments.extend(["-z", stream]));
    let mut streams = vec![[Vec::new(), Vec::new()]; count];
    let mut current = 0;
    for line in read("tshark", &arguments, capture)?.lines() {
        if let Some(number) = line.strip_prefix("Filter: tcp.stream eq ") {
            current = number.parse().expect("the number of a stream");
        } else if let Some(bytes) = hexadecimal(line.trim_start_matches('\t')) {
            streams[current][usize::from(line.starts_with('\t'))].extend(bytes);
        }
    }
    Ok(streams)
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    if text.is_empty() || !text.len().is_multiple_of(2) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

const VERIFYING: [&str; 8] = [
    "-o",
    "ip.check_checksum:TRUE",
    "-o",
    "tcp.check_checksum:TRUE",
    "-o",
    "tcp.reassemble_out_of_order:TRUE",
    "-o",
    "tcp.desegment_tcp_streams:TRUE",
];

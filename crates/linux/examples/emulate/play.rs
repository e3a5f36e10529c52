//! Starts server, link and command in this order, and stops them in reverse order.

use std::{
    error::Error,
    fs,
    io::{self, Write},
    process::{Child, Command, ExitCode},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{Emulator, Namespace, namespace::enter_private_network};

use crate::arguments::Arguments;

/// Returns the exit code of the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    // Must be first: it needs a process with a single thread.
    enter_private_network()?;
    let (client, server) = (Namespace::create()?, Namespace::create()?);
    let emulator = Emulator::between(&client, &server, &arguments.options)?;
    let _running = arguments
        .server
        .as_ref()
        .map(|line| server.run(|| Server::start(line, &emulator)))
        .transpose()?
        .transpose()?;

    let (program, rest) = arguments.command.split_first().ok_or("no command after `--`")?;
    let mut command = Command::new(program);
    command.args(rest);
    introduce(&mut command, &emulator);
    let status = client.run(|| command.status())?.map_err(|error| format!("{program}: {error}"))?;

    let report = emulator.stop()?;
    // Standard output belongs to the command.
    writeln!(io::stderr(), "{report}")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, Into::into))
}

/// Sets the environment variables with the addresses and devices.
fn introduce(command: &mut Command, emulator: &Emulator) {
    command
        .env("ACKWISE_SERVER", emulator.server_address().to_string())
        .env("ACKWISE_CLIENT", emulator.client_address().to_string())
        .env("ACKWISE_SERVER_DEVICE", emulator.server_device())
        .env("ACKWISE_CLIENT_DEVICE", emulator.client_device());
}

/// A running server, killed when dropped.
struct Server(Child);

impl Server {
    /// Starts `line` in the calling thread's namespace, and waits until a socket listens there.
    fn start(line: &str, emulator: &Emulator) -> io::Result<Self> {
        let mut command = Command::new("sh");
        // Without `exec` only the shell would be killed, not the server.
        command.args(["-c", &format!("exec {line}")]);
        introduce(&mut command, emulator);
        let mut server = Self(command.spawn()?);
        let deadline = Instant::now() + PATIENCE;
        while !somebody_listens()? {
            if let Some(status) = server.0.try_wait()? {
                return Err(io::Error::other(format!("the server ended with {status}")));
            }
            if Instant::now() >= deadline {
                let message = format!("the server does not listen after {PATIENCE:?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may already have exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a TCP socket of the calling thread's namespace is in LISTEN.
fn somebody_listens() -> io::Result<bool> {
    let v4 = fs::read_to_string("/proc/thread-self/net/tcp")?;
    let v6 = fs::read_to_string("/proc/thread-self/net/tcp6").unwrap_or_default();
    Ok(v4.lines().chain(v6.lines()).any(|line| line.split_whitespace().nth(3) == Some("0A")))
}

const PATIENCE: Duration = Duration::from_secs(10);

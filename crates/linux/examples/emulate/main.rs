//! Runs a command against a server over an emulated link, and reports on the link.
//!
//! ```text
//! cargo run --release -p ackwise-linux --example emulate -- --delay 20ms --rate 10mbit --loss 1% \
//!     --server 'python3 -m http.server --bind $ACKWISE_SERVER 8000' \
//!     -- sh -c 'curl -sS -o /dev/null -w "%{time_total}\n" http://$ACKWISE_SERVER:8000/'
//! ```
//!
//! Runs as root, or without root if the host allows user namespaces. Namespaces and devices are
//! removed when the process ends.

#[cfg(target_os = "linux")]
mod arguments;
#[cfg(target_os = "linux")]
mod play;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    match arguments::parse().and_then(|arguments| play::run(&arguments)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("emulate: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("emulate: needs Linux");
}

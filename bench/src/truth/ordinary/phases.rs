//! Clients over TLS that tell when they connected, when they asked, and when they had read all.
//!
//! All log their keys but Java's, which could only with an agent: it speaks HTTP/1.1, which is read without.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::programs::{Session, patiently};
use crate::dice::Dice;
use crate::truth::case::Case;

/// Each with HTTP/2 or without, and servers in turn.
const CLIENTS: [(&str, bool); 11] = [
    ("curl", false),
    ("go", true),
    ("node", false),
    ("java", false),
    ("http.client", false),
    ("httpx", true),
    ("chromium", false),
    ("go", false),
    ("node", true),
    ("chromium", true),
    ("curl", true),
];
const WITH_HTTP2: [&str; 2] = ["nginx", "node"];
const WITH_HTTP1: [&str; 5] = ["nginx", "node", "python", "apache", "haproxy"];

/// 5 to 30 exchanges over round trips of 1 to 60 ms.
pub(super) fn draw(seed: u64, number: u64) -> Session {
    let mut dice = Dice::new(seed).of("phases", number);
    let place = usize::try_from(number).unwrap_or_default();
    let (client, http2) = CLIENTS[place % CLIENTS.len()];
    let round = place / CLIENTS.len() + place;
    let server = match http2 {
        true => WITH_HTTP2[round % WITH_HTTP2.len()],
        // The others do not have the page.
        false if client == "chromium" => WITH_HTTP2[round % WITH_HTTP2.len()],
        false => WITH_HTTP1[round % WITH_HTTP1.len()],
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay")]
    let delay_us = dice.scaled(500.0, 30_000.0) as u32;
    Session {
        server,
        client,
        tls: true,
        http2,
        server_think: [0, 2, 10, 30][dice.between(0, 3) as usize],
        think: [0, 5, 20, 60][dice.between(0, 3) as usize],
        delay_us,
        seed: dice.between(0, 1_000_000),
        count: Some(dice.between(5, 30)),
    }
}

/// The client that makes `count` exchanges.
pub(super) fn client(
    session: &Session,
    count: u32,
    url: &str,
    folder: &Path,
) -> anyhow::Result<Command> {
    let script = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map(|()| path)
    };
    let protocol = if session.http2 { "h2" } else { "http/1.1" };
    let [count, think] = [count, session.think].map(|it| it.to_string());
    let mut command = patiently();
    let keys = folder.join(KEYS);
    command.env("SSLKEYLOGFILE", &keys);
    match session.client {
        "curl" => {
            command.arg("sh").arg(script("phases.sh", include_str!("sources/phases.sh"))?);
            let how = if session.http2 { "--http2" } else { "--http1.1" };
            command.args([url, &count, &think, how]);
        }
        "go" => {
            let path = script("phases.go", include_str!("sources/phases.go"))?;
            command.args(["go", "run"]).arg(path).env("GO111MODULE", "off");
            command.args([url, &count, &think, protocol]);
        }
        "java" => {
            command.arg("java").arg(script("Phases.java", include_str!("sources/Phases.java"))?);
            command.args([url, &count, &think]);
        }
        "node" => {
            command.arg("node").arg("--tls-keylog").arg(&keys);
            command.arg(script("phases.js", include_str!("sources/phases.js"))?);
            command.args([url, &count, &think, protocol]);
        }
        "chromium" => {
            command.args(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
            command.args(["--ignore-certificate-errors", "--disable-background-networking"]);
            command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
            command.arg(format!("--ssl-key-log-file={}", keys.display()));
            command.arg(format!("{url}/phases.html?{count}"));
        }
        library => {
            command.arg("python3").arg(script("phases.py", include_str!("sources/phases.py"))?);
            command.args([library, url, &count, &think, protocol]);
        }
    }
    Ok(command)
}

/// Moves what the client logged of its keys from its files to the case.
pub(super) fn keep_keys(files: &Path, folder: &Path) -> anyhow::Result<()> {
    let logged = files.join(KEYS);
    if fs::metadata(&logged).is_ok_and(|it| it.len() > 0) {
        fs::rename(&logged, folder.join(KEYS)).context("cannot keep the keys")?;
    }
    Ok(())
}

/// The case's file of keys, if it has one.
pub(super) fn keys(folder: &Path) -> Option<String> {
    folder.join(KEYS).exists().then(|| KEYS.to_owned())
}

/// Without keys, nothing distinguishes exchanges of HTTP/2 over TLS.
pub(in crate::truth) fn needs_keys(case: &Case) -> bool {
    is_one(case) && case.parameters.get("http2").and_then(|it| it.as_bool()) == Some(true)
}

/// Whether the client of a case told its phases.
pub(in crate::truth) fn is_one(case: &Case) -> bool {
    case.parameters.get("count").is_some_and(|it| it.is_number())
}

const KEYS: &str = "keys.log";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_captures_have_all_clients_both_protocols_and_the_limits() {
        let drawn: Vec<Session> = (0..22).map(|number| draw(1, number)).collect();
        for (client, http2) in CLIENTS {
            let count = drawn.iter().filter(|it| (it.client, it.http2) == (client, http2)).count();
            assert_eq!(count, 2, "{client}");
        }
        for it in &drawn {
            assert!(it.count.is_some_and(|count| (5..=30).contains(&count)));
            assert!((500..=30_000).contains(&it.delay_us) && it.tls);
        }
    }
}

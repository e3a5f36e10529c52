//! A request that is larger than the server takes: whether the client can read what the server says about it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use ackwise_check::{
    Options, StackChoice, Target,
    card::{CheckId, Finding, Verdict},
    check,
    http_client::Template,
};
use ackwise_http::Method;

/// What a server does with a request that is too large for it.
#[derive(Clone, Copy, Debug)]
enum Large {
    /// Answers and closes, unread.
    Closes,
    /// Closes, unread.
    Resets,
    /// Answers, shuts its direction down, and reads on.
    Lingers,
    /// Waits for the end.
    Reads,
}

#[test]
fn an_early_response_must_reach_the_client() {
    for (large, verdict, status, reset) in [
        (Large::Closes, Verdict::Warn, Some(413), Some(true)),
        (Large::Resets, Verdict::Warn, None, Some(true)),
        (Large::Lingers, Verdict::Pass, Some(413), Some(false)),
        (Large::Reads, Verdict::Pass, None, None),
    ] {
        let found = found(large, Some(b"a=b")).expect("it is asked for");
        assert_eq!(found.verdict, verdict, "{large:?}: {found:?}");
        let values = serde_json::to_value(&found.values).unwrap();
        assert_eq!(values, serde_json::json!({ "reset": reset, "status": status }), "{large:?}");
        assert_eq!(found.remedy.is_some(), verdict == Verdict::Warn, "{found:?}");
    }
}

#[test]
fn a_large_request_is_sent_only_with_content() {
    assert!(found(Large::Closes, None).is_none());
}

fn found(large: Large, content: Option<&[u8]>) -> Option<Finding> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let target: Target =
        format!("http://{}/", listener.local_addr().expect("it listens")).parse().expect("a URL");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream, large));
        }
    });
    let template = Template {
        method: if content.is_some() { Method::Post } else { Method::Get },
        content: content.map(Into::into),
        ..Template::default()
    };
    // Without content the check is not asked for by name: then it would say why it cannot be done.
    let only = content.map(|_| [CheckId::EarlyResponse].into());
    let options = Options {
        stack: StackChoice::Kernel,
        only,
        template,
        max_requests: 20,
        max_wait: Duration::from_millis(200),
        ..Options::default()
    };
    let card = check(&target, &options, &mut |_| {}).expect("a card");
    card.findings.into_iter().find(|it| it.id == CheckId::EarlyResponse)
}

fn serve(mut stream: TcpStream, large: Large) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::with_capacity(256, stream.try_clone().ok()?);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        if length > 1_000 && !matches!(large, Large::Reads) {
            if !matches!(large, Large::Resets) {
                let answer =
                    b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
                stream.write_all(answer).ok()?;
            }
            if matches!(large, Large::Lingers) {
                stream.shutdown(Shutdown::Write).ok()?;
                let _ = std::io::copy(&mut reader, &mut std::io::sink());
            } else {
                // So that something is unread.
                stream.peek(&mut [0]).ok()?;
            }
            return Some(());
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).ok()?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}

//! `--data-split`: the classic 40 ms of a POST whose head and content are written apart.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use ackwise_check::{
    Options, StackChoice, Target,
    card::{CheckId, Verdict},
    check,
    http_client::Template,
};
use ackwise_http::Method;

#[test]
fn a_post_in_two_writes_waits_for_the_servers_delayed_ack() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    for split in [Some(0), Some(4), None] {
        let template = Template {
            method: Method::Post,
            content: Some(b"0123456789".to_vec()),
            split,
            ..Template::default()
        };
        let options = Options {
            stack: StackChoice::Kernel,
            only: Some([CheckId::RequestSegments].into()),
            template,
            ..Options::default()
        };
        let target: Target = format!("http://{address}/").parse().expect("a URL");
        let card = check(&target, &options, &mut |_| {}).expect("a card");
        let found = &card.findings[0];
        let values = serde_json::to_value(&found.values).expect("JSON");
        // The server reads on at once; it is its TCP that delays.
        assert!(values["stall_ms"].as_f64().expect("asked") < 10.0, "{found:?}");
        if split.is_none() {
            assert!(values["nagle_stall_ms"].is_null(), "{found:?}");
            assert_eq!(found.verdict, Verdict::Pass, "{found:?}");
            continue;
        }
        let stall = values["nagle_stall_ms"].as_f64().expect("asked");
        assert!((25.0..120.0).contains(&stall), "{found:?}");
        assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
        let remedy = found.remedy.as_deref().unwrap_or_default();
        assert!(remedy.contains("at the client"), "{found:?}");
    }
}

/// Answers each request when its content has come.
fn serve(stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
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
        reader.read_exact(&mut vec![0; length]).ok()?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}

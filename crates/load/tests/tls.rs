//! Load over TLS: each request is answered, whoever closes, and what is wrong is one message.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    num::NonZeroU64,
    ops::ControlFlow,
    sync::Arc,
    thread,
    time::Duration,
};

use ackwise_load::{CloseMode, ContentCheck, LoadError, LoadOptions, LoadReport, load};
use rcgen::{CertificateParams, KeyPair};
use rustls::{ServerConfig, ServerConnection, Stream, crypto::ring, pki_types::PrivatePkcs8KeyDer};

/// More than a record and than the generator's read.
const CONTENT: usize = 100_000;

/// A server with a certificate of its own for 127.0.0.1, which lives as long as the test's process.
fn serve() -> SocketAddr {
    let key = KeyPair::generate().unwrap();
    let wanted = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = wanted.self_signed(&key).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            thread::spawn(move || answer(session, socket));
        }
    });
    address
}

/// Answers until the client goes, or asks to close.
fn answer(mut session: ServerConnection, mut socket: TcpStream) {
    let mut stream = Stream::new(&mut session, &mut socket);
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
        let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(seen.drain(..end + 4).collect()).unwrap();
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {CONTENT}\r\n\r\n");
        let content = [b'x'; CONTENT];
        if stream.write_all(&[response.as_bytes(), &content].concat()).is_err() {
            return;
        }
        if head.contains("Connection: close") {
            stream.conn.send_close_notify();
            let _ = stream.flush();
            return;
        }
    }
}

fn options(url: &str) -> LoadOptions {
    LoadOptions {
        connections: Some(10),
        concurrency: 4,
        requests_per_connection: NonZeroU64::new(5),
        timeout: Duration::from_secs(10),
        insecure: true,
        check: ContentCheck::Same,
        ..LoadOptions::new(url.parse().unwrap())
    }
}

fn run(options: &LoadOptions) -> Result<LoadReport, LoadError> {
    load(options, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn every_request_is_answered_whoever_closes() {
    let url = format!("https://{}/", serve());
    for close in [CloseMode::Server, CloseMode::Client] {
        let report = run(&LoadOptions { close, ..options(&url) }).unwrap();
        assert_eq!((report.requests, report.failed, report.connections), (50, 0, 10), "{report:?}");
        assert!(report.is_complete(), "{report:?}");
        assert!(report.bytes >= 50 * CONTENT as u64, "{report:?}");
        let [held, other] = match close {
            CloseMode::Server => [&report.time_wait.server, &report.time_wait.client],
            _ => [&report.time_wait.client, &report.time_wait.server],
        };
        if cfg!(target_os = "linux") {
            assert_eq!((held.known(), other.known()), (Some(10), Some(0)), "{report:?}");
        }
    }
}

#[test]
fn what_is_wrong_is_one_message_before_the_run() {
    let address = serve();
    let url = format!("https://{address}/");
    let refused = |options: LoadOptions| run(&options).unwrap_err().to_string();
    let unknown = refused(LoadOptions { insecure: false, ..options(&url) });
    assert!(unknown.contains("--ca-file") && unknown.contains("not trusted"), "{unknown}");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("https://{}/", silent.local_addr().unwrap());
    let timeout = Duration::from_millis(200);
    let silent = refused(LoadOptions { timeout, ..options(&nobody) });
    assert!(silent.contains("no response in time"), "{silent}");
    let plain = refused(options(&format!("http://{address}/")));
    assert!(plain.contains("expected https://"), "{plain}");
}

#[test]
fn a_server_without_tls_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        }
    });
    let error = run(&options(&url)).unwrap_err().to_string();
    assert!(error.contains("use http://"), "{error}");
}

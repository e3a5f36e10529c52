//! `check` over TLS: the stalls of TCP are found below the records.

#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use ackwise::check::{
    CheckError, Options, StackChoice, Target,
    card::{Card, FindingId, Verdict},
    check,
};
use rustls::{ServerConfig, ServerConnection, Stream, crypto::ring, pki_types::PrivatePkcs8KeyDer};

/// How the server writes a response of 300 octets.
#[derive(Clone, Copy)]
enum Writes {
    /// Head and content in a record each, with Nagle's algorithm on.
    Apart,
    /// In one record.
    Joined,
}

/// A server that lives as long as the test's process, and its certificate for 127.0.0.1, in PEM.
fn serve(writes: Writes) -> (SocketAddr, String) {
    let identity = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key.into())
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            thread::spawn(move || answer(session, socket, writes));
        }
    });
    (address, identity.cert.pem())
}

/// Answers until the client goes; how it goes is not the test's business.
fn answer(mut session: ServerConnection, mut socket: TcpStream, writes: Writes) {
    let mut stream = Stream::new(&mut session, &mut socket);
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
        while let Some(end) = seen.windows(4).position(|octets| octets == b"\r\n\r\n") {
            seen.drain(..end + 4);
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n";
            let content = [b'x'; 300];
            let written = match writes {
                Writes::Apart => stream
                    .write_all(head)
                    .and_then(|()| stream.flush())
                    .and_then(|()| stream.write_all(&content)),
                Writes::Joined => stream.write_all(&[&head[..], &content].concat()),
            };
            if written.and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    }
}

fn options() -> Options {
    Options {
        stack: StackChoice::Kernel,
        only: Some([FindingId::SplitHead, FindingId::NagleDelayedAck].into()),
        insecure: true,
        ..Options::default()
    }
}

fn target(address: SocketAddr) -> Target {
    format!("https://{address}/").parse().unwrap()
}

fn verdict(card: &Card, id: FindingId) -> Verdict {
    card.findings.iter().find(|finding| finding.id == id).unwrap().verdict
}

#[test]
#[cfg(target_os = "linux")]
fn a_record_that_waits_for_an_ack_is_found() {
    let (address, _) = serve(Writes::Apart);
    let card = check(&target(address), &options(), &mut |_| ()).unwrap();
    assert_eq!(verdict(&card, FindingId::NagleDelayedAck), Verdict::Fail, "{card:#?}");
    assert_eq!(verdict(&card, FindingId::SplitHead), Verdict::Warn, "{card:#?}");
}

#[test]
fn one_record_for_the_whole_response_does_not_stall() {
    let (address, _) = serve(Writes::Joined);
    let card = check(&target(address), &options(), &mut |_| ()).unwrap();
    assert!(verdict(&card, FindingId::NagleDelayedAck) < Verdict::Warn, "{card:#?}");
    assert_eq!(verdict(&card, FindingId::SplitHead), Verdict::Pass, "{card:#?}");
}

#[test]
fn a_certificate_must_be_trusted() {
    let (address, certificate) = serve(Writes::Joined);
    let strict = Options { insecure: false, ..options() };
    let refused = check(&target(address), &strict, &mut |_| ()).unwrap_err();
    assert!(refused.to_string().contains("--ca-file"), "{refused}");

    let file = std::env::temp_dir().join(format!("ackwise-test-{}.pem", address.port()));
    std::fs::write(&file, certificate).unwrap();
    let trusting = Options { ca_file: Some(file.clone()), ..strict.clone() };
    let trusted = check(&target(address), &trusting, &mut |_| ());
    std::fs::write(&file, "no certificate").unwrap();
    let empty = check(&target(address), &trusting, &mut |_| ()).unwrap_err();
    std::fs::remove_file(&file).unwrap();
    assert!(trusted.is_ok(), "{trusted:?}");
    assert!(matches!(empty, CheckError::Options(_)), "{empty}");
    assert!(empty.to_string().contains("expected certificates"), "{empty}");
}

#[test]
fn a_server_without_tls_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            // What the client says is not understood, and it may be gone already.
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let error = check(&target(address), &options(), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("HTTP/1.1 400") && error.contains("is it http://?"), "{error}");
}

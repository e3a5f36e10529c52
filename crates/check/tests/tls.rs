//! `check` over TLS: the stalls of TCP are found below the records.

#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use ackwise_check::{
    CheckError, Options, StackChoice,
    card::{Card, CheckId, Protocol, Verdict},
    check, check_versions,
};
use ackwise_net::Target;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::{ServerConfig, ServerConnection, Stream, crypto::ring, pki_types::PrivatePkcs8KeyDer};

/// How the server writes a response of 300 bytes.
#[derive(Clone, Copy)]
enum Writes {
    /// Head and content in a record each, with Nagle's algorithm on.
    Apart,
    /// In one record.
    Joined,
    /// The same, with Nagle's algorithm on: behind the session tickets, which leave in small segments of their own.
    BehindTickets,
}

/// A server that lives as long as the test's process, and its certificate for 127.0.0.1, in PEM.
fn serve(writes: Writes) -> (SocketAddr, String) {
    serve_as("127.0.0.1", IsCa::NoCa, writes)
}

/// As [`serve`], with a certificate of its own making for `name`.
fn serve_as(name: &str, is_ca: IsCa, writes: Writes) -> (SocketAddr, String) {
    let (config, certificate) = configuration(name, is_ca);
    (listen(config, move |session, socket| answer(session, socket, writes)), certificate)
}

/// What a server needs that has a certificate of its own making for `name`, and that certificate in PEM.
fn configuration(name: &str, is_ca: IsCa) -> (ServerConfig, String) {
    let mut wanted = CertificateParams::new([name.to_owned()]).unwrap();
    wanted.is_ca = is_ca;
    let key = KeyPair::generate().unwrap();
    let certificate = wanted.self_signed(&key).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap();
    (config, certificate.pem())
}

/// Serves each connection in a thread of its own.
fn listen(
    config: ServerConfig,
    serve: impl Fn(ServerConnection, TcpStream) + Copy + Send + 'static,
) -> SocketAddr {
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).unwrap();
            thread::spawn(move || serve(session, socket));
        }
    });
    address
}

/// Speaks HTTP/2, with its SETTINGS behind the last message of its handshake.
fn answer_http2(mut session: ServerConnection, mut socket: TcpStream) {
    socket.set_nodelay(true).unwrap();
    session.writer().write_all(b"\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut stream = Stream::new(&mut session, &mut socket);
    let mut preface = [0; 24];
    if stream.read_exact(&mut preface).is_err() {
        return;
    }
    let mut header = [0; 9];
    while stream.read_exact(&mut header).is_ok() {
        let [a, b, c, kind, _, id @ ..] = header;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        if stream.read_exact(&mut payload).is_err() {
            return;
        }
        // HEADERS with ":status: 200" for HEADERS, and the end of the stream in DATA.
        let response = [b"\0\0\x01\x01\x04", &id[..], b"\x88\0\0\x02\0\x01", &id, b"ok"].concat();
        if kind == 1 && stream.write_all(&response).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

/// Waits until the request is there, within the handshake: one that is sent after the tickets acknowledges them.
fn hear_the_request(session: &mut ServerConnection, socket: &mut TcpStream) -> io::Result<()> {
    session.read_tls(socket)?;
    session.process_new_packets().map_err(io::Error::other)?;
    while session.wants_write() {
        session.write_tls(socket)?;
    }
    thread::sleep(Duration::from_millis(10));
    Ok(())
}

/// Answers until the client goes; how it goes is not the test's business.
fn answer(mut session: ServerConnection, mut socket: TcpStream, writes: Writes) {
    socket.set_nodelay(matches!(writes, Writes::Joined)).unwrap();
    if matches!(writes, Writes::BehindTickets)
        && hear_the_request(&mut session, &mut socket).is_err()
    {
        return;
    }
    let mut stream = Stream::new(&mut session, &mut socket);
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
        // Tickets leave before the response, also if the request was read with the end of the handshake.
        if stream.flush().is_err() {
            return;
        }
        while let Some(end) = seen.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            seen.drain(..end + 4);
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n";
            let content = [b'x'; 300];
            let written = match writes {
                Writes::Apart => stream
                    .write_all(head)
                    .and_then(|()| stream.flush())
                    .and_then(|()| stream.write_all(&content)),
                Writes::Joined | Writes::BehindTickets => {
                    stream.write_all(&[&head[..], &content].concat())
                }
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
        only: Some([CheckId::SplitHead, CheckId::NagleDelayedAck].into()),
        insecure: true,
        ..Options::default()
    }
}

fn target(address: SocketAddr) -> Target {
    format!("https://{address}/").parse().unwrap()
}

fn verdict(card: &Card, id: CheckId) -> Verdict {
    card.findings.iter().find(|finding| finding.id == id).unwrap().verdict
}

#[test]
#[cfg(target_os = "linux")]
fn a_record_that_waits_for_an_ack_is_found() {
    let (address, _) = serve(Writes::Apart);
    let card = check(&target(address), &options(), &mut |_| ()).unwrap();
    assert_eq!(verdict(&card, CheckId::NagleDelayedAck), Verdict::Fail, "{card:#?}");
    assert_eq!(verdict(&card, CheckId::SplitHead), Verdict::Warn, "{card:#?}");
}

#[test]
fn one_record_for_the_whole_response_does_not_stall() {
    let (address, _) = serve(Writes::Joined);
    let card = check(&target(address), &options(), &mut |_| ()).unwrap();
    assert!(verdict(&card, CheckId::NagleDelayedAck) < Verdict::Warn, "{card:#?}");
    assert_eq!(verdict(&card, CheckId::SplitHead), Verdict::Pass, "{card:#?}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_first_response_that_waits_behind_the_tickets_is_found() {
    let (address, _) = serve(Writes::BehindTickets);
    let card = check(&target(address), &options(), &mut |_| ()).unwrap();
    assert_eq!(verdict(&card, CheckId::NagleDelayedAck), Verdict::Fail, "{card:#?}");
    let found = card.findings.iter().find(|it| it.id == CheckId::NagleDelayedAck).unwrap();
    assert!(found.summary.contains("first response of a connection"), "{found:#?}");
}

/// RFC 9113, section 3.4: a server may send its SETTINGS before it has heard the client's preface.
#[test]
fn settings_that_come_with_the_handshake_are_read() {
    let (mut config, _) = configuration("127.0.0.1", IsCa::NoCa);
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.send_half_rtt_data = true;
    let address = listen(config, answer_http2);
    let cards = check_versions(&target(address), &options(), &mut |_| ()).unwrap();
    let [card] = &cards[..] else { panic!("{cards:#?}") };
    assert_eq!(card.protocol, Protocol::Http2);
    assert_eq!(verdict(card, CheckId::NagleDelayedAck), Verdict::Pass, "{card:#?}");
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
    assert!(empty.to_string().contains("contains no certificate"), "{empty}");
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
    assert!(error.contains("HTTP/1.1 400") && error.contains("use http://"), "{error}");
}

/// `openssl req -x509` makes certificates that are their own CA.
#[test]
fn a_certificate_that_is_named_is_trusted_for_its_name() {
    let its_own_ca = || IsCa::Ca(BasicConstraints::Unconstrained);
    let checked = |name: &str| {
        let (address, certificate) = serve_as(name, its_own_ca(), Writes::Joined);
        let file = std::env::temp_dir().join(format!("ackwise-test-{}.pem", address.port()));
        std::fs::write(&file, certificate).unwrap();
        let ca_file = Some(file.clone());
        let trusting = Options { insecure: false, ca_file, ..options() };
        let card = check(&target(address), &trusting, &mut |_| ());
        std::fs::remove_file(&file).unwrap();
        card
    };
    let trusted = checked("127.0.0.1");
    assert!(trusted.is_ok(), "{trusted:?}");
    let other = checked("127.0.0.2").unwrap_err().to_string();
    assert!(other.contains("it is for 127.0.0.2, not for 127.0.0.1"), "{other}");

    let (address, _) = serve_as("127.0.0.1", its_own_ca(), Writes::Joined);
    let strict = Options { insecure: false, ..options() };
    let refused = check(&target(address), &strict, &mut |_| ()).unwrap_err().to_string();
    assert!(refused.contains("--ca-file") && !refused.contains("Other("), "{refused}");
}

#[test]
fn a_file_that_is_not_there_is_named_with_its_option() {
    let missing = Some("/nonexistent/ca.pem".into());
    let options = Options { insecure: false, ca_file: missing, ..options() };
    let error = check(&"https://127.0.0.1:1/".parse().unwrap(), &options, &mut |_| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("--ca-file /nonexistent/ca.pem"), "{error}");
}

#[test]
fn a_handshake_that_does_not_end_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let waiting = Options { max_wait: Duration::from_millis(300), ..options() };
    let error = check(&target(address), &waiting, &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("TLS handshake"), "{error}");
}

#[test]
fn a_tls_port_that_is_asked_in_clear_text_is_recognised() {
    let (address, _) = serve(Writes::Joined);
    let clear = format!("http://{address}/").parse().unwrap();
    let error = check(&clear, &options(), &mut |_| ()).unwrap_err().to_string();
    assert!(error.ends_with(&format!("check https://{address}/)")), "{error}");
}

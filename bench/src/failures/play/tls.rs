//! TLS handshakes that fail.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use rustls::crypto::ring;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
    SupportedProtocolVersion,
};
use socket2::{Domain, SockRef, Socket, Type};

use super::{Played, Stage, micros, whole};
use crate::dice::Dice;
use crate::failures::client::Conn;
use crate::failures::kind::Kind;
use crate::failures::truth::{At, Failed};
use crate::witness::clock::Nanos;

/// One end refuses the other: a certificate that nobody has signed, or no common version.
pub(super) fn alert(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    for _ in 0..dice.between(1, 2) {
        let how = dice.between(0, 2);
        let [both, old, new]: [&[&SupportedProtocolVersion]; 3] =
            [&[&rustls::version::TLS13], &[&rustls::version::TLS12], &[&rustls::version::TLS13]];
        let (asks, serves) = match how {
            0 => (both, both),
            1 => (old, old),
            _ => (old, new),
        };
        let names = dice.between(1, 60);
        let serving = server_config(serves, names)?;
        let ends = handshake(stage, Act::Rustls(serving), Duration::from_secs(20), asks)?;
        ensure!(ends.error != "none", "alert: the handshake succeeded");
        // In TLS 1.3, the client's alert is encrypted.
        let at = || if how == 0 { At::known().or("tls-unfinished") } else { At::known() };
        push(all, Kind::TlsAlert, &ends, at(), at());
        thread::sleep(micros(dice.scaled(1_000.0, 300_000.0)));
    }
    Ok(())
}

/// The server does not answer the ClientHello: it waits, closes or resets.
pub(super) fn unfinished(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    for _ in 0..dice.between(1, 2) {
        let think = micros(dice.scaled(100.0, 800_000.0));
        let patience = stage.rtt * 2 + Duration::from_secs_f64(dice.scaled(0.1, 5.0));
        let act = match dice.between(0, 2) {
            0 => Act::Nothing,
            1 => Act::Close(think),
            _ => Act::Reset(think),
        };
        let resets = matches!(act, Act::Reset(_));
        let patience = if matches!(act, Act::Nothing) { patience } else { Duration::from_secs(20) };
        let ends = handshake(stage, act, patience, rustls::DEFAULT_VERSIONS)?;
        let at = || if resets { At::known().or("connect-reset") } else { At::known() };
        push(all, Kind::TlsUnfinished, &ends, at(), at());
        thread::sleep(micros(dice.scaled(1_000.0, 300_000.0)));
    }
    Ok(())
}

/// The server's certificates do not fit through the path.
pub(super) fn black_hole(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
    patience: Duration,
) -> anyhow::Result<()> {
    let names = u32::try_from(whole(dice.scaled(120.0, 400.0)))?;
    let serving = server_config(rustls::DEFAULT_VERSIONS, names)?;
    let ends = handshake(stage, Act::Rustls(serving), patience, rustls::DEFAULT_VERSIONS)?;
    push(all, Kind::PathMtuBlackHole, &ends, At::known(), At::known());
    Ok(())
}

/// What the server does with a connection.
#[derive(Clone, Debug)]
enum Act {
    Rustls(Arc<ServerConfig>),
    Nothing,
    Close(Duration),
    Reset(Duration),
}

/// What the client saw.
struct Ends {
    port: u16,
    began: Nanos,
    ended: Nanos,
    error: String,
}

fn push(all: &mut Played, kind: Kind, ends: &Ends, client: At, server: At) {
    let client = client.lasted(ends.began, ends.ended);
    all.failed.push(Failed { kind, port: ends.port, number: None, client, server });
}

/// From the SYN on.
fn handshake(
    stage: Stage<'_>,
    act: Act,
    patience: Duration,
    versions: &[&'static SupportedProtocolVersion],
) -> anyhow::Result<Ends> {
    let listener = listen(stage)?;
    let serves = thread::spawn(move || -> anyhow::Result<()> {
        let (stream, _) = listener.accept()?;
        // What it sees is the client's to tell.
        let _ = serve(stream, &act);
        Ok(())
    });
    let conn = Conn::open(stage.address(), stage.diary)?;
    conn.stream.set_read_timeout(Some(patience))?;
    let mut session =
        ClientConnection::new(client_config(versions)?, ServerName::try_from("server")?)?;
    stage.diary.note("client", conn.port, "begins the handshake");
    // The connection was opened for it.
    let began = conn.opened;
    let error = loop {
        if !session.is_handshaking() {
            break "none".to_owned();
        }
        match session.complete_io(&mut &conn.stream) {
            Ok(_) => {}
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(why) => break why.to_string(),
        }
    };
    let ended = stage.diary.note("client", conn.port, format!("ends the handshake: {error}"));
    let port = conn.port;
    conn.close();
    stage.settle();
    serves.join().map_err(|_| anyhow!("the server panicked"))??;
    Ok(Ends { port, began, ended, error })
}

fn serve(mut stream: TcpStream, act: &Act) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LONG))?;
    match act {
        Act::Rustls(config) => {
            let mut session = ServerConnection::new(Arc::clone(config))?;
            while session.is_handshaking() {
                session.complete_io(&mut stream)?;
            }
            session.writer().flush()?;
        }
        Act::Nothing => while stream.read(&mut [0; 4_096])? > 0 {},
        Act::Close(think) | Act::Reset(think) => {
            let _some = stream.read(&mut [0; 4_096])?;
            thread::sleep(*think);
            if matches!(act, Act::Reset(_)) {
                SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
            }
        }
    }
    Ok(())
}

fn listen(stage: Stage<'_>) -> anyhow::Result<TcpListener> {
    let at: SocketAddrV4 = stage.address();
    let socket = stage.lab.server.run(|| Socket::new(Domain::IPV4, Type::STREAM, None))??;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(8)?;
    Ok(socket.into())
}

/// It trusts nobody.
fn client_config(
    versions: &[&'static SupportedProtocolVersion],
) -> anyhow::Result<Arc<ClientConfig>> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// With a certificate for this number of names: about 20 bytes each.
fn server_config(
    versions: &[&'static SupportedProtocolVersion],
    names: u32,
) -> anyhow::Result<Arc<ServerConfig>> {
    let more = (0..names).map(|it| format!("host-{it:04}.example.net"));
    let names: Vec<String> = ["server".to_owned()].into_iter().chain(more).collect();
    let made = rcgen::generate_simple_self_signed(names)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    Ok(Arc::new(config))
}

/// Longer than any client here waits.
const LONG: Duration = Duration::from_secs(30);

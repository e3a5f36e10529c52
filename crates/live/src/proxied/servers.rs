//! Web servers: each answers with as many bytes as the path of the request says.
//!
//! They keep their connections, as long as the proxy does.

use std::{
    io::{self, BufReader, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::atomic::Ordering,
    thread::Scope,
};

use super::{Run, message, spawn};

/// Whether what a server sends counts: it does if it comes over the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Counted {
    Yes,
    No,
}

/// Accepts until the run is over.
pub(super) fn accept<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    run: &'scope Run<'scope>,
    listener: &TcpListener,
    counted: Counted,
) {
    let mut open: Vec<TcpStream> = Vec::new();
    while !run.is_over() {
        let Ok((stream, _)) = listener.accept() else { continue };
        let Ok(known) = stream.try_clone() else { continue };
        open.retain(|stream| stream.peer_addr().is_ok());
        open.push(known);
        // Without a thread for it, the connection closes.
        let _ = spawn(scope, move || {
            let _ = serve(run, &stream, counted);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
    // Wakes the threads.
    open.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
}

fn serve(run: &Run<'_>, stream: &TcpStream, counted: Counted) -> io::Result<()> {
    stream.set_nodelay(true)?;
    // A socket inherits the listener's, which is short.
    stream.set_read_timeout(None)?;
    let mut reader = BufReader::new(stream);
    while let Some(asked) = message::read_request(&mut reader)? {
        // With a lifetime, Squid wants a date as well.
        let caching = if asked.hit {
            "Expires: Thu, 01 Jan 2037 00:00:00 GMT"
        } else {
            "Cache-Control: no-store"
        };
        let size = asked.size;
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n{caching}\r\n\
             Accept-Ranges: bytes\r\nETag: \"{size}\"\r\n\r\n"
        )?;
        send(stream, size, |sent| {
            if counted == Counted::Yes {
                run.from_servers.fetch_add(sent, Ordering::Relaxed);
            }
        })?;
    }
    Ok(())
}

/// Writes zeros, and tells how many were taken at a time.
pub(super) fn send(
    mut stream: &TcpStream,
    size: u64,
    mut taken: impl FnMut(u64),
) -> io::Result<()> {
    let mut left = size;
    while left > 0 {
        let piece = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS.len());
        let written = stream.write(&ZEROS[..piece])? as u64;
        taken(written);
        left -= written;
    }
    Ok(())
}

/// A document. The kernel exceeds a small buffer by one write, so writes are small.
static ZEROS: [u8; 4_096] = [0; 4_096];

//! The files that a page shows, found before the run: one GET, and the references in its HTML.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use ackwise_http::{ConnectionOption, Method, ResponseEvent, ResponseParser};
use ackwise_net::{Target, TlsSettings};
use ackwise_serve::references::{self, Wanted};
use rustls::StreamOwned;

use crate::{LoadError, generator::Ask};

/// The paths of the files that the page at `target` shows; none if it is no HTML.
///
/// # Errors
///
/// If the page cannot be had within `limit`.
pub(super) fn find(
    target: &Target,
    fields: &[(String, String)],
    server: SocketAddr,
    tls: Option<&TlsSettings>,
    limit: Duration,
) -> Result<Vec<String>, LoadError> {
    let ask = Ask { fields: fields.to_vec(), ..Ask::get(target.authority(), target.path()) };
    let request = ask.encode(Some(ConnectionOption::Close))?;
    let html = html(&request, server, tls, limit).map_err(|error| {
        LoadError::Options(format!("cannot find the files of {target}: {error}"))
    })?;
    Ok(references::of_page(&html, &target.to_string(), Wanted::Shown))
}

/// The beginning of a page; empty if it is no HTML.
fn html(
    request: &[u8],
    server: SocketAddr,
    tls: Option<&TlsSettings>,
    limit: Duration,
) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + limit;
    let socket = TcpStream::connect_timeout(&server, limit)?;
    match tls {
        None => exchange(socket.try_clone()?, &socket, request, deadline),
        Some(tls) => {
            let session = tls.session().map_err(io::Error::other)?;
            let stream = StreamOwned::new(session, socket.try_clone()?);
            exchange(stream, &socket, request, deadline)
        }
    }
}

fn exchange(
    mut stream: impl Read + Write,
    socket: &TcpStream,
    request: &[u8],
    deadline: Instant,
) -> io::Result<Vec<u8>> {
    let mut parser = ResponseParser::new();
    parser.expect(Method::Get);
    let (mut html, mut buffer) = (Vec::new(), vec![0; READ_SIZE]);
    socket.set_write_timeout(Some(left(deadline)?))?;
    stream.write_all(request)?;
    while html.len() < HTML_LIMIT {
        socket.set_read_timeout(Some(left(deadline)?))?;
        let bytes = stream.read(&mut buffer)?;
        if bytes == 0 {
            parser.handle_close().map_err(io::Error::other)?;
            break;
        }
        let mut rest = &buffer[..bytes];
        while let Some(event) = parser.advance(&mut rest).map_err(io::Error::other)? {
            match event {
                ResponseEvent::Head(head) if head.status >= 300 => {
                    return Err(io::Error::other(format!("status {} (expected 200)", head.status)));
                }
                ResponseEvent::Head(head) => {
                    let kind = head.fields.text("Content-Type").unwrap_or_default();
                    if !kind.to_ascii_lowercase().starts_with("text/html") {
                        return Ok(Vec::new());
                    }
                }
                ResponseEvent::Content(content) => {
                    let room = HTML_LIMIT - html.len();
                    html.extend_from_slice(&content[..content.len().min(room)]);
                }
                ResponseEvent::End(_) => return Ok(html),
                _ => {}
            }
        }
    }
    Ok(html)
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Bytes of a page that are searched, as by the built-in server (our choice).
const HTML_LIMIT: usize = 1 << 20;
const READ_SIZE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    /// What is found on a page of a server that sends `pieces`, the last one without an end.
    fn found(pieces: &'static [&'static str]) -> Result<Vec<String>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let (last, first) = pieces.split_last().unwrap();
            first.iter().for_each(|piece| stream.write_all(piece.as_bytes()).unwrap());
            while !last.is_empty() && stream.write_all(last.as_bytes()).is_ok() {}
        });
        let target = format!("http://{server}/d/").parse().unwrap();
        find(&target, &[], server, None, Duration::from_secs(5)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_page_names_its_files_and_another_server_s_files_are_not_asked_for() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
        assert_eq!(found(&[HEAD, "<img src=a.gif>", ""]).unwrap(), ["/d/a.gif"]);
        assert!(found(&[HEAD, "<img src=//elsewhere/a.gif>", ""]).unwrap().is_empty());
        assert_eq!(found(&[HEAD, "<img src=a.gif>"]).unwrap(), ["/d/a.gif"], "it has no end");
        const PLAIN: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n<img src=a.gif>";
        assert!(found(&[PLAIN, ""]).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_page_is_one_message() {
        const MISSING: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        assert!(found(&[MISSING, ""]).unwrap_err().contains("status 404 (expected 200)"));
        assert!(found(&["SSH-2.0", ""]).unwrap_err().starts_with("cannot find the files of http"));
    }
}

//! What a page costs an ordinary client: one kept connection of the kernel's own sockets, one request
//! after the other.
//!
//! This is an application, not a check: it takes the kernel's MSS, windows and acknowledgements as
//! they come, because it has to suffer what a browser or a service would suffer.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use ackwise_http::{Method, RequestBuilder, ResponseError, ResponseEvent, ResponseParser};

use crate::{card::BuiltIn, page_times::PageTimes};

/// Times [`PAGES`] pages of `documents` at the server that listens on `address`; says the number of each page
/// before it begins.
///
/// # Errors
///
/// If the server does not serve a page within [`PAGE_LIMIT`].
pub(super) fn time_pages(
    server: BuiltIn,
    documents: &[u32],
    address: SocketAddr,
    progress: &mut dyn FnMut(usize),
) -> Result<PageTimes, PageError> {
    let mut client = Client::connect(address)?;
    client.page(documents)?;
    let page = |number| {
        progress(number);
        client.page(documents)
    };
    let times: Result<Vec<_>, _> = (1..=PAGES).map(page).collect();
    Ok(PageTimes::of(server, documents, &times?))
}

/// Why a page was not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The connection failed.
    #[error("cannot load a page of the built-in server: {0}")]
    Connection(#[from] io::Error),
    /// The answer was not HTTP.
    #[error("cannot load a page of the built-in server: {0} (expected HTTP)")]
    Response(#[from] ResponseError),
    /// The answer was not the document.
    #[error(
        "wrong response to /{size}: status {status}, {content} bytes (expected 200, {size} bytes)"
    )]
    Document {
        /// What was asked for, in bytes.
        size: u32,
        /// The status of the answer.
        status: u16,
        /// What came, in bytes.
        content: u64,
    },
}

struct Client {
    stream: TcpStream,
    host: String,
    parser: ResponseParser,
}

impl Client {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PAGE_LIMIT)?;
        stream.set_read_timeout(Some(PAGE_LIMIT))?;
        stream.set_write_timeout(Some(PAGE_LIMIT))?;
        Ok(Self { stream, host: address.to_string(), parser: ResponseParser::new() })
    }

    /// The time from the first request to the last byte.
    fn page(&mut self, documents: &[u32]) -> Result<Duration, PageError> {
        let begin = Instant::now();
        documents.iter().try_for_each(|size| self.document(*size, begin + PAGE_LIMIT))?;
        Ok(begin.elapsed())
    }

    fn document(&mut self, size: u32, deadline: Instant) -> Result<(), PageError> {
        let request = RequestBuilder::get(&*self.host, format!("/{size}"))
            .encode()
            .map_err(io::Error::other)?;
        self.parser.expect(Method::Get);
        self.stream.write_all(&request)?;
        let mut buffer = [0; READ_SIZE];
        while Instant::now() < deadline {
            let read = self.stream.read(&mut buffer)?;
            if read == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            let mut arrived = &buffer[..read];
            while let Some(event) = self.parser.advance(&mut arrived)? {
                let ResponseEvent::End(response) = event else { continue };
                let (status, content) = (response.head.status, response.content);
                let complete = status == 200 && content == u64::from(size);
                return complete.then_some(()).ok_or(PageError::Document { size, status, content });
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut).into())
    }
}

/// Enough for quartiles, and few enough that both pages take the server of 1996 less than three seconds.
const PAGES: usize = 9;

/// A page of three stalls takes 0.13 s; one that takes so long never comes.
const PAGE_LIMIT: Duration = Duration::from_secs(5);

/// More than the largest document.
const READ_SIZE: usize = 16 * 1024;

//! What a page costs an ordinary client: one kept connection of the kernel's own sockets, one request
//! after the other.
//!
//! This is an application, not a probe: it takes the kernel's MSS, windows and acknowledgements as
//! they come, because it has to suffer what a browser or a service would suffer.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use ackwise_http::{Method, RequestBuilder, ResponseError, ResponseEvent, ResponseParser};
use serde::Serialize;

use crate::card::BuiltIn;

/// What pages of one set of documents cost at one server.
#[derive(Clone, Debug, Serialize)]
pub struct PageTimes {
    /// Which server served them.
    pub server: BuiltIn,
    /// The sizes of the documents, in bytes, in the order of the requests.
    pub documents: Vec<u32>,
    /// How many pages were timed, after one to warm up.
    pub pages: usize,
    /// The median time of a page, in milliseconds.
    pub median_ms: f64,
    /// The lower and the upper quartile, in milliseconds.
    pub quartiles_ms: [f64; 2],
    /// Why these figures are not to be trusted, if there is a reason.
    pub doubt: Option<String>,
}

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
    Ok(PageTimes::of(server, documents, times?))
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

impl PageTimes {
    fn of(server: BuiltIn, documents: &[u32], mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let [low, median_ms, high] = [1, 2, 3].map(|quarter| quartile_ms(&times, quarter));
        let spread = high - low;
        let doubt = (spread > 1.0 && spread > median_ms / 2.0).then(|| {
            format!(
                "the middle half of the page times spreads over {spread:.1} ms around {median_ms:.1} ms; repeat on an idle machine"
            )
        });
        let documents = documents.to_vec();
        let quartiles_ms = [low, high];
        Self { server, documents, pages: times.len(), median_ms, quartiles_ms, doubt }
    }
}

/// The `quarter`-th quartile of `sorted`, between its neighbours where it falls between two.
fn quartile_ms(sorted: &[Duration], quarter: usize) -> f64 {
    let at = |index: usize| sorted.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let quarters = sorted.len().saturating_sub(1) * quarter;
    let (below, rest) = (quarters / 4, quarters % 4);
    let above = if rest == 0 { below } else { below + 1 };
    at(below) + (at(above) - at(below)) * [0.0, 0.25, 0.5, 0.75][rest]
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

/// Enough for quartiles, and few enough that the server of 1996 takes two seconds.
const PAGES: usize = 15;

/// A page of three stalls takes 0.13 s; one that takes so long never comes.
const PAGE_LIMIT: Duration = Duration::from_secs(5);

/// More than the largest document.
const READ_SIZE: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_fall_between_their_neighbours() {
        let times: Vec<_> = [10, 20, 30, 40, 50, 60].map(Duration::from_millis).into();
        let quartiles = [1, 2, 3].map(|quarter| quartile_ms(&times, quarter).round());
        assert_eq!(quartiles, [23.0, 35.0, 48.0]);
        assert_eq!(quartile_ms(&[], 2), 0.0);
        assert_eq!(quartile_ms(&times[..1], 3), 10.0);
    }

    #[test]
    fn a_wide_spread_is_doubted_aloud() {
        let times = |millis: [u64; 4]| millis.map(Duration::from_millis).to_vec();
        let of = |millis| PageTimes::of(BuiltIn::Fixed, &[500], times(millis)).doubt;
        assert_eq!(of([130, 131, 132, 133]), None);
        assert!(of([1, 1, 9, 40]).is_some());
    }
}

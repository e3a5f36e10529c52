//! One connection of a page, without I/O: requests out, complete exchanges in.

use std::time::Duration;

use ackwise_http::{
    ConnectionOption, Method, Persistence, Response,
    client::{ClientConnection, ClientEvent},
    getweb::{Entry, IndexParser},
};

use crate::generator::Failure;

/// A connection, and what is outstanding on it.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// The user and the connection's number in its page; `None` if it only has to close.
    pub(super) owner: Option<(usize, u32)>,
    /// When a connection without an owner is reset.
    pub(super) deadline: Duration,
    /// Requests that the transport has not taken yet.
    pub(super) unsent: Vec<u8>,
    /// Whether CLIENT_CLOSE is among them, and the client's FIN follows.
    pub(super) closes_after: bool,
    /// Whether no response follows: the server closes, or was asked to.
    pub(super) ends: bool,
    /// Whether the server was asked to close after the last response.
    asked_to_close: bool,
    http: ClientConnection<Outstanding>,
}

/// A request without its response.
#[derive(Clone, Debug)]
pub(super) struct Outstanding {
    /// Bytes of content, if the request says how many.
    expected: Option<u64>,
    /// Whether a step of the plan is complete with its response.
    pub(super) completes: bool,
    /// Whether the status of its response is an error.
    is_error: bool,
    index: Index,
}

/// What is known of the index of a GETWEB's response.
#[derive(Clone, Debug)]
enum Index {
    /// Another method has none.
    None,
    Reading(IndexParser),
    /// Complete: files, and bytes left of them.
    Read {
        files: u32,
        left: u64,
    },
}

/// A complete response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Exchanged {
    /// Files in it.
    pub(super) files: u32,
    /// Bytes of content.
    pub(super) content: u64,
    /// Whether a step of the plan is complete.
    pub(super) completes: bool,
    /// Why it is not what was asked for.
    pub(super) failure: Option<Failure>,
}

impl Outstanding {
    pub(super) const fn get(expected: Option<u64>) -> Self {
        Self { expected, completes: false, is_error: false, index: Index::None }
    }

    pub(super) const fn getweb() -> Self {
        let index = Index::Reading(IndexParser::new());
        Self { expected: None, completes: false, is_error: false, index }
    }

    const fn method(&self) -> Method {
        match self.index {
            Index::None => Method::Get,
            Index::Reading(_) | Index::Read { .. } => Method::GetWeb,
        }
    }

    /// Takes content of the response.
    fn take(&mut self, mut content: &[u8]) -> Result<(), Failure> {
        if self.is_error {
            return Ok(());
        }
        if let Index::Reading(parser) = &mut self.index
            && let Some(entries) = parser.advance(&mut content).map_err(|_| Failure::Index)?
        {
            self.index = Index::of(&entries);
        }
        if let Index::Read { left, .. } = &mut self.index {
            *left = left.checked_sub(content.len() as u64).ok_or(Failure::Index)?;
        }
        Ok(())
    }

    /// Files in a complete response, or what is wrong with it.
    fn judge(&self, content: u64) -> Result<u32, Failure> {
        match (&self.index, self.expected) {
            (Index::None, Some(expected)) if expected != content => {
                Err(Failure::Size { found: content, expected })
            }
            (Index::None, _) => Ok(1),
            (Index::Read { files, left: 0 }, _) => Ok(*files),
            (Index::Read { .. } | Index::Reading(_), _) => Err(Failure::Index),
        }
    }
}

impl Index {
    fn of(entries: &[Entry]) -> Self {
        let sent = entries.iter().filter_map(|entry| entry.length);
        let files = u32::try_from(sent.clone().count()).unwrap_or(u32::MAX);
        // The parser has checked the sum.
        Self::Read { files, left: sent.sum() }
    }
}

impl Connection {
    pub(super) fn new(owner: (usize, u32)) -> Self {
        Self {
            owner: Some(owner),
            deadline: Duration::MAX,
            unsent: Vec::new(),
            closes_after: false,
            ends: false,
            asked_to_close: false,
            http: ClientConnection::new(),
        }
    }

    /// Sends one step of the plan: `requests` for what `outstanding` says.
    pub(super) fn ask(
        &mut self,
        requests: &[u8],
        mut outstanding: Vec<Outstanding>,
        option: ConnectionOption,
    ) {
        self.asked_to_close |= option == ConnectionOption::Close;
        if let Some(last) = outstanding.last_mut() {
            last.completes = true;
        }
        for one in outstanding {
            self.http.ask(one.method(), one);
        }
        self.unsent.extend_from_slice(requests);
    }

    /// Takes received bytes up to the end of the next response. `None`: all of them.
    ///
    /// # Errors
    ///
    /// If they are no response to what was asked for.
    pub(super) fn handle_bytes(&mut self, bytes: &mut &[u8]) -> Result<Option<Exchanged>, Failure> {
        if self.ends {
            *bytes = &[];
            return Ok(None); // After the last response.
        }
        while let Some(event) = self.http.advance(bytes)? {
            match event {
                ClientEvent::Head(request, head) => request.is_error = head.status >= FIRST_ERROR,
                ClientEvent::Content(request, content) => request.take(content)?,
                ClientEvent::End(request, response) => {
                    return Ok(Some(self.complete(&request, &response)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The server has closed its half, which may be the end of a response.
    ///
    /// # Errors
    ///
    /// If it closed within a response, or with requests outstanding.
    pub(super) fn handle_end(&mut self) -> Result<Option<Exchanged>, Failure> {
        self.ends = true;
        let ended = self.http.handle_close()?;
        Ok(ended.map(|(request, response)| self.complete(&request, &response)))
    }

    /// Whether requests are without a response.
    pub(super) fn is_waiting(&self) -> bool {
        self.http.outstanding() > 0
    }

    fn complete(&mut self, asked: &Outstanding, response: &Response) -> Exchanged {
        self.ends |= response.head.persistence != Persistence::Persists;
        self.ends |= self.asked_to_close && !self.is_waiting();
        let (status, content) = (response.head.status, response.content);
        let judged = match status {
            FIRST_ERROR.. => Err(Failure::Status(status)),
            _ => asked.judge(content),
        };
        Exchanged {
            files: judged.unwrap_or(0),
            content,
            completes: asked.completes,
            failure: judged.err(),
        }
    }
}

const FIRST_ERROR: u16 = 400;

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(asked: Outstanding, response: &str, piece: usize) -> Result<Exchanged, Failure> {
        let mut connection = Connection::new((0, 0));
        connection.ask(b"", vec![asked], ConnectionOption::KeepAlive);
        for mut bytes in response.as_bytes().chunks(piece) {
            if let Some(exchanged) = connection.handle_bytes(&mut bytes)? {
                return Ok(exchanged);
            }
        }
        connection.handle_end().map(|exchanged| exchanged.expect("it was asked for"))
    }

    fn response(content: &str) -> String {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{content}", content.len())
    }

    #[test]
    fn a_getweb_has_the_files_and_bytes_of_its_index_in_pieces_of_any_size() {
        let index = "3 /p text/html\r\n- /a image/gif\r\n2 /b image/gif\r\n\r\n";
        for piece in [1, 7, 1000] {
            let whole = response(&format!("{index}abcde"));
            let exchanged = exchange(Outstanding::getweb(), &whole, piece).unwrap();
            let Exchanged { files, failure, completes, .. } = exchanged;
            assert_eq!((files, failure, completes), (2, None, true));
            let long = response(&format!("{index}abcdef"));
            assert_eq!(exchange(Outstanding::getweb(), &long, piece), Err(Failure::Index));
            let short = response(&format!("{index}abcd"));
            let short = exchange(Outstanding::getweb(), &short, piece).unwrap();
            assert_eq!(short.failure, Some(Failure::Index));
        }
        let none = exchange(Outstanding::getweb(), &response("no index\r\n\r\n"), 1000);
        assert_eq!(none, Err(Failure::Index));
    }

    #[test]
    fn an_index_of_more_files_than_a_page_has_or_without_an_end_is_refused() {
        let endless = "1 /a image/gif\r\n".repeat(1 << 16);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", u64::MAX / 2);
        let hostile = format!("{head}{endless}");
        assert_eq!(exchange(Outstanding::getweb(), &hostile, 1000), Err(Failure::Index));
    }

    #[test]
    fn an_error_page_is_no_index_and_a_wrong_size_is_a_failure() {
        let refusal = "HTTP/1.1 501 Not Implemented\r\nContent-Length: 4\r\n\r\nwhat";
        let failure = |exchanged: Exchanged| exchanged.failure;
        let refused = exchange(Outstanding::getweb(), refusal, 3).map(failure);
        assert_eq!(refused, Ok(Some(Failure::Status(501))));
        let sized = exchange(Outstanding::get(Some(5)), &response("abcd"), 9).map(failure);
        assert_eq!(sized, Ok(Some(Failure::Size { found: 4, expected: 5 })));
        let whole = exchange(Outstanding::get(None), &response("abcd"), 9).map(failure);
        assert_eq!(whole, Ok(None));
    }

    #[test]
    fn bytes_that_nobody_asked_for_are_a_failure() {
        let mut connection = Connection::new((0, 0));
        assert_eq!(connection.handle_bytes(&mut &b"HTTP"[..]), Err(Failure::Unasked));
        let cut = exchange(Outstanding::get(None), "HTTP/1.1 200 OK\r\nContent-Le", 9);
        assert!(matches!(cut, Err(Failure::ShortBody(_))), "{cut:?}");
        assert_eq!(exchange(Outstanding::get(None), "", 9), Err(Failure::Closed));
    }
}

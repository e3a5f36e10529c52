//! What is requested for a page: its files, and the bytes of each request.

use std::ops::Range;

use ackwise_http::{
    ConnectionOption, EncodeError, Method, client_close, getweb,
    page::{Page, Transfer},
};

use super::connection::Outstanding;
use crate::generator::Ask;

/// A page of one server: the primary file first, then the inline files in the page's order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WebPage {
    /// The server's name, with its port if that is not the default.
    pub host: String,
    /// Further fields of every request, in their order.
    pub fields: Vec<(String, String)>,
    /// The files; the first one is the primary.
    pub files: Vec<PageFile>,
}

/// A file of a page.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageFile {
    /// Path and query.
    pub target: String,
    /// Bytes of its content; `None`: not known before it arrives.
    pub length: Option<u64>,
    /// How a request says which length is wanted.
    pub sizing: Sizing,
}

/// How a request for a file says which length is wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sizing {
    /// Not at all: the whole file, whatever its length.
    Whole,
    /// In the place of `{bytes}` in the path.
    InPath,
    /// By a range from the file's beginning.
    Range,
}

impl PageFile {
    /// A whole file.
    #[must_use]
    pub fn whole(target: impl Into<String>) -> Self {
        Self { target: target.into(), length: None, sizing: Sizing::Whole }
    }

    /// A file of `length` bytes at `target`: in the place of `{bytes}` in its path, or a range.
    #[must_use]
    pub fn sized(target: impl Into<String>, length: u64) -> Self {
        let target = target.into();
        let sizing = if target.contains(PLACE) { Sizing::InPath } else { Sizing::Range };
        Self { target, length: Some(length), sizing }
    }
}

impl WebPage {
    /// Checks that everything is allowed in a request.
    pub(super) fn check(&self) -> Result<(), EncodeError> {
        client_close::encode(&self.host)?;
        for file in &self.files {
            self.ask(file, file.length).encode(Some(ConnectionOption::Close))?;
        }
        self.getweb(&vec![true; self.files.len()]).map(drop)
    }

    /// The lengths, as a plan has them; 0 where a length is not known, so that nothing is rounded.
    pub(super) fn lengths(&self) -> Page {
        let mut lengths = self.files.iter().map(|file| file.length.unwrap_or(0));
        Page { primary: lengths.next().unwrap_or(0), inlines: lengths.collect() }
    }

    /// Appends the requests for the files in `files` to `bytes`, and what their responses will be to
    /// `outstanding`. `length` is that of a single file, as the plan says.
    pub(super) fn encode(
        &self,
        wanted: &Wanted<'_>,
        bytes: &mut Vec<u8>,
        outstanding: &mut Vec<Outstanding>,
    ) -> Result<(), EncodeError> {
        let Wanted { transfer, files, length, option, cached } = wanted;
        if *transfer == Transfer::GetWeb {
            bytes.extend(self.getweb(cached)?);
            outstanding.push(Outstanding::getweb());
            return Ok(());
        }
        let single = files.len() == 1;
        let asked = files.clone().filter(|file| single || !cached[*file]);
        for file in asked {
            let known = self.files[file].length.map(|known| if single { *length } else { known });
            let ask = self.ask(&self.files[file], known);
            let expected = ask.expected;
            let closes = (*option == ConnectionOption::Close).then_some(ConnectionOption::Close);
            bytes.extend(ask.encode(closes)?);
            outstanding.push(Outstanding::get(expected));
        }
        Ok(())
    }

    fn ask(&self, file: &PageFile, length: Option<u64>) -> Ask {
        let mut ask = Ask {
            fields: self.fields.clone(),
            ..Ask::get(self.host.as_str(), file.target.as_str())
        };
        match (file.sizing, length) {
            (Sizing::InPath, Some(length)) => {
                ask.target = ask.target.replace(PLACE, &length.to_string());
                ask.expected = Some(length);
            }
            (Sizing::Range, Some(length)) => {
                // RFC 9110, section 14.1.2: an int-range has at least one byte.
                let bytes = length.max(1);
                ask.fields.push(("Range".to_owned(), format!("bytes=0-{}", bytes - 1)));
                ask.expected = Some(bytes);
            }
            (Sizing::Whole, _) | (_, None) => {}
        }
        ask
    }

    fn getweb(&self, cached: &[bool]) -> Result<Vec<u8>, EncodeError> {
        let held = self.files.iter().zip(cached).filter(|(_, cached)| **cached);
        let have = getweb::have(held.map(|(file, _)| file.target.as_str()));
        let mut ask = Ask {
            method: Method::GetWeb,
            fields: self.fields.clone(),
            ..Ask::get(self.host.as_str(), self.files[0].target.as_str())
        };
        ask.fields.extend(have.map(|have| (getweb::HAVE.to_owned(), have)));
        ask.encode(None)
    }
}

/// What one step of a plan requests.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'c> {
    pub(super) transfer: Transfer,
    pub(super) files: Range<usize>,
    /// Length of the response as planned: for segment-filled, less than that of the primary.
    pub(super) length: u64,
    pub(super) option: ConnectionOption,
    /// Of each file, whether the client has it.
    pub(super) cached: &'c [bool],
}

/// The place of a file's size in the path.
pub(crate) const PLACE: &str = "{bytes}";

#[cfg(test)]
mod tests {
    use super::*;

    fn page(files: Vec<PageFile>) -> WebPage {
        WebPage { host: "h".to_owned(), fields: Vec::new(), files }
    }

    fn requests(page: &WebPage, transfer: Transfer, files: Range<usize>) -> String {
        let (mut bytes, mut outstanding) = (Vec::new(), Vec::new());
        let option = ConnectionOption::KeepAlive;
        let cached = vec![false; page.files.len() - 1].into_iter().chain([true]);
        let cached: Vec<_> = cached.collect();
        let wanted = Wanted { transfer, files, length: 1460, option, cached: &cached };
        page.encode(&wanted, &mut bytes, &mut outstanding).unwrap();
        let text = String::from_utf8(bytes).unwrap().replace("\r\n", "|");
        assert_eq!(text.matches("Host").count(), outstanding.len());
        text
    }

    #[test]
    fn a_step_is_as_many_requests_as_it_has_files_that_are_not_cached() {
        let segment = std::num::NonZeroU32::new(1460).unwrap();
        let filled = Transfer::SegmentFilled { segment };
        let sized = page([2000, 300, 7, 9].map(|size| PageFile::sized("/{bytes}", size)).into());
        assert_eq!(requests(&sized, filled, 0..1), "GET /1460 HTTP/1.1|Host: h||");
        let both = "GET /300 HTTP/1.1|Host: h||GET /7 HTTP/1.1|Host: h||";
        assert_eq!(requests(&sized, filled, 1..4), both);

        let ranges = page(vec![PageFile::sized("/a", 5), PageFile::sized("/a", 0)]);
        let first = requests(&ranges, Transfer::Serial, 1..2);
        assert_eq!(first, "GET /a HTTP/1.1|Host: h|Range: bytes=0-1459||");

        let named = page(vec![PageFile::whole("/p"), PageFile::whole("/a"), PageFile::whole("/b")]);
        let one = "GETWEB /p HTTP/1.1|Host: h|Getweb-Have: /b||";
        assert_eq!(requests(&named, Transfer::GetWeb, 0..3), one);
    }
}

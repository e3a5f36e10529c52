//! Answers GETWEB: the page and the files that it shows, as one content ([`ackwise_http::getweb`]).
//!
//! Each file is in it once, by whatever names the page shows it, and together they have at most [`CONTENT_LIMIT`] bytes.

use std::{collections::BTreeSet, sync::Arc};

use ackwise_http::{
    Request, ResponseBuilder,
    getweb::{CONTENT_LIMIT, Entry, MEDIA_TYPE, encode_index, held},
};

use crate::{
    Document, Documents,
    answered::Answered,
    content::{Content, Part},
    site::{Site, Stored},
};

/// Answers a GETWEB. What the page shows but this server does not have is left out; so is what does not fit.
pub(crate) fn answer(
    request: &Request,
    documents: &Documents,
    start: impl Fn(u16) -> ResponseBuilder,
) -> Answered {
    match documents {
        Documents::Generated => match Document::at_path(request.path()) {
            Some(document) if document.length() <= CONTENT_LIMIT => {
                let entry = Entry {
                    path: request.path().to_owned(),
                    length: Some(document.length()),
                    media_type: "text/plain".to_owned(),
                };
                let part = Part::Generated { document, range: 0..document.length() };
                together(&[entry], vec![part], start)
            }
            Some(_) => too_large(start),
            None => Answered::empty(start(404)),
        },
        Documents::Stored(site) => match site.find(request.path()) {
            Some(page) => page_of_files(request, site, &page, start),
            None => Answered::empty(start(404)),
        },
    }
}

fn page_of_files(
    request: &Request,
    site: &Arc<Site>,
    page: &Stored,
    start: impl Fn(u16) -> ResponseBuilder,
) -> Answered {
    let found = site.files_of(page);
    let held = held(&request.fields);
    let shown = found.paths.iter().filter_map(|path| site.find(path));
    let (mut entries, mut parts) = (Vec::new(), Vec::new());
    let (mut seen, mut left) = (BTreeSet::new(), CONTENT_LIMIT);
    for stored in std::iter::once(page.clone()).chain(shown) {
        // The same file has many paths: with queries, percent-encoded, by links.
        if !seen.insert(stored.identity) {
            continue;
        }
        let is_held = held.contains(stored.path.as_str());
        if !is_held {
            let Some(rest) = left.checked_sub(stored.length) else {
                if entries.is_empty() {
                    return Answered { parsed_in: found.parsed_in, ..too_large(start) };
                }
                continue;
            };
            left = rest;
        }
        entries.push(Entry {
            path: stored.path.clone(),
            length: (!is_held).then_some(stored.length),
            media_type: stored.media_type.clone(),
        });
        if !is_held {
            let range = 0..stored.length;
            parts.push(Part::Stored { site: Arc::clone(site), stored, range });
        }
    }
    Answered { parsed_in: found.parsed_in, ..together(&entries, parts, start) }
}

/// The page itself does not fit: the client asks for the files one by one.
fn too_large(start: impl Fn(u16) -> ResponseBuilder) -> Answered {
    Answered::empty(start(501))
}

/// One content: the index of `entries`, then `files`.
fn together(
    entries: &[Entry],
    files: Vec<Part>,
    start: impl Fn(u16) -> ResponseBuilder,
) -> Answered {
    match encode_index(entries) {
        Ok(index) => {
            let content = Content::of([Part::Memory(index.into())].into_iter().chain(files));
            Answered::with(start(200).field("Content-Type", MEDIA_TYPE), content)
        }
        // Paths of thousands of bytes: the client asks for the files one by one.
        Err(_) => Answered::empty(start(501)),
    }
}

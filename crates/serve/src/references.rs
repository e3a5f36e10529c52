//! Which files an HTML page names: those that a browser loads with the page, and those that its links lead to.
//!
//! Only files on the page's own server, and no more than [`FILES_LIMIT`]. Not here: what a script or a style sheet adds.

use std::{collections::BTreeSet, convert::Infallible};

use ackwise_http::getweb::{self, FILES_LIMIT};
use fluent_uri::{Uri, UriRef};
use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

/// Which references of a page are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wanted {
    /// What is loaded with the page: images, scripts, style sheets.
    Shown,
    /// That, and what links and frames lead to.
    Linked,
}

/// The paths of the files that `html` names, in order, each once and without the page itself. `page` is its URL.
///
/// ```
/// use ackwise_serve::references::{Wanted, of_page};
///
/// let html = b"<img src=a.gif><a href=b.html>b</a><img src=//elsewhere/c.gif>";
/// assert_eq!(of_page(html, "http://h/d/", Wanted::Shown), ["/d/a.gif"]);
/// assert_eq!(of_page(html, "http://h/d/", Wanted::Linked), ["/d/a.gif", "/d/b.html"]);
/// ```
#[must_use]
pub fn of_page(html: &[u8], page: &str, wanted: Wanted) -> Vec<String> {
    let Ok(page_at) = Uri::parse(page.to_owned()) else { return Vec::new() };
    let mut base = page_at.clone();
    let mut seen: BTreeSet<_> = path_of(page, &page_at, &page_at).into_iter().collect();
    let mut paths = Vec::new();
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true); // The content of a script is no HTML.
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let token: Result<Token<()>, Infallible> = token;
        let Ok(Token::StartTag(tag)) = token else { continue };
        if tag.name.as_slice() == b"base" {
            base = attribute(&tag, "href").and_then(|href| resolve(&href, &base)).unwrap_or(base);
            continue;
        }
        let linked = if wanted == Wanted::Linked { linked_by(&tag) } else { &[] };
        for name in shown_by(&tag).iter().chain(linked) {
            let path =
                attribute(&tag, name).and_then(|reference| path_of(&reference, &base, &page_at));
            let Some(path) = path else { continue };
            if paths.len() + 1 == FILES_LIMIT {
                return paths;
            }
            if seen.insert(path.clone()) {
                paths.push(path);
            }
        }
    }
    paths
}

/// The attributes of `tag` that name another page.
fn linked_by(tag: &StartTag<()>) -> &'static [&'static str] {
    match tag.name.as_slice() {
        b"a" | b"area" => &["href"],
        b"link" if !is_loaded(tag) => &["href"],
        b"iframe" | b"frame" => &["src"],
        _ => &[],
    }
}

/// The attributes of `tag` that name a file which is loaded with the page, not when the user follows a link.
fn shown_by(tag: &StartTag<()>) -> &'static [&'static str] {
    match tag.name.as_slice() {
        b"img" | b"script" | b"embed" | b"audio" | b"source" | b"track" => &["src"],
        b"input"
            if attribute(tag, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("image")) =>
        {
            &["src"]
        }
        b"video" => &["src", "poster"],
        b"link" if is_loaded(tag) => &["href"],
        b"body" | b"table" | b"td" | b"th" => &["background"], // HTML 4.01 and its time.
        _ => &[],
    }
}

/// Whether a `link` is loaded with the page.
fn is_loaded(tag: &StartTag<()>) -> bool {
    let relation = attribute(tag, "rel").unwrap_or_default().to_ascii_lowercase();
    relation
        .split_ascii_whitespace()
        .any(|word| matches!(word, "stylesheet" | "icon" | "preload" | "modulepreload"))
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    let text = std::str::from_utf8(value).ok()?;
    Some(text.trim_matches(|c: char| c.is_ascii_whitespace()).to_owned())
}

/// The path, with its query, of `reference`, if it is on the page's server.
fn path_of(reference: &str, base: &Uri<String>, page: &Uri<String>) -> Option<String> {
    let target = resolve(reference, base)?;
    let same = target.scheme() == page.scheme() && server(&target) == server(page);
    let path = match target.query() {
        Some(query) => format!("{}?{query}", target.path()),
        None => target.path().as_str().to_owned(),
    };
    (same && getweb::is_path(&path) && path.len() <= PATH_LIMIT).then_some(path)
}

/// Host and port. RFC 3986, section 3.2.2: "the host subcomponent is case-insensitive".
fn server(uri: &Uri<String>) -> Option<(String, Option<&str>)> {
    let authority = uri.authority()?;
    let usual = if uri.scheme().as_str() == "https" { "443" } else { "80" };
    let port = authority.port().map(|port| port.as_str()).filter(|port| !port.is_empty());
    Some((authority.host().to_ascii_lowercase(), port.filter(|port| *port != usual)))
}

/// RFC 3986, section 5.2. `None` if `reference` is none: it is left to the browser to mend.
fn resolve(reference: &str, base: &Uri<String>) -> Option<Uri<String>> {
    let reference = UriRef::parse(reference).ok()?;
    let mut target = reference.resolve_against(base).ok()?;
    target.set_fragment(None);
    Some(target)
}

/// Longest path of a file (our choice: longer than what browsers are known to send).
const PATH_LIMIT: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_shows_is_found_and_what_it_links_to_is_not() {
        let table: &[(&str, &[&str])] = &[
            ("<img src=a.gif>", &["/d/a.gif"]),
            ("<IMG SRC='a.gif'><img src=\"a.gif\"><img src=p.html>", &["/d/a.gif"]),
            ("<img src=' /a.gif#x '>", &["/a.gif"]),
            ("<img src=../../../a.gif>", &["/a.gif"]),
            ("<img src='a.gif?v=1&amp;w=2'>", &["/d/a.gif?v=1&w=2"]),
            ("<img src=http://elsewhere/a.gif><img src=//elsewhere/a.gif>", &[]),
            ("<img src='data:image/gif;base64,AAAA'><img src='javascript:1'>", &[]),
            ("<img src='a b.gif'><img src='http://['>", &[]),
            ("<img src=''>", &[]),
            ("<a href=a.html><form action=b><iframe src=c.html>", &[]),
            (
                "<link rel=stylesheet href=s.css><link rel='shortcut icon' href=i.ico>",
                &["/d/s.css", "/d/i.ico"],
            ),
            ("<link rel=next href=n.html><link href=x>", &[]),
            ("<script src=s.js></script><script>'<img src=no.gif>'</script>", &["/d/s.js"]),
            ("<!-- <img src=no.gif> --><style>img src=no.gif</style>", &[]),
            ("<input type=IMAGE src=b.gif><input src=no.gif>", &["/d/b.gif"]),
            (
                "<video src=v.mp4 poster=p.jpg></video><body background=bg.gif>",
                &["/d/v.mp4", "/d/p.jpg", "/d/bg.gif"],
            ),
            ("<base href=/e/><img src=a.gif>", &["/e/a.gif"]),
            ("<base href=http://elsewhere/><img src=a.gif>", &[]),
            ("<img src=a.gif", &[]),
            ("<img src=HTTP://H/b.gif><img src=http://h:80/c.gif>", &["/b.gif", "/c.gif"]),
            ("<img src=https://h:80/s.gif><img src=http://h:8080/p.gif>", &[]),
        ];
        for (html, expected) in table {
            let found = of_page(html.as_bytes(), "http://h:80/d/p.html", Wanted::Shown);
            assert_eq!(found, *expected, "{html}");
        }
    }

    #[test]
    fn a_million_links_are_as_many_as_a_page_may_have() {
        let html: String = (0..1_000_000).map(|file| format!("<img src={file}>")).collect();
        for wanted in [Wanted::Shown, Wanted::Linked] {
            assert_eq!(of_page(html.as_bytes(), "http://h/p", wanted).len(), FILES_LIMIT - 1);
        }
    }
}

//! Finds a larger page on the same server: several checks need a response that is larger than windows, and a
//! user who names one page often has none at hand. What an HTML page refers to is asked for, a few bytes each.

use ackwise_http::ConnectionOption;
use ackwise_net::Target;
use ackwise_serve::references::{self, Wanted};

use super::{Follow, Options};
use crate::{
    card::{CheckId, Role},
    http_client::{Client, Exchange, Page},
    server::Facts,
    stack::Receiver,
};

/// Looks for a larger page if a check needs one, and says which was found.
pub(super) fn find_larger(
    client: &mut Client,
    facts: &mut Facts,
    page: &Target,
    options: &Options,
) -> Option<String> {
    let wanted = CheckId::of(Role::Server)
        .filter(|id| id.of_server().is_some_and(|it| it.needs_large))
        .any(|id| options.wants(id));
    let enough = facts.largest().1 >= LARGE;
    if !wanted || enough || !facts.asks_by_get || !is_html(&facts.first) {
        return None;
    }
    if options.template.has_credentials() && options.follow == Follow::Public {
        return None;
    }
    let mut best: Option<(Page, u64)> = None;
    for path in linked(&facts.first.beginning, page).into_iter().take(CANDIDATES) {
        let candidate = Page::whole(path);
        let Some(bytes) = size(&candidate, client) else { continue };
        let largest = best.as_ref().map_or_else(|| facts.largest().1, |(_, bytes)| *bytes);
        if bytes > largest {
            best = Some((candidate, bytes));
        }
        if bytes >= LARGE {
            break;
        }
    }
    let (found, bytes) = best?;
    let note = format!(
        "used {} ({bytes} bytes), linked from the page, for checks that need a larger response",
        found.path
    );
    facts.linked = Some((found, bytes));
    Some(note)
}

/// Bytes of `candidate`, as its head says; the content is not read on.
fn size(candidate: &Page, client: &mut Client) -> Option<u64> {
    let request = client.ask_for(candidate, Some(ConnectionOption::Close)).ok()?;
    let mut connection = client.open(Receiver::ETHERNET).ok()?;
    let answer = connection.request_beginning(&request, 0, &mut client.budget).ok()?;
    (answer.head.status == 200).then_some(answer.head.content_length).flatten()
}

fn is_html(first: &Exchange) -> bool {
    let kind = first.head.fields.text("Content-Type").unwrap_or_default();
    kind.to_ascii_lowercase().starts_with("text/html")
}

/// Paths on the server of `page` that `html` refers to, those that are likely to be large first, each once.
fn linked(html: &[u8], page: &Target) -> Vec<String> {
    let mut paths = references::of_page(html, &page.to_string(), Wanted::Linked);
    // What follows a question mark may be an order: `/logout?now`.
    paths.retain(|path| Options::parse_path(path).is_ok() && !path.contains('?'));
    paths.sort_by_key(|path| !is_likely_large(path));
    paths
}

fn is_likely_large(path: &str) -> bool {
    let file = path.split('?').next().unwrap_or_default();
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
}

/// Scripts, images, fonts, documents.
const EXTENSIONS: [&str; 14] = [
    "js", "css", "png", "jpg", "jpeg", "gif", "webp", "svg", "woff", "woff2", "pdf", "mp4", "zip",
    "wasm",
];

/// Our choices: enough for every check, few requests, and bounds on what a page may cost.
const LARGE: u64 = 256 << 10;
const CANDIDATES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_refers_to_on_its_own_server_is_found() {
        let page: Target = "http://h:8080/dir/index.html".parse().unwrap();
        let html = br#"<a href="about.html">x</a> <a href='mailto:a@b'>m</a> <img src="data:x,y">
            <script src="/app.js?v=1&amp;w=2"></script> <img src='pics/a.PNG'>
            <a href="https://h:8080/tls"></a> <a href="//other/x.js"></a> <a href="about.html#top">
            <a href=unquoted> <a href="index.html"> <a href="a b">"#;
        let found = ["/dir/pics/a.PNG", "/dir/about.html", "/dir/unquoted"];
        assert_eq!(linked(html, &page), found);
        assert!(linked(b"src=\"", &page).is_empty() && linked(b"src=", &page).is_empty());
    }

    #[test]
    fn a_hostile_page_costs_little() {
        let page: Target = "http://h/".parse().unwrap();
        let html = "<a href=\"x\">".repeat(100_000);
        assert_eq!(linked(html.as_bytes(), &page), ["/x"]);
    }
}

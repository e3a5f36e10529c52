//! What a run asks for: the pages of a list in turn, or the files of a published workload.

use ackwise_http::{Method, page::Page};

use super::{LoadError, LoadOptions, Workload};
use crate::generator::{Ask, ContentCheck, Plan};

/// The messages of all connections.
///
/// # Errors
///
/// If the targets are on different servers, or something is not allowed in a request.
pub(super) fn plan(options: &LoadOptions) -> Result<Plan, LoadError> {
    check_servers(options)?;
    let authority = options.target.authority();
    let asks = match &options.workload {
        None => {
            let targets = std::iter::once(&options.target).chain(&options.more);
            targets.map(|target| ask(options, target.path())).collect()
        }
        Some(workload) => files(options, workload)?,
    };
    let plan = Plan::of(&asks, &authority, options.close())?;
    Ok(match options.check {
        ContentCheck::Any => plan,
        _ => plan.hashed(),
    })
}

/// Checks that all targets are on one server.
pub(super) fn check_servers(options: &LoadOptions) -> Result<(), LoadError> {
    let authority = options.target.authority();
    for other in &options.more {
        if (other.authority(), other.is_secure()) != (authority.clone(), options.target.is_secure())
        {
            return Err(LoadError::Options(format!(
                "cannot request {other}: it is on another server than {} (expected the same scheme, host and port)",
                options.target
            )));
        }
    }
    Ok(())
}

fn ask(options: &LoadOptions, path: &str) -> Ask {
    Ask {
        method: options.method,
        fields: options.fields.clone(),
        content: options.content.clone(),
        ..Ask::get(options.target.authority(), path)
    }
}

/// The files of [`PAGES`] pages, in the order in which a browser would request them.
fn files(options: &LoadOptions, workload: &Workload) -> Result<Vec<Ask>, LoadError> {
    let refuse = |why: &str| Err(LoadError::Options(why.to_owned()));
    if !options.more.is_empty() {
        return refuse("cannot use --workload with a list of URLs (expected one URL)");
    }
    if options.method != Method::Get || options.content.is_some() {
        return refuse("cannot use --workload with another method or content (expected GET)");
    }
    let mut asks = Vec::new();
    for page in pages(workload) {
        let sizes = std::iter::once(page.primary).chain(page.inlines);
        asks.extend(sizes.map(|size| Ask { ends_document: false, ..file(options, size) }));
        if let Some(last) = asks.last_mut() {
            last.ends_document = true;
        }
    }
    Ok(asks)
}

/// The pages of a workload.
pub(super) fn pages(workload: &Workload) -> Vec<Page> {
    let mut stream = workload.seed.named(STREAM).stream();
    (0..PAGES).map(|_| workload.pages.draw(&mut stream)).collect()
}

/// A request that is answered with `size` bytes.
fn file(options: &LoadOptions, size: u64) -> Ask {
    let path = options.target.path();
    let mut asked = ask(options, &path.replace(PLACE, &size.to_string()));
    if !path.contains(PLACE) {
        // RFC 9110, section 14.1.2: an int-range has at least one byte.
        let last = size.max(1) - 1;
        asked.fields.push(("Range".to_owned(), format!("bytes=0-{last}")));
        asked.expected = Some(size.max(1));
    } else {
        asked.expected = Some(size);
    }
    asked
}

/// Number of pages drawn, after which the first one is requested again (our choice: enough for the
/// distributions, and a few megabytes of requests).
const PAGES: usize = 2048;
const STREAM: &str = "load pages";
/// The place of a file's size in the path.
const PLACE: &str = "{bytes}";

#[cfg(test)]
mod tests {
    use ackwise_http::workload::Pages;
    use ackwise_link::Seed;

    use super::*;

    fn options(url: &str) -> LoadOptions {
        LoadOptions::new(url.parse().unwrap())
    }

    fn workload(pages: Pages) -> Workload {
        Workload { pages, seed: Seed(1) }
    }

    #[test]
    fn a_page_of_a_workload_is_its_files_by_size() {
        let asks = files(&options("http://h/{bytes}"), &workload(Pages::HEIDEMANN)).unwrap();
        let paths: Vec<_> = asks.iter().take(4).map(|ask| ask.target.as_str()).collect();
        assert_eq!(paths, ["/6651", "/3883", "/1866", "/6651"]);
        assert_eq!(asks[0].expected, Some(6651));
        let ends: Vec<_> = asks.iter().take(6).map(|ask| ask.ends_document).collect();
        assert_eq!(ends, [false, false, true, false, false, true]);
        let asks = files(&options("http://h/big"), &workload(Pages::HEIDEMANN)).unwrap();
        assert_eq!(asks[1].fields, [("Range".to_owned(), "bytes=0-3882".to_owned())]);
        assert_eq!((asks[1].target.as_str(), asks[1].expected), ("/big", Some(3883)));
    }

    /// WebSTONE 2 requests 35 %, 50 %, 14 %, 0.9 % and 0.1 % of its files: within five standard
    /// errors of 2,048 draws.
    #[test]
    fn a_drawn_workload_has_its_published_shares() {
        let asks = files(&options("http://h/big"), &workload(Pages::WEBSTONE_2)).unwrap();
        for (size, share) in [(500, 0.35), (5_000, 0.5), (50_000, 0.14), (500_000, 0.009)] {
            let found = asks.iter().filter(|ask| ask.expected == Some(size)).count() as f64;
            let (all, error) = (asks.len() as f64, (share * (1.0 - share) / 2048.0_f64).sqrt());
            assert!((found / all - share).abs() < 5.0 * error, "{size}: {found} of {all}");
        }
        let again = files(&options("http://h/big"), &workload(Pages::WEBSTONE_2)).unwrap();
        assert_eq!(asks, again, "the same seed");
    }

    #[test]
    fn other_servers_are_refused() {
        let refused = |more: &str| {
            let more = vec![more.parse().unwrap()];
            plan(&LoadOptions { more, ..options("http://h:8080/") }).err().map(|it| it.to_string())
        };
        assert_eq!(refused("http://h:8080/b?c"), None);
        for other in ["http://h/", "https://h:8080/", "http://i:8080/"] {
            assert!(refused(other).unwrap().contains("another server"), "{other}");
        }
    }
}

//! The options that say what is requested, named as in `check` and curl.

use std::{fs, io::Read, path::PathBuf};

use ackwise_check::run::asked::{parse_field, parse_method, parse_user};
use ackwise_http::{Method, workload::Pages};
use ackwise_link::Seed;
use ackwise_load::{ContentCheck, LoadOptions, Workload};
use ackwise_net::Target;
use clap::Args;

use crate::cli::{check::asked::content, outcome::Failure};

#[derive(Args, Debug)]
pub(super) struct Asked {
    /// Add this field to all requests, or replace Host (repeatable)
    #[arg(help_heading = HEADING)]
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse_field)]
    fields: Vec<(String, String)>,

    /// Use this method: GET, POST, PUT, DELETE or OPTIONS [default: GET, with --data POST]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(short = 'X', long, value_name = "METHOD", value_parser = parse_method)]
    method: Option<Method>,

    /// Send TEXT as the content of all requests; @FILE sends a file
    ///
    /// The content is sent as a form unless --header gives a Content-Type.
    #[arg(help_heading = HEADING)]
    #[arg(short, long, value_name = "TEXT")]
    data: Option<String>,

    /// Log in with this name and password (HTTP Basic)
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(short, long, value_name = "NAME:PASSWORD", value_parser = parse_user)]
    user: Option<(String, String)>,

    /// Request URL and the URLs or paths in FILE in turn; FILE has one per line, all on the same server
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    urls: Option<PathBuf>,

    /// Request files with the sizes of a published workload
    ///
    /// Replaces {bytes} in the path of URL with the size of each file. Without {bytes}, requests a range of that
    /// size from the beginning of URL. NAME is heidemann, mah, gurkan, surge,
    /// surge-requested, webstone-2 or specweb96.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "NAME", value_parser = workload)]
    workload: Option<Pages>,

    /// Require the content of all responses to be the `same`, or to have this SHA-256 (hexadecimal)
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "same|SHA256", value_parser = content_check)]
    expect_content: Option<ContentCheck>,
}

impl Asked {
    pub(super) fn apply(&self, options: &mut LoadOptions, seed: Seed) -> Result<(), Failure> {
        options.content = self.data.as_deref().map(content).transpose()?;
        let default = if options.content.is_some() { Method::Post } else { Method::Get };
        options.method = self.method.unwrap_or(default);
        options.fields = self.fields.clone();
        options.fields.extend(self.user.clone());
        let mut names = options.fields.iter().map(|(name, _)| name);
        if options.content.is_some() && !names.any(|name| name.eq_ignore_ascii_case(CONTENT_TYPE)) {
            options.fields.push((CONTENT_TYPE.to_owned(), FORM.to_owned()));
        }
        options.workload = self.workload.clone().map(|pages| Workload { pages, seed });
        options.check = self.expect_content.unwrap_or_default();
        options.more = self.more(&options.target)?;
        Ok(())
    }

    /// The pages of `--urls`.
    fn more(&self, target: &Target) -> Result<Vec<Target>, Failure> {
        let Some(path) = &self.urls else { return Ok(Vec::new()) };
        let refuse = |why: String| Failure::Usage(format!("--urls {}: {why}", path.display()));
        let mut text = String::new();
        let file = fs::File::open(path).map_err(|error| refuse(error.to_string()))?;
        let read = file.take(MOST_BYTES + 1).read_to_string(&mut text);
        if read.map_err(|error| refuse(error.to_string()))? as u64 > MOST_BYTES {
            return Err(refuse(format!("larger than {MOST_BYTES} bytes")));
        }
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
        let targets: Result<Vec<Target>, _> = lines
            .map(|(number, line)| {
                target.join(line).map_err(|error| refuse(format!("line {}: {error}", number + 1)))
            })
            .collect();
        match targets? {
            none if none.is_empty() => {
                Err(refuse("the file has no URL (expected one on each line)".to_owned()))
            }
            some => Ok(some),
        }
    }
}

fn workload(name: &str) -> Result<Pages, String> {
    Pages::published(name).ok_or_else(|| {
        let names: Vec<_> = Pages::published_names().collect();
        format!("unknown workload (expected one of {})", names.join(", "))
    })
}

fn content_check(text: &str) -> Result<ContentCheck, String> {
    if text == "same" {
        return Ok(ContentCheck::Same);
    }
    let digit = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let digits: Option<Vec<u8>> = (0..32).map(digit).collect();
    let is_hexadecimal = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hash = digits.filter(|_| is_hexadecimal).and_then(|digits| digits.try_into().ok());
    hash.map(ContentCheck::Sha256)
        .ok_or_else(|| "expected `same`, or a SHA-256 of 64 hexadecimal digits".to_owned())
}

/// Over these options in `--help`.
const HEADING: &str = "Requests";
const CONTENT_TYPE: &str = "Content-Type";
/// What curl says of content that nobody describes.
const FORM: &str = "application/x-www-form-urlencoded";
/// Maximum size of the list of URLs (our choice): some ten thousand.
const MOST_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_the_same_or_has_a_hash() {
        assert_eq!(content_check("same"), Ok(ContentCheck::Same));
        let hash = "0a".repeat(32);
        assert_eq!(content_check(&hash), Ok(ContentCheck::Sha256([10; 32])));
        for text in ["", "0a", &format!("{hash}00"), &"é".repeat(32), &"+a".repeat(32)] {
            assert!(content_check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_workload_has_a_published_name() {
        assert_eq!(workload("surge"), Ok(Pages::SURGE));
        assert!(workload("slurp").unwrap_err().contains("webstone-2"));
    }
}

//! The options that say what is asked for, as in curl where curl has them.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use ackwise_check::{
    Follow, HttpChoice, Options, Target,
    card::Protocol,
    http_client::Template,
    run::asked::{Family, Resolve, parse_field, parse_method, parse_user, parse_version},
};
use ackwise_http::Method;
use clap::Args;

use crate::cli::{number::whole, outcome::Failure, quantity};

#[derive(Args, Debug)]
pub(super) struct Asked {
    /// Check only this version of HTTP: 1.1 or 2 [default: all that the server (with --listen, the client) offers]
    ///
    /// With TLS, HTTP/2 is detected by ALPN. Without TLS, it is detected by the server's answer to the HTTP/2 preface or,
    /// with --listen, by the client's preface.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "VERSION", requires = "subject", value_parser = parse_version)]
    http: Option<Protocol>,

    /// Add this field to all requests, or replace Host, User-Agent or Accept (repeatable)
    #[arg(help_heading = HEADING)]
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", requires = "url")]
    #[arg(value_parser = parse_field)]
    fields: Vec<(String, String)>,

    /// Use this method: GET, POST, PUT, DELETE or OPTIONS [default: GET, with --data POST]
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(short = 'X', long, value_name = "METHOD", requires = "url", value_parser = parse_method)]
    method: Option<Method>,

    /// Send TEXT as the content of all requests; @FILE sends a file
    ///
    /// The content is sent as a form unless --header gives a Content-Type. Each check repeats the request (see
    /// --max-requests), so use one that is safe to repeat.
    #[arg(help_heading = HEADING)]
    #[arg(short, long, value_name = "TEXT", requires = "url")]
    data: Option<String>,

    /// Call this gRPC method; --data is the message, encoded in protobuf
    ///
    /// Uses HTTP/2, over TLS or with prior knowledge. Without --data, sends an empty message.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "/SERVICE/METHOD", requires = "url", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = HEALTH, value_parser = Options::parse_path)]
    #[arg(conflicts_with_all = ["http", "method", "paths"])]
    grpc: Option<String>,

    /// Also send requests in two writes: the head and the first SIZE of --data, then the rest
    ///
    /// Measures the delay for clients that use Nagle's algorithm (request-segments). With 0B, the first write is the
    /// head alone.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "SIZE", requires = "data", value_parser = quantity::bytes(0..=MOST_CONTENT))]
    data_split: Option<u64>,

    /// Log in with this name and password (HTTP Basic)
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(short, long, value_name = "NAME:PASSWORD", requires = "url", value_parser = parse_user)]
    user: Option<(String, String)>,

    /// Request linked pages even with --user or --header, which may contain credentials
    ///
    /// Some checks need a larger page than the given one, and look for it in its links.
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, requires = "url")]
    follow: bool,

    /// Exit with 2, without checking, if a page has another status
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "STATUS", requires = "url")]
    #[arg(value_parser = whole(200..=599_u16))]
    pub(super) expect: Option<u16>,

    /// Connect to ADDRESS instead of what HOST resolves to (repeatable)
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(long, value_name = "HOST:PORT:ADDRESS", requires = "url", value_parser = Resolve::parse)]
    pub(super) resolve: Vec<Resolve>,

    /// Use IPv4 only
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(short = '4', long, requires = "url", conflicts_with = "ipv6")]
    ipv4: bool,

    /// Use IPv6 only
    #[arg(help_heading = HEADING, hide_short_help = true)]
    #[arg(short = '6', long, requires = "url")]
    ipv6: bool,
}

impl Asked {
    pub(super) fn http(&self) -> HttpChoice {
        let grpc = self.grpc.as_ref().map(|_| Protocol::Http2);
        grpc.or(self.http).map_or(HttpChoice::Offered, HttpChoice::Only)
    }

    /// What is asked for at `url`.
    pub(super) fn target(&self, url: &Target) -> Result<Target, Failure> {
        let Some(method) = &self.grpc else { return Ok(url.clone()) };
        if url.path() != "/" {
            let path = url.path();
            return Err(Failure::Usage(format!(
                "--grpc: the URL has the path {path} (expected the method in --grpc=/SERVICE/METHOD alone)"
            )));
        }
        url.join(method).map_err(|error| Failure::Usage(format!("--grpc: {error}")))
    }

    pub(super) fn follow(&self) -> Follow {
        if self.follow { Follow::All } else { Follow::Public }
    }

    pub(super) fn family(&self) -> Option<Family> {
        match (self.ipv4, self.ipv6) {
            (true, _) => Some(Family::Ipv4),
            (_, true) => Some(Family::Ipv6),
            _ => None,
        }
    }

    pub(super) fn template(&self) -> Result<Template, Failure> {
        let content = self.data.as_deref().map(content).transpose()?;
        let split = self.data_split.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
        let beyond = |content: &Vec<u8>| split.is_some_and(|split| split >= content.len());
        if let Some(content) = content.as_ref().filter(|content| beyond(content)) {
            let size = content.len();
            let least = "expected fewer bytes than --data has, so that a rest is left";
            return Err(Failure::Usage(format!("--data-split: --data has {size} bytes ({least})")));
        }
        let default = if content.is_some() { Method::Post } else { Method::Get };
        let mut fields = self.fields.clone();
        fields.extend(self.user.clone());
        if self.grpc.is_some() {
            let call = Template::grpc(&content.unwrap_or_default(), fields);
            // The prefix goes with the head.
            return Ok(Template { split: split.map(|split| split + GRPC_PREFIX), ..call });
        }
        let has_type = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("Content-Type"));
        if content.is_some() && !has_type {
            fields.push(("Content-Type".to_owned(), FORM.to_owned()));
        }
        Ok(Template { method: self.method.unwrap_or(default), fields, content, split })
    }
}

/// gRPC's health checking protocol, which takes an empty message.
const HEALTH: &str = "/grpc.health.v1.Health/Check";

/// What stands before a message of gRPC.
const GRPC_PREFIX: usize = 5;

/// What `--data` stands for.
pub(in crate::cli) fn content(given: &str) -> Result<Vec<u8>, Failure> {
    let Some(path) = given.strip_prefix('@').map(Path::new) else {
        return Ok(given.as_bytes().to_vec());
    };
    let read = || {
        let mut content = Vec::new();
        fs::File::open(path)?.take(MOST_CONTENT + 1).read_to_end(&mut content)?;
        if content.len() as u64 > MOST_CONTENT {
            let problem = format!("larger than {MOST_CONTENT} bytes, the maximum of --data");
            return Err(io::Error::other(problem));
        }
        Ok(content)
    };
    read()
        .map_err(|error| Failure::Usage(format!("--data: cannot read {}: {error}", path.display())))
}

/// Over these options in `--help`.
const HEADING: &str = "Requests";

/// What curl says of content that nobody describes.
const FORM: &str = "application/x-www-form-urlencoded";

/// Content is sent with each of up to thousands of requests. Our choice.
const MOST_CONTENT: u64 = 1 << 20;

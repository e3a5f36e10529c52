//! What is known about a server before the probes ask their questions, and what they tell each
//! other.

use std::time::Duration;

use crate::check::conversation::{Ask, Client, Exchange, Trouble};

/// A server, as far as it is known.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The page that was asked for, and how it came the first time.
    pub page: Page,
    /// Its answer.
    pub first: Exchange,
    /// Further paths to try, by the user's word.
    pub paths: Vec<String>,
    /// The quickest handshake: about one round trip.
    pub rtt: Duration,
    /// Slow probes are wanted.
    pub thorough: bool,
    /// A head was seen to arrive in a segment of its own.
    pub split_seen: Option<Exchange>,
}

/// Something to ask for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Page {
    /// The path.
    pub path: String,
    /// Only its first octets.
    pub first_octets: Option<u64>,
}

impl Page {
    /// All of `path`.
    #[must_use]
    pub fn whole(path: impl Into<String>) -> Self {
        Self { path: path.into(), first_octets: None }
    }

    /// The request for it.
    ///
    /// # Errors
    ///
    /// If the path cannot stand in a request.
    pub fn ask(&self, client: &Client) -> Result<Ask, Trouble> {
        match self.first_octets {
            None => client.get(&self.path),
            Some(octets) => {
                client.get_range(&self.path, &format!("bytes=0-{}", octets.saturating_sub(1)))
            }
        }
    }
}

impl Facts {
    /// What is known after `first` came for `page`.
    #[must_use]
    pub fn new(page: Page, first: Exchange, rtt: Duration) -> Self {
        let split_seen = first.has_split_head().then(|| first.clone());
        Self { page, first, paths: Vec::new(), rtt, thorough: false, split_seen }
    }

    /// The `Server` field.
    #[must_use]
    pub fn software(&self) -> Option<&str> {
        self.first.head.fields.text("Server")
    }

    /// Whether the server offers ranges of the page.
    #[must_use]
    pub fn takes_ranges(&self) -> bool {
        self.first.head.status == 200
            && self.first.head.fields.list("Accept-Ranges").any(|unit| unit == b"bytes")
    }

    /// Responses of several sizes: the page, the user's paths, and ranges of the page.
    #[must_use]
    pub fn sizes(&self) -> Vec<Page> {
        let length = self.first.head.content_length.unwrap_or(self.first.content);
        let ranges = RANGES.iter().filter(|octets| self.takes_ranges() && **octets < length);
        std::iter::once(self.page.clone())
            .chain(self.paths.iter().map(Page::whole))
            .chain(
                ranges.map(|octets| Page {
                    path: self.page.path.clone(),
                    first_octets: Some(*octets),
                }),
            )
            .take(SIZES_LIMIT)
            .collect()
    }

    /// Takes note if the head of `exchange` came in a segment of its own.
    pub fn note_split(&mut self, exchange: &Exchange) {
        if self.split_seen.is_none() && exchange.has_split_head() {
            self.split_seen = Some(exchange.clone());
        }
    }
}

/// Sizes that stall under Nagle's algorithm: one small segment, and just above the 4,096 and 8,192
/// octets that servers write at once.
const RANGES: [u64; 3] = [200, 4_100, 8_900];

/// No more sizes than these are tried.
const SIZES_LIMIT: usize = 8;

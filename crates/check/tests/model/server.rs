//! The server's program: requests in, writes out. The plan of the writes is the one that the built-in
//! server carries out too.

use std::{ops::Range, time::Duration};

use ackwise_http::{
    Behaviour, Method, RangeRequest, Request, RequestParser, ResponseBuilder, Version,
    behaviour::{Pipelining, RequestPieces},
};

use super::stack::Model;

/// One write of a response.
pub(crate) struct Write {
    /// So long after the one before.
    pub(crate) after: Duration,
    pub(crate) bytes: Vec<u8>,
    pub(crate) corked: bool,
    /// Then the connection closes.
    pub(crate) closes: bool,
}

/// The program's side of one connection.
pub(crate) struct Program {
    behaviour: Behaviour,
    page: u64,
    varies: bool,
    ranges: bool,
    pattern: Option<(&'static [u64], Duration)>,
    answered: u64,
    parser: RequestParser,
}

impl Program {
    pub(crate) fn new(model: &Model) -> Self {
        let Model { behaviour, page, varies, ranges, pattern, .. } = *model;
        Self { behaviour, page, varies, ranges, pattern, answered: 0, parser: RequestParser::new() }
    }

    /// What it writes when `bytes` arrive.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Vec<Write> {
        let continued = self.parser.is_within_request();
        let mut answers = Vec::new();
        while let Ok(Some(request)) = self.parser.advance(&mut bytes) {
            answers.push(self.answer(&request));
        }
        match self.behaviour.pipelining {
            Pipelining::FirstOnly => answers.truncate(1),
            Pipelining::Reversed => answers.reverse(),
            _ => {}
        }
        let mut writes: Vec<Write> = answers.into_iter().flatten().collect();
        if let (true, RequestPieces::LookedAtAfter(pause), Some(first)) =
            (continued, self.behaviour.request_pieces, writes.first_mut())
        {
            first.after += pause;
        }
        writes
    }

    fn answer(&mut self, request: &Request) -> Vec<Write> {
        assert_eq!(request.method, Method::Get, "the checks only GET");
        let range = request.fields.text("Range");
        let part = range.map_or(RangeRequest::Whole, |range| RangeRequest::parse(range, self.page));
        let (status, body) = match part {
            RangeRequest::Part(part) => (206, part),
            _ => (200, 0..self.page),
        };
        self.answered += 1;
        let shift = if self.varies { self.answered } else { 0 };
        let closes = request.connection.close;
        let length = body.end - body.start;
        let mut head = ResponseBuilder::new(Version::Http11, status)
            .field("Server", "model")
            .field("Accept-Ranges", if self.ranges { "bytes" } else { "none" })
            .field("Content-Length", length.to_string());
        if closes {
            head = head.field("Connection", "close");
        }
        let head = head.encode().expect("these fields are fit for a head");
        let letter = |at| b'a' + u8::try_from((body.start + at + shift) % 26).expect("26");
        let write = |after, of_head: &[u8], of_body: Range<u64>, corked| {
            let bytes = of_head.iter().copied().chain(of_body.map(letter)).collect();
            Write { after, bytes, corked, closes: false }
        };
        let mut writes: Vec<Write> = match self.pattern {
            None => self
                .behaviour
                .writes(head.len(), length)
                .map(|it| write(it.after, &head[it.head], it.body, it.corked))
                .collect(),
            Some((sizes, gap)) => {
                let mut from = 0;
                let next = |(number, size): (usize, &u64)| {
                    let (of_head, after) = match number {
                        0 => (&head[..], Duration::ZERO),
                        _ => (&[][..], gap),
                    };
                    from += size;
                    write(after, of_head, from - size..from, false)
                };
                sizes.iter().enumerate().map(next).collect()
            }
        };
        if let Some(last) = writes.last_mut() {
            last.closes = closes;
        }
        writes
    }
}

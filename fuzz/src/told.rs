//! What a conversation may tell of its exchanges.

use std::collections::BTreeMap;

use ackwise_capture::conversation::{Event, ExchangeId, ExchangeReader};

/// How far each exchange was told.
#[derive(Debug, Default)]
pub struct Told(BTreeMap<ExchangeId, Phase>);

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Phase {
    Asking,
    Answering,
    Over,
}

impl Told {
    /// Takes what a conversation tells; the numbers are of the bytes seen to the server and to the client.
    ///
    /// # Panics
    ///
    /// If an exchange does not begin once, end once, and at bytes that were sent.
    pub fn drain(&mut self, conversation: &mut ExchangeReader, [asked, answered]: [u64; 2]) {
        let Self(told) = self;
    while let Some(event) = conversation.poll_event() {
            let (exchange, from, to) = match event {
                Event::RequestBegins { exchange, position, .. } => {
                    assert!(position < asked, "{event:?} of {asked}");
                    assert_eq!(exchange.0 as usize, told.len());
                    told.insert(exchange, Phase::Asking);
                    continue;
                }
                Event::RequestEnds { exchange, position, .. } => {
                    assert!(position <= asked, "{event:?} of {asked}");
                    let phase = told[&exchange];
                    (exchange, &[Phase::Asking, Phase::Answering][..], phase)
                }
                Event::ResponseBegins { exchange, position, .. } => {
                    assert!(position < answered, "{event:?} of {answered}");
                    (exchange, &[Phase::Asking][..], Phase::Answering)
                }
                Event::ResponseEnds { exchange, position, .. } => {
                    assert!(position <= answered, "{event:?} of {answered}");
                    (exchange, &[Phase::Answering][..], Phase::Over)
                }
                Event::Abandoned { exchange, .. }
            | Event::Lost { exchange }
            | Event::Unjudged { exchange } => {
                    (exchange, &[Phase::Asking, Phase::Answering][..], Phase::Over)
                }
                _ => continue,
            };
            let phase = told.insert(exchange, to).expect("it has begun");
            assert!(from.contains(&phase), "{event:?} while {phase:?}");
        }
    }

    /// Nothing more comes.
    ///
    /// # Panics
    ///
    /// If an exchange has no end.
    pub fn finish(self) {
        for (exchange, phase) in self.0 {
            assert_eq!(phase, Phase::Over, "{exchange:?} has no end");
        }
    }
}

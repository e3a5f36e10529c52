//! What the applications of a run have written, to be found again in its capture.

use std::{collections::BTreeMap, path::Path};

use ackwise_sim::{
    Observer, Scenario,
    observe::{Message, Side},
    run,
};
use ackwise_tcp::Instant;

use crate::tool;

/// All that applications have written.
#[derive(Debug, Default)]
pub(crate) struct Messages(Vec<Message>);

impl Observer for Messages {
    fn on_message(&mut self, message: &Message, _now: Instant) {
        self.0.push(*message);
    }
}

impl Messages {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let mut messages = Self::default();
        run(scenario, &mut messages).unwrap();
        assert!(!messages.0.is_empty());
        messages
    }

    pub(crate) fn from(&self, side: Side) -> impl Iterator<Item = &Message> {
        self.0.iter().filter(move |message| message.from == side)
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        self.from(Side::Client).map(|message| format!("/{}", message.file)).collect()
    }

    /// The streams that tshark puts together have our messages at our positions, and zeros behind
    /// their heads.
    pub(crate) fn stand_in(
        &self,
        numbers: &BTreeMap<u64, usize>,
        file: &Path,
    ) -> Result<(), String> {
        let count = numbers.values().max().map_or(0, |last| last + 1);
        let streams = tool::streams(count, file)?;
        for message in &self.0 {
            let stream = &streams[numbers[&(49_152 + message.connection.0)]];
            let stream = &stream[message.from as usize];
            let start = usize::try_from(message.offset).unwrap();
            let head_end = start + message.head as usize;
            let end = head_end + usize::try_from(message.body).unwrap();
            let first_line = match message.from {
                Side::Client => format!("GET /{} HTTP/1.1\r\n", message.file),
                Side::Server => "HTTP/1.1 200 OK\r\n".to_owned(),
            };
            let head = &stream[start..head_end];
            assert!(head.starts_with(first_line.as_bytes()), "{message:?} in {file:?}");
            assert!(head.ends_with(b"\r\n\r\n"), "{message:?} in {file:?}");
            assert!(stream[head_end..end].iter().all(|&byte| byte == 0), "{message:?}");
        }
        Ok(())
    }
}

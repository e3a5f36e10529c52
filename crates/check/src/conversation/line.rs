//! A connection that is used again as long as the server allows, and replaced when it does not.

use super::{Ask, Client, Conversation, Exchange, Trouble};
use crate::stack::{Acknowledge, Receiver};

/// Exchanges one after the other, on one connection if possible.
pub struct Line {
    receiver: Receiver,
    current: Option<Conversation>,
}

impl Line {
    /// A line whose connections are opened as `receiver` says.
    #[must_use]
    pub fn new(receiver: Receiver) -> Self {
        Self { receiver, current: None }
    }

    /// The connection in use.
    #[must_use]
    pub fn current(&self) -> Option<&Conversation> {
        self.current.as_ref()
    }

    /// Asks, and acknowledges the answer as `acknowledge` says.
    ///
    /// # Errors
    ///
    /// If there is no answer; also not on a new connection, where a used one was closed instead of
    /// answering (RFC 9112, section 9.3.1, tells clients to retry then).
    pub fn ask(
        &mut self,
        ask: &Ask,
        acknowledge: Acknowledge,
        client: &mut Client,
    ) -> Result<Exchange, Trouble> {
        let used = self.current.take_if(|conversation| conversation.takes_more());
        if let Some(mut conversation) = used {
            conversation.set_acknowledge(acknowledge);
            match conversation.ask(ask, &mut client.budget) {
                Err(Trouble::ClosedUnanswered(_) | Trouble::Transport(_)) => {}
                answer => {
                    self.current = Some(conversation);
                    return answer;
                }
            }
        }
        let mut conversation = client.open(Receiver { acknowledge, ..self.receiver })?;
        let answer = conversation.ask(ask, &mut client.budget);
        self.current = Some(conversation);
        answer
    }
}

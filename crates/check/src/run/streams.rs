//! Streams of events: what is reached of a server is a stream that has begun.

use ackwise_cause::Software;
use ackwise_net::Target;

use super::{
    CheckError, HttpChoice, Options, Progress,
    reach::{Answered, Unreached, behind_redirects},
    versions::Versions,
};
use crate::{
    card::{Card, CheckId, Protocol, Role},
    checks::judged::Judged,
    http_client::{Client, Page},
    stack::Stack,
    stream::{Begun, Wanted},
};

/// A stream that has begun.
pub(super) struct BegunStream {
    client: Client,
    answered: Answered<Begun>,
    /// The software that answers, if HTTP/1.1 has shown it.
    software: Option<Software>,
}

impl Versions<'_> {
    /// The first reading, in HTTP/1.1 if the server speaks it.
    pub(super) fn begin_stream(
        &self,
        stack: Box<dyn Stack>,
        ready: &mut dyn FnMut(),
    ) -> Result<BegunStream, CheckError> {
        let begun = self.reach_by(begin, stack)?;
        ready();
        Ok(begun)
    }

    /// The card of what has begun, and that of HTTP/2, if the server offers it as well.
    pub(super) fn check_streams(
        &self,
        begun: BegunStream,
        progress: &mut dyn FnMut(Progress),
    ) -> Vec<Card> {
        let (protocol, software) = (begun.client.protocol(), begun.software);
        let (card, stack) = self.stream_card(begun, progress);
        let mut cards = vec![card];
        if protocol == Protocol::Http1 && self.options.http == HttpChoice::Offered {
            match self.begin_offered(stack) {
                Ok(Some(begun)) => {
                    let begun = BegunStream { software, ..begun };
                    cards.push(self.stream_card(begun, progress).0);
                }
                Ok(None) => {}
                Err(error) => {
                    cards[0].notes.push(format!("HTTP/2 is offered, but was not checked: {error}"));
                }
            }
        }
        cards
    }

    fn begin_offered(&self, stack: Box<dyn Stack>) -> Result<Option<BegunStream>, CheckError> {
        let Some(client) = self.offered(stack)? else { return Ok(None) };
        let begun = begin(client, self.target, self.options);
        begun.map(Some).map_err(|unreached| unreached.error)
    }

    fn stream_card(
        &self,
        begun: BegunStream,
        progress: &mut dyn FnMut(Progress),
    ) -> (Card, Box<dyn Stack>) {
        let BegunStream { mut client, answered, software } = begun;
        let Answered { page, answer, notes } = answered;
        progress(Progress::Checking { id: CheckId::StreamHeld, done: 0, of: 1 });
        let (status, grpc_status) =
            (answer.response().head.status, answer.response().grpc_status());
        let page = Page::whole(page.path());
        let ids = CheckId::of(Role::Stream).filter(|id| self.options.wants(*id));
        let findings = match answer.has_events() {
            Err(none) => ids.map(|id| Judged::from(none.clone()).into_finding(id, None)).collect(),
            Ok(()) => {
                let wanted = Wanted {
                    delays: self.options.wants(CheckId::StreamHeld),
                    gzip: self.options.wants(CheckId::StreamGzip),
                };
                let readings = answer.read_on(&mut client, &page, software, wanted);
                let judged = ids.filter_map(|id| Some((id, id.of_stream()?(&readings))));
                judged.map(|(id, judged)| judged.into_finding(id, None)).collect()
            }
        };
        let card = Card {
            target: self.target.to_string(),
            protocol: client.protocol(),
            role: Role::Stream,
            server: None,
            status: Some(status),
            grpc_status: grpc_status.map(|status| status.0),
            stack: client.stack_name(),
            server_congestion: None,
            notes: self.note.iter().cloned().chain(notes).collect(),
            emulated: None,
            findings,
        };
        (card, client.into_stack())
    }
}

fn begin(
    mut client: Client,
    target: &Target,
    options: &Options,
) -> Result<BegunStream, Box<Unreached>> {
    let read = |client: &mut Client, page: &Target| Begun::read(client, &Page::whole(page.path()));
    match behind_redirects(&mut client, target, options, read, Begun::response) {
        Ok(answered) => {
            let fields = answered.answer.response().head.fields.iter();
            let is_http1 = client.protocol() == Protocol::Http1;
            let software = Software::recognise(fields).filter(|_| is_http1);
            Ok(BegunStream { client, answered, software })
        }
        Err(error) => Err(Box::new(Unreached { error, client })),
    }
}

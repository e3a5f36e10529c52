//! A client asks for one document after the other. What it asks for does not depend on the proxy.

use std::{collections::BTreeMap, time::Duration};

use ackwise_tcp::{Instant, State as TcpState};

use super::{Event, Known, START, World};
use crate::{
    connection::Owner,
    measure::{Document, Progress, Response, Unfinished},
    observe::{ConnectionId, Observer, Side},
    requests::{Requests, Wanted},
    scenario::{Application, NodeId, Persistence, Proxy, Route},
    user::{Ask, PAUSE_AFTER_FAILURE, Repeat},
    world::open::NotOpened,
};

/// A client.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(super) proxy: u32,
    application: u32,
    /// Its place in the proxy's list.
    pub(super) number: u32,
    host: NodeId,
    requests: Requests,
    pub(super) request: Wanted,
    /// Since when it waits for the document; `None` while it thinks.
    since: Option<Instant>,
    due: Instant,
    /// Its connections, by server; 0 is the proxy where there is one.
    connections: BTreeMap<u32, Known>,
    /// The proxy has rejected the request.
    pub(super) rejected: bool,
    has_document: bool,
}

impl Client {
    /// Whether it belongs to this application.
    pub(super) const fn is_of(&self, application: u32) -> bool {
        self.application == application
    }

    /// How far it came.
    pub(super) const fn progress(&self) -> Progress {
        match (self.has_document, self.since) {
            (true, _) => Progress::Documents,
            (false, Some(_)) => Progress::NoDocument,
            (false, None) => Progress::NotStarted,
        }
    }

    /// What it still waits for.
    pub(super) fn unfinished(&self, now: Instant) -> Option<Unfinished> {
        let waited = now.since(self.since?);
        Some(Unfinished { bytes: self.request.size, waited })
    }
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_clients(
        &mut self,
        proxy: u32,
        application: &'a Application,
        setting: &'a Proxy,
    ) {
        for (number, &host) in (0..).zip(&setting.clients) {
            let mut requests = Requests::new(self.scenario.seed, &application.name, number);
            let due = START + requests.begins(application, setting);
            let client = u32::try_from(self.proxy_clients.len()).expect("counted in 32 bits");
            self.proxy_clients.push(Client {
                proxy,
                application: self.proxies[proxy as usize].application,
                number,
                host,
                requests,
                request: Wanted::default(),
                since: None,
                due,
                connections: BTreeMap::new(),
                rejected: false,
                has_document: false,
            });
            self.unfinished += 1;
            self.queue.push(due, Event::ProxyClient(client));
        }
    }

    /// A client has thought, or tries again.
    pub(in crate::world) fn proxy_client_is_due(&mut self, client: u32) {
        let state = &self.proxy_clients[client as usize];
        let (proxy, due, begins) = (state.proxy, state.due, state.since.is_none());
        if due != self.now {
            return;
        }
        if begins {
            let setting = self.proxy(proxy);
            let state = &mut self.proxy_clients[client as usize];
            state.request = state.requests.next(setting);
            state.since = Some(self.now);
            let application = self.proxies[proxy as usize].application;
            self.collector.proxied(application, |it| it.requests += 1);
        }
        self.client_asks(client);
    }

    fn client_asks(&mut self, client: u32) {
        let state = &self.proxy_clients[client as usize];
        let (proxy, request, host) = (state.proxy, state.request, state.host);
        let setting = self.proxy(proxy);
        let (key, owner, to) = match setting.route {
            Route::Proxy => (0, Owner::Downward { client }, self.proxy_host(proxy)),
            Route::Direct => {
                let to = setting.servers[request.server as usize];
                (request.server, Owner::Direct { client }, to)
            }
        };
        let known = self.proxy_clients[client as usize].connections.get(&key).copied();
        let known = known.filter(|&known| self.is_usable(known, setting));
        let application = self.proxies[proxy as usize].application;
        let place = match known {
            Some((place, _)) => place,
            None => match self.open_between(owner, application, [host, to], |_| {}) {
                Ok(place) => place,
                Err(NotOpened::NoMemory) => return self.client_pauses(client, PAUSE_AFTER_FAILURE),
                Err(NotOpened::RunEnds) => return,
            },
        };
        let id = self.connections[place as usize].id;
        self.proxy_clients[client as usize].connections.insert(key, (place, id));
        self.ask(place, Ask::of_a_file(setting.request.0, request.size));
    }

    /// Whether a client's connection takes another request.
    fn is_usable(&mut self, (place, id): Known, proxy: &Proxy) -> bool {
        let Persistence::Timeouts { server, .. } = proxy.persistence else { return false };
        let now = self.now;
        let Some(connection) = self.connections.get(place as usize).filter(|it| it.id == id) else {
            return false;
        };
        let open = [TcpState::SynSent, TcpState::Established];
        if !open.contains(&connection.end(Side::Client).endpoint.state())
            || connection.client.abandoned
        {
            return false;
        }
        let answered = connection.client.answered;
        // Only a direct connection has a timeout here: the proxy closes its own.
        if proxy.route == Route::Direct && answered <= now && now.since(answered) >= server {
            self.client_closes(place);
            return false;
        }
        true
    }

    fn client_pauses(&mut self, client: u32, span: Duration) {
        let state = &mut self.proxy_clients[client as usize];
        state.due = self.now + span;
        self.queue.push(state.due, Event::ProxyClient(client));
    }

    /// A client's answer has wholly arrived.
    pub(in crate::world) fn client_has_document(&mut self, client: u32, place: u32) {
        let state = &mut self.proxy_clients[client as usize];
        let Some(since) = state.since else { return };
        let (proxy, request, rejected) = (state.proxy, state.request, state.rejected);
        let number = state.number;
        let setting = self.proxy(proxy);
        let application = self.proxies[proxy as usize].application;
        if !rejected {
            let time = self.now.since(since);
            let (bytes, hit) = (request.size, request.hit && setting.route == Route::Proxy);
            self.proxy_clients[client as usize].has_document = true;
            self.collector.document(application, Document { files: 1, bytes, time });
            self.collector.proxied(application, |it| {
                it.responses.push(Response { client: number, bytes, time, hit });
            });
        }
        if setting.route == Route::Direct && setting.persistence == Persistence::Off {
            self.client_closes(place);
        }
        self.client_thinks(client);
    }

    /// The request is over, whatever became of it.
    fn client_thinks(&mut self, client: u32) {
        let state = &mut self.proxy_clients[client as usize];
        let proxy = state.proxy;
        state.since = None;
        if std::mem::take(&mut state.rejected) {
            let application = self.proxies[proxy as usize].application;
            self.collector.proxied(application, |it| it.rejected += 1);
        }
        let setting = self.proxy(proxy);
        let span = self.proxy_clients[client as usize].requests.thinks(setting);
        self.client_pauses(client, span);
    }

    /// A client's connection is lost; its request is sent again, unless the proxy has rejected it.
    pub(in crate::world) fn client_lost_connection(
        &mut self,
        client: u32,
        id: ConnectionId,
        (asked, repeat): (u32, Repeat),
    ) {
        let state = &mut self.proxy_clients[client as usize];
        state.connections.retain(|_, known| known.1 != id);
        if asked == 0 || state.since.is_none() {
            return;
        }
        if state.rejected {
            return self.client_thinks(client);
        }
        let application = self.proxies[state.proxy as usize].application;
        self.collector.repeated(application, asked);
        match repeat {
            Repeat::AtOnce => self.client_asks(client),
            Repeat::AfterPause => self.client_pauses(client, PAUSE_AFTER_FAILURE),
        }
    }
}

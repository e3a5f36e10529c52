//! The server: answers requests in order, each by its behaviour's plan of writes.

use std::{
    io::{self, Read, Write},
    net::Shutdown,
    sync::Arc,
    time::{Duration, Instant},
};

use ackwise_http::behaviour::{
    Behaviour, Gather, KeepAlivePolicy, Nagle, Tail, Write as Planned, WritePlan,
};
use ackwise_sim::scenario::{ApplicationKind, BulkSender};
use ackwise_tcp::policy::HoldPolicy;
use socket2::Socket;

use super::{Due, Programs, TURNS, write::write};
use crate::{
    agreed::{Agreed, Exchange, Mail},
    settings,
};

/// A server's end of a connection.
#[derive(Debug)]
pub(super) struct ServerEnd {
    socket: Socket,
    agreed: Arc<Agreed>,
    received: u64,
    /// The writes that are left of the answer under way.
    plan: WritePlan,
    /// What it needs before the first of them, beside its think time.
    extra: Duration,
    /// Bytes that the send buffer had no room for yet.
    blocked: u64,
    thought: Option<Thought>,
    answers: u32,
    /// It has not been without work since it began its last answer.
    goes_on: bool,
    closing: Closing,
    /// When it closes if nothing is asked.
    idle_until: Option<Duration>,
    answered_to: u64,
}

/// A write that waits for the server to have thought.
#[derive(Clone, Copy, Debug)]
struct Thought {
    bytes: u64,
    corked: bool,
    due: Duration,
}

/// When the server closes; as the simulator's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Closing {
    No,
    PeerGone,
    Announced,
    /// It has sent its FIN.
    Closed,
}

impl<'a> Programs<'a> {
    pub(super) fn accept(&mut self, listener: u64) {
        loop {
            let Some(socket) = self.listeners.get(&listener) else { return };
            match socket.accept() {
                Ok((socket, peer)) => {
                    let agreed = peer.as_socket_ipv4().and_then(|peer| self.run.shared.take(peer));
                    // Nobody else can reach this network.
                    let Some(agreed) = agreed else { continue };
                    if let Err(error) = self.serve(socket, agreed) {
                        return self.fails(error);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The client gave up before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.fails(error),
            }
        }
    }

    fn serve(&mut self, socket: Socket, agreed: Arc<Agreed>) -> io::Result<()> {
        let behaviour = self.behaviour(agreed.application);
        let tcp = &self.run.groups[self.group].tcp;
        settings::configure_socket(&socket, tcp)?;
        socket.set_nonblocking(true)?;
        let held = behaviour.nagle == Nagle::On && tcp.policies.hold != HoldPolicy::Off;
        socket.set_tcp_nodelay(!held)?;
        if let Some(bytes) = behaviour.send_buffer {
            socket.set_send_buffer_size(bytes.get())?;
        }
        let name = self.name();
        self.ready.add(&socket, name)?;
        *self.opened.entry(self.application(agreed.application).server).or_default() += 1;
        let end = ServerEnd {
            socket,
            agreed,
            received: 0,
            plan: WritePlan::new(0, 0),
            extra: Duration::ZERO,
            blocked: 0,
            thought: None,
            answers: 0,
            goes_on: false,
            closing: Closing::No,
            idle_until: None,
            answered_to: 0,
        };
        self.servers.insert(name, end);
        Ok(())
    }

    pub(super) fn server_is_ready(&mut self, name: u64) {
        self.server_reads(name);
        self.server_looks(name);
    }

    fn server_reads(&mut self, name: u64) {
        let Some(end) = self.servers.get(&name) else { return };
        let kind = &self.application(end.agreed.application).kind;
        let uploads = matches!(kind, ApplicationKind::Bulk(it) if it.sender == BulkSender::Client);
        let warm = self.warm();
        let Some(end) = self.servers.get_mut(&name) else { return };
        for turn in 0.. {
            if turn == TURNS {
                let at = self.now;
                return self.at(at, Due::Idle(name));
            }
            match (&end.socket).read(&mut self.buffer) {
                Ok(0) if end.closing == Closing::Closed => return self.server_ends(name),
                Ok(0) => {
                    end.closing = Closing::PeerGone;
                    return;
                }
                Ok(bytes) => {
                    end.received += bytes as u64;
                    if warm && uploads {
                        self.tallies[end.agreed.application as usize].received += bytes as u64;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.server_ends(name),
            }
        }
    }

    /// The server may have something to do: more of an answer, the next request, or to close.
    pub(super) fn server_looks(&mut self, name: u64) {
        loop {
            let Some(end) = self.servers.get_mut(&name) else { return };
            if end.thought.is_some() {
                return;
            }
            if end.blocked > 0 {
                let mut socket = &end.socket;
                if write(&mut end.blocked, |bytes| socket.write(bytes)).is_err() {
                    return self.server_ends(name);
                }
                if end.blocked > 0 {
                    return;
                }
            }
            let application = end.agreed.application;
            let behaviour = self.behaviour(application);
            let Some(end) = self.servers.get_mut(&name) else { return };
            match end.plan.next_write(behaviour) {
                Some(write) => self.server_thinks(name, &write),
                None if self.server_begins(name) => {}
                None => return self.server_may_close(name),
            }
        }
    }

    fn server_thinks(&mut self, name: u64, write: &Planned) {
        let now = self.now;
        let Some(end) = self.servers.get_mut(&name) else { return };
        let bytes = write.head.len() as u64 + (write.body.end - write.body.start);
        let due = now + write.after + std::mem::take(&mut end.extra);
        let thought = Thought { bytes, corked: write.corked, due };
        if due > now {
            end.thought = Some(thought);
            self.at(due, Due::Server(name));
        } else {
            end.says(thought);
        }
    }

    pub(super) fn server_has_thought(&mut self, name: u64, at: Duration) {
        let Some(end) = self.servers.get_mut(&name) else { return };
        if let Some(thought) = end.thought.take_if(|it| it.due == at) {
            end.says(thought);
            self.server_looks(name);
        }
    }

    /// Begins to answer the next request that has wholly arrived, or all of those; false if there is
    /// none.
    fn server_begins(&mut self, name: u64) -> bool {
        let Some(end) = self.servers.get_mut(&name) else { return false };
        let application = end.agreed.application;
        let most = self.keep_alive(application).and_then(KeepAlivePolicy::max_requests);
        let behaviour = self.behaviour(application);
        let Some(end) = self.servers.get_mut(&name) else { return false };
        let left = most.map_or(usize::MAX, |most| most.get().saturating_sub(end.answers) as usize);
        let wanted = if behaviour.gather == Gather::Pending { left } else { left.min(1) };
        if matches!(end.closing, Closing::Announced | Closing::Closed) {
            return false;
        }
        let together: Vec<Exchange> = {
            let mut asked = end.agreed.asked();
            let arrived = asked.exchanges.iter().take_while(|it| it.request_end <= end.received);
            let count = arrived.take(wanted).count();
            asked.exchanges.drain(..count).collect()
        };
        let Some(last) = together.last() else { return false };
        if behaviour.tail == Tail::Corked && !end.goes_on {
            // The last response left the cork in; a socket that is gone is found by the write.
            let _ = end.socket.set_tcp_cork(false);
        }
        end.answers += u32::try_from(together.len()).unwrap_or(u32::MAX);
        end.goes_on = true;
        end.idle_until = None;
        end.answered_to = last.request_end;
        end.extra = together.iter().map(|it| it.parse).max().unwrap_or_default();
        end.plan = match &together[..] {
            [one] => WritePlan::new(one.head as usize, one.body),
            all => WritePlan::gathered(all.iter().map(|it| u64::from(it.head) + it.body).sum()),
        };
        if together.len() == left {
            end.closing = Closing::Announced;
        }
        if last.response_end == 0 {
            let (group, client) = end.agreed.client;
            self.run.shared.tell(group, Mail::Arrived(client, Instant::now()));
        }
        true
    }

    fn server_may_close(&mut self, name: u64) {
        let now = self.now;
        let Some(end) = self.servers.get_mut(&name) else { return };
        let application = end.agreed.application;
        end.goes_on = false;
        let (all_begun, asked_to_close) = {
            let asked = end.agreed.asked();
            (asked.exchanges.is_empty(), asked.close)
        };
        let closes = match end.closing {
            Closing::No => asked_to_close && end.answers > 0 && all_begun,
            Closing::PeerGone => return self.server_ends(name),
            Closing::Announced => true,
            Closing::Closed => return,
        };
        if closes {
            return self.server_closes(name);
        }
        let idle = self.keep_alive(application).and_then(KeepAlivePolicy::idle);
        let Some(end) = self.servers.get_mut(&name) else { return };
        if let Some(idle) = idle.filter(|_| all_begun && end.answers > 0)
            && end.idle_until.is_none()
        {
            end.idle_until = Some(now + idle);
            self.after(idle, Due::Idle(name));
        }
    }

    pub(super) fn connection_has_idled(&mut self, name: u64) {
        let now = self.now;
        let Some(end) = self.servers.get_mut(&name) else { return };
        if end.idle_until.is_some_and(|until| until <= now) && end.received <= end.answered_to {
            return self.server_closes(name);
        }
        // It was called because it had not read all.
        self.server_is_ready(name);
    }

    /// Sends a FIN; the rest of the connection is the client's.
    fn server_closes(&mut self, name: u64) {
        let Some(end) = self.servers.get_mut(&name) else { return };
        end.closing = Closing::Closed;
        if end.socket.shutdown(Shutdown::Write).is_err() {
            self.server_ends(name);
        }
    }

    fn server_ends(&mut self, name: u64) {
        self.servers.remove(&name);
    }

    fn behaviour(&self, application: u32) -> &'a Behaviour {
        self.application(application).kind.behaviour()
    }
}

impl ServerEnd {
    fn says(&mut self, thought: Thought) {
        if thought.corked {
            // A socket that is gone is found by the write.
            let _ = self.socket.set_tcp_cork(true);
        }
        self.blocked = thought.bytes;
    }
}

//! A client: it asks for one document after the other, on one connection that it keeps.

use std::{
    io::{self, BufReader, Read, Write},
    net::{SocketAddrV4, TcpStream},
    sync::atomic::Ordering,
    time::Instant,
};

use ackwise_sim::{
    measure::{Response, Unfinished},
    requests::{Requests, Wanted},
    user::PAUSE_AFTER_FAILURE,
};
use socket2::{Domain, Socket, Type};

use super::{LOOK, Run, message};
use crate::groups;

struct Client<'a> {
    run: &'a Run<'a>,
    number: u32,
    kept: Option<TcpStream>,
}

/// What became of a request.
enum Fetched {
    Whole,
    /// An error message: as a request that the simulated proxy rejects.
    Error,
    /// The run is over.
    Over,
}

/// Asks until the run is over.
pub(super) fn act(run: &Run<'_>, number: u32) {
    let mut requests = Requests::new(run.scenario.seed, &run.application.name, number);
    let mut client = Client { run, number, kept: None };
    let mut pause = requests.begins(run.application, run.proxy);
    while run.sleeps(pause) {
        let wanted = requests.next(run.proxy);
        let since = Instant::now();
        run.measures().requests += 1;
        let fetched = client.fetch(&wanted);
        let time = since.elapsed();
        let mut measures = run.measures();
        let (bytes, hit) = (wanted.size, wanted.hit);
        match fetched {
            Fetched::Whole => {
                measures.responses.push(Response { client: number, bytes, time, hit });
            }
            Fetched::Error => measures.rejected += 1,
            Fetched::Over => return measures.unfinished.push(Unfinished { bytes, waited: time }),
        }
        drop(measures);
        pause = requests.thinks(run.proxy);
    }
}

impl Client<'_> {
    /// Repeats a request whose connection ended: at once if the proxy had kept it, else after a pause.
    fn fetch(&mut self, wanted: &Wanted) -> Fetched {
        loop {
            let kept = self.kept.take().filter(is_open);
            let was_kept = kept.is_some();
            let stream = kept.map_or_else(|| self.connect(), Ok);
            match stream.and_then(|stream| Ok((self.exchange(&stream, wanted)?, stream))) {
                Ok((200 | 206, stream)) => {
                    self.kept = Some(stream);
                    return Fetched::Whole;
                }
                Ok(_) => return Fetched::Error,
                Err(_) => {
                    self.run.repeated.fetch_add(u64::from(!self.run.is_over()), Ordering::Relaxed);
                    if !was_kept && !self.run.sleeps(PAUSE_AFTER_FAILURE) {
                        return Fetched::Over;
                    }
                }
            }
            if self.run.is_over() {
                return Fetched::Over;
            }
        }
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        let host = groups::address(self.run.proxy.clients[self.number as usize]);
        socket.bind(&SocketAddrV4::new(host, 0).into())?;
        socket.connect_timeout(&self.run.place.listen.into(), self.run.left().max(LOOK))?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_tcp_nodelay(true)?;
        Ok(socket.into())
    }

    /// Sends a request and reads the response. Returns its status.
    fn exchange(&self, mut stream: &TcpStream, wanted: &Wanted) -> io::Result<u16> {
        stream.write_all(self.run.form.request(wanted, &self.run.place).as_bytes())?;
        let mut reader = BufReader::with_capacity(BLOCK, Patient { stream, run: self.run });
        let head = message::read_response(&mut reader)?;
        if head.status >= 300 {
            return Ok(head.status);
        }
        if head.length != wanted.size {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (mut left, mut block) = (head.length, [0; BLOCK]);
        while left > 0 {
            let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
            let read = reader.read(&mut block[..most])? as u64;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.run.to_clients.fetch_add(read, Ordering::Relaxed);
            left -= read;
        }
        Ok(head.status)
    }
}

/// Reads for as long as the run lasts.
struct Patient<'a> {
    stream: &'a TcpStream,
    run: &'a Run<'a>,
}

impl Read for Patient<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.run.is_over() {
                        return Err(error);
                    }
                }
                result => return result,
            }
        }
    }
}

/// Whether the proxy has not closed it, as clients look before they send.
fn is_open(stream: &TcpStream) -> bool {
    let look = || {
        stream.set_nonblocking(true)?;
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        seen
    };
    look().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Bytes read at once (our choice).
const BLOCK: usize = 16_384;

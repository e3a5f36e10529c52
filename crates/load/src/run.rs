//! From options to a report: TCP stack, inspection of both ends, the run, and its end.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    ops::ControlFlow,
    time::Duration,
};

use ackwise_net::{KernelTransport, Target, TlsSettings, TlsTransport, Transport, try_handshake};

use super::{
    LoadError, LoadOptions, LoadReport, Progress, StackMode,
    ends::{End, check_process, ignores_resets},
    own_cost::Meter,
    requests::plan,
    sampler::Sampler,
    socket_counter::Ends,
};
use crate::generator::{EndReason, Load, LoadResult, run};

/// Makes the connections, counts results, and inspects both ends.
///
/// `watch` is called at each step and may stop the run; the results so far are reported.
///
/// ```no_run
/// use std::ops::ControlFlow;
/// use ackwise_load::{LoadOptions, load};
///
/// let options = LoadOptions::new("http://localhost:8080/".parse()?);
/// let report = load(&options, &mut |_| ControlFlow::Continue(()))?;
/// println!("{}", report.summary());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the options contradict each other, there is no route to the server, the local system is at
/// fault, or no request was answered.
pub fn load(
    options: &LoadOptions,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadReport, LoadError> {
    let stack = options.stack()?;
    options.server_process.map_or(Ok(()), check_process).map_err(LoadError::ServerProcess)?;
    let load = Load {
        warm_up: options.warm_up,
        content: options.check,
        think: options.think.clone(),
        repeats_crossed: options.retry_closed,
        ..Load::new(plan(options)?, options.schedule()?, options.timeout)
    };
    let server = find(&options.target, options.timeout)?;
    let tls = tls_settings(options, server)?;
    let run = Run { options, server, load, tls, watch };
    match stack {
        StackMode::Kernel => {
            let sources = options.sources(server)?;
            let transport = KernelTransport::new(server, sources, options.concurrency);
            run.over_tls_or_not(stack, transport.map_err(LoadError::System)?)
        }
        StackMode::Ackwise => run.over_our_own(),
    }
}

/// What the sessions with an `https` server share, after one has succeeded.
pub(super) fn tls_settings(
    options: &LoadOptions,
    server: SocketAddr,
) -> Result<Option<TlsSettings>, LoadError> {
    if !options.target.is_secure() {
        return Ok(None);
    }
    let ca_file = options.ca_file.as_deref();
    let host = options.target.host();
    let settings = match options.insecure {
        true => TlsSettings::insecure(host),
        false => TlsSettings::new(host, ca_file),
    };
    let settings = settings.map_err(LoadError::Options)?;
    let tried = try_handshake(server, &settings, options.timeout);
    tried.map_err(|why| LoadError::Tls(options.target.to_string(), why))?;
    Ok(Some(settings))
}

/// The first address that accepts a connection, if the name has several.
pub(super) fn find(target: &Target, timeout: Duration) -> Result<SocketAddr, LoadError> {
    let addresses = target.resolve_within(timeout)?;
    let (first, more) = addresses.split_first().expect("a name that resolves has an address");
    let answers = |server: &&SocketAddr| TcpStream::connect_timeout(server, KNOCK_LIMIT).is_ok();
    let answering = if more.is_empty() { None } else { addresses.iter().find(answers) };
    Ok(reached(*answering.unwrap_or(first)))
}

/// The address that a connection to `server` really reaches, as the kernel's table shows it.
fn reached(server: SocketAddr) -> SocketAddr {
    let address = match server.ip().to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address if address == server.ip() => return server, // Keeps the scope.
        address => address,
    };
    SocketAddr::new(address, server.port())
}

struct Run<'a> {
    options: &'a LoadOptions,
    server: SocketAddr,
    load: Load,
    tls: Option<TlsSettings>,
    watch: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl Run<'_> {
    fn over_tls_or_not<T: Transport>(
        mut self,
        stack: StackMode,
        transport: T,
    ) -> Result<LoadReport, LoadError> {
        match self.tls.take() {
            None => self.over(stack, transport),
            Some(settings) => {
                let slots = self.options.concurrency;
                self.over(stack, TlsTransport::new(transport, settings, slots))
            }
        }
    }

    fn over<T: Transport>(
        self,
        stack: StackMode,
        mut transport: T,
    ) -> Result<LoadReport, LoadError> {
        let Self { options, server, load, tls: _, watch } = self;
        let ends = ends(server, options, &mut transport);
        let is_here = ends.server.is_ok();
        if options.server_process.is_none() {
            // A stop request is repeated at the next call.
            let _ = watch(Progress::Ready);
        }
        let mut sampler = Sampler::new(ends);
        let meter = Meter::start();
        let loaded =
            run(&mut transport, load, |transport, tally| sampler.sample(transport, tally, watch))?;
        let own_cost = meter.stop();
        if loaded.ended != EndReason::Stopped && loaded.tally.answered() == 0 {
            check_answered(server, &loaded)?;
        }
        sampler.settle(&mut transport, loaded.tally.connections());
        let lost = transport.packets_lost();
        let ignores_resets = is_here.then(|| ignores_resets(options.server_process)).flatten();
        let time_wait = sampler.finish(&mut transport, ignores_resets);
        Ok(LoadReport::new(options, stack, server, &loaded, time_wait, lost, own_cost))
    }

    #[cfg(target_os = "linux")]
    fn over_our_own(self) -> Result<LoadReport, LoadError> {
        let Self { options, server, .. } = &self;
        let transport = our_own(options, *server, options.concurrency, &mut *self.watch)?;
        self.over_tls_or_not(StackMode::Ackwise, transport)
    }

    #[cfg(not(target_os = "linux"))]
    fn over_our_own(self) -> Result<LoadReport, LoadError> {
        Err(LoadError::Wire("cannot use the ackwise stack: it needs Linux".to_owned()))
    }
}

/// Our own TCP over a TUN device, for `slots` concurrent connections.
#[cfg(target_os = "linux")]
pub(super) fn our_own(
    options: &LoadOptions,
    server: SocketAddr,
    slots: usize,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<ackwise_net::TunTransport, LoadError> {
    use super::CloseMode;
    use ackwise_linux::wire::{Changes, Wire};
    use ackwise_net::TunTransport;
    use ackwise_tcp::{
        TimeWaitHolder,
        policy::{ClosePolicy, Preset},
    };

    let mut announce = |change: &ackwise_linux::host_changes::Change| {
        // A stop request is repeated at the next call.
        let _ = watch(Progress::ChangingHost(change.to_string()));
    };
    let changes = match options.allow_host_changes {
        true => Changes::Announced(&mut announce),
        false => Changes::Forbidden,
    };
    let wire = Wire::open(server, changes);
    let wire = wire.map_err(|error| LoadError::Wire(error.to_string()))?;
    let close = match options.close {
        CloseMode::Swap => ClosePolicy::Swap,
        CloseMode::Negotiated => ClosePolicy::Negotiated(TimeWaitHolder::Mine),
        _ => ClosePolicy::Ordinary,
    };
    let preset = options.preset.unwrap_or(Preset::Linux6);
    Ok(TunTransport::new(wire, preset, close, slots))
}

/// Rejects a run without a single response; an error status is a response.
fn check_answered(server: SocketAddr, loaded: &LoadResult) -> Result<(), LoadError> {
    if loaded.tally.failures().any(|(_, _, failure)| failure.is_response()) {
        return Ok(());
    }
    let first = loaded.tally.failures().max_by_key(|(_, count, _)| *count);
    match (first, loaded.ended) {
        (Some((fault, _, failure)), _) => {
            let failed = loaded.tally.failed();
            Err(LoadError::NothingAnswered { server, failed, failure, kind: fault.kind })
        }
        (None, EndReason::NoPort) => Err(LoadError::NoPort(server)),
        _ => Ok(()),
    }
}

/// The ends that can be inspected.
fn ends<T: Transport>(server: SocketAddr, options: &LoadOptions, transport: &mut T) -> Ends {
    let process = options.server_process;
    // In another namespace addresses may have been translated.
    let clients = transport.address().filter(|_| process.is_none());
    let starts = options.probe_starts(server);
    let ask_kernel = transport.time_wait_reasons().is_none();
    Ends {
        server: End::of_server(server, process, clients, &starts),
        clients: ask_kernel.then(|| End::of_clients(server)),
    }
}

/// Timeout of the connection setup to one of several addresses (our choice).
const KNOCK_LIMIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    #[test]
    fn a_server_is_where_connections_to_it_go() {
        for (named, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("[::ffff:127.0.0.1]:80", "127.0.0.1:80"),
            ("[::ffff:0.0.0.0]:80", "127.0.0.1:80"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("[fe80::1%2]:80", "[fe80::1%2]:80"),
        ] {
            assert_eq!(super::reached(named.parse().unwrap()).to_string(), reached);
        }
    }
}

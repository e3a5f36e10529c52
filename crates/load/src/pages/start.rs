//! From options to a report: which pages, over which TCP.

use std::{net::SocketAddr, ops::ControlFlow};

use ackwise_http::page::Transfer;
use ackwise_net::{KernelTransport, TlsSettings, TlsTransport, Transport};

use super::{
    Cache, KeptConnections, LoadedPage, LoadedPages, PageClose, PageFile, PageLoad, PagesReport,
    WebPage, find::find, load_pages,
};
use crate::{
    CloseMode, LoadError, LoadOptions, Progress, StackMode, requests,
    run::{find as find_server, tls_settings},
};

/// How pages are loaded; the rest is in [`LoadOptions`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOptions {
    /// How the files of a page are transferred.
    pub transfer: Transfer,
    /// Number of pages; `None`: until [`LoadOptions::duration`] has passed.
    pub pages: Option<u64>,
    /// Which connections a page may use.
    pub connections: KeptConnections,
    /// What the clients have already.
    pub cache: Cache,
}

/// Loads the pages of `options` by a plan: those of its workload, or its target with the files that it shows. Further
/// targets take the place of the files that are found.
///
/// Of `options`, what is about single requests and their times does not count.
///
/// # Errors
///
/// If the options contradict each other, there is no route to the server, the page cannot be had, or the local system
/// is at fault.
pub fn load_site(
    options: &LoadOptions,
    plan: &PlanOptions,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<PagesReport, LoadError> {
    let stack = options.stack()?;
    if plan.pages.is_none() && options.duration.is_none() {
        let why = "the run would not end (expected --pages or --duration)";
        return Err(LoadError::Options(why.to_owned()));
    }
    let server = find_server(&options.target, options.timeout)?;
    let tls = tls_settings(options, server)?;
    let site = site(options, plan.transfer, server, tls.as_ref())?;
    let load = PageLoad {
        connections: plan.connections,
        close: match options.close {
            CloseMode::ClientClose => PageClose::ClientClose,
            _ => PageClose::Client,
        },
        users: options.concurrency,
        pages: plan.pages,
        duration: options.duration,
        think: options.think.clone(),
        cache: plan.cache,
        timeout: options.timeout,
        ..PageLoad::new(site, plan.transfer)
    };
    let loaded = match stack {
        StackMode::Kernel => {
            let transport = KernelTransport::new(server, options.sources(server)?, load.slots());
            over_tls_or_not(transport.map_err(LoadError::System)?, tls, &load, watch)?
        }
        StackMode::Ackwise => over_our_own(options, server, tls, &load, watch)?,
    };
    Ok(PagesReport::new(options, stack, server, &load, &loaded))
}

/// The pages in turn.
fn site(
    options: &LoadOptions,
    transfer: Transfer,
    server: SocketAddr,
    tls: Option<&TlsSettings>,
) -> Result<Vec<WebPage>, LoadError> {
    requests::check_servers(options)?;
    let (host, fields) = (options.target.authority(), options.fields.clone());
    let page = |files| WebPage { host: host.clone(), fields: fields.clone(), files };
    let path = options.target.path();
    if let Some(workload) = &options.workload {
        if transfer == Transfer::GetWeb {
            let why = "cannot use --workload with --plan get-web: the server knows its files (expected --urls or a page of HTML)";
            return Err(LoadError::Options(why.to_owned()));
        }
        let pages = requests::pages(workload).into_iter().map(|drawn| {
            let sizes = std::iter::once(drawn.primary).chain(drawn.inlines);
            page(sizes.map(|size| PageFile::sized(path, size)).collect())
        });
        return Ok(pages.collect());
    }
    let inlines = if options.more.is_empty() {
        find(&options.target, &options.fields, server, tls, options.timeout)?
    } else {
        options.more.iter().map(|more| more.path().to_owned()).collect()
    };
    let files = std::iter::once(path.to_owned()).chain(inlines).map(PageFile::whole);
    Ok(vec![page(files.collect())])
}

fn over_tls_or_not<T: Transport>(
    mut transport: T,
    tls: Option<TlsSettings>,
    load: &PageLoad,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadedPages, LoadError> {
    match tls {
        None => over(&mut transport, load, watch),
        Some(settings) => {
            over(&mut TlsTransport::new(transport, settings, load.slots()), load, watch)
        }
    }
}

fn over<T: Transport>(
    transport: &mut T,
    load: &PageLoad,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadedPages, LoadError> {
    // A stop request is repeated at the next call.
    let _ = watch(Progress::Ready);
    let (mut loaded, mut failed) = (0, 0);
    let told = |page: Option<&LoadedPage>| {
        match page.map(|page| page.failure) {
            None => {}
            Some(None) => loaded += 1,
            Some(Some(_)) => failed += 1,
        }
        watch(Progress::LoadingPages { loaded, failed })
    };
    Ok(load_pages(transport, load, told)?)
}

#[cfg(target_os = "linux")]
fn over_our_own(
    options: &LoadOptions,
    server: SocketAddr,
    tls: Option<TlsSettings>,
    load: &PageLoad,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadedPages, LoadError> {
    let transport = crate::run::our_own(options, server, load.slots(), watch)?;
    over_tls_or_not(transport, tls, load, watch)
}

#[cfg(not(target_os = "linux"))]
fn over_our_own(
    _: &LoadOptions,
    _: SocketAddr,
    _: Option<TlsSettings>,
    _: &PageLoad,
    _: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<LoadedPages, LoadError> {
    Err(LoadError::Wire("cannot use the ackwise stack: it needs Linux".to_owned()))
}

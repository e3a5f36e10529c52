//! A server on hyper, which closes no connection that is idle, with 200 places: `cargo run --features tokio --example hyper`

use std::{convert::Infallible, num::NonZeroU64, time::Duration};

use ackwise_tuning::tokio::Gate;
use http_body_util::Full;
use hyper::{Response, body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Serves until the listening socket fails.
pub(crate) async fn serve(listener: TcpListener, gate: Gate) -> std::io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let stream = gate.admit(stream).await;
        let page = service_fn(|_| async {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"page\n"))))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), page));
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/", listener.local_addr()?);
    let places = NonZeroU64::new(200).expect("not 0");
    serve(listener, Gate::new(places, Duration::from_secs(1))).await
}

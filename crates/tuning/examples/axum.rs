//! A server on axum with 200 places: `cargo run --features tokio --example axum`

use std::{net::SocketAddr, num::NonZeroU64, time::Duration};

use ackwise_tuning::tokio::{Admitted, Gate};
use axum::{Router, routing::get, serve::Listener};
use tokio::net::{TcpListener, TcpStream};

/// Accepts as fast as there are places.
pub(crate) struct Limited {
    /// Where clients wait.
    pub(crate) listener: TcpListener,
    /// Who has a place.
    pub(crate) gate: Gate,
}

impl Listener for Limited {
    type Io = Admitted<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // axum's own implementation goes on after errors.
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (self.gate.admit(stream).await, address)
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Serves for ever.
pub(crate) async fn serve(limited: Limited) -> std::io::Result<()> {
    axum::serve(limited, Router::new().fallback(get(|| async { "page\n" }))).await
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/", listener.local_addr()?);
    let places = NonZeroU64::new(200).expect("not 0");
    serve(Limited { listener, gate: Gate::new(places, Duration::from_secs(1)) }).await
}

//! What a Service is in a cluster: one address in front of the replicas that are ready. The API server dials the
//! webhook here, so that several controllers can run side by side and one of them can die.

use anyhow::Result;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A running Service.
#[derive(Debug)]
pub struct Service {
    endpoints: watch::Sender<Vec<SocketAddr>>,
    task: JoinHandle<()>,
}

impl Service {
    /// Starts a Service without endpoints on a listener, which its owner may keep for the next one.
    pub fn start(listener: &std::net::TcpListener) -> Result<Self> {
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (endpoints, seen) = watch::channel(Vec::new());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(forward(stream, seen.clone()));
            }
        });
        Ok(Self { endpoints, task })
    }

    /// A replica is ready.
    pub fn add(&self, endpoint: SocketAddr) {
        self.endpoints.send_modify(|known| known.push(endpoint));
    }

    /// A replica is not ready any more: its connections end.
    pub fn remove(&self, endpoint: SocketAddr) {
        self.endpoints
            .send_modify(|known| known.retain(|one| *one != endpoint));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(mut client: TcpStream, mut endpoints: watch::Receiver<Vec<SocketAddr>>) {
    let known = endpoints.borrow_and_update().clone();
    for endpoint in known {
        let Ok(mut replica) = TcpStream::connect(endpoint).await else {
            continue;
        };
        let gone = endpoints.wait_for(|known| !known.contains(&endpoint));
        tokio::select! {
            _ = tokio::io::copy_bidirectional(&mut client, &mut replica) => {}
            _ = gone => {}
        }
        return;
    }
}

//! What kube-proxy makes of a Service: new connections go to the replicas that say they are ready, in turn, and those
//! that stand are left alone, whatever becomes of the replica.

use anyhow::Result;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Between two looks at a replica's readiness. A kubelet takes seconds.
const PROBE: Duration = Duration::from_millis(100);

/// A running balancer; dropped, it takes no more connections.
#[derive(Debug)]
pub struct Balancer {
    ready: Arc<Mutex<Vec<SocketAddr>>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Balancer {
    /// Starts one without replicas.
    pub fn start(listener: std::net::TcpListener) -> Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let ready = Arc::<Mutex<Vec<SocketAddr>>>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&ready)));
        let tasks = Mutex::new(tasks);
        Ok(Self { ready, tasks })
    }

    /// From now on a replica whose webhook and admin server listen at these addresses is looked at.
    pub fn add(&self, webhook: SocketAddr, admin: SocketAddr) {
        let ready = Arc::clone(&self.ready);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.spawn(async move {
            loop {
                let is_ready = is_ready(admin).await;
                {
                    let mut ready = ready.lock().unwrap_or_else(PoisonError::into_inner);
                    ready.retain(|one| *one != webhook);
                    if is_ready {
                        ready.push(webhook);
                    }
                }
                tokio::time::sleep(PROBE).await;
            }
        });
    }
}

async fn is_ready(admin: SocketAddr) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(admin).await.ok()?;
        let request = b"GET /readyz HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n";
        stream.write_all(request).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        Some(answer.starts_with("HTTP/1.1 200"))
    };
    // A kubelet is patient with a busy replica, too.
    let asked = tokio::time::timeout(Duration::from_secs(5), asked).await;
    asked.ok().flatten().unwrap_or_default()
}

async fn accept(listener: TcpListener, ready: Arc<Mutex<Vec<SocketAddr>>>) {
    let next = AtomicUsize::new(0);
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let known = ready.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let turn = next.fetch_add(1, Ordering::Relaxed);
        let Some(chosen) = known.get(turn % known.len().max(1)).copied() else {
            continue;
        };
        connections.spawn(async move {
            if let Ok(mut replica) = TcpStream::connect(chosen).await {
                // How a connection ends is the business of its two ends.
                tokio::io::copy_bidirectional(&mut client, &mut replica)
                    .await
                    .ok();
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

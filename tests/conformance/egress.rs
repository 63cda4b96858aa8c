//! The way from the API server of the tests to a Service, which kube-proxy would be: an HTTP CONNECT proxy that knows
//! where the address of a Service leads. It runs in threads of its own, because the control plane outlives the runtime
//! of one test.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// Where the addresses of Services lead.
#[derive(Clone, Debug, Default)]
struct Routes(Arc<Mutex<BTreeMap<String, SocketAddr>>>);

impl Routes {
    fn lookup(&self, service: &str) -> Option<SocketAddr> {
        let routes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        routes.get(service).copied()
    }
}

/// A running proxy.
#[derive(Debug)]
pub struct Egress {
    routes: Routes,
    folder: TempDir,
}

impl Egress {
    pub fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("ichor-ground-").tempdir()?;
        let egress = Self {
            routes: Routes::default(),
            folder,
        };
        let listener = UnixListener::bind(egress.socket())?;
        let routes = egress.routes.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let routes = routes.clone();
                // How a connection ends is the business of its two ends.
                std::thread::spawn(move || tunnel(client, &routes).ok());
            }
        });
        Ok(egress)
    }

    /// The socket that the API server asks.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("egress.sock")
    }

    /// From now on the Service at `service` (ADDRESS:PORT) leads to `target`.
    pub fn route(&self, service: String, target: SocketAddr) {
        let mut routes = self.routes.0.lock().unwrap_or_else(PoisonError::into_inner);
        routes.insert(service, target);
    }
}

fn tunnel(mut client: UnixStream, routes: &Routes) -> Result<()> {
    let request = head(&mut client)?;
    let service = request.strip_prefix("CONNECT ");
    let service = service.and_then(|rest| rest.split(' ').next());
    let Some(target) = routes.lookup(service.context("a CONNECT request")?) else {
        client.write_all(b"HTTP/1.1 502 no such Service\r\n\r\n")?;
        return Ok(());
    };
    let mut replica = TcpStream::connect(target)?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut back, mut asked) = (replica.try_clone()?, client.try_clone()?);
    let answers = std::thread::spawn(move || {
        std::io::copy(&mut back, &mut asked).ok();
        asked.shutdown(Shutdown::Write).ok();
    });
    std::io::copy(&mut client, &mut replica).ok();
    replica.shutdown(Shutdown::Write).ok();
    answers.join().ok();
    Ok(())
}

/// The head of a request. Byte by byte: what follows belongs to the tunnel.
fn head(client: &mut UnixStream) -> Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && head.len() < 4096 {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8(head)?)
}

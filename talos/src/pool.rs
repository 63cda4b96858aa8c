//! Connections that are reused while they are idle.

use crate::connection::Connection;
use crate::credential::Credential;
use crate::dialer::Dialer;
use crate::error::TalosError;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Most connections that are kept (DESIGN section 6).
const CAPACITY: usize = 256;

type Key = (IpAddr, [u8; 32]);

/// A bounded pool for reading. A destructive call takes a connection of its own from the [`Dialer`], reads the
/// identity on it and sends on that.
#[derive(Debug)]
pub struct Pool {
    dialer: Dialer,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    connections: HashMap<Key, (Connection, u64)>,
    uses: u64,
}

impl Pool {
    /// An empty pool over a dialer.
    pub fn new(dialer: Dialer) -> Self {
        Self {
            dialer,
            kept: Mutex::default(),
        }
    }

    /// A connection to the node: a kept one where it still stands, else a new one. Whether it still is the same
    /// machine that answered earlier is for the caller to read.
    pub async fn get(
        &self,
        address: IpAddr,
        credential: &Credential,
    ) -> Result<Connection, TalosError> {
        let key = (address, credential.id);
        if let Some(kept) = self.kept().take(key) {
            return Ok(kept);
        }
        // Not under the lock: one silent node must not hold up the others.
        let connection = self.dialer.connect(address, credential).await?;
        self.kept().put(key, connection.clone());
        Ok(connection)
    }

    /// How many connections are kept.
    pub fn len(&self) -> usize {
        self.kept().connections.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn take(&mut self, key: Key) -> Option<Connection> {
        self.uses += 1;
        let (connection, used) = self.connections.get_mut(&key)?;
        if connection.is_usable() {
            *used = self.uses;
            return Some(connection.clone());
        }
        self.connections.remove(&key);
        None
    }

    fn put(&mut self, key: Key, connection: Connection) {
        self.connections.retain(|_, (kept, _)| kept.is_usable());
        if self.connections.len() >= CAPACITY && !self.connections.contains_key(&key) {
            let oldest = self
                .connections
                .iter()
                .min_by_key(|(_, (_, used))| *used)
                .map(|(key, _)| *key);
            if let Some(oldest) = oldest {
                self.connections.remove(&oldest);
            }
        }
        self.uses += 1;
        self.connections.insert(key, (connection, self.uses));
    }
}

//! Certificates kept until half their life is over, so that a reconcile makes no key of its own.

use super::{ClientCertificate, MintError, Role, mint_client};
use crate::bundle::{BundleFingerprint, SecretsBundle};
use jiff::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

type Key = (BundleFingerprint, IpAddr, Role);

/// Client certificates by bundle content, node and role. A changed bundle is another key, so certificates of
/// a rotated CA are never used with the new one.
#[derive(Debug)]
pub struct CertificateCache {
    capacity: usize,
    entries: Mutex<HashMap<Key, Arc<ClientCertificate>>>,
}

impl CertificateCache {
    /// A cache of at most `capacity` certificates; the one that ends first goes first.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            entries: Mutex::default(),
        }
    }

    /// The certificate for one node, made anew when there is none or half its life is over.
    pub fn client(
        &self,
        bundle: &SecretsBundle,
        address: IpAddr,
        role: Role,
        now: Timestamp,
    ) -> Result<Arc<ClientCertificate>, MintError> {
        // Checked also when a certificate is cached: the CA may have expired, or the clock gone back.
        let ca = bundle.os_ca(now)?;
        let key = (bundle.fingerprint(), address, role);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = entries.get(&key)
            && known.not_before() <= now
            && !known.is_half_spent(now)
        {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(mint_client(ca, role, now)?);
        if entries.len() >= self.capacity && !entries.contains_key(&key) {
            make_room(&mut entries, now);
        }
        entries.insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// How many certificates are kept.
    pub fn len(&self) -> usize {
        self.entries
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Drops what is spent, and where nothing is, what ends first.
fn make_room(entries: &mut HashMap<Key, Arc<ClientCertificate>>, now: Timestamp) {
    let before = entries.len();
    entries.retain(|_, certificate| !certificate.is_half_spent(now));
    if entries.len() < before {
        return;
    }
    let first = entries
        .iter()
        .min_by_key(|(_, certificate)| certificate.not_after())
        .map(|(key, _)| *key);
    if let Some(key) = first {
        entries.remove(&key);
    }
}

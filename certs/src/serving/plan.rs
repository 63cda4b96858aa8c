//! Which step a serving Secret needs next: pure, so that a rotation can be walked through on a moved clock.

use super::{Injected, ServingSecret, Wanted};
use crate::keys;
use crate::x509;
use jiff::Timestamp;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::time::Duration;

/// One change of the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing is usable: a new CA and a leaf of it.
    MakeAll,
    /// A new CA at the head of the bundle; the leaf stays until the bundle is injected everywhere.
    AddAuthority,
    /// A new leaf of the first CA.
    IssueLeaf,
    /// CAs that have expired leave the bundle.
    DropExpired,
    /// Nothing to do.
    Keep,
}

/// Decides the next step.
pub fn plan(
    stored: Option<&ServingSecret>,
    injected: Injected<'_>,
    now: Timestamp,
    wanted: &Wanted,
) -> Step {
    let Wanted { names, lifetimes } = wanted;
    let Some(stored) = stored else {
        return Step::MakeAll;
    };
    let authority = &stored.authority;
    if now < authority.not_before() || now > authority.not_after() {
        return Step::MakeAll;
    }
    let all: Vec<&CertificateDer<'_>> = std::iter::once(authority.certificate_der())
        .chain(&stored.older)
        .collect();
    let accepted = all
        .iter()
        .any(|ca| verifies(&stored.leaf, &[], ca, now, names));
    if !accepted || !stored.is_pair() {
        return Step::IssueLeaf;
    }
    // A CA that does not sign yet gets no successor, or none would ever be known for long enough.
    let current = verifies(&stored.leaf, &[], authority.certificate_der(), now, names);
    let left = now.duration_until(authority.not_after());
    if current && left <= lifetimes.authority_renew_before {
        return Step::AddAuthority;
    }
    let ends = stored
        .leaf_not_after()
        .is_none_or(|end| now.duration_until(end) <= lifetimes.leaf_renew_before);
    if (!current || ends) && is_settled(stored, injected) {
        return Step::IssueLeaf;
    }
    if stored.older.iter().any(|ca| has_expired(ca, now)) {
        return Step::DropExpired;
    }
    Step::Keep
}

/// Whether every API server accepts leaves of the first CA by now.
fn is_settled(stored: &ServingSecret, injected: Injected<'_>) -> bool {
    let first = stored.authority.certificate_der();
    keys::certificates(injected.settled)
        .iter()
        .any(|ca| ca.as_slice() == first.as_ref())
}

pub(super) fn has_expired(ca: &[u8], now: Timestamp) -> bool {
    let validity = x509::parse(ca).and_then(|ca| x509::validity(&ca));
    validity.is_none_or(|validity| now > validity.not_after)
}

/// Whether a client that trusts `ca` and calls the server by each of `names` accepts `leaf`.
pub(super) fn verifies(
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    ca: &CertificateDer<'_>,
    now: Timestamp,
    names: &[String],
) -> bool {
    let Ok(anchor) = webpki::anchor_from_trusted_cert(ca) else {
        return false;
    };
    let Ok(leaf) = webpki::EndEntityCert::try_from(leaf) else {
        return false;
    };
    let anchors = [anchor];
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    let chain = leaf.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        &anchors,
        intermediates,
        UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
        webpki::KeyUsage::server_auth(),
        None,
        None,
    );
    chain.is_ok()
        && names.iter().all(|name| {
            ServerName::try_from(name.as_str())
                .is_ok_and(|name| leaf.verify_is_valid_for_subject_name(&name).is_ok())
        })
}

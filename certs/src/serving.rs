//! Ichor's own serving CA and leaf, in one Secret that every replica may renew, and the certificate that is
//! served (DESIGN section 5).
//!
//! The flow: read what the webhook configurations trust ([`Injected`]) and the Secret, [`plan`] one step,
//! [`carry_out`] it, write the Secret under its resourceVersion (or create it; whoever loses reads again), inject
//! [`ServingSecret::ca_bundle`], then [`ServedCertificate::offer`] the leaf. A new CA stands in the bundle everywhere,
//! and long enough for every API server to have seen it, before a leaf of it is made or served, so no handshake fails
//! during a rotation (FAULTS 3).

mod files;
mod lifetimes;
mod made;
mod plan;
mod secret;
mod served;

pub use files::{FileError, FilePair};
pub use lifetimes::{Lifetimes, LifetimesError};
pub use made::carry_out;
pub use plan::{Step, plan};
pub use secret::{CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY, ServingError, ServingSecret};
pub use served::{Offer, OfferError, ServedCertificate};

use jiff::SignedDuration;

/// How far starts lie back, for API servers whose clock is behind.
const BACKDATE: SignedDuration = SignedDuration::from_hours(24);

/// What a serving certificate has to be.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// What clients call the server; the leaf carries every name.
    pub names: Vec<String>,
    /// How long certificates live and when they are renewed.
    pub lifetimes: Lifetimes,
}

/// What clients trust: the CAs that stand in every webhook configuration, PEM.
#[derive(Clone, Copy, Debug)]
pub struct Injected<'a> {
    /// All of them.
    pub bundle: &'a [u8],
    /// Those that this process has seen there for [`Lifetimes::propagation`]. Starting anew only makes it wait longer.
    pub settled: &'a [u8],
}

//! Ichor's own serving CA and leaf, in one Secret that every replica may renew, and the certificate that is
//! served (DESIGN section 5).
//!
//! The flow: read the Secret, [`plan`] one step, [`carry_out`] it, write the Secret under its resourceVersion (or
//! create it; whoever loses reads again), inject [`ServingSecret::ca_bundle`] into the webhook configurations, then
//! [`ServedCertificate::offer`] the leaf. A new CA is in the bundle everywhere before a leaf of it is
//! made, so no handshake fails during a rotation (FAULTS 3).

mod files;
mod made;
mod plan;
mod secret;
mod served;

pub use files::{FileError, FilePair};
pub use made::carry_out;
pub use plan::{Step, plan};
pub use secret::{CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY, ServingError, ServingSecret};
pub use served::{OfferError, ServedCertificate};

use jiff::SignedDuration;

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Life of a serving CA.
pub const CA_LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);
/// Life of a serving leaf.
pub const LEAF_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);
/// How far starts lie back, for API servers whose clock is behind.
const BACKDATE: SignedDuration = DAY;
/// How long a CA is in the bundle before leaves of it are made: API servers see a changed webhook configuration a
/// little later than it is written.
const SETTLE: SignedDuration = SignedDuration::from_mins(2);

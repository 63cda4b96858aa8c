//! Certificates: the serving CA and leaf, the secrets bundle and the client certificates made from it,
//! and the pinned certificates of machines in maintenance mode (DESIGN section 5).
//!
//! The time is always a parameter: nothing here reads a clock. Keys are zeroed when they are dropped and never
//! appear in `Debug` or in an error (DESIGN principle 6).

pub mod authority;
pub mod bundle;
mod der;
pub mod keys;
pub mod mint;
pub mod pinned;
pub mod serving;
mod x509;

pub use authority::{AuthorityError, CertificateAuthority};
pub use bundle::{BundleError, SecretsBundle};
pub use mint::{CertificateCache, ClientCertificate, MintError, Role};

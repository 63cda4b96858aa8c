//! Keys, authorities and certificates as Talos makes them (talos-api.md section 1), and defective ones for tests.

mod authority;
mod bundle;
mod defects;
mod der;
mod keys;

pub use authority::{Authority, ClientOptions, Leaf, LeafOptions, Usage};
pub use bundle::Bundle;
pub(crate) use bundle::decode as decode_pem;
pub use defects::Defect;
pub use keys::{Algorithm, read as signing_key};

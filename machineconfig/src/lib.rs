//! Talos machine configuration as pure functions: the documents of a configuration, and the patches made to them.
//! No client, no clock: a text goes in, a text or an error comes out.
//!
//! Patching follows Talos's own patcher (DESIGN section 7); what it must know of Talos's documents is data
//! (`data/talos.json`), which `tests/oracle` reads off Talos's published types.

mod config;
mod decode;
mod delete;
mod error;
mod leaf;
mod meaning;
mod merge;
mod patch;
mod protect;
mod sample;
mod schema;
mod yaml;

pub use config::{Config, Document};
pub use error::Error;
pub use patch::Patch;
pub use protect::protected_changes;
pub use sample::sample;

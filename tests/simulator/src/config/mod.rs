//! Machine configurations: read, validated, and made for nodes that begin configured.

mod documents;
mod generate;
mod validate;

pub use documents::MachineConfig;
pub use generate::generate;
pub use validate::{Loaded, load};

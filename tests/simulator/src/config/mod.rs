//! Machine configurations: read, validated, and made for nodes that begin configured.

mod diff;
mod documents;
mod generate;
mod kinds;
mod text;
mod validate;

pub use diff::unified;
pub use documents::MachineConfig;
pub use generate::generate;
pub use validate::{Loaded, Partial, load};

//! What a person may ask of Ichor, with the person's own credentials: shared by the command line and the
//! web UI, so that both ask the same and show the same (DESIGN section 2).
//!
//! Building objects, reading what a node said and deciding whether an address is known are pure; what talks
//! to the API server only carries that out.

pub mod coverage;
pub mod error;
pub mod inspection;
pub mod reclaim;
pub mod register;
pub mod talosconfig;
pub mod text;

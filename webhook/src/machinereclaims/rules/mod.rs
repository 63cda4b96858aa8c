//! The rules, one small function each.

pub(super) mod conflict;
pub(super) mod consent;
pub(super) mod immutable;
pub(super) mod secret;
pub(super) mod shape;
pub(super) mod warning;

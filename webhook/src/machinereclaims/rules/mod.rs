//! The rules, one small function each.

pub(super) mod authority;
pub(super) mod conflict;
pub(super) mod consent;
pub(super) mod immutable;
pub(super) mod reference;
pub(super) mod shape;
pub(super) mod warning;

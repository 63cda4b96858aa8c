//! The API types of Ichor: objects, their rules in CEL, and the identities they carry.

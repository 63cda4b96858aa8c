//! Admission as kubectl sees it: the webhook of a running controller behind a real API server
//! (DESIGN section 4; FAULTS 5 to 7 and 9).
//!
//! Most rules hold three times: CEL in the CRD, a policy, the webhook. In the bare world of these tests the first two
//! are taken away, so that what answers is the webhook; `whole` asks the same with all three.

#[path = "../common/mod.rs"]
mod common;

mod bare;
mod beside;
mod caller;
mod document;
mod fields;
mod immutable;
mod kinds;
mod rules;
mod whole;

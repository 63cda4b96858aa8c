//! See [`ichor_fuzz::review`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ichor_fuzz::review(data));

//! See [`ichor_fuzz::bundle`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ichor_fuzz::bundle(data));

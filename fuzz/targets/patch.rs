//! See [`ichor_fuzz::patch`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ichor_fuzz::patch(data));

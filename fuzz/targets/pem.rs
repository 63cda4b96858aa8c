//! See [`ichor_fuzz::pem`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ichor_fuzz::pem(data));

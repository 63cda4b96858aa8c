//! See [`ichor_fuzz::judge`].
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| ichor_fuzz::judge(data));

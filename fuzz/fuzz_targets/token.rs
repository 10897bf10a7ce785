#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pleach_fuzz_targets::run("token", data));

#![no_main]

idgate_fuzz::fuzz!("x5chain");

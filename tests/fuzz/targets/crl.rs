#![no_main]

idgate_fuzz::fuzz!("crl");

#![no_main]

idgate_fuzz::fuzz!("trusted_list");

#![no_main]

idgate_fuzz::fuzz!("device_response");

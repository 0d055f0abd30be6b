#![no_main]

idgate_fuzz::fuzz!("whole_response");

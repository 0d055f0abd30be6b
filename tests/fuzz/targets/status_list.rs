#![no_main]

idgate_fuzz::fuzz!("status_list");

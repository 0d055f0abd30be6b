#![no_main]

idgate_fuzz::fuzz!("master_list");

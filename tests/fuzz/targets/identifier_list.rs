#![no_main]

idgate_fuzz::fuzz!("identifier_list");

#![no_main]

idgate_fuzz::fuzz!("xml_list");

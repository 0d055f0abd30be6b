#![no_main]

idgate_fuzz::fuzz!("iso_mdoc_answer");

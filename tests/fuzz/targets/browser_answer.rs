#![no_main]

idgate_fuzz::fuzz!("browser_answer");

//! Hostile input for each parser: good inputs, and a property that must hold for any change to
//! them. These tests change them for seconds; `tests/fuzz` continues from there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // runs only in tests

mod answer;
mod browser;
mod certificates;
#[cfg(all(test, target_os = "linux"))]
mod cost;
mod iso_mdoc;
mod mdoc;
mod status;
mod trusted_list;
mod xml_list;

use std::fmt;

/// The same time for all.
const NOW_MS: u64 = 1_800_000_000_000;

/// A parser, and the property that its output must have.
pub struct Target {
    /// For example `x5chain`.
    pub name: &'static str,
    /// Inputs that are good.
    pub seeds: Vec<Vec<u8>>,
    check: Check,
}

/// Panics if the parser does, or if the property does not hold.
type Check = Box<dyn Fn(&[u8])>;
/// Seeds and the check.
type Parts = (Vec<Vec<u8>>, Check);

impl Target {
    /// The name of each.
    pub const NAMES: [&str; 13] = [
        "device_response",
        "mso",
        "x5chain",
        "crl",
        "master_list",
        "vical",
        "trusted_list",
        "xml_list",
        "status_list",
        "identifier_list",
        "whole_response",
        "browser_answer",
        "iso_mdoc_answer",
    ];

    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        let (seeds, check) = match name {
            "device_response" => mdoc::device_response_target(),
            "mso" => mdoc::mso_target(),
            "x5chain" => certificates::x5chain_target(),
            "crl" => certificates::crl_target(),
            "master_list" => certificates::master_list_target(),
            "vical" => certificates::vical_target(),
            "trusted_list" => trusted_list::trusted_list_target(),
            "xml_list" => xml_list::xml_list_target(),
            "status_list" => status::status_list_target(),
            "identifier_list" => status::identifier_list_target(),
            "whole_response" => answer::whole_response_target(),
            "browser_answer" => browser::browser_answer_target(),
            "iso_mdoc_answer" => iso_mdoc::iso_mdoc_answer_target(),
            _ => return None,
        };
        let name = Self::NAMES.into_iter().find(|own| *own == name)?;
        Some(Self { name, seeds, check })
    }

    /// Panics if the parser does, or if the property does not hold.
    pub fn check(&self, input: &[u8]) {
        (self.check)(input);
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({})", self.name)
    }
}

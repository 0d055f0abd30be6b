//! Operator commands. They work on the data directory, beside a running gateway or without one;
//! a change is in force on its next request.

pub mod client;
pub mod settings;
pub mod trust;
pub mod verify;

use std::fmt::Display;

use serde_json::Value;

use crate::config::Config;
use crate::store::OperatorStore;

/// Exit codes (decisions 2).
pub mod exit {
    /// Done.
    pub const OK: u8 = 0;
    /// It failed; the text says why.
    pub const ERROR: u8 = 1;
    /// The command line is wrong.
    pub const USAGE: u8 = 2;
    /// An integrity failure, or a refused presentation.
    pub const REFUSED: u8 = 3;
    /// There is no such object.
    pub const NOT_FOUND: u8 = 4;
}

/// What a command says, for people and for programs.
#[derive(Debug)]
pub struct Printed {
    /// For people; ends with a newline.
    pub text: String,
    /// For programs: one object.
    pub json: Value,
    /// The exit code.
    pub code: u8,
}

impl Printed {
    fn ok(text: impl Into<String>, json: Value) -> Self {
        Self { text: text.into(), json, code: exit::OK }
    }
}

/// Why a command did nothing.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong, where, and what to do.
    pub message: String,
    /// The exit code.
    pub code: u8,
}

impl Failure {
    /// It failed.
    pub fn error(message: impl Display) -> Self {
        Self { message: message.to_string(), code: exit::ERROR }
    }

    fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), code: exit::USAGE }
    }

    fn not_found(message: impl Display) -> Self {
        Self { message: message.to_string(), code: exit::NOT_FOUND }
    }
}

fn open(config: &Config) -> Result<OperatorStore, Failure> {
    OperatorStore::open(&config.data_dir, config.instance_key.as_ref()).map_err(Failure::error)
}

//! `idgate config check`: the settings in force, and where each came from.

use std::fmt::Write as _;

use clap::Subcommand;
use serde_json::{Map, Value, json};

use super::{Failure, Printed};
use crate::config::{Config, SETTINGS, Settings};

/// The commands about settings.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Print the effective settings, secrets as ***.
    Check,
}

/// Runs one of them.
///
/// # Errors
/// A setting that cannot be used; the text says which, where it stands and what to do.
pub fn run(command: &Command, settings: &Settings) -> Result<Printed, Failure> {
    let Command::Check = command;
    Config::new(settings).map_err(Failure::error)?;
    let mut text = String::new();
    let mut object = Map::new();
    for setting in SETTINGS {
        let value = settings.get(setting.key);
        let shown = match &value {
            None => "",
            Some(value) if setting.secret && !value.text.is_empty() => "***",
            Some(value) => &value.text,
        };
        let origin = value.as_ref().map_or("default".to_owned(), |value| value.origin.to_string());
        let _infallible = writeln!(text, "{}={shown}  ({origin})", setting.variable);
        let shown = value.is_some().then_some(shown);
        object.insert(setting.variable.into(), json!({ "value": shown, "origin": origin }));
    }
    for name in settings.unknown_variables() {
        let _infallible = writeln!(text, "{name} is set, and no setting of this version");
    }
    Ok(Printed::ok(text, json!({ "settings": Value::Object(object) })))
}

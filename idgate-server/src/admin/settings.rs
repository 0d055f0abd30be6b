//! `idgate config check`

use std::fmt::Write as _;

use serde_json::json;

use super::Output;
use crate::config::{SETTINGS, Settings};

/// Shows the settings in force, whose validity is established, and where each comes from.
pub fn check(settings: &Settings) -> Output {
    let mut rows = Vec::new();
    let mut text = String::new();
    for setting in SETTINGS {
        let value = settings.get(setting.key);
        let shown = value.as_ref().map(|value| if setting.secret { "***" } else { &*value.text });
        let origin = value.as_ref().map_or("default".to_owned(), |value| value.origin.to_string());
        let _ = writeln!(text, "{} = {}  ({origin})", setting.variable, shown.unwrap_or("none"));
        rows.push(json!({ "name": setting.variable, "value": shown, "origin": origin }));
    }
    let mut output = Output::new(json!({ "settings": rows }), text);
    output.warnings = unknown_variables(settings);
    output
}

/// A misspelt variable would silently leave the default in force.
pub fn unknown_variables(settings: &Settings) -> Vec<String> {
    let names = settings.unknown_variables().iter();
    names.map(|name| format!("{name} is set, and there is no such setting")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn secrets_are_starred_and_origins_named() {
        let environment = [
            ("IDGATE_INSTANCE_KEY".to_owned(), "c2VjcmV0".to_owned()),
            ("IDGATE_LOG".to_owned(), "debug".to_owned()),
        ];
        let settings = Settings::collect(&BTreeMap::new(), environment, None).unwrap();
        let output = check(&settings);
        let all = format!("{}{}", output.text, output.json);
        assert!(!all.contains("c2VjcmV0"), "{all}");
        assert!(output.text.contains("IDGATE_INSTANCE_KEY = ***  (environment variable"));
        assert!(output.text.contains("IDGATE_LOG = debug  (environment variable IDGATE_LOG)"));
        assert!(output.text.contains("IDGATE_BASE_URL = none  (default)"));
        assert_eq!(output.json["settings"].as_array().unwrap().len(), SETTINGS.len());
        assert_eq!(output.json["settings"][1]["value"], "127.0.0.1:8080");
    }
}

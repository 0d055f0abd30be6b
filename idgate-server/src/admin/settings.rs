//! `idgate config check` and `idgate help settings`

use serde_json::json;

use crate::admin::output::{Output, Rows};
use crate::config::{Config, SETTINGS, Settings};

const HOW_TO_SET: &str = "\
Each setting is an environment variable, a flag before or after the command, and a key of the settings
file given with --config: the flag's name with _ for -. A flag wins over the environment, and the
environment over the file. `idgate config check` shows the settings in force.
";

/// Lists all settings with their help.
pub fn list() -> Output {
    let mut rows = Rows { text: HOW_TO_SET.to_owned(), ..Rows::default() };
    for setting in SETTINGS {
        let flag = format!("--{}", setting.flag_key().replace('_', "-"));
        let default = setting.default.filter(|default| !default.is_empty());
        let told = default.map(|default| format!(" [default: {default}]")).unwrap_or_default();
        let value = if setting.secret { "FILE" } else { "VALUE" };
        let (variable, help) = (setting.variable, setting.help);
        let row = json!({
            "name": variable, "flag": flag, "key": setting.key, "default": default, "help": help,
        });
        rows.add(format_args!("\n{variable}, {flag} {value}\n    {help}{told}"), row);
    }
    rows.into_output("settings")
}

/// Shows the settings in force with their origin. `config` has their values.
pub fn check(settings: &Settings, config: &Config) -> Output {
    let base_url = config.base_url_at(config.listen);
    let mut rows = Rows::default();
    for setting in SETTINGS {
        let value = settings.get(setting.key);
        let shown = match setting.key {
            "base_url" => Some(&*base_url),
            _ if setting.secret => value.as_ref().map(|_| "***"),
            _ => value.as_ref().map(|value| &**value.text),
        };
        let origin = value.as_ref().map_or("default".to_owned(), |value| value.origin.to_string());
        let (name, told) = (setting.variable, shown.unwrap_or("none"));
        let row = json!({ "name": name, "value": shown, "origin": origin });
        rows.add(format_args!("{name} = {told}  ({origin})"), row);
    }
    let mut output = rows.into_output("settings");
    if config.database.is_none() {
        output.warnings = idgate_store::exposed(&config.data_dir);
    }
    output
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const KEY: &str = "c2VudGluZWwgc2VudGluZWwgc2VudGluZWwgc2VudGk="; // 32 bytes

    #[test]
    fn secrets_are_starred_and_origins_named() {
        let environment = [
            ("IDGATE_INSTANCE_KEY".to_owned(), KEY.to_owned()),
            ("IDGATE_LOG".to_owned(), "debug".to_owned()),
        ];
        let settings = Settings::collect(&BTreeMap::new(), environment, None).unwrap();
        let output = check(&settings, &Config::new(&settings).unwrap());
        let all = format!("{}{}", output.text, output.json);
        assert!(!all.contains("c2Vu"), "{all}");
        assert!(output.text.contains("IDGATE_INSTANCE_KEY = ***  (environment variable"));
        assert!(output.text.contains("IDGATE_LOG = debug  (environment variable IDGATE_LOG)"));
        assert!(output.text.contains("IDGATE_BASE_URL = http://127.0.0.1:8080  (default)"));
        assert_eq!(output.json["settings"].as_array().unwrap().len(), SETTINGS.len());
        assert_eq!(output.json["settings"][2]["value"], "127.0.0.1:8080");
    }
}

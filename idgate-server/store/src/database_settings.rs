//! Compares PostgreSQL's settings with those that the gateway requests: its limits, and
//! PostgreSQL's own log.

use std::collections::BTreeMap;

use super::finding::Finding;
use crate::address::STATEMENT_LIMITS;

const LIMITS: &str = "database_limits";
const LOG: &str = "database_log";

/// PostgreSQL settings by name, as in `pg_settings`, with times in milliseconds.
pub struct DatabaseSettings(pub(super) BTreeMap<String, String>);

impl DatabaseSettings {
    /// The settings that are checked.
    pub(super) fn names() -> Vec<&'static str> {
        let limits = STATEMENT_LIMITS.iter().map(|(name, _)| *name);
        let log = [
            "log_statement",
            "log_min_duration_statement",
            "log_min_duration_sample",
            "log_transaction_sample_rate",
            "log_parameter_max_length",
            "log_parameter_max_length_on_error",
            "auto_explain.log_min_duration",
            "auto_explain.log_parameter_max_length",
        ];
        limits.chain(log).collect()
    }

    /// The findings for an operator. `options`: the settings that a connection requests, which may
    /// include limits that the operator set.
    pub(super) fn judge(&self, options: &str) -> [Finding; 2] {
        [self.limits(options), self.log()]
    }

    /// A pooler may accept the settings of a connection's start-up message and drop them.
    fn limits(&self, options: &str) -> Finding {
        let lost = |(name, ms): &(&str, u64)| {
            let own = self.get(name);
            let is_operators = options.matches(name).count() > 1;
            (own != ms.to_string() && !is_operators)
                .then(|| format!("{name} is {own} ms instead of {ms} ms"))
        };
        let lost: Vec<String> = STATEMENT_LIMITS.iter().filter_map(lost).collect();
        if lost.is_empty() {
            return Finding::good(
                LIMITS,
                "statements, locks and idle transactions have their limits",
            );
        }
        Finding::warning(
            LIMITS,
            format!(
                "{}; a pooler drops what idgate asks for when it connects, for example PgBouncer with \
                 ignore_startup_parameters: set these for the role with ALTER ROLE ... SET, or connect \
                 to PostgreSQL directly",
                lost.join(", ")
            ),
        )
    }

    /// Statement parameters include sealed results, keys and codes. In PostgreSQL's log they would
    /// outlive their 30 seconds, and the instance key opens them.
    fn log(&self) -> Finding {
        let is_set = |name: &str| self.get(name).parse::<f64>().is_ok_and(|value| value >= 0.0);
        let is_sampled =
            self.get("log_transaction_sample_rate").parse::<f64>().is_ok_and(|rate| rate > 0.0);
        let mut by = Vec::new();
        if self.get("log_parameter_max_length") != "0" {
            if ["mod", "all"].contains(&self.get("log_statement")) {
                by.push("log_statement");
            }
            let times = ["log_min_duration_statement", "log_min_duration_sample"];
            by.extend(times.into_iter().filter(|name| is_set(name)));
            if is_sampled {
                by.push("log_transaction_sample_rate");
            }
        }
        if !["", "0"].contains(&self.get("log_parameter_max_length_on_error")) {
            by.push("log_parameter_max_length_on_error");
        }
        let explains = is_set("auto_explain.log_min_duration");
        if explains && !["", "0"].contains(&self.get("auto_explain.log_parameter_max_length")) {
            by.push("auto_explain.log_min_duration");
        }
        if by.is_empty() {
            return Finding::good(LOG, "has no parameters of statements in it");
        }
        Finding::warning(
            LOG,
            format!(
                "PostgreSQL writes parameters of statements into its log ({}), where sealed \
                 results stay as long as the log is kept; set log_parameter_max_length, \
                 log_parameter_max_length_on_error and auto_explain.log_parameter_max_length to 0 \
                 for the role, and remove the old logs",
                by.join(", ")
            ),
        )
    }

    /// Empty: the server does not have the setting.
    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::finding::Health;

    /// PostgreSQL's own defaults with the gateway's settings, and with these changes.
    fn with(changed: &[(&str, &str)]) -> DatabaseSettings {
        let installed = [
            ("log_statement", "none"),
            ("log_min_duration_statement", "-1"),
            ("log_min_duration_sample", "-1"),
            ("log_transaction_sample_rate", "0"),
            ("log_parameter_max_length", "-1"),
            ("log_parameter_max_length_on_error", "0"),
        ];
        let limits = STATEMENT_LIMITS.iter().map(|(name, ms)| ((*name).to_owned(), ms.to_string()));
        let others = installed
            .iter()
            .chain(changed)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        DatabaseSettings(limits.chain(others).collect())
    }

    #[test]
    fn limits_that_a_pooler_drops_are_named() {
        assert_eq!(with(&[]).limits("").health, Health::Good);
        let again = "-c statement_timeout=10000 -c statement_timeout=60s";
        let longer = with(&[("statement_timeout", "60000")]);
        assert_eq!(longer.limits(again).health, Health::Good, "as the operator set it");
        assert_eq!(longer.limits("-c statement_timeout=10000").health, Health::Warning);
        for (name, ms) in STATEMENT_LIMITS {
            let found = with(&[(name, "0")]).limits("");
            assert_eq!(found.health, Health::Warning, "{name}");
            assert!(
                found.message.contains(&format!("{name} is 0 ms instead of {ms} ms")),
                "{found:?}"
            );
            assert!(found.message.contains("pooler"), "{found:?}");
        }
    }

    #[test]
    fn a_log_with_parameters_of_statements_is_named_with_the_remedy() {
        assert_eq!(with(&[]).log().health, Health::Good);
        assert_eq!(with(&[("log_statement", "ddl")]).log().health, Health::Good);
        for (name, value) in [
            ("log_statement", "mod"),
            ("log_statement", "all"),
            ("log_min_duration_statement", "0"),
            ("log_min_duration_statement", "250"),
            ("log_min_duration_sample", "100"),
            ("log_transaction_sample_rate", "0.01"),
        ] {
            let found = with(&[(name, value)]).log();
            assert_eq!(found.health, Health::Warning, "{name} = {value}");
            assert!(found.message.contains(name), "{found:?}");
            let without = with(&[(name, value), ("log_parameter_max_length", "0")]).log();
            assert_eq!(without.health, Health::Good, "{name} = {value}, without parameters");
        }
        let on_error = with(&[("log_parameter_max_length_on_error", "-1")]).log();
        assert_eq!(on_error.health, Health::Warning);
        let explained = [
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_parameter_max_length", "-1"),
        ];
        assert_eq!(with(&explained).log().health, Health::Warning);
        assert_eq!(with(&explained[..1]).log().health, Health::Good, "before PostgreSQL 16");
    }
}

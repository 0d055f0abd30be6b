//! `idgate doctor`: finds problems of an installation before they cause harm.

use clap::{Args, ValueEnum};
use idgate_core::UnixMillis;
use serde_json::json;

use super::trust;
use crate::admin::output::{Output, Rows};
use crate::config::{Config, DRAFT_ALONE, DataDir, Environment, Settings};
use crate::http::{Tls, certificates};
use idgate_store::{Finding, Health};

mod certificate;
pub mod eu;
mod live;
mod own_certificates;

/// The options of `idgate doctor`.
#[derive(Args, Debug)]
pub struct DoctorOptions {
    /// Check every row: open all sealed values, walk the whole audit log, and compare the stored
    /// data with it
    #[arg(long)]
    pub deep: bool,
    /// Only check whether the gateway of these settings answers on this machine, for health checks
    #[arg(long, conflicts_with = "deep")]
    pub live: bool,
    /// Check the gateway against the rules of an ecosystem instead
    #[arg(value_enum, conflicts_with_all = ["deep", "live"])]
    pub rules: Option<RuleSet>,
}

/// The rules of an ecosystem.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum RuleSet {
    /// The rules of the European Union for relying parties
    Eu,
}

/// Checks the settings and the data directory. The exit code is 3 if a check failed.
pub fn run(options: &DoctorOptions, settings: &Settings, now: UnixMillis) -> Output {
    let config = Config::new(settings);
    if options.live {
        return report(&match &config {
            Ok(config) => live::look(config),
            Err(error) => vec![Finding::bad("settings", error.clone())],
        });
    }
    let mut findings = match &config {
        Ok(config) => about_config(config, now),
        Err(error) => vec![Finding::bad("settings", error.clone())],
    };
    let exposed = settings.exposed().iter();
    findings.extend(exposed.map(|exposed| Finding::warning("secret_files", exposed.clone())));
    match DataDir::new(settings) {
        Ok(dir) => findings.extend(about_directory(&dir, config.as_ref().ok(), now, options.deep)),
        Err(error) => findings.push(Finding::bad("data_directory", error)),
    }
    report(&findings)
}

fn report(findings: &[Finding]) -> Output {
    let mut rows = Rows::default();
    for Finding { check, health, message } in findings {
        let status = name(*health);
        let row = json!({ "check": check, "status": status, "message": message });
        rows.add(format_args!("{status:<8} {check}: {message}"), row);
    }
    let bad = findings.iter().any(|finding| finding.health == Health::Bad);
    Output::new(json!({ "ok": !bad, "checks": rows.json }), rows.text).failed_if(bad)
}

const fn name(health: Health) -> &'static str {
    match health {
        Health::Good => "ok",
        Health::Warning => "warning",
        Health::Bad => "failed",
    }
}

fn about_config(config: &Config, now: UnixMillis) -> Vec<Finding> {
    let environment = config.environment;
    let mut found = vec![Finding::good("settings", format!("are those of {}", environment.name()))];
    found.extend(tls(config, now));
    if environment != Environment::Development {
        found.extend(not_for_the_public(config));
    }
    if !config.profiles.are_newer() {
        found.push(Finding::warning("profiles", DRAFT_ALONE));
    }
    if config.behind_tls_proxy && config.trusted_proxies.is_empty() {
        found.push(Finding::warning(
            "trusted_proxies",
            "there are none, so every request seems to come from the proxy; set IDGATE_TRUSTED_PROXIES",
        ));
    }
    found
}

/// Settings that are for development only.
fn not_for_the_public(config: &Config) -> Vec<Finding> {
    let mut found = Vec::new();
    let base_url = config.base_url_at(config.listen);
    if !base_url.starts_with("https://") {
        found.push(Finding::bad(
            "base_url",
            format!(
                "{base_url} is not https; set IDGATE_BASE_URL to the https URL that wallets use"
            ),
        ));
    }
    if !config.rate_limits {
        found.push(Finding::bad("rate_limits", "are off; unset IDGATE_RATE_LIMITS"));
    }
    if config.webhook_allow_http {
        let what = "http webhooks are allowed; unset IDGATE_WEBHOOK_ALLOW_HTTP";
        found.push(Finding::warning("webhooks", what));
    }
    if !config.webhook_allow_cidrs.is_empty() {
        let what = "webhooks may reach private addresses; check IDGATE_WEBHOOK_ALLOW_CIDRS";
        found.push(Finding::warning("webhooks", what));
    }
    if !config.fetch_allow_cidrs.is_empty() {
        let what = "status lists and CRLs may be fetched from private addresses; check \
                    IDGATE_FETCH_ALLOW_CIDRS";
        found.push(Finding::warning("fetches", what));
    }
    if config.instance_key.is_none() {
        let what = "the instance key is in the directory of the database that it seals; keep it elsewhere, \
                    and set IDGATE_INSTANCE_KEY_FILE";
        found.push(Finding::warning("key_custody", what));
    }
    if config.audit_checkpoint_file.is_none() {
        let what = "are in the database only, so a rollback would not be detected; set \
                    IDGATE_AUDIT_CHECKPOINT_FILE to a file on another volume";
        found.push(Finding::warning("audit_checkpoints", what));
    }
    found
}

fn tls(config: &Config, now: UnixMillis) -> Option<Finding> {
    let files = config.tls.as_ref()?;
    if let Err(error) = Tls::load(files) {
        return Some(Finding::bad("tls", error));
    }
    let leaf = certificates(&files.cert).ok()?.into_iter().next()?;
    Some(certificate::check(&leaf, &config.base_url_at(config.listen), now))
}

fn about_directory(
    dir: &DataDir,
    config: Option<&Config>,
    now: UnixMillis,
    deep: bool,
) -> Vec<Finding> {
    let found = match (&dir.database, &dir.instance_key) {
        (Some(address), Some(key)) => idgate_store::examine_database(address, key, now, deep),
        _ => idgate_store::examine(&dir.path, dir.instance_key.as_ref(), now, deep),
    };
    let mut findings = found.findings;
    if let Some(records) = &found.certificates {
        findings.extend(own_certificates::judge(records, config, now));
    }
    if let Some(records) = &found.trust {
        let (problems, warnings) = trust::judge(records, now);
        findings.extend(problems.into_iter().map(|what| Finding::bad("trust", what)));
        findings.extend(warnings.into_iter().map(|what| Finding::warning("trust", what)));
        if !records.is_empty() {
            findings.push(Finding::good("trust", format!("{} entries", records.len())));
        }
    }
    findings
}

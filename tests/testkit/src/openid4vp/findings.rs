//! The faults of a request or a reply, like the list of a conformance suite.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Level {
    /// The verifier breaks a rule.
    Failure,
    /// The verifier ignores a recommendation.
    Warning,
}

/// One failed check.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// Its severity.
    pub level: Level,
    /// The name of the check.
    pub check: &'static str,
    /// The actual value.
    pub about: String,
}

/// All failed checks, in order.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Findings(Vec<Finding>);

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Failure => 'F',
            Level::Warning => 'W',
        };
        write!(f, "{level} {}", self.check)?;
        if self.about.is_empty() { Ok(()) } else { write!(f, ": {}", self.about) }
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}

impl Findings {
    /// All findings.
    pub fn list(&self) -> &[Finding] {
        &self.0
    }

    /// Whether every check passed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the failed checks.
    pub fn checks(&self) -> Vec<&'static str> {
        self.0.iter().map(|finding| finding.check).collect()
    }

    /// The reason of a wallet to refuse the request: the first rule that it breaks. `is_plain`: the gateway is on
    /// loopback without TLS, so missing TLS is ignored.
    pub fn refusal(&self, is_plain: bool) -> Option<String> {
        let of_tls = |found: &Finding| ["request_uri_https", "response_uri"].contains(&found.check);
        let mut failures = self.0.iter().filter(|found| found.level == Level::Failure);
        let found = failures.find(|found| !(is_plain && of_tls(found)))?;
        Some(format!("the wallet refuses the request: {found}"))
    }

    /// Both lists.
    pub fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// Adds a failure unless it `holds`.
    pub(super) fn must(&mut self, check: &'static str, holds: bool, about: impl ToString) {
        self.note(Level::Failure, check, holds, about);
    }

    /// Adds a warning unless it `holds`.
    pub(super) fn should(&mut self, check: &'static str, holds: bool, about: impl ToString) {
        self.note(Level::Warning, check, holds, about);
    }

    fn note(&mut self, level: Level, check: &'static str, holds: bool, about: impl ToString) {
        if !holds {
            self.0.push(Finding { level, check, about: about.to_string() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wallet_refuses_broken_rules_and_excuses_missing_tls_only_on_loopback() {
        let mut findings = Findings::default();
        findings.should("state", false, "");
        assert_eq!(findings.refusal(false), None);
        findings.must("response_uri", false, "http://127.0.0.1/r");
        assert_eq!(findings.refusal(true), None);
        let told = "the wallet refuses the request: F response_uri: http://127.0.0.1/r";
        assert_eq!(findings.refusal(false).as_deref(), Some(told));
        findings.must("nonce", false, "");
        let told = "the wallet refuses the request: F nonce";
        assert_eq!(findings.refusal(true).as_deref(), Some(told));
    }
}

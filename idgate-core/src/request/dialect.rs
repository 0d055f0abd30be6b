//! Which generation of OpenID4VP a request speaks. One request speaks one dialect (decisions 20).

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

/// A dialect of OpenID4VP, by the name that tenants and operators use for it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[non_exhaustive]
pub enum Dialect {
    /// `draft`: `presentation_definition`, as wallets of drafts 18 to 24 read it.
    #[serde(rename = "draft")]
    Draft,
    /// `1.0`: OpenID4VP 1.0 with `dcql_query`.
    #[serde(rename = "1.0")]
    V1_0,
    /// `haip`: OpenID4VP 1.0 within the High Assurance Interoperability Profile 1.0.
    #[serde(rename = "haip")]
    Haip,
}

impl Dialect {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::Draft, Self::V1_0, Self::Haip];

    /// From its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Its name: `draft`, `1.0` or `haip`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::V1_0 => "1.0",
            Self::Haip => "haip",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which dialects a tenant may ask for.
///
/// ```
/// use idgate_core::request::{Dialect, Dialects};
/// let dialects = Dialects::new([Dialect::Haip, Dialect::Draft]).without(Dialect::Haip);
/// assert_eq!(dialects.enabled(), [Dialect::Haip, Dialect::Draft]);
/// assert!(!dialects.is_ready(Dialect::Haip) && dialects.is_ready(Dialect::Draft));
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Dialects {
    /// Never empty.
    enabled: Vec<Dialect>,
    /// What cannot be used now, and why.
    unready: Vec<(Dialect, &'static str)>,
    /// Whether requests go to browsers, too.
    dc_api: bool,
    /// The text of a refusal where `draft` alone is enabled and a tenant asks for more.
    why_draft_alone: &'static str,
}

impl Dialects {
    /// These, all of them ready; the first is for requests that name none. None is `draft` alone.
    pub fn new(enabled: impl IntoIterator<Item = Dialect>) -> Self {
        let mut enabled: Vec<Dialect> = enabled.into_iter().collect();
        if enabled.is_empty() {
            enabled.push(Dialect::Draft);
        }
        let why_draft_alone =
            "this verifier speaks only draft; make it with the profiles 1.0 or haip, too";
        Self { enabled, unready: Vec::new(), dc_api: false, why_draft_alone }
    }

    /// Of an enabled one: it cannot be used now, as without its certificate.
    #[must_use]
    pub fn without(mut self, dialect: Dialect) -> Self {
        self.unready.push((dialect, "the gateway has no certificate for it"));
        self
    }

    /// The same of one whose certificate has expired: wallets would refuse it.
    #[must_use]
    pub fn with_expired(mut self, dialect: Dialect) -> Self {
        self.unready
            .push((dialect, "the certificate for it has expired; ask the operator to renew it"));
        self
    }

    /// The same where a request may also go to the browser of a page, in any dialect but `draft`: then
    /// `dc_api` is known.
    #[must_use]
    pub fn with_dc_api(mut self) -> Self {
        self.dc_api = true;
        self
    }

    /// The same with another text for refusals where `draft` alone is enabled: it says that, and how others are
    /// enabled.
    #[must_use]
    pub fn explaining_draft_alone(mut self, text: &'static str) -> Self {
        self.why_draft_alone = text;
        self
    }

    /// What is enabled, the first for requests that name none.
    pub fn enabled(&self) -> &[Dialect] {
        &self.enabled
    }

    /// Whether it is enabled and can be used now.
    pub fn is_ready(&self, dialect: Dialect) -> bool {
        self.enabled.contains(&dialect) && self.why_unready(dialect).is_none()
    }

    /// Why one cannot be used now.
    pub(crate) fn why_unready(&self, dialect: Dialect) -> Option<&'static str> {
        self.unready.iter().find(|(unready, _)| *unready == dialect).map(|(_, why)| *why)
    }

    /// Whether requests may go to browsers.
    pub(crate) fn has_dc_api(&self) -> bool {
        self.dc_api && !self.is_draft_alone()
    }

    /// The text of a refusal where `draft` alone is enabled.
    pub(crate) fn why_draft_alone(&self) -> &'static str {
        self.why_draft_alone
    }

    /// Whether no dialect but the oldest is enabled: then a request has the oldest fields alone.
    pub(crate) fn is_draft_alone(&self) -> bool {
        self.enabled.iter().all(|dialect| *dialect == Dialect::Draft)
    }
}

impl Default for Dialects {
    fn default() -> Self {
        Self::new([Dialect::Draft])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_stored_ones_and_lead_back() {
        for dialect in Dialect::ALL {
            assert_eq!(Dialect::from_name(dialect.name()), Some(dialect));
            let stored = serde_json::to_value(dialect).unwrap();
            assert_eq!(stored, dialect.name());
            assert_eq!(serde_json::from_value::<Dialect>(stored).unwrap(), dialect);
        }
        for unknown in ["", "Draft", "1", "1.0 ", "HAIP"] {
            assert_eq!(Dialect::from_name(unknown), None, "{unknown}");
        }
    }
}

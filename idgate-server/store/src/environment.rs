//! Development, staging or production.

/// How strict the gateway is about trust material.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Environment {
    /// For development and experiments.
    Development,
    /// Before production.
    Staging,
    /// For production use.
    Production,
}

impl Environment {
    /// Its name in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Staging => "staging",
            Self::Production => "production",
        }
    }
}

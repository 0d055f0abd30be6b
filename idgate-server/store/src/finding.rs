//! What an operator is told of one thing that was looked at.

/// How one thing was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Health {
    /// As it should be.
    Good,
    /// Works, but an operator should look at it.
    Warning,
    /// Does not work, or is not safe.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// Its stable name.
    pub check: &'static str,
    /// How it was found.
    pub health: Health,
    /// What was found and, unless it is good, what to do.
    pub message: String,
}

impl Finding {
    /// As it should be.
    pub fn good(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Good, message: message.into() }
    }

    /// For an operator to look at.
    pub fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Warning, message: message.into() }
    }

    /// To be mended.
    pub fn bad(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Bad, message: message.into() }
    }
}

//! One result of a check for the operator.

/// The outcome of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Health {
    /// All is well.
    Good,
    /// It works, but an operator should look at it.
    Warning,
    /// It does not work, or it is not safe.
    Bad,
}

/// One thing that was checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Finding {
    /// The check's stable name.
    pub check: &'static str,
    /// The outcome.
    pub health: Health,
    /// What was found and, unless all is well, what to do.
    pub message: String,
}

impl Finding {
    /// A check that passed.
    pub fn good(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Good, message: message.into() }
    }

    /// A finding that an operator should look at.
    pub fn warning(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Warning, message: message.into() }
    }

    /// A finding that has to be fixed.
    pub fn bad(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, health: Health::Bad, message: message.into() }
    }
}

//! What a trust entry demands about revocation, and what follows when no source can be asked.

use crate::trust::RevocationPolicy;

/// What is to be done about one credential's status.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StatusDuty {
    /// Nothing: the operator switched it off.
    Off,
    /// Nothing: none is published, and none is required.
    NotPublished,
    /// It must be known, and no source is available: refuse. Unknown is never good.
    Unknown,
}

/// Decisions 3. A published status that no mechanism can establish is unknown.
pub(crate) fn duty(policy: RevocationPolicy, publishes_status: bool) -> StatusDuty {
    match (policy, publishes_status) {
        (RevocationPolicy::Off, _) => StatusDuty::Off,
        (RevocationPolicy::IfPublished, false) => StatusDuty::NotPublished,
        (RevocationPolicy::IfPublished, true) | (RevocationPolicy::Required, _) => {
            StatusDuty::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_never_good() {
        assert_eq!(duty(RevocationPolicy::IfPublished, true), StatusDuty::Unknown);
        assert_eq!(duty(RevocationPolicy::Required, true), StatusDuty::Unknown);
        assert_eq!(duty(RevocationPolicy::Required, false), StatusDuty::Unknown);
        assert_eq!(duty(RevocationPolicy::IfPublished, false), StatusDuty::NotPublished);
        assert_eq!(duty(RevocationPolicy::Off, true), StatusDuty::Off);
    }
}

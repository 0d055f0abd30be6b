//! The tamper table: good presentations, one change at a time, and the expected outcome. [`rows`]
//! is data; a [`Gateway`] runs it, in-process or over HTTP.

pub mod gateway;
mod in_process;
mod rows;
pub mod scenario;

pub use self::gateway::{Gateway, Outcome, run};
pub use self::in_process::{Counted, InProcess};
pub(crate) use self::in_process::{decide, entry};
pub use self::rows::{credential_rows, parameter_rows, presentation_rows, rows};
pub use self::scenario::{Base, Scenario};

/// One change to a good presentation, or to the rest of a scenario `S`.
#[derive(Clone, Copy, Debug)]
pub struct Row<S = Scenario> {
    /// A description of the change.
    pub title: &'static str,
    /// Makes the change.
    pub change: fn(&mut S),
    /// The expected outcome.
    pub expected: Expected,
    /// It is at the edge of a time window, so it needs a clock that stands still.
    pub needs_virtual_time: bool,
}

/// The outcome of an answer and of its session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expected {
    /// 200, VERIFIED
    Verified,
    /// 400 `invalid_presentation`, FAILED with this reason
    Refused(&'static str),
    /// 400 (413) with this `error`; the session stays PENDING
    Transport(&'static str),
    /// 200, FAILED `wallet_error`
    ErrorNoted,
}

impl Expected {
    /// The session's status afterwards.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Verified => "VERIFIED",
            Self::Refused(_) | Self::ErrorNoted => "FAILED",
            Self::Transport(_) => "PENDING",
        }
    }

    /// The session's reason afterwards.
    pub const fn reason(self) -> Option<&'static str> {
        match self {
            Self::Verified | Self::Transport(_) => None,
            Self::Refused(reason) => Some(reason),
            Self::ErrorNoted => Some("wallet_error"),
        }
    }

    /// The `error` of the answer to the wallet.
    pub const fn error(self) -> Option<&'static str> {
        match self {
            Self::Verified | Self::ErrorNoted => None,
            Self::Refused(_) => Some("invalid_presentation"),
            Self::Transport(error) => Some(error),
        }
    }
}

/// The first of `rows` for each outcome that a wallet can distinguish.
#[cfg(test)]
pub(crate) fn one_of_each_outcome<R>(
    rows: impl IntoIterator<Item = R>,
    expected: impl Fn(&R) -> Expected,
) -> Vec<R> {
    let mut seen = std::collections::BTreeSet::new();
    let is_first = |row: &R| seen.insert((expected(row).status(), expected(row).error()));
    rows.into_iter().filter(is_first).collect()
}

impl<S> Row<S> {
    /// A row that runs against the server as well.
    pub const fn new(title: &'static str, expected: Expected, change: fn(&mut S)) -> Self {
        Self { title, change, expected, needs_virtual_time: false }
    }

    /// A change that is allowed.
    pub const fn verified(title: &'static str, change: fn(&mut S)) -> Self {
        Self::new(title, Expected::Verified, change)
    }

    /// A change that makes the presentation fail for this reason.
    pub const fn refused(title: &'static str, reason: &'static str, change: fn(&mut S)) -> Self {
        Self::new(title, Expected::Refused(reason), change)
    }

    /// A change that makes it no answer to the session, with this `error`.
    pub const fn transport(title: &'static str, error: &'static str, change: fn(&mut S)) -> Self {
        Self::new(title, Expected::Transport(error), change)
    }

    const fn in_virtual_time(mut self) -> Self {
        self.needs_virtual_time = true;
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::collections::BTreeSet;

    use idgate_core::crypto::{aws_lc_rs, rustcrypto};
    use idgate_core::{ErrorCode, Reason};
    use idgate_testkit::wallet::Body;
    use serde_json::json;

    use super::*;

    #[test]
    fn good_presentations_are_verified_and_give_the_requested_claims() {
        for base in Base::ALL {
            let scenario = Scenario::good(base, scenario::NOW_MS);
            let outcome = run(&mut InProcess::default(), &scenario);
            assert_eq!(outcome.mismatch(Expected::Verified), None, "{base:?}");
            let claims = outcome.claims.unwrap_or_else(|| panic!("{base:?}: no claims"));
            assert_eq!(claims["pid"], base.disclosed(), "{base:?}");
        }
    }

    #[test]
    fn every_row_gives_its_code_for_every_presentation_on_both_back_ends() {
        let mut wrong = Vec::new();
        for (base, row) in
            Base::ALL.into_iter().flat_map(|b| rows().into_iter().map(move |r| (b, r)))
        {
            let mut scenario = Scenario::good(base, scenario::NOW_MS);
            (row.change)(&mut scenario);
            for provider in [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER] {
                let outcome = run(&mut InProcess::on(provider), &scenario);
                if let Some(mismatch) = outcome.mismatch(row.expected) {
                    wrong.push(format!("{}, {base:?}, {}: {mismatch}", provider.name, row.title));
                }
            }
        }
        assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn every_row_changes_trust_request_or_answer() {
        let made = |change: fn(&mut Scenario)| {
            let mut scenario = Scenario::good(Base::Flat, scenario::NOW_MS);
            change(&mut scenario);
            let body = scenario.answer(&sample_request());
            (scenario.trust, scenario.request.to_string(), body)
        };
        let good = made(|_| {});
        for row in rows() {
            assert!(made(row.change) != good, "{}: changes nothing", row.title);
        }
    }

    fn sample_request() -> String {
        let parameters = json!({
            "client_id": "redirect_uri:https://gateway.example/r",
            "response_uri": "https://gateway.example/r",
            "response_type": "vp_token",
            "response_mode": "direct_post",
            "nonce": "n".repeat(42),
            "state": "q".repeat(43),
            "client_metadata": { "vp_formats": { "vc+sd-jwt": {} } },
            "presentation_definition": { "id": "definition", "input_descriptors": [{
                "id": "pid",
                "format": { "vc+sd-jwt": {} },
                "constraints": {
                    "limit_disclosure": "required",
                    "fields": [{ "path": ["$.given_name"] }],
                },
            }]},
        });
        let query = Body::form(parameters.as_object().unwrap()).bytes;
        format!("openid4vp://?{}", String::from_utf8(query).unwrap())
    }

    #[test]
    fn titles_are_unique_and_codes_are_known() {
        let rows = rows();
        let titles: BTreeSet<&str> = rows.iter().map(|row| row.title).collect();
        assert_eq!(titles.len(), rows.len());
        assert!(rows.len() >= 400, "{} rows", rows.len());
        for row in rows {
            let known = row.expected.reason().is_none_or(|code| Reason::parse(code).is_some());
            assert!(known, "{}", row.title);
            let known = row.expected.error().is_none_or(|code| ErrorCode::parse(code).is_some());
            assert!(known, "{}", row.title);
        }
    }
}

//! Assigns presentations to credential queries (OpenID4VP 8.1, 8.6): `vp_token` names the ids of
//! the query. The stored request decides which must be there.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::VpToken;
use super::vp_token::Given;
use crate::error::{Check, Reason, VerifyError};
use crate::limits::MAX_PRESENTATION_BYTES;
use crate::request::{CredentialSet, PresentationRequest};

/// Returns the presentation for each credential, in the order of the request; `None`: there is
/// none, which only a request with credential sets allows.
///
/// # Errors
/// [`Reason::SubmissionMismatch`], [`Reason::MalformedPresentation`] and [`Reason::LimitExceeded`].
pub(super) fn assign<'r>(
    request: &PresentationRequest,
    vp_token: &'r VpToken<'_>,
) -> Result<Vec<Option<&'r str>>, VerifyError> {
    let credentials = request.credentials.iter().enumerate();
    let asked: Vec<_> =
        credentials.map(|(index, asked)| (request.query_id(index), asked.id.as_str())).collect();
    assign_by_id(&asked, &request.credential_sets, vp_token)
}

/// The same for requested credentials, each with its id in the query and in the sets.
pub(super) fn assign_by_id<'r>(
    asked: &[(Cow<'_, str>, &str)],
    sets: &[CredentialSet],
    vp_token: &'r VpToken<'_>,
) -> Result<Vec<Option<&'r str>>, VerifyError> {
    let VpToken::Map(answers) = vp_token else {
        return Err(mismatch("vp_token has the form for another query language"));
    };
    let places = places(asked, answers)?;
    let mut presented = vec![None; asked.len()];
    for (place, (_, presentations)) in places.into_iter().zip(answers) {
        if let Some(slot) = presented.get_mut(place) {
            *slot = Some(only(presentations)?);
        }
    }
    let ids: Vec<&str> = asked.iter().map(|(_, id)| *id).collect();
    let came: Vec<bool> = presented.iter().map(Option::is_some).collect();
    check_sets(&ids, sets, &came)?;
    Ok(presented)
}

fn mismatch(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::SubmissionMismatch, Check::Submission, detail)
}

/// The credential that each answer is for.
fn places(
    asked: &[(Cow<'_, str>, &str)],
    answers: &[(Cow<'_, str>, Vec<Given<'_>>)],
) -> Result<Vec<usize>, VerifyError> {
    let place = |id: &str| asked.iter().position(|(known, _)| *known == id);
    answers
        .iter()
        .map(|(id, _)| place(id).ok_or(mismatch("vp_token has an id that is not in the query")))
        .collect()
}

/// The request never has `multiple`, so a query has one presentation (OpenID4VP 6.1).
fn only<'r>(presentations: &'r [Given<'_>]) -> Result<&'r str, VerifyError> {
    let [presentation] = presentations else {
        return Err(mismatch("an id of vp_token has no presentation, or several"));
    };
    let Some(text) = presentation else {
        let detail = "a presentation is not a string";
        return Err(VerifyError::new(Reason::MalformedPresentation, Check::Submission, detail));
    };
    if text.len() > MAX_PRESENTATION_BYTES {
        let detail = "a presentation is larger than 512 KiB";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Submission, detail));
    }
    Ok(text)
}

/// Without sets every credential must be there; with them, one option of each required set. An
/// empty answer is never valid: a wallet that has nothing sends an error. A credential that no set
/// names was not requested (OpenID4VP 6.4.2).
pub(super) fn check_sets(
    ids: &[&str],
    sets: &[CredentialSet],
    came: &[bool],
) -> Result<(), VerifyError> {
    if !came.contains(&true) {
        return Err(mismatch("the answer presents nothing"));
    }
    if sets.is_empty() {
        let complete = !came.contains(&false);
        return complete.then_some(()).ok_or(mismatch("the answer leaves out a credential"));
    }
    let came: Vec<&str> =
        ids.iter().zip(came).filter(|(_, came)| **came).map(|(id, _)| *id).collect();
    let named = |id: &&str| {
        let mut options = sets.iter().flat_map(|set| &set.options);
        options.any(|option| option.iter().any(|other| other == id))
    };
    if !came.iter().all(named) {
        return Err(mismatch(
            "the answer has a credential that no credential set of the query names",
        ));
    }
    let complete = |option: &Vec<_>| option.iter().all(|id: &String| came.contains(&id.as_str()));
    let mut required = sets.iter().filter(|set| set.required);
    let met = required.all(|set| set.options.iter().any(complete));
    met.then_some(())
        .ok_or(mismatch("the answer has no complete option of a required credential set"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::request::fixtures;
    use crate::response::{Answer, Content, Posted};
    use crate::session::QueryLanguage;

    const MISMATCH: Reason = Reason::SubmissionMismatch;

    /// The result for `vp_token`, for requests `pid` and `credential_2`.
    fn assigned(request: &PresentationRequest, vp_token: &str) -> Result<String, Reason> {
        let body = format!(r#"{{"state":"s","vp_token":{vp_token}}}"#);
        let response =
            Answer { to: "", content_type: Some("application/json"), body: body.as_bytes() };
        let posted = Posted::parse(response, QueryLanguage::Dcql).unwrap();
        let Posted::Plain(posted) = posted else { unreachable!("it is plain") };
        let Content::Presentation { vp_token, .. } = posted.answer else {
            unreachable!("it is a presentation")
        };
        let presented = assign(request, &vp_token).map_err(|error| error.reason)?;
        let shown = presented.iter().map(|text| text.unwrap_or("-"));
        Ok(shown.collect::<Vec<_>>().join(" "))
    }

    fn two(vp_token: &str) -> Result<String, Reason> {
        assigned(&fixtures::two_credentials(), vp_token)
    }

    fn with_sets(sets: &[(&[&[&str]], bool)]) -> PresentationRequest {
        let ids = |ids: &[&str]| ids.iter().map(|id| String::from(*id)).collect();
        let mut request = fixtures::two_credentials();
        let set = |(options, required): &(&[&[&str]], bool)| {
            let options = options.iter().map(|option| ids(option)).collect();
            CredentialSet { options, required: *required }
        };
        request.credential_sets = sets.iter().map(set).collect();
        request
    }

    #[test]
    fn presentations_come_in_the_order_of_the_request() {
        assert_eq!(two(r#"{"credential_2": ["b"], "pid": ["a"]}"#).unwrap(), "a b");
    }

    #[test]
    fn a_bare_string_counts_as_an_array_of_one() {
        assert_eq!(two(r#"{"pid": "a", "credential_2": ["b"]}"#).unwrap(), "a b");
    }

    #[test]
    fn an_invalid_id_is_answered_under_its_replacement() {
        let mut request = fixtures::one_credential();
        if let Some(only) = request.credentials.first_mut() {
            only.id = "p d".into();
        }
        assert_eq!(assigned(&request, r#"{"credential_1": ["a"]}"#).unwrap(), "a");
        assert_eq!(assigned(&request, r#"{"p d": ["a"]}"#), Err(MISMATCH));
    }

    #[test]
    fn an_unknown_id_is_refused_before_its_value_is_checked() {
        for more in [r#""x": ["c"]"#, r#""PID": [{}]"#, r#""": []"#] {
            let token = format!(r#"{{"pid": [{{}}], "credential_2": ["b"], {more}}}"#);
            assert_eq!(two(&token), Err(MISMATCH), "{more}");
        }
    }

    #[test]
    fn several_presentations_for_one_query_are_refused() {
        for list in [r#"["a", "b"]"#, r#"["a", "a"]"#, r#"["a", {}]"#, "[]"] {
            let token = format!(r#"{{"pid": {list}, "credential_2": ["b"]}}"#);
            assert_eq!(two(&token), Err(MISMATCH), "{list}");
        }
    }

    #[test]
    fn a_presentation_that_is_not_a_string_is_malformed() {
        for value in ["[{}]", "[[]]", "[null]", "[1]", "{}", "null", "true"] {
            let token = format!(r#"{{"pid": {value}, "credential_2": ["b"]}}"#);
            assert_eq!(two(&token), Err(Reason::MalformedPresentation), "{value}");
        }
    }

    #[test]
    fn a_presentation_over_512_kib_exceeds_the_limit() {
        let token = |n: usize| {
            let text = "a".repeat(n);
            two(&format!(r#"{{"pid": ["{text}"], "credential_2": ["b"]}}"#))
        };
        assert!(token(MAX_PRESENTATION_BYTES).is_ok());
        assert_eq!(token(MAX_PRESENTATION_BYTES + 1), Err(Reason::LimitExceeded));
    }

    #[test]
    fn without_sets_every_credential_must_come() {
        assert_eq!(two(r#"{"pid": ["a"]}"#), Err(MISMATCH));
        assert_eq!(two(r#"{"credential_2": ["a"]}"#), Err(MISMATCH));
    }

    #[test]
    fn an_empty_answer_is_refused() {
        assert_eq!(two("{}"), Err(MISMATCH));
        let optional = with_sets(&[(&[&["pid"], &["credential_2"]], false)]);
        assert_eq!(assigned(&optional, "{}"), Err(MISMATCH));
    }

    #[test]
    fn a_credential_outside_the_sets_was_not_requested() {
        let one = with_sets(&[(&[&["pid"]], true)]);
        assert_eq!(assigned(&one, r#"{"pid": ["a"]}"#).unwrap(), "a -");
        assert_eq!(assigned(&one, r#"{"pid": ["a"], "credential_2": ["b"]}"#), Err(MISMATCH));
    }

    #[test]
    fn every_required_set_has_one_whole_option() {
        let either = with_sets(&[(&[&["pid"], &["credential_2"]], true)]);
        assert_eq!(assigned(&either, r#"{"pid": ["a"]}"#).unwrap(), "a -");
        assert_eq!(assigned(&either, r#"{"credential_2": ["b"]}"#).unwrap(), "- b");
        assert_eq!(assigned(&either, r#"{"pid": ["a"], "credential_2": ["b"]}"#).unwrap(), "a b");

        let optional = with_sets(&[(&[&["pid"]], true), (&[&["credential_2"]], false)]);
        assert_eq!(assigned(&optional, r#"{"pid": ["a"]}"#).unwrap(), "a -");
        assert_eq!(assigned(&optional, r#"{"credential_2": ["b"]}"#), Err(MISMATCH));

        let both = with_sets(&[(&[&["pid", "credential_2"]], true)]);
        assert_eq!(assigned(&both, r#"{"pid": ["a"]}"#), Err(MISMATCH));
        let each = with_sets(&[(&[&["pid"]], true), (&[&["credential_2"]], true)]);
        assert_eq!(assigned(&each, r#"{"pid": ["a"]}"#), Err(MISMATCH));
    }
}

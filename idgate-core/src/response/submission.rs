//! `presentation_submission`: assigns presentations to credential requests (Presentation Exchange
//! 2). Paths are compared, never evaluated.

use alloc::vec;
use alloc::vec::Vec;

use crate::codec::json::{Kind, Tape, Value};
use crate::error::{Check, Reason, VerifyError};
use crate::limits::{MAX_ANSWER_VALUES, MAX_PRESENTATION_BYTES, MAX_PRESENTATIONS};
use crate::request::{CredentialFormat, CredentialRequest, PresentationRequest};
use crate::response::VpToken;

/// Returns one presentation per requested credential, in the order of the request. Every
/// presentation answers a request, and only documents of one mdoc response share one.
///
/// # Errors
/// [`Reason::LimitExceeded`] and [`Reason::SubmissionMismatch`].
pub(crate) fn assign<'r>(
    request: &PresentationRequest,
    definition_id: &str,
    vp_token: &'r VpToken<'_>,
    submission: &str,
) -> Result<Vec<&'r str>, VerifyError> {
    let tokens = tokens_within_limits(vp_token)?;
    let mut tape = Tape::holding(MAX_ANSWER_VALUES);
    let Ok(root) = tape.parse(submission.as_bytes()) else {
        return mismatch("presentation_submission is not valid JSON");
    };
    let entries = entries(tape.value(root), definition_id, request)?;
    let mut uses: Vec<Use<'_>> = Vec::with_capacity(request.credentials.len());
    for credential in &request.credentials {
        let entry = entry_of(credential, &entries)?;
        uses.push(Use { credential, token: token_index(entry, tokens.len())? });
    }
    refuse_shared_tokens(&uses, &tokens)?;
    if (0..tokens.len()).any(|index| !uses.iter().any(|used| used.token == index)) {
        return mismatch("vp_token holds a presentation that answers no request");
    }
    let chosen = uses.iter().filter_map(|used| tokens.get(used.token).copied());
    Ok(chosen.collect())
}

/// A credential request and the index of the token that answers it.
struct Use<'a> {
    credential: &'a CredentialRequest,
    token: usize,
}

fn mismatch<T>(detail: &'static str) -> Result<T, VerifyError> {
    Err(VerifyError::new(Reason::SubmissionMismatch, Check::Submission, detail))
}

fn tokens_within_limits<'r>(vp_token: &'r VpToken<'_>) -> Result<Vec<&'r str>, VerifyError> {
    let exceeded = |detail| Err(VerifyError::new(Reason::LimitExceeded, Check::Submission, detail));
    let tokens: Vec<&str> = match vp_token {
        VpToken::One(token) => vec![&**token],
        VpToken::Several(tokens) => tokens.iter().map(|token| &**token).collect(),
        VpToken::Map(_) => return mismatch("vp_token has the form for another query language"),
    };
    if tokens.len() > MAX_PRESENTATIONS {
        return exceeded("vp_token holds more than 10 presentations");
    }
    if tokens.iter().any(|token| token.len() > MAX_PRESENTATION_BYTES) {
        return exceeded("a presentation is larger than 512 KiB");
    }
    Ok(tokens)
}

/// The descriptor map, after the check that the submission is for this request.
fn entries<'t, 'a>(
    submission: Value<'t, 'a>,
    definition_id: &str,
    request: &PresentationRequest,
) -> Result<Vec<Value<'t, 'a>>, VerifyError> {
    if !has_text(submission, "definition_id", |id| id == definition_id) {
        return mismatch("definition_id is not the one of the request");
    }
    let entries = submission.get("descriptor_map").and_then(Value::elements);
    let Some(entries) = entries else { return mismatch("descriptor_map is not an array") };
    let entries: Vec<_> = entries.take(request.credentials.len().saturating_add(1)).collect();
    if entries.len() > request.credentials.len() {
        return mismatch("descriptor_map has more entries than there are requested credentials");
    }
    let is_known = |id: &str| request.credentials.iter().any(|asked| asked.descriptor_id() == id);
    if !entries.iter().all(|entry| has_text(*entry, "id", is_known)) {
        return mismatch("descriptor_map has an id that was not requested");
    }
    let is_there = |nested: Value<'_, '_>| nested.kind() != Kind::Null;
    if entries.iter().any(|entry| entry.get("path_nested").is_some_and(is_there)) {
        return mismatch("path_nested has no meaning for these formats");
    }
    Ok(entries)
}

/// The only entry of a credential, with the requested format.
fn entry_of<'t, 'a>(
    credential: &CredentialRequest,
    entries: &[Value<'t, 'a>],
) -> Result<Value<'t, 'a>, VerifyError> {
    let is_it =
        |entry: &Value<'_, '_>| has_text(*entry, "id", |id| id == credential.descriptor_id());
    let mut found = entries.iter().filter(|entry| is_it(entry));
    let Some(entry) = found.next() else {
        return mismatch("descriptor_map leaves out a requested credential");
    };
    if found.next().is_some() {
        return mismatch("descriptor_map names a credential twice");
    }
    if !has_text(*entry, "format", |label| is_label(label, credential.format)) {
        return mismatch("format is not the requested one");
    }
    Ok(*entry)
}

/// Wallets use both SD-JWT VC labels for either `typ`.
fn is_label(label: &str, format: CredentialFormat) -> bool {
    match format {
        CredentialFormat::SdJwtVc => matches!(label, "vc+sd-jwt" | "dc+sd-jwt"),
        CredentialFormat::Mdoc => label == "mso_mdoc",
    }
}

/// `$` if there is one presentation, `$[n]` always (OpenID4VP draft 18 to 24, 6.1).
fn token_index(entry: Value<'_, '_>, count: usize) -> Result<usize, VerifyError> {
    let path = entry.get("path").and_then(Value::as_str);
    let index = match path.as_deref() {
        Some("$") if count == 1 => Some(0),
        Some(path) => path
            .strip_prefix("$[")
            .and_then(|rest| rest.strip_suffix(']'))
            .filter(|digits| is_plain_number(digits))
            .and_then(|digits| digits.parse().ok())
            .filter(|index| *index < count),
        None => None,
    };
    match index {
        Some(index) => Ok(index),
        None => mismatch("path names no presentation of vp_token"),
    }
}

/// Digits without a sign and without leading zeros.
fn is_plain_number(digits: &str) -> bool {
    digits == "0" || (!digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// A presentation is shared if two paths lead to it, and also if `vp_token` has it twice: one
/// SD-JWT is one answer, however often it appears.
fn refuse_shared_tokens(uses: &[Use<'_>], tokens: &[&str]) -> Result<(), VerifyError> {
    let is_mdoc = |used: &Use<'_>| used.credential.format == CredentialFormat::Mdoc;
    let shared =
        |a: &Use<'_>, b: &Use<'_>| a.token == b.token || tokens.get(a.token) == tokens.get(b.token);
    for (index, used) in uses.iter().enumerate() {
        let mut earlier = uses.iter().take(index).filter(|other| shared(other, used));
        if earlier.any(|other| !(is_mdoc(used) && is_mdoc(other))) {
            return mismatch("two credentials share one presentation");
        }
    }
    Ok(())
}

fn has_text(value: Value<'_, '_>, name: &str, holds: impl FnOnce(&str) -> bool) -> bool {
    value.get(name).and_then(Value::as_str).is_some_and(|text| holds(&text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use alloc::borrow::Cow;
    use alloc::string::ToString;

    use serde_json::json;

    use super::*;
    use crate::ids::DocType;
    use crate::request::fixtures;

    fn several<'a>(tokens: &[&'a str]) -> VpToken<'a> {
        VpToken::Several(tokens.iter().map(|token| Cow::Borrowed(*token)).collect())
    }

    fn entry(id: &str, path: &str) -> serde_json::Value {
        json!({"id": id, "format": "vc+sd-jwt", "path": path})
    }

    fn submission(entries: serde_json::Value) -> serde_json::Value {
        json!({"id": "x", "definition_id": "d", "descriptor_map": entries})
    }

    fn assign_one(entries: serde_json::Value) -> Result<usize, Reason> {
        let request = fixtures::one_credential();
        let token = VpToken::One(Cow::Borrowed("a"));
        let text = submission(entries).to_string();
        assign(&request, "d", &token, &text).map(|tokens| tokens.len()).map_err(|e| e.reason)
    }

    fn assign_two<'r>(
        vp_token: &'r VpToken<'_>,
        entries: serde_json::Value,
    ) -> Result<Vec<&'r str>, Reason> {
        let text = submission(entries).to_string();
        assign(&fixtures::two_credentials(), "d", vp_token, &text).map_err(|e| e.reason)
    }

    /// Two mdocs, `doc.a` and `doc.b`.
    fn two_documents() -> PresentationRequest {
        let mut request = fixtures::two_credentials();
        for (credential, doc_type) in request.credentials.iter_mut().zip(["doc.a", "doc.b"]) {
            credential.format = CredentialFormat::Mdoc;
            credential.doc_type = Some(DocType::new(doc_type));
        }
        request
    }

    const MISMATCH: Reason = Reason::SubmissionMismatch;

    #[test]
    fn a_single_presentation_is_at_the_root_or_at_zero() {
        for path in ["$", "$[0]"] {
            assert_eq!(assign_one(json!([entry("credential_1", path)])), Ok(1), "{path}");
            let array = several(&["a"]);
            let text = submission(json!([entry("credential_1", path)])).to_string();
            assert_eq!(assign(&fixtures::one_credential(), "d", &array, &text).unwrap(), ["a"]);
        }
    }

    #[test]
    fn presentations_come_in_the_order_of_the_request() {
        let tokens = several(&["second", "first"]);
        let entries = json!([entry("credential_2", "$[0]"), entry("pid", "$[1]")]);
        assert_eq!(assign_two(&tokens, entries).unwrap(), ["first", "second"]);
    }

    #[test]
    fn only_the_two_sd_jwt_labels_are_accepted() {
        for (label, good) in [
            (json!("vc+sd-jwt"), true),
            (json!("dc+sd-jwt"), true),
            (json!("mso_mdoc"), false),
            (json!("jwt_vp"), false),
            (json!("VC+SD-JWT"), false),
            (json!(null), false),
        ] {
            let entries = json!([{"id": "credential_1", "format": label, "path": "$"}]);
            assert_eq!(assign_one(entries).is_ok(), good, "{label}");
        }
        assert_eq!(assign_one(json!([{"id": "credential_1", "path": "$"}])), Err(MISMATCH));
    }

    #[test]
    fn another_definition_id_is_refused() {
        let request = fixtures::one_credential();
        let token = VpToken::One(Cow::Borrowed("a"));
        let map = json!([entry("credential_1", "$")]);
        for id in [json!("e"), json!("D"), json!(""), json!(1), json!(null)] {
            let text = json!({"id": "x", "definition_id": id, "descriptor_map": map}).to_string();
            assert_eq!(assign(&request, "d", &token, &text).unwrap_err().reason, MISMATCH);
        }
        let text = json!({"id": "x", "descriptor_map": map}).to_string();
        assert_eq!(assign(&request, "d", &token, &text).unwrap_err().reason, MISMATCH);
    }

    #[test]
    fn a_descriptor_map_that_is_not_a_list_of_entries_is_refused() {
        for map in [json!(null), json!({}), json!("$"), json!([]), json!(["$"]), json!([null])] {
            assert_eq!(assign_one(map.clone()), Err(MISMATCH), "{map}");
        }
    }

    #[test]
    fn unknown_and_wrongly_typed_ids_are_refused() {
        for id in [json!("credential_2"), json!(""), json!(1), json!(null), json!(["credential_1"])]
        {
            let entries = json!([{"id": id, "format": "vc+sd-jwt", "path": "$"}]);
            assert_eq!(assign_one(entries), Err(MISMATCH), "{id}");
        }
        let entries = json!([entry("credential_1", "$"), entry("more", "$")]);
        assert_eq!(assign_one(entries), Err(MISMATCH));
    }

    #[test]
    fn every_requested_credential_appears_exactly_once() {
        let tokens = several(&["a", "b"]);
        let missing = json!([entry("pid", "$[0]")]);
        assert_eq!(assign_two(&tokens, missing), Err(MISMATCH));
        let twice =
            json!([entry("pid", "$[0]"), entry("credential_2", "$[1]"), entry("pid", "$[0]")]);
        assert_eq!(assign_two(&tokens, twice), Err(MISMATCH));
    }

    #[test]
    fn paths_that_name_no_presentation_are_refused() {
        for path in [
            "",
            "$.",
            "$[1]",
            "$[00]",
            "$[-1]",
            "$[+0]",
            "$[ 0]",
            "$[]",
            "$[0",
            "[0]",
            "$['0']",
            "$[*]",
            "$..*",
            "$[0][0]",
            "$.vp_token",
            "$[0].x",
            "$[18446744073709551616]",
            "$[0]]",
        ] {
            assert_eq!(assign_one(json!([entry("credential_1", path)])), Err(MISMATCH), "{path}");
        }
        for path in [json!(0), json!(null), json!(["$"])] {
            let entries = json!([{"id": "credential_1", "format": "vc+sd-jwt", "path": path}]);
            assert_eq!(assign_one(entries), Err(MISMATCH));
        }
    }

    #[test]
    fn the_root_names_no_presentation_among_several() {
        let tokens = several(&["a", "b"]);
        let entries = json!([entry("pid", "$"), entry("credential_2", "$[1]")]);
        assert_eq!(assign_two(&tokens, entries), Err(MISMATCH));
    }

    #[test]
    fn presentations_that_answer_no_request_are_refused() {
        let tokens = several(&["a", "b", "c"]);
        let entries = json!([entry("pid", "$[0]"), entry("credential_2", "$[1]")]);
        assert_eq!(assign_two(&tokens, entries), Err(MISMATCH));
    }

    #[test]
    fn path_nested_is_refused() {
        let mut nested = entry("credential_1", "$");
        nested["path_nested"] = entry("credential_1", "$.vc");
        assert_eq!(assign_one(json!([nested])), Err(MISMATCH));
    }

    #[test]
    fn two_sd_jwts_cannot_share_a_presentation() {
        let tokens = several(&["a"]);
        let entries = json!([entry("pid", "$[0]"), entry("credential_2", "$[0]")]);
        assert_eq!(assign_two(&tokens, entries), Err(MISMATCH));
    }

    #[test]
    fn one_sd_jwt_answers_one_request_however_the_paths_are_written() {
        let tokens = several(&["a", "a"]);
        for (first, second) in [("$[0]", "$[1]"), ("$[1]", "$[0]"), ("$[0]", "$[0]")] {
            let entries = json!([entry("pid", first), entry("credential_2", second)]);
            assert_eq!(assign_two(&tokens, entries), Err(MISMATCH), "{first} {second}");
        }
        let entries = json!([entry("pid", "$[0]"), entry("credential_2", "$[1]")]);
        assert!(assign_two(&several(&["a", "A"]), entries).is_ok());
    }

    #[test]
    fn documents_of_one_response_share_it_under_their_types() {
        let token = VpToken::One(Cow::Borrowed("device-response"));
        let entry = |id: &str| json!({"id": id, "format": "mso_mdoc", "path": "$"});
        let text = submission(json!([entry("doc.b"), entry("doc.a")])).to_string();
        let assigned = assign(&two_documents(), "d", &token, &text).unwrap();
        assert_eq!(assigned, ["device-response", "device-response"]);
        let by_id = submission(json!([entry("pid"), entry("credential_2")])).to_string();
        let error = assign(&two_documents(), "d", &token, &by_id).unwrap_err();
        assert_eq!(error.reason, MISMATCH);
    }

    #[test]
    fn an_sd_jwt_and_an_mdoc_cannot_share_a_presentation() {
        let mut request = two_documents();
        if let Some(first) = request.credentials.first_mut() {
            first.format = CredentialFormat::SdJwtVc;
        }
        let token = VpToken::One(Cow::Borrowed("a"));
        let entries = json!([
            {"id": "pid", "format": "vc+sd-jwt", "path": "$"},
            {"id": "doc.b", "format": "mso_mdoc", "path": "$"},
        ]);
        let text = submission(entries).to_string();
        assert_eq!(assign(&request, "d", &token, &text).unwrap_err().reason, MISMATCH);
    }

    #[test]
    fn more_than_10_presentations_exceed_the_limit() {
        let exceeded = assign_two(&several(&["a"; 11]), json!([])).unwrap_err();
        assert_eq!(exceeded, Reason::LimitExceeded);
        assert_eq!(assign_two(&several(&["a"; 10]), json!([])).unwrap_err(), MISMATCH);
    }

    #[test]
    fn a_presentation_over_512_kib_exceeds_the_limit() {
        let request = fixtures::one_credential();
        let text = submission(json!([entry("credential_1", "$")])).to_string();
        let token = |n: usize| VpToken::One(Cow::Owned("a".repeat(n)));
        assert!(assign(&request, "d", &token(MAX_PRESENTATION_BYTES), &text).is_ok());
        let error = assign(&request, "d", &token(MAX_PRESENTATION_BYTES + 1), &text).unwrap_err();
        assert_eq!(error.reason, Reason::LimitExceeded);
    }

    #[test]
    fn a_submission_that_is_not_strict_json_is_refused() {
        let request = fixtures::one_credential();
        let token = VpToken::One(Cow::Borrowed("a"));
        for bad in ["", "{", "[]", "null", r#"{"definition_id":"d","definition_id":"d"}"#] {
            let error = assign(&request, "d", &token, bad).unwrap_err();
            assert_eq!(error.reason, MISMATCH, "{bad}");
        }
    }
}

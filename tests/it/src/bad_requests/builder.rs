//! Each row of the table that the request builder of idgate-core can express gives the same code
//! and path there as in JSON and at the creation of a session.

use std::sync::Arc;
use std::time::Duration;

use idgate_core::crypto::{Alg, aws_lc_rs};
use idgate_core::error::{CreateError, RequestError};
use idgate_core::shell::{Jwk, TrustEntry, TrustSnapshot, TrustedKey};
use idgate_core::{Credential, IssuerId, NewSession, Request, Trust, UnixMillis, Verifier};
use idgate_testkit::samples;
use idgate_testkit::time::SAMPLE_NOW_MS;
use serde_json::{Map, Value};

use super::table::table;
use crate::tamper::Counted;

/// The request of a row. `None`: it has a member, a type or a value that the builder cannot
/// express.
fn built(body: &Value) -> Option<Request> {
    let mut members = body.as_object()?.clone();
    let credentials = members.remove("credentials")?;
    let credentials = credentials.as_array()?.iter().map(credential);
    let mut request = Request::of(credentials.collect::<Option<Vec<_>>>()?);
    if let Some(ttl) = members.remove("ttl_ms") {
        request = request.ttl(Duration::from_millis(ttl.as_u64()?));
    }
    if let Some(uri) = members.remove("redirect_uri") {
        request = request.redirect_uri(uri.as_str()?);
    }
    if let Some(groups) = members.remove("same_subject_groups") {
        for group in groups.as_array().filter(|groups| !groups.is_empty())? {
            request = request.same_subject(texts(group)?);
        }
    }
    members.is_empty().then_some(request)
}

fn credential(body: &Value) -> Option<Credential> {
    let mut members = body.as_object()?.clone();
    let id = text(&mut members, "id")?;
    let issuer = text(&mut members, "issuer_id")?;
    let mut credential = match &*text(&mut members, "format")? {
        "vc+sd-jwt" => Credential::sd_jwt_vc(&id, &issuer),
        "mso_mdoc" => Credential::mdoc(&id, &issuer, "org.iso.18013.5.1.mDL"),
        _ => return None,
    };
    if let Some(claims) = members.remove("claims") {
        credential = credential.claims(texts(&claims)?);
    }
    if let Some(alg) = members.remove("alg") {
        credential = credential.alg(Alg::from_name(alg.as_str()?)?);
    }
    if let Some(namespace) = members.remove("namespace") {
        credential = credential.namespace(namespace.as_str()?);
    }
    if let Some(paths) = members.remove("subject_claim_paths") {
        credential = credential.subject_paths(texts(&paths)?);
    }
    if let Some(filters) = members.remove("claim_filters") {
        for (name, filter) in filters.as_object()? {
            credential = credential.filter(name, filter);
        }
    }
    members.is_empty().then_some(credential)
}

fn text(members: &mut Map<String, Value>, name: &str) -> Option<String> {
    Some(members.remove(name)?.as_str()?.to_owned())
}

fn texts(list: &Value) -> Option<Vec<&str>> {
    list.as_array()?.iter().map(Value::as_str).collect()
}

/// A verifier that trusts the sample issuer.
fn verifier() -> Verifier {
    let jwk = samples::issue_sample(SAMPLE_NOW_MS).issuer_key.public_jwk().to_string();
    let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
    issuer.keys.push(TrustedKey::new(Jwk::parse(jwk.as_bytes()).unwrap().key));
    issuer.vct.push(samples::VCT.into());
    let builder = Verifier::builder(Trust::of_snapshot(
        aws_lc_rs::PROVIDER,
        Arc::new(TrustSnapshot::new(1, [issuer])),
    ))
    .profiles([idgate_core::Profile::Draft])
    .unsigned("https://gateway.example");
    builder.build().unwrap()
}

fn create(verifier: &Verifier, request: &Request) -> RequestError {
    let (entropy, now) = (&mut Counted::default(), UnixMillis(SAMPLE_NOW_MS));
    match verifier.create_session(request, NewSession::test(), entropy, now) {
        Err(CreateError::Request(error)) => error,
        other => panic!("{request:?}: {other:?}"),
    }
}

#[test]
fn the_builder_and_json_give_the_same_code_and_path() {
    let verifier = verifier();
    let (mut walked, mut by_trust_alone) = (0, 0);
    for bad in table() {
        let Ok(body) = serde_json::from_slice::<Value>(&bad.body) else { continue };
        // Another library's JSON reader accepts some texts that idgate rejects.
        let is_good_json = body.to_string().as_bytes() == bad.body;
        let Some(request) = built(&body).filter(|_| is_good_json) else { continue };
        walked += 1;
        let made = create(&verifier, &request);
        assert_eq!(made.code.as_str(), bad.code, "{}", bad.title);
        assert!(made.path.contains(&bad.names), "{}: {made}", bad.title);
        match Request::from_json(&bad.body) {
            Err(read) => {
                assert_eq!(request.check().as_ref(), Err(&read), "{}", bad.title);
                assert_eq!(made, read, "{}", bad.title);
            }
            // Only trust finds the fault, so the body and the builder must ask for the same.
            Ok(read) => {
                by_trust_alone += 1;
                assert_eq!(request.check(), Ok(()), "{}", bad.title);
                assert_eq!(create(&verifier, &read), made, "{}", bad.title);
            }
        }
    }
    assert!(walked >= 60 && by_trust_alone >= 4, "{walked} rows, {by_trust_alone} by trust");
}

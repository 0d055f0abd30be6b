//! mdoc: the tamper table in request mode inline, and good answers in request mode jar.

// The table runs in tests only.
#![allow(clippy::expect_used)]

use std::sync::Arc;

use idgate_core::crypto::{Es256Key, SoftwareSigner, aws_lc_rs};
use idgate_core::shell::discovery::{PublishedKey, did_document_json, did_web, key_id};
use idgate_core::shell::{TrustEntry, TrustSnapshot, roots_from_file};
use idgate_core::trust::RevocationPolicy;
use idgate_core::{
    Asked, CryptoProvider, IssuerId, Mode, NewSession, Request, Session, TenantId, Trust,
    UnixMillis, Verifier,
};
use idgate_testkit::codec::base64url;
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::request_object::{JarLink, JarRequest};
use idgate_testkit::wallet::{Body, Transcript, Wallet};
use serde_json::{Value, json};

use super::verdict;
use crate::mdoc_tamper::{Authority, ISSUER_ID, Row, Scenario, mdl_request, rows};
use crate::tamper::Counted;
use crate::tamper::scenario::NOW_MS;

const BASE_URL: &str = "https://gateway.example";
const NOW: UnixMillis = UnixMillis(NOW_MS);

/// Every row of the table, and every kind of device proof in request mode jar.
pub(super) fn all() -> Vec<Value> {
    let inline = rows().map(|row| inline(aws_lc_rs::PROVIDER, false, row));
    let proofs = [
        (Transcript::OpenId4Vp, false),
        (Transcript::OpenId4Vp, true),
        (Transcript::Iso180137, false),
        (Transcript::Iso180137, true),
    ];
    inline.chain(proofs.map(|(transcript, mac)| jar(transcript, mac))).collect()
}

fn inline(provider: CryptoProvider, livemode: bool, row: &Row) -> Value {
    let authority = Authority::new(NOW_MS);
    let verifier = Verifier::builder(Trust::of_snapshot(provider, trust(&authority)))
        .profiles([idgate_core::Profile::Draft])
        .unsigned(BASE_URL);
    let verifier = verifier.build().expect("a good configuration");
    let session = session(&verifier, livemode);
    let link = session.invitation().qr_code_url;
    let request = AuthorizationRequest::parse(&link).expect("a good request");
    let mut scenario = Scenario::answering(&authority, request, NOW_MS);
    (row.change)(&mut scenario);
    record(&format!("mdoc, {}", row.title), &authority, &verifier, &session, &scenario.body())
}

fn jar(transcript: Transcript, mac: bool) -> Value {
    let authority = Authority::new(NOW_MS);
    let key = Es256Key::from_scalar(&[9; 32]).expect("a scalar");
    let did = did_web(BASE_URL).expect("an origin");
    let id = key_id(&aws_lc_rs::PROVIDER, &did, key.public_key());
    let document = did_document_json(&did, &[PublishedKey::new(&*id, *key.public_key())]);
    let document = serde_json::from_str(&document).expect("JSON");
    let signer = Arc::new(SoftwareSigner::new(key, id));
    let builder = Verifier::builder(Trust::of_snapshot(aws_lc_rs::PROVIDER, trust(&authority)))
        .profiles([idgate_core::Profile::Draft])
        .signed(BASE_URL, signer);
    let verifier = builder.build().expect("a good configuration");
    let session = session(&verifier, false);
    let link = JarLink::parse(&session.invitation().qr_code_url).expect("a good link");
    let asked = Asked::get(session.id().as_str());
    let jwt = verifier.request_object(&session, &asked, NOW).expect("a Request Object").jwt;
    let request =
        JarRequest::verify(&link, jwt.as_str(), &document, NOW_MS).expect("a good request");
    let plain = Scenario::answering(&authority, request.request.clone(), NOW_MS);
    let device = plain.document.device_key.clone();
    let wallet = Wallet::new(device).with_mdoc(plain.document);
    let answer = wallet.answer_jar(&request, transcript, mac, NOW_MS).expect("a fitting mdoc");
    let title = format!("good mdoc, jar, {transcript:?}, device MAC: {mac}");
    record(&title, &authority, &verifier, &session, &answer.form_body())
}

fn trust(authority: &Authority) -> Arc<TrustSnapshot> {
    Arc::new(TrustSnapshot::new(1, [entry(authority)]))
}

/// Without revocation.
pub(super) fn entry(authority: &Authority) -> TrustEntry {
    let mut entry = TrustEntry::new(IssuerId::new(ISSUER_ID));
    entry.roots = roots_from_file(&aws_lc_rs::PROVIDER, &authority.root.der).expect("a root");
    entry.revocation = RevocationPolicy::Off;
    entry
}

/// The same as JSON.
pub(super) fn entries(authority: &Authority) -> Value {
    let roots = [base64url(&authority.root.der)];
    json!([{ "issuer_id": ISSUER_ID, "revocation": "off", "roots": roots }])
}

fn session(verifier: &Verifier, livemode: bool) -> Session {
    let request = mdl_request().to_string();
    let request = Request::from_json(request.as_bytes());
    let request = request.expect("a good request");
    let mode = if livemode { Mode::Live } else { Mode::Test };
    let tenant = TenantId::new("cli_0000000000000000000000");
    let new = NewSession::of(mode).tenant(tenant);
    let made = verifier.create_session(&request, new, &mut Counted::default(), NOW);
    made.expect("a session").session
}

fn record(
    title: &str,
    authority: &Authority,
    verifier: &Verifier,
    session: &Session,
    body: &Body,
) -> Value {
    json!({
        "title": title,
        "trust": entries(authority),
        "livemode": false,
        "session": base64url(&session.to_bytes()),
        "content_type": body.content_type,
        "body": base64url(&body.bytes),
        "now_ms": NOW_MS,
        "expected": verdict::of_posted(verifier, session, None, body),
    })
}

#[cfg(test)]
mod tests {
    use idgate_core::crypto::rustcrypto;

    use super::super::cases_of;
    use super::*;

    /// Verified twice: the second time the signer is remembered.
    #[test]
    fn every_row_gives_its_code_on_both_back_ends_in_both_modes() {
        let mut wrong = Vec::new();
        for (provider, livemode) in [aws_lc_rs::PROVIDER, rustcrypto::PROVIDER]
            .into_iter()
            .flat_map(|provider| [false, true].map(|livemode| (provider, livemode)))
        {
            let is_made = provider.name == aws_lc_rs::PROVIDER.name && !livemode;
            for (row, case) in rows().zip(cases_of("mdoc")) {
                let case = match is_made {
                    true => case.clone(),
                    false => inline(provider, livemode, row),
                };
                let should = (Some(row.expected.status()), row.expected.reason());
                let expected = &case["expected"];
                let is = (expected["status"].as_str(), expected["reason"].as_str());
                if is != should {
                    let (back_end, title) = (provider.name, row.title);
                    wrong.push(format!("{back_end}, {livemode}, {title}: {should:?}, not {is:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    }
}

//! The European proof of age with the one-line request, at a gateway that signs its requests
//! (decisions 41).

mod listed;

use idgate_testkit::codec::HashAlg;
use idgate_testkit::mdoc::{Document, Item};
use idgate_testkit::openid4vp::{Expected, Format, Keys, Prefix, Request as Asked};
use idgate_testkit::samples;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use crate::http::Request;
use crate::server::Installation;
use crate::tenant::{Created, Gateway, now_ms, sample_trust};

const AGE: &str = "eu.europa.ec.av.1";

fn gateway() -> Gateway {
    let installation = Installation::new()
        .with("IDGATE_BASE_URL", "https://gateway.example")
        .with("IDGATE_PROFILES", "draft,1.0")
        .with("OID4VP_REQUEST_MODE", "jar")
        .with("IDGATE_RESPONSE_MODE", "direct_post.jwt")
        .with("IDGATE_PAGE", "on");
    let root = installation.file("age.der", &samples::issue_mdl(now_ms()).root.der);
    let root = root.to_str().unwrap();
    let trusted = installation.run(&["trust", "add", "eu-av", "--preset", "eu-av", "--root", root]);
    assert_eq!(trusted.code, 0, "{trusted:?}");
    Gateway::trusting(installation, &sample_trust())
}

/// A proof of age with this content.
fn proof(is_over: bool) -> Wallet {
    let mut document: Document = samples::issue_mdl(now_ms()).document;
    document.doc_type = AGE.into();
    let issued = &mut document.issuer_signed;
    issued.items = vec![Item::new(AGE, 0, "age_over_18", is_over)];
    issued.mso.set("docType", AGE);
    issued.digest(HashAlg::Sha256);
    Wallet::new(document.device_key.clone()).with_mdoc(document)
}

fn asked() -> Value {
    json!({ "credentials": [{ "preset": "eu_age", "issuer_id": "eu-av", "age": 18, "id": "adult" }] })
}

fn answered(gateway: &Gateway, created: &Created, wallet: &Wallet) -> Value {
    let link = created.answer["deep_links"]["av"].as_str().unwrap();
    let link = link.replacen("av://", "openid4vp://", 1);
    let expected = Expected {
        prefix: Prefix::RedirectUri,
        encrypted: false,
        formats: vec![Format::Mdoc],
        haip: false,
        transaction_data: false,
        anchor: None,
        did_document: None,
        now_ms: now_ms(),
    };
    let (asked, findings) = Asked::read(&link, None, &expected, &mut Keys::default());
    assert!(findings.is_empty(), "{findings}");
    let answer = wallet.answer_1_0(&asked, now_ms()).unwrap();
    let body: Body = answer.body();
    let mut tenant = gateway.tenant();
    tenant.post_answer(&created.id, &body);
    tenant.read(&created.id)
}

#[test]
fn a_proof_of_age_request_reaches_the_age_app_in_any_request_mode() {
    let gateway = gateway();
    let created = gateway.tenant().create(&asked());
    assert_eq!(created.answer["profile"], "1.0");
    assert_eq!(
        created.answer["credentials"],
        json!([{ "id": "adult", "format": "mso_mdoc", "issuer_id": "eu-av", "doc_type": AGE,
            "namespace": AGE, "claims": ["age_over_18"],
            "claim_filters": { "age_over_18": { "const": true } } }])
    );
    let session = answered(&gateway, &created, &proof(true));
    assert_eq!(session["status"], "VERIFIED", "{session}");
    assert_eq!(session["claims"], json!({ "adult": { "age_over_18": true } }));
    assert_eq!(session["verification_details"]["request_mode"], "inline");
    let created = gateway.tenant().create(&asked());
    let session = answered(&gateway, &created, &proof(false));
    assert_eq!(
        (&session["status"], &session["reason"]),
        (&json!("FAILED"), &json!("claim_filter_mismatch"))
    );
}

#[test]
fn only_proof_of_age_sessions_have_the_age_app_link() {
    let gateway = gateway();
    let mut tenant = gateway.tenant();
    let created = tenant.create(&asked());
    let open = |id: &str| Request::get(format!("/v1/sessions/{id}/open?scheme=av"));
    let followed = tenant.http.send(&open(&created.id)).expect_status(302);
    assert!(followed.header("location").unwrap().starts_with("av://?client_id=redirect_uri"));
    let page = created.answer["page_url"].as_str().unwrap();
    let path = page.split_once("://").unwrap().1.split_once('/').unwrap().1;
    let text = tenant.http.send(&Request::get(format!("/{path}")).header("accept", "text/html"));
    let text = String::from_utf8(text.expect_status(200).body).unwrap();
    assert!(text.contains("scheme=av") && text.contains("18 or older"), "{text}");
    let mut other = asked();
    other["profile"] = "1.0".into();
    let other = tenant.create(&other);
    assert!(other.answer["deep_links"]["av"].is_null(), "{}", other.answer);
    tenant.http.send(&open(&other.id)).expect_error(404, "not_found");
}

//! A stored session that asks a page's browser for a driving licence, also by ISO/IEC TS 18013-7 Annex C,
//! and the credential that the page receives.

use std::path::Path;
use std::sync::Arc;

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{ProfileOptions, TrustSnapshot};
use idgate_core::{DcApi, NewSession, Profile, Request, TenantId, Trust, UnixMillis, Verifier};
use idgate_testkit::iso_mdoc::{IsoMdocRequest, PROTOCOL};
use idgate_testkit::time::SAMPLE_NOW_MS;
use serde_json::json;

use super::{BASE_URL, Ones, licence, write_file};

const SHOP: &str = "https://shop.example";

pub(super) fn write(dir: &Path) {
    let (entry, wallet, mut request) = licence(dir);
    let (trust, now) = (Arc::new(TrustSnapshot::new(1, [entry])), UnixMillis(SAMPLE_NOW_MS));
    request["dc_api"] = json!({ "origins": [SHOP] });
    let body = request.to_string();
    let asked = Request::from_json(body.as_bytes()).unwrap();
    write_file(dir, "request.json", body.as_bytes());
    let mut profiles = ProfileOptions::new([Profile::V1_0]);
    profiles.dc_api = DcApi::Unsigned;
    let builder = Verifier::builder(Trust::of_snapshot(PROVIDER, trust))
        .profiles([idgate_core::Profile::Draft])
        .unsigned(BASE_URL);
    let verifier = builder.profile_options(profiles).build().unwrap();
    let new = NewSession::test().tenant(TenantId::new("cli_1"));
    let session = verifier.create_session(&asked, new, &mut Ones, now).unwrap().session;
    let requests = verifier.dc_api_requests(&session, now).unwrap();
    let (_, data) = requests.iter().find(|(protocol, _)| *protocol == PROTOCOL).unwrap();
    let data = serde_json::from_str(data).unwrap();
    for (name, origin) in [("credential.json", SHOP), ("copied.json", "https://other.example")] {
        let read = IsoMdocRequest::read(&data, origin).unwrap();
        let answer = wallet.answer_iso_mdoc(&read).unwrap();
        write_file(dir, name, answer.credential().to_string().as_bytes());
    }
    write_file(dir, "session", &session.to_bytes());
}

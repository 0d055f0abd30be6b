//! Presentations larger than the data set's, for the growth of the cost.

use idgate_core::crypto::Jwk;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::wallet::{KbJwt, Presentation, present};

use crate::data::{Input, disclosed_names};

const PRESENTED_AT: u64 = 1_793_491_200;

/// `count` claims, all selectively disclosable, all disclosed.
pub(crate) fn presentation(count: usize) -> Result<Input, String> {
    let issuer = SigningKey::from_seed(Curve::P256, "bench issuer");
    let holder = SigningKey::from_seed(Curve::P256, "bench holder");
    let mut credential = CredentialBuilder::new()
        .plain("iss", samples::ISSUER)
        .plain("vct", samples::VCT)
        .plain("iat", PRESENTED_AT)
        .plain("exp", PRESENTED_AT + 1_000_000)
        .holder(&holder);
    for i in 0..count {
        credential = credential.sd(&format!("c{i:04}"), format!("v{i:04}"));
    }
    let request = AuthorizationRequest {
        client_id: "redirect_uri:https://verifier.example/response".into(),
        response_uri: "https://verifier.example/response".into(),
        nonce: "n-0S6_WzA2Mj-bench".into(),
        state: "state".into(),
        definition_id: "definition".into(),
        descriptors: Vec::new(),
    };
    let shown = Presentation::whole(&credential.issue(&issuer));
    let proof = KbJwt::new(&holder, &shown, &request, PRESENTED_AT * 1000).sign();
    let presentation = present(&shown, Some(&proof));
    let jwk = issuer.public_jwk().to_string();
    Ok(Input {
        name: format!("sd_jwt_es256_{count}of{count}"),
        claims: disclosed_names(&presentation),
        presentation,
        issuer_key: Jwk::parse(jwk.as_bytes()).map_err(|error| error.to_string())?.key,
        nonce: request.nonce,
        audience: request.client_id,
        iss: samples::ISSUER.into(),
        presented_at: PRESENTED_AT,
    })
}

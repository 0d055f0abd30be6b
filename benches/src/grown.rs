//! Presentations that the data set does not have: larger ones, for the growth of the cost, and those
//! of an issuer with a certificate.

use idgate_core::crypto::Jwk;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::wallet::{KbJwt, Presentation, present};

use crate::data::{Input, disclosed_names};

/// Seconds since 1970.
pub(crate) const PRESENTED_AT: u64 = 1_793_491_200;

/// A presentation with what was asked for.
pub(crate) struct Shown {
    pub(crate) presentation: String,
    pub(crate) claims: Vec<String>,
    pub(crate) nonce: String,
    pub(crate) audience: String,
}

/// Signs the credentials.
pub(crate) fn issuer_key() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "bench issuer")
}

/// `count` claims, all selectively disclosable, all disclosed.
pub(crate) fn presentation(count: usize) -> Result<Input, String> {
    let Shown { presentation, claims, nonce, audience } = shown(count, count, |same| same);
    let jwk = issuer_key().public_jwk().to_string();
    Ok(Input {
        name: format!("sd_jwt_es256_{count}of{count}"),
        claims,
        presentation,
        issuer_key: Jwk::parse(jwk.as_bytes()).map_err(|error| error.to_string())?.key,
        nonce,
        audience,
        iss: samples::ISSUER.into(),
        presented_at: PRESENTED_AT,
    })
}

/// `count` claims, of which the first `disclosed` are disclosed, in a credential that `change` made.
pub(crate) fn shown(
    count: usize,
    disclosed: usize,
    change: impl FnOnce(CredentialBuilder) -> CredentialBuilder,
) -> Shown {
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
    let issued = change(credential).issue(&issuer_key());
    let names: Vec<String> = (0..disclosed).map(|i| format!("c{i:04}")).collect();
    let shown = Presentation::choosing(&issued, |disclosure| {
        let is_asked = |root| names.iter().any(|name| name == root);
        disclosure.root_claim().is_some_and(is_asked)
    });
    let proof = KbJwt::new(&holder, &shown, &request, PRESENTED_AT * 1000).sign();
    let presentation = present(&shown, Some(&proof));
    Shown {
        claims: disclosed_names(&presentation),
        presentation,
        nonce: request.nonce,
        audience: request.client_id,
    }
}

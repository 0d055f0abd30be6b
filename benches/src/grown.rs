//! Presentations that are not in the data set: larger ones, to measure growth, and those of an issuer
//! with a certificate.

use idgate_core::shell::Jwk;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::wallet::{KbJwt, Presentation, present};

use crate::data::{Input, disclosed_names};

/// Seconds since 1970.
pub(crate) const PRESENTED_AT: u64 = 1_793_491_200;

/// A presentation, with the requested claims.
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
    presentation_of(count, count)
}

/// `count` claims, all selectively disclosable. The first `disclosed` of them are disclosed.
pub(crate) fn presentation_of(count: usize, disclosed: usize) -> Result<Input, String> {
    let Shown { presentation, claims, nonce, audience } = shown(count, disclosed, |same| same);
    let jwk = issuer_key().public_jwk().to_string();
    Ok(Input {
        name: format!("sd_jwt_es256_{disclosed}of{count}"),
        claims,
        presentation,
        issuer_key: Jwk::parse(jwk.as_bytes()).map_err(|error| error.to_string())?.key,
        nonce,
        audience,
        iss: samples::ISSUER.into(),
        presented_at: PRESENTED_AT,
    })
}

/// Presents the credentials.
pub(crate) fn holder_key() -> SigningKey {
    SigningKey::from_seed(Curve::P256, "bench holder")
}

/// `count` claims, all selectively disclosable, before it is signed.
pub(crate) fn credential(count: usize) -> CredentialBuilder {
    let credential = CredentialBuilder::new()
        .plain("iss", samples::ISSUER)
        .plain("vct", samples::VCT)
        .plain("iat", PRESENTED_AT)
        .plain("exp", PRESENTED_AT + 1_000_000)
        .holder(&holder_key());
    (0..count).fold(credential, |made, i| made.sd(&claim(i), format!("v{i:04}")))
}

/// The name of a claim.
pub(crate) fn claim(i: usize) -> String {
    format!("c{i:04}")
}

/// `count` claims in a credential that `change` edited. The first `disclosed` of them are disclosed.
pub(crate) fn shown(
    count: usize,
    disclosed: usize,
    change: impl FnOnce(CredentialBuilder) -> CredentialBuilder,
) -> Shown {
    let request = AuthorizationRequest {
        client_id: "redirect_uri:https://verifier.example/response".into(),
        response_uri: "https://verifier.example/response".into(),
        nonce: "n-0S6_WzA2Mj-bench".into(),
        state: "state".into(),
        definition_id: "definition".into(),
        descriptors: Vec::new(),
    };
    let issued = change(credential(count)).issue(&issuer_key());
    let names: Vec<String> = (0..disclosed).map(claim).collect();
    let shown = Presentation::choosing(&issued, |disclosure| {
        let is_asked = |root| names.iter().any(|name| name == root);
        disclosure.root_claim().is_some_and(is_asked)
    });
    let proof = KbJwt::new(&holder_key(), &shown, &request, PRESENTED_AT * 1000).sign();
    let presentation = present(&shown, Some(&proof));
    Shown {
        claims: disclosed_names(&presentation),
        presentation,
        nonce: request.nonce,
        audience: request.client_id,
    }
}

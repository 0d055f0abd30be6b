//! Metadata of the issuers (OpenID4VCI 12.2), with members that drafts 13 to 15 had elsewhere, and
//! metadata of the authorization server (RFC 8414).

use idgate_testkit::codec::base64_standard;
use serde_json::{Map, Value, json};

use super::Issuer;
use super::offers::PRE_AUTHORIZED;
use super::samples::Sample;
use crate::limits::MAX_BATCH;

/// The sandbox's own logo.
pub(super) const LOGO: &[u8] = include_bytes!("logo.png");
const NAME: &str = "idgate sandbox (TEST)";
const LOGO_TEXT: &str = "The letter T on a shield";

impl Issuer {
    /// The issuer's metadata.
    pub(super) fn metadata(&self) -> Value {
        let id = &self.id;
        let mut configurations = Map::new();
        for sample in Sample::ALL {
            configurations.insert(sample.id().into(), self.configuration(sample, sample.id()));
            if let Some(draft) = sample.draft_id() {
                configurations.insert(draft.into(), self.configuration(sample, draft));
            }
        }
        json!({
            "credential_issuer": id,
            "credential_endpoint": format!("{id}/credential"),
            "nonce_endpoint": format!("{id}/nonce"),
            "notification_endpoint": format!("{id}/notification"),
            "batch_credential_issuance": { "batch_size": MAX_BATCH },
            "display": [{ "name": NAME, "locale": "en", "logo": self.logo() }],
            "credential_configurations_supported": configurations,
        })
    }

    /// The metadata of the authorization server, which is the issuer itself.
    pub(super) fn server_metadata(&self) -> Value {
        let id = &self.id;
        json!({
            "issuer": id,
            "token_endpoint": format!("{id}/token"),
            "grant_types_supported": [PRE_AUTHORIZED],
            "pre-authorized_grant_anonymous_access_supported": true,
            // EUDI wallets stop unless attestation is announced; others need `none`.
            "token_endpoint_auth_methods_supported": ["none", "attest_jwt_client_auth"],
            "client_attestation_signing_alg_values_supported": ["ES256"],
            "client_attestation_pop_signing_alg_values_supported": ["ES256"],
            "dpop_signing_alg_values_supported": ["ES256"],
            // Multipaz requires these, but does not use them with a pre-authorized code.
            "authorization_endpoint": format!("{id}/authorize"),
            "pushed_authorization_request_endpoint": format!("{id}/par"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        })
    }

    fn configuration(&self, sample: Sample, id: &str) -> Value {
        let is_draft = id != sample.id();
        let claims: Vec<Value> = sample
            .claims()
            .iter()
            .map(|(path, name)| json!({ "path": path, "display": [{ "name": name, "locale": "en" }] }))
            .collect();
        let display = json!([{
            "name": sample.name(),
            "locale": "en",
            "description": "A sample of a sandbox. It is not a document.",
            "logo": self.logo(),
            "background_color": sample.colour(),
            "text_color": "#ffffff",
        }]);
        let mut all = json!({
            "scope": id,
            "proof_types_supported": self.proof_types(),
            "credential_metadata": { "display": display, "claims": claims },
            // Drafts 13 to 15 have both members here.
            "display": display,
            "claims": claims,
        });
        let own = match (sample.is_mdoc(), is_draft) {
            (true, _) => json!({
                "format": "mso_mdoc",
                "doctype": sample.kind(),
                "cryptographic_binding_methods_supported": ["jwk", "cose_key"],
                "credential_signing_alg_values_supported": [-7, -9],
            }),
            (false, is_draft) => json!({
                "format": if is_draft { "vc+sd-jwt" } else { "dc+sd-jwt" },
                "vct": sample.kind(),
                "cryptographic_binding_methods_supported": ["jwk"],
                "credential_signing_alg_values_supported": ["ES256"],
            }),
        };
        if let (Value::Object(all), Value::Object(own)) = (&mut all, own) {
            all.extend(own);
        }
        all
    }

    fn proof_types(&self) -> Value {
        let algs = json!(["ES256"]);
        if !self.attested {
            return json!({ "jwt": { "proof_signing_alg_values_supported": algs } });
        }
        // Some wallets fail on an empty object; these values are not enforced.
        let required = json!({
            "key_storage": ["iso_18045_high", "iso_18045_moderate", "iso_18045_enhanced-basic", "iso_18045_basic"],
            "user_authentication": ["iso_18045_high", "iso_18045_moderate", "iso_18045_enhanced-basic", "iso_18045_basic"],
        });
        let one = json!({
            "proof_signing_alg_values_supported": algs,
            "key_attestations_required": required,
        });
        json!({ "jwt": one, "attestation": one })
    }

    /// The logo as an https URL if possible, because wallets fetch nothing over http.
    fn logo(&self) -> Value {
        let uri = match self.id.starts_with("https://") {
            true => format!("{}/logo.png", self.id),
            false => format!("data:image/png;base64,{}", base64_standard(LOGO)),
        };
        json!({ "uri": uri, "alt_text": LOGO_TEXT })
    }
}

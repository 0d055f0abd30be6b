//! Whole answers as wallets post them, to a session of `draft` and to one of `1.0`, both back ends: the
//! form, its JSON, the assignment to what was asked, verification and what follows from it. The floor
//! is that of the presentation alone, and for an mdoc always AWS-LC's.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use idgate_core::crypto::{CryptoProvider, Jwk, aws_lc_rs, rustcrypto};
use idgate_core::entropy::{Entropy, EntropyUnavailable};
use idgate_core::ids::{IssuerId, TenantId};
use idgate_core::request::{Dialect, Dialects};
use idgate_core::response::WalletResponse;
use idgate_core::time::UnixMillis;
use idgate_core::trust::{RevocationPolicy, RootOrigin, TrustAnchor};
use idgate_core::verifier::DialectOptions;
use idgate_core::verify::{Step, WalletReply};
use idgate_core::{PresentationRequest, Session, TrustEntry, TrustSnapshot, TrustedKey, Verifier};
use idgate_testkit::mdoc::openid4vp as transcript_of;
use idgate_testkit::openid4vp::{Expected, Format, Keys, Prefix, Request};
use idgate_testkit::request::AuthorizationRequest;
use idgate_testkit::samples;
use idgate_testkit::wallet::{Body, Wallet};
use serde_json::{Value, json};

use crate::floor::{self, Backend};
use crate::measure::Case;
use crate::{floor_mdoc, grown};

const CREATED: UnixMillis = UnixMillis::from_secs(grown::PRESENTED_AT);
const NOW: UnixMillis = UnixMillis::from_secs(grown::PRESENTED_AT + 5);

/// The cases whose name contains `only`.
pub(crate) fn cases(only: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for dialect in [Dialect::Draft, Dialect::V1_0] {
        for format in [Format::SdJwtVc, Format::Mdoc] {
            let kind = if format == Format::Mdoc { "mdoc_6of10" } else { "sd_jwt_10of30" };
            let name = format!("answer_{}_{kind}", dialect.name().replace('.', "_"));
            if !name.contains(only) {
                continue;
            }
            for (provider, backend) in [
                (aws_lc_rs::PROVIDER, Backend::AwsLcRs),
                (rustcrypto::PROVIDER, Backend::RustCrypto),
            ] {
                let sample = Sample::make(provider, format)?;
                cases.push(sample.case(name.clone(), dialect, provider, backend)?);
            }
        }
    }
    Ok(cases)
}

/// What is asked for, whom the verifier trusts and who answers.
struct Sample {
    format: Format,
    trust: Arc<TrustSnapshot>,
    /// Of the issuer, or of its root.
    key: Vec<u8>,
    wallet: Wallet,
    body: Value,
}

/// What a wallet posted, and what it was bound to.
struct Posted {
    body: Body,
    presentation: String,
    client_id: String,
    nonce: String,
    response_uri: String,
}

struct Same;

impl Entropy for Same {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), EntropyUnavailable> {
        out.fill(5);
        Ok(())
    }
}

impl Sample {
    fn make(provider: CryptoProvider, format: Format) -> Result<Self, String> {
        match format {
            Format::SdJwtVc => Self::sd_jwt(),
            Format::Mdoc => Self::mdoc(provider),
        }
    }

    fn sd_jwt() -> Result<Self, String> {
        let key = grown::issuer_key();
        let mut issuer = TrustEntry::new(IssuerId::new(samples::ISSUER));
        let jwk = Jwk::parse(key.public_jwk().to_string().as_bytes());
        issuer.keys.push(TrustedKey::new(jwk.map_err(|error| error.to_string())?.key));
        issuer.vct.push(samples::VCT.into());
        let claims: Vec<String> = (0..10).map(grown::claim).collect();
        Ok(Self {
            format: Format::SdJwtVc,
            trust: Arc::new(TrustSnapshot::new(1, [issuer])),
            key: key.public_sec1(),
            wallet: Wallet::new(grown::holder_key()).with(grown::credential(30).issue(&key)),
            body: json!({"credentials": [{"format": "vc+sd-jwt", "issuer_id": samples::ISSUER,
                "claims": claims}]}),
        })
    }

    fn mdoc(provider: CryptoProvider) -> Result<Self, String> {
        let licence = samples::issue_mdl(CREATED.0);
        let mut issuer = TrustEntry::new(IssuerId::new(samples::MDL_ISSUER));
        let root = TrustAnchor::from_der(&provider, &licence.root.der, RootOrigin::RootFile);
        issuer.roots.push(root.map_err(|error| error.to_string())?);
        issuer.revocation = RevocationPolicy::Off;
        let claims =
            ["family_name", "given_name", "birth_date", "issue_date", "expiry_date", "age_over_21"];
        Ok(Self {
            format: Format::Mdoc,
            trust: Arc::new(TrustSnapshot::new(1, [issuer])),
            key: floor_mdoc::point(&licence.root.der),
            wallet: Wallet::new(grown::holder_key()).with_mdoc(licence.document),
            body: json!({"credentials": [{"format": "mso_mdoc", "issuer_id": samples::MDL_ISSUER,
                "claims": claims}]}),
        })
    }

    fn case(
        self,
        name: String,
        dialect: Dialect,
        provider: CryptoProvider,
        backend: Backend,
    ) -> Result<Case, String> {
        let (verifier, session) = self.session(provider, dialect)?;
        let posted = self.answer(&session, dialect)?;
        let (presentation, client_id, nonce) =
            (posted.presentation, posted.client_id, posted.nonce);
        let (body, format, key) = (posted.body, self.format, self.key);
        let transcript = transcript_of(&client_id, &nonce, None, &posted.response_uri);
        let response = URL_SAFE_NO_PAD.decode(&presentation).unwrap_or_default();
        let idgate = move || {
            let response = WalletResponse::new(Some(&body.content_type), &body.bytes);
            let step =
                verifier.begin(&session, None, response, &mut Same, NOW).map(|mut v| v.step());
            let Ok(Ok(Step::Done(decision))) = step else { unreachable!("nothing is fetched") };
            assert!(matches!(decision.reply, WalletReply::Accepted { .. }));
        };
        let floor = move || {
            assert!(match format {
                Format::SdJwtVc => floor::verify(backend, &presentation, &key, &nonce, &client_id),
                Format::Mdoc => floor_mdoc::verify(&response, &transcript, Some(&key)),
            });
        };
        Ok(Case { name, backend: provider.name, idgate: Box::new(idgate), floor: Box::new(floor) })
    }

    fn session(
        &self,
        provider: CryptoProvider,
        dialect: Dialect,
    ) -> Result<(Verifier, Session), String> {
        let verifier = Verifier::builder(provider).inline("https://gateway.example");
        let verifier = verifier.trust(self.trust.clone()).dialects(DialectOptions::new([dialect]));
        let verifier = verifier.build().map_err(|error| error.to_string())?;
        let (body, dialects) = (self.body.to_string(), Dialects::new([dialect]));
        let request = PresentationRequest::parse_for(body.as_bytes(), &self.trust, true, &dialects)
            .map_err(|error| error.to_string())?;
        let tenant = TenantId::new("cli_bench");
        let made = verifier.create_session(request, tenant, true, &mut Same, CREATED);
        let session = made.map_err(|error| error.to_string())?.session;
        Ok((verifier, session))
    }

    fn answer(&self, session: &Session, dialect: Dialect) -> Result<Posted, String> {
        let link = session.invitation().qr_code_url;
        if dialect == Dialect::Draft {
            return self.answer_draft(&link);
        }
        let expected = Expected {
            prefix: Prefix::RedirectUri,
            encrypted: false,
            formats: vec![self.format],
            haip: false,
            transaction_data: false,
            anchor: None,
            did_document: None,
            now_ms: CREATED.0,
        };
        let (request, _) = Request::read(&link, None, &expected, &mut Keys::default());
        let answer = self.wallet.answer_1_0(&request, NOW.0);
        let answer = answer.map_err(|error| format!("{error:?}"))?;
        let shown = answer.parameters.get("vp_token").and_then(Value::as_object);
        let shown = shown.and_then(|token| token.values().next()?.get(0)?.as_str());
        Ok(Posted {
            presentation: shown.unwrap_or_default().into(),
            body: answer.body(),
            client_id: request.client_id,
            nonce: request.nonce,
            response_uri: request.response_uri,
        })
    }

    fn answer_draft(&self, link: &str) -> Result<Posted, String> {
        let request = AuthorizationRequest::parse(link).map_err(|error| format!("{error:?}"))?;
        let answer = self.wallet.answer_uri(link, NOW.0).map_err(|error| format!("{error:?}"))?;
        Ok(Posted {
            presentation: answer.vp_token().as_str().unwrap_or_default().into(),
            body: answer.form_body(),
            client_id: request.client_id,
            nonce: request.nonce,
            response_uri: request.response_uri,
        })
    }
}

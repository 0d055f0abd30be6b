//! The acts of the demo. Each has an issuer of one format, a tenant's request, a wallet and a
//! forger.

use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{Jwk, RootOrigin, TrustAnchor};
use idgate_testkit::mdoc::Cbor;
use idgate_testkit::openid4vp::Format;
use idgate_testkit::samples;
use idgate_testkit::wallet::Wallet;
use serde_json::{Value, json};

use idgate_store::TrustChange;

/// One verification and one forgery.
pub(super) struct Act {
    pub(super) title: &'static str,
    pub(super) format: &'static str,
    /// The format in the wallet's terms.
    pub(super) wallet_format: Format,
    pub(super) issuer_id: &'static str,
    pub(super) trusted_by: &'static str,
    pub(super) claims: &'static [&'static str],
    /// A description of the wallet's proof.
    pub(super) proves: &'static str,
    /// A description of the forgery.
    pub(super) forgery: &'static str,
    pub(super) wallet: Wallet,
    pub(super) forger: Wallet,
    pub(super) material: Material,
}

/// The trust anchor of an issuer.
pub(crate) enum Material {
    /// A public key as JWK.
    Key(Value),
    /// An X.509 root in DER.
    Root(Vec<u8>),
}

impl Act {
    /// The act for an identity as SD-JWT VC.
    pub(super) fn sd_jwt_vc(now: UnixMillis) -> Self {
        let sample = samples::issue_sample(now.0);
        let mut forged = sample.credential.clone();
        for disclosure in &mut forged.disclosures {
            if disclosure.root_claim() == Some("given_name") {
                let text = json!(["salt", "given_name", "Mallory"]).to_string();
                disclosure.text = idgate_testkit::codec::base64url(text.as_bytes());
            }
        }
        let wallet = Wallet::new(sample.holder_key);
        Self {
            title: "An identity as SD-JWT VC",
            format: "vc+sd-jwt",
            wallet_format: Format::SdJwtVc,
            issuer_id: samples::ISSUER,
            trusted_by: "the issuer's ES256 key",
            claims: &["given_name", "family_name", "age_equal_or_over"],
            proves: "discloses three claims, signs nonce and audience",
            forgery: "changes a disclosed name",
            forger: wallet.clone().with(forged),
            wallet: wallet.with(sample.credential),
            material: Material::Key(sample.issuer_key.public_jwk()),
        }
    }

    /// The act for a driving licence as mdoc.
    pub(super) fn mdoc(now: UnixMillis) -> Self {
        let sample = samples::issue_mdl(now.0);
        let mut forged = sample.document.clone();
        forged.issuer_signed.change("family_name", |item| {
            item.map.set("elementValue", Cbor::Text("Mallory".into()));
        });
        let wallet = Wallet::new(sample.document.device_key.clone());
        Self {
            title: "A driving licence as mdoc",
            format: "mso_mdoc",
            wallet_format: Format::Mdoc,
            issuer_id: samples::MDL_ISSUER,
            trusted_by: "the X.509 root above its document signer",
            claims: &["family_name", "age_over_18"],
            proves: "shows two elements, signs the session transcript",
            forgery: "changes an element",
            forger: wallet.clone().with_mdoc(forged),
            wallet: wallet.with_mdoc(sample.document),
            material: Material::Root(sample.root.der),
        }
    }

    /// The credential that the tenant requests.
    pub(super) fn credential(&self) -> Value {
        json!({ "format": self.format, "issuer_id": self.issuer_id, "claims": self.claims })
    }
}

impl Material {
    /// The change that makes this issuer trusted for test-mode sessions.
    pub(crate) fn trust(&self) -> Result<TrustChange, String> {
        let mut change = TrustChange { test_only: true, ..TrustChange::default() };
        match self {
            Self::Key(jwk) => {
                let jwk = Jwk::parse(jwk.to_string().as_bytes()).map_err(|why| why.to_string())?;
                change.vct = Some(vec![samples::VCT.into()]);
                change.keys = vec![(jwk.key, jwk.kid)];
            }
            Self::Root(der) => {
                let root = TrustAnchor::from_der(&PROVIDER, der, RootOrigin::RootFile);
                change.roots = vec![root.map_err(|why| why.to_string())?];
            }
        }
        Ok(change)
    }
}

//! The sample issuers: two providers of identities and driving licences, and their credentials in
//! the holder's wallet. Only a sandbox trusts them.

use idgate_core::shell::AGE_DOC_TYPE;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::keys::{Curve, SigningKey};
use idgate_testkit::mdoc::{Cbor, Document, IssuerSigned, MDL, rfc3339};
use idgate_testkit::samples;
use idgate_testkit::status::status_claim;
use idgate_testkit::time::{DAY_MS, MINUTE_MS, YEAR_MS, numeric_date};
use idgate_testkit::wallet::Wallet;
use idgate_testkit::x509::{
    CRL_DISTRIBUTION_POINTS, CertificateBuilder, Identity, Name, distribution_points,
};

/// The document type, and the namespace, of identities as mdoc.
pub(crate) const PID: &str = "eu.europa.ec.eudi.pid.1";
/// Indexes of a valid and of a revoked credential in a status list.
const GOOD: u64 = 1;
pub(super) const REVOKED: u64 = 2;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// The condition of a credential.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Condition {
    /// Valid.
    Good,
    /// Signed by someone other than its issuer.
    Forged,
    /// Expired.
    Expired,
    /// Revoked by its issuer.
    Revoked,
}

/// The identity of a sample issuer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    /// Its name in addresses and commands.
    pub(super) key: &'static str,
    /// Its name for people.
    pub(super) name: &'static str,
    /// Its registration identifier in trusted lists.
    pub(super) identifier: &'static str,
    pub(super) country: &'static str,
    /// `iss` of its SD-JWT VCs.
    pub(super) iss: &'static str,
}

/// The providers of every sandbox. The first one is trusted by its key and its root; both are on
/// the trusted lists.
pub(super) const PROVIDERS: [Who; 2] = [
    Who {
        key: "utopia",
        name: "Utopia Registry",
        identifier: "NTRUT-1",
        country: "UT",
        iss: samples::ISSUER,
    },
    Who {
        key: "arcadia",
        name: "Arcadia Registry",
        identifier: "NTRXA-1",
        country: "XA",
        iss: "https://arcadia.example",
    },
];

/// A sample issuer with its keys.
#[derive(Clone, Debug)]
pub(crate) struct Provider {
    pub(super) is: Who,
    /// Signs SD-JWT VCs.
    pub(super) key: SigningKey,
    /// The trust anchor for mdocs, and for SD-JWT VCs under a certificate.
    pub(super) root: Identity,
    /// The document signer's certificate; in a sandbox for the same key.
    pub(super) signer: Identity,
    /// The holder key to which its credentials are bound.
    holder: SigningKey,
    /// Signs the credentials that phones receive.
    phones: SigningKey,
    /// Where its status lists and CRL are; `None` if it publishes none.
    lists: Option<String>,
}

impl Provider {
    /// The providers for a seed; their status lists are below `lists`.
    pub(super) fn all(seed: &str, made_at: u64, lists: &str) -> [Self; 2] {
        PROVIDERS.map(|is| Self::of(is, seed, made_at, lists))
    }

    /// The provider that `idgate demo` trusts. Its keys are public.
    pub(super) fn of_demo(now_ms: u64) -> Self {
        let [is, _] = PROVIDERS;
        let sample = samples::issue_mdl(now_ms);
        Self {
            is,
            key: samples::issuer_key(Curve::P256),
            root: sample.root,
            signer: sample.signer,
            holder: samples::holder_key(Curve::P256),
            phones: samples::issuer_key(Curve::P256),
            lists: None,
        }
    }

    fn of(is: Who, seed: &str, made_at: u64, lists: &str) -> Self {
        let key =
            |what: &str| SigningKey::from_seed(Curve::P256, format!("{seed} {} {what}", is.key));
        let lists = format!("{lists}/issuers/{}", is.key);
        let points = distribution_points(&[&format!("{lists}/crl")]);
        // Keys from before the roots were marked must not verify anything any more, so these have
        // other names.
        let (root_key, signer_key) = (key("marked root"), key("marked signer").with_kid(is.key));
        let root = CertificateBuilder::iaca_root(named(is, "root"), &root_key, made_at)
            .set(CRL_DISTRIBUTION_POINTS, false, points.clone())
            .marked_as_sample()
            .self_sign(&root_key);
        let signer =
            CertificateBuilder::document_signer(&root, named(is, "signer"), &signer_key, made_at)
                .set(CRL_DISTRIBUTION_POINTS, false, points)
                .marked_as_sample()
                .issue(&root, &signer_key);
        let (holder, phones) = (key("holder"), key("phones"));
        Self { is, key: signer_key, root, signer, holder, phones, lists: Some(lists) }
    }

    /// The key that signs the credentials for phones, always under a certificate.
    pub(super) fn phone_key(&self) -> SigningKey {
        self.phones.clone()
    }

    /// Whether it publishes status lists, so that its credentials can be revoked.
    pub(super) const fn publishes_status(&self) -> bool {
        self.lists.is_some()
    }

    /// The URL of the status list for this credential format.
    pub(super) fn status_uri(&self, form: &str) -> String {
        format!("{}/status.{form}", self.lists.as_deref().unwrap_or_default())
    }

    /// The holder's credentials from this provider: an identity in both formats, a driving licence
    /// and a proof of age.
    pub(super) fn wallet(&self, condition: Condition, now_ms: u64) -> Wallet {
        let wallet = Wallet::new(self.holder.clone());
        let identity = self.identity(condition, now_ms);
        let forger = SigningKey::from_seed(Curve::P256, "forger").with_kid(self.is.key);
        let key = if condition == Condition::Forged { &forger } else { &self.key };
        wallet
            .with(identity.issue(key))
            .with_mdoc(self.document(MDL, &self.licence(now_ms), condition, now_ms))
            .with_mdoc(self.document(PID, &person(), condition, now_ms))
            .with_mdoc(self.document(AGE_DOC_TYPE, &ages(), condition, now_ms))
    }

    fn identity(&self, condition: Condition, now_ms: u64) -> CredentialBuilder {
        let mut identity = samples::identity(&self.holder, now_ms).plain("iss", self.is.iss);
        if condition == Condition::Expired {
            identity = identity.plain("exp", numeric_date(now_ms.saturating_sub(HOUR_MS)));
        }
        if self.lists.is_none() {
            return identity;
        }
        let status = status_claim(place(condition), &self.status_uri("jwt"));
        identity.x5c(&[&self.signer.der]).plain("status", status)
    }

    fn document(
        &self,
        doc_type: &str,
        elements: &[(&str, Cbor)],
        condition: Condition,
        now_ms: u64,
    ) -> Document {
        // An hour ago, so that it can have expired by now.
        let signed_at = now_ms.saturating_sub(HOUR_MS);
        let chain = [self.signer.der.clone()];
        let key = &self.signer.key;
        let mut issued = IssuerSigned::mdl(elements, key, &chain, &self.holder, signed_at);
        if doc_type != MDL {
            issued.items.iter_mut().for_each(|item| item.name_space = doc_type.into());
            issued.mso.set("docType", doc_type);
            issued.digest(idgate_testkit::codec::HashAlg::Sha256);
        }
        if condition == Condition::Expired {
            let over = Cbor::tdate(&rfc3339(now_ms.saturating_sub(HOUR_MS / 2)));
            issued.mso.at("validityInfo").set("validUntil", over);
        }
        if self.lists.is_some() {
            let place = i64::try_from(place(condition)).unwrap_or(0);
            let uri = self.status_uri("cwt");
            let list = Cbor::map([("idx", place.into()), ("uri", (&*uri).into())]);
            issued.mso.set("status", Cbor::map([("status_list", list)]));
        }
        if condition == Condition::Forged {
            issued.key = SigningKey::from_seed(Curve::P256, "forger");
        }
        let mut document = Document::new(issued, &self.holder);
        document.doc_type = doc_type.into();
        document
    }

    fn licence(&self, now_ms: u64) -> Vec<(&'static str, Cbor)> {
        let mut elements = person();
        elements.extend([
            ("issue_date", date(now_ms.saturating_sub(DAY_MS))),
            ("expiry_date", date(now_ms.saturating_add(10 * YEAR_MS))),
            ("issuing_country", self.is.country.into()),
            ("issuing_authority", self.is.name.into()),
            ("document_number", "0815-4711".into()),
            ("age_over_16", true.into()),
            ("age_over_65", false.into()),
        ]);
        elements
    }
}

fn place(condition: Condition) -> u64 {
    if condition == Condition::Revoked { REVOKED } else { GOOD }
}

/// Age elements only (AV profile annex A.4).
pub(crate) fn ages() -> Vec<(&'static str, Cbor)> {
    ["age_over_16", "age_over_18", "age_over_21"].map(|name| (name, true.into())).into()
}

/// Erika Mustermann as mdoc elements.
fn person() -> Vec<(&'static str, Cbor)> {
    vec![
        ("family_name", "Mustermann".into()),
        ("given_name", "Erika".into()),
        ("birth_date", Cbor::full_date("1984-08-12")),
        ("age_over_18", true.into()),
        ("age_over_21", true.into()),
    ]
}

fn named(is: Who, what: &str) -> Name {
    Name::new(is.country, &format!("{} TEST {what}", is.name))
}

fn date(ms: u64) -> Cbor {
    Cbor::full_date(rfc3339(ms).get(..10).unwrap_or_default())
}

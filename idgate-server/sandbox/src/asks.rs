//! The sessions that the console can create, and the trust entries behind them.

use idgate_core::shell::AGE_DOC_TYPE;
use idgate_testkit::samples;
use serde_json::{Value, json};

use super::issuers::PID;

/// A session that the console can create.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) key: &'static str,
    pub(super) label: &'static str,
    format: &'static str,
    issuer_id: &'static str,
    claims: &'static [&'static str],
    /// The document type (also its namespace), if the trust entry has several.
    kind: Option<&'static str>,
    /// The age, if it uses the preset `eu_age`.
    preset_age: Option<u8>,
}

/// The trust entry of the trusted lists.
pub(super) const EU_PID: &str = "eu-pid";
pub(super) const EU_MDL: &str = "eu-mdl";
/// The trust entry of European proofs of age.
pub(super) const EU_AV: &str = "eu-av";
/// The trust entry of samples that phones hold.
pub(super) const PHONES: &str = "phones";
/// The trust entry of membership cards, which have a type of their own.
pub(super) const PHONE_CARDS: &str = "phone-membership";

pub(super) const ASKS: [Ask; 10] = [
    Ask {
        key: "identity",
        label: "An identity (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: samples::ISSUER,
        claims: &["given_name", "family_name"],
        kind: None,
        preset_age: None,
    },
    Ask {
        key: "licence",
        label: "A driving licence (mdoc)",
        format: "mso_mdoc",
        issuer_id: samples::MDL_ISSUER,
        claims: &["family_name", "age_over_18"],
        kind: None,
        preset_age: None,
    },
    Ask {
        key: "eu-identity",
        label: "An identity of any provider on the list (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: EU_PID,
        claims: &["given_name", "family_name"],
        kind: None,
        preset_age: None,
    },
    Ask {
        key: "eu-licence",
        label: "A driving licence of any provider on the list (mdoc)",
        format: "mso_mdoc",
        issuer_id: EU_MDL,
        claims: &["family_name", "age_over_18"],
        kind: None,
        preset_age: None,
    },
    Ask {
        key: "age",
        label: "A European proof of age, by the preset eu_age (mdoc)",
        format: "mso_mdoc",
        issuer_id: EU_AV,
        claims: &["age_over_18"],
        kind: None,
        preset_age: Some(18),
    },
    Ask {
        key: "phone-pid",
        label: "On a phone: the sample identity (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: PHONES,
        claims: &["given_name", "family_name"],
        kind: None,
        preset_age: None,
    },
    Ask {
        key: "phone-membership",
        label: "On a phone: the sample membership card (SD-JWT VC)",
        format: "dc+sd-jwt",
        issuer_id: PHONE_CARDS,
        claims: &["membership_number", "level"],
        kind: None,
        preset_age: None,
    },
    Ask {
        key: "phone-mdl",
        label: "On a phone: the sample driving licence (mdoc)",
        format: "mso_mdoc",
        issuer_id: PHONES,
        claims: &["family_name", "age_over_18"],
        kind: None,
        preset_age: None,
    },
    Ask {
        key: "phone-pid-mdoc",
        label: "On a phone: the sample identity (mdoc)",
        format: "mso_mdoc",
        issuer_id: PHONES,
        claims: &["family_name", "age_over_18"],
        kind: Some(PID),
        preset_age: None,
    },
    Ask {
        key: "phone-age",
        label: "On a phone: the sample proof of age (mdoc)",
        format: "mso_mdoc",
        issuer_id: PHONES,
        claims: &["age_over_18"],
        kind: Some(AGE_DOC_TYPE),
        preset_age: None,
    },
];

impl Ask {
    /// The body of `POST /v1/sessions` as shown to developers, who may copy it to another gateway.
    pub(super) fn shown(&self, profiles: &[&str]) -> Value {
        let mut request = self.request();
        if let Value::Object(members) = &mut request
            && profiles.contains(&"1.0")
            && self.preset_age.is_none()
        {
            members.insert("profiles".into(), json!(["1.0"]));
        }
        request
    }

    /// The body of `POST /v1/sessions`.
    pub(super) fn request(&self) -> Value {
        match self.preset_age {
            Some(age) => {
                let preset = json!({ "preset": "eu_age", "issuer_id": self.issuer_id, "age": age });
                json!({ "credentials": [preset] })
            }
            None => self.asking(self.claims),
        }
    }

    /// Whether a session that names no profile becomes `1.0`.
    pub(super) fn implies_1_0(&self) -> bool {
        self.preset_age.is_some()
    }

    /// The body of `POST /v1/sessions` for these claims.
    pub(super) fn asking(&self, claims: &[&str]) -> Value {
        let mut credential =
            json!({ "format": self.format, "issuer_id": self.issuer_id, "claims": claims });
        if let (Some(kind), Value::Object(members)) = (self.kind, &mut credential) {
            members.insert("doc_type".into(), kind.into());
            members.insert("namespace".into(), kind.into());
        }
        json!({ "credentials": [credential] })
    }
}

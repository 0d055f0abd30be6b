//! Trusted lists (ETSI TS 119 602) of a publisher: a payload that a test can break anywhere, and its
//! compact JWS.

use serde_json::{Value, json};

use crate::der::{self, oid, sequence, tlv};
use crate::jws::{sign_jws, x5c};
use crate::keys::{Curve, SigningKey};
use crate::mdoc::rfc3339;
use crate::time::{DAY_MS, YEAR_MS, numeric_date};
use crate::x509::{
    BASIC_CONSTRAINTS, CertificateBuilder, EXT_KEY_USAGE, Identity, KEY_USAGE, Name,
    SUBJECT_KEY_IDENTIFIER, basic_constraints, ext_key_usage, key_usage, subject_key_identifier,
};

/// qcStatements
pub const QC_STATEMENTS: &str = "1.3.6.1.5.5.7.1.3";
/// organizationName
pub const ORGANIZATION: &str = "2.5.4.10";
/// organizationIdentifier
pub const ORGANIZATION_IDENTIFIER: &str = "2.5.4.97";
/// The publisher of sample lists.
const OPERATOR: &str = "Example Operator";

/// A kind of list: its name in URIs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Providers of PID.
    Pid,
    /// Issuers of mDL, by the Commission.
    Mdl,
    /// Public bodies.
    PubEaa,
}

impl Kind {
    fn uris(self) -> [&'static str; 3] {
        match self {
            Self::Pid => [
                "http://uri.etsi.org/19602/LoTEType/EUPIDProvidersList",
                "http://uri.etsi.org/19602/PIDProvidersList/StatusDetn/EU",
                "http://uri.etsi.org/19602/PIDProviders/schemerules/EU",
            ],
            Self::Mdl => [
                "http://trust.ec.europa.eu/lists/mDL/mDLProvidersListType",
                "http://trust.ec.europa.eu/lists/mDL/mDLProvidersListStatusDetn",
                "http://trust.ec.europa.eu/lists/mDL/schemerules",
            ],
            Self::PubEaa => [
                "http://uri.etsi.org/19602/LoTEType/EUPubEAAProvidersList",
                "http://uri.etsi.org/19602/PubEAAProvidersList/StatusDetn/EU",
                "http://uri.etsi.org/19602/PubEAAProvidersList/schemerules/EU",
            ],
        }
    }

    fn service(self, role: &str) -> String {
        match self {
            Self::Pid => format!("http://uri.etsi.org/19602/SvcType/PID/{role}"),
            Self::Mdl => format!("http://trust.ec.europa.eu/lists/mDL/SvcType/{role}"),
            Self::PubEaa => format!("http://uri.etsi.org/19602/SvcType/PubEAA/{role}"),
        }
    }

    /// A service that issues, with these certificates.
    pub fn issuance(self, certificates: &[&[u8]]) -> Value {
        self.service_of("Issuance", certificates)
    }

    /// A service that signs status, with these certificates.
    pub fn revocation(self, certificates: &[&[u8]]) -> Value {
        self.service_of("Revocation", certificates)
    }

    fn service_of(self, role: &str, certificates: &[&[u8]]) -> Value {
        let chain = x5c(certificates);
        let listed = chain.as_array().into_iter().flatten();
        let listed: Vec<Value> = listed.map(|text| json!({ "val": text })).collect();
        let mut information = json!({
            "ServiceTypeIdentifier": self.service(role),
            "ServiceName": [{ "lang": "en", "value": role }],
            "ServiceDigitalIdentity": { "X509Certificates": listed },
        });
        if self == Self::PubEaa {
            merge(
                &mut information,
                json!({
                    "ServiceStatus": "http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/notified",
                    "StatusStartingTime": "2026-01-01T00:00:00Z",
                }),
            );
        }
        json!({ "ServiceInformation": information })
    }
}

/// The service with another status, for example `withdrawn`.
pub fn with_status(mut service: Value, status: &str) -> Value {
    if let Some(information) = service.get_mut("ServiceInformation") {
        let uri = format!("http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/{status}");
        merge(information, json!({ "ServiceStatus": uri }));
    }
    service
}

/// A provider of this name, registration identifier and state.
pub fn provider(name: &str, identifier: &str, country: &str, services: &[Value]) -> Value {
    let uri = format!("http://uri.etsi.org/19602/ListOfTrustedEntities/PIDProvider/{country}");
    json!({
        "TrustedEntityInformation": {
            "TEName": [{ "lang": "en", "value": name }],
            "TETradeName": [{ "lang": "en", "value": identifier }],
            "TEAddress": {
                "TEPostalAddress": [{ "lang": "en", "StreetAddress": "1", "Country": country }],
                "TEElectronicAddress": [{ "lang": "en", "uriValue": "mailto:a@example.eu" }],
            },
            "TEInformationURI": [{ "lang": "en", "uriValue": uri }],
        },
        "TrustedEntityServices": services,
    })
}

/// A list before it is signed.
#[derive(Clone, Debug)]
pub struct TrustedList {
    /// The whole payload.
    pub payload: Value,
    /// Members of the header in addition to `alg` and `x5c`.
    pub header: Value,
}

impl TrustedList {
    /// A list with number 7, made a day before `now_ms` and valid for 90 days, without providers.
    pub fn new(kind: Kind, now_ms: u64) -> Self {
        let [list_type, approach, rules] = kind.uris();
        let issued = now_ms.saturating_sub(DAY_MS);
        let payload = json!({ "LoTE": {
            "ListAndSchemeInformation": {
                "LoTEVersionIdentifier": 1,
                "LoTESequenceNumber": 7,
                "LoTEType": list_type,
                "SchemeOperatorName": [{ "lang": "en", "value": OPERATOR }],
                "StatusDeterminationApproach": approach,
                "SchemeTypeCommunityRules": [{ "lang": "en", "uriValue": rules }],
                "SchemeTerritory": "EU",
                "ListIssueDateTime": rfc3339(issued),
                "NextUpdate": rfc3339(issued.saturating_add(90 * DAY_MS)),
            },
            "TrustedEntitiesList": [],
        }});
        let header = json!({ "typ": "JAdES", "iat": numeric_date(issued) });
        Self { payload, header }
    }

    /// With one more provider.
    #[must_use]
    pub fn with(mut self, provider: Value) -> Self {
        if let Some(Value::Array(all)) = self.payload.pointer_mut("/LoTE/TrustedEntitiesList") {
            all.push(provider);
        }
        self
    }

    /// With this member of its scheme.
    #[must_use]
    pub fn scheme(mut self, member: &str, value: Value) -> Self {
        if let Some(scheme) = self.payload.pointer_mut("/LoTE/ListAndSchemeInformation") {
            merge(scheme, json!({ member: value }));
        }
        self
    }

    /// Without this member of its scheme.
    #[must_use]
    pub fn without(mut self, member: &str) -> Self {
        let scheme = self.payload.pointer_mut("/LoTE/ListAndSchemeInformation");
        if let Some(Value::Object(scheme)) = scheme {
            scheme.remove(member);
        }
        self
    }

    /// With this number.
    #[must_use]
    pub fn numbered(self, sequence: u64) -> Self {
        self.scheme("LoTESequenceNumber", json!(sequence))
    }

    /// With these members of the header; null removes one.
    #[must_use]
    pub fn headed(mut self, members: Value) -> Self {
        merge(&mut self.header, members);
        if let Value::Object(header) = &mut self.header {
            header.retain(|_, value| !value.is_null());
        }
        self
    }

    /// Signed by `signer`, whose certificate comes with it, and `others`.
    pub fn sign_with(&self, signer: &Identity, others: &[&[u8]]) -> String {
        let chain: Vec<&[u8]> =
            [&signer.der[..]].into_iter().chain(others.iter().copied()).collect();
        let mut header = json!({ "alg": signer.key.alg(), "x5c": x5c(&chain) });
        merge(&mut header, self.header.clone());
        sign_jws(&signer.key, &header.to_string(), &self.payload.to_string())
    }

    /// Signed by `signer`, whose certificate comes with it.
    pub fn sign(&self, signer: &Identity) -> String {
        self.sign_with(signer, &[])
    }
}

/// The name of an operator's signer.
pub fn operator_name(organization: &str) -> Name {
    Name::default().with("2.5.4.6", der::PRINTABLE_STRING, "EU").with(
        ORGANIZATION,
        der::UTF8_STRING,
        organization,
    )
}

/// A signer of lists that is an anchor by itself.
pub fn list_signer(now_ms: u64) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "trusted list signer");
    signer_builder(OPERATOR, &key, now_ms).self_sign(&key)
}

/// Another signer of lists, with the key of this seed.
pub fn other_list_signer(seed: &str, now_ms: u64) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, seed);
    signer_builder(OPERATOR, &key, now_ms).self_sign(&key)
}

/// A CA that has several customers.
pub fn list_ca(now_ms: u64) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, "trusted list CA");
    CertificateBuilder::issuer_root(Name::new("LU", "Commercial CA"), &key, now_ms).self_sign(&key)
}

/// A signer below `ca`, of this organization.
pub fn list_signer_below(ca: &Identity, organization: &str, now_ms: u64) -> Identity {
    let key = SigningKey::from_seed(Curve::P256, format!("list signer of {organization}"));
    signer_builder(organization, &key, now_ms).under(ca).issue(ca, &key)
}

fn signer_builder(organization: &str, key: &SigningKey, now_ms: u64) -> CertificateBuilder {
    let name = operator_name(organization);
    CertificateBuilder::new(name.clone(), name, key, now_ms, 10 * YEAR_MS / DAY_MS)
        .set(BASIC_CONSTRAINTS, true, basic_constraints(false, None))
        .set(KEY_USAGE, true, key_usage(0b1000_0000))
        .set(SUBJECT_KEY_IDENTIFIER, false, subject_key_identifier(key))
        .set(EXT_KEY_USAGE, false, ext_key_usage(&["0.4.0.2231.3.0"]))
}

/// qcStatements with QcType id-etsi-qct-pid (ETSI TS 119 412-6).
pub fn qc_type_pid() -> Vec<u8> {
    let types = sequence(&[&oid("0.4.0.194126.1.1")]);
    sequence(&[&sequence(&[&oid("0.4.0.1862.1.6"), &types])])
}

/// qcStatements with QcPSB (ETSI TS 119 412-6).
pub fn qc_psb() -> Vec<u8> {
    let law = tlv(der::UTF8_STRING, &[b"a law"]);
    sequence(&[&sequence(&[&oid("0.4.0.1862.1.10"), &sequence(&[&law])])])
}

fn merge(into: &mut Value, members: Value) {
    if let (Value::Object(into), Value::Object(members)) = (into, members) {
        into.extend(members);
    }
}

//! The samples for phones: their names, types and elements. The person is always the same, and the
//! country codes belong to no state.

use idgate_core::shell::AGE_DOC_TYPE;
use idgate_testkit::claim::Claim;
use idgate_testkit::issuer::CredentialBuilder;
use idgate_testkit::mdoc::{Cbor, MDL, MDL_NAME_SPACE, rfc3339};
use idgate_testkit::samples;
use idgate_testkit::time::{DAY_MS, YEAR_MS};
use serde_json::json;

use crate::issuers::{PID, ages};

/// The type of the membership card. It is not a URL, because some wallets fetch type URLs.
pub(crate) const MEMBERSHIP: &str = "urn:idgate:sandbox:membership:1";

/// A sample credential that a phone can receive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sample {
    /// An identity as SD-JWT VC.
    Pid,
    /// A membership card as SD-JWT VC.
    Membership,
    /// A driving licence as mdoc.
    DrivingLicence,
    /// An identity as mdoc.
    PidMdoc,
    /// A proof of age as mdoc.
    ProofOfAge,
}

/// A claim of a sample: where it is, and its name for people.
pub(super) type Shown = (&'static [&'static str], &'static str);

impl Sample {
    pub(crate) const ALL: [Self; 5] =
        [Self::Pid, Self::PidMdoc, Self::DrivingLicence, Self::ProofOfAge, Self::Membership];

    /// Its name on the command line and the console.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Pid => "pid",
            Self::Membership => "membership",
            Self::DrivingLicence => "mdl",
            Self::PidMdoc => "pid-mdoc",
            Self::ProofOfAge => "age",
        }
    }

    /// The sample with this key or configuration id.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.key() == name || one.id() == name)
    }

    /// The id of its configuration, which is also its scope (AV profile annex A.4 for the proof of
    /// age).
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Pid => "pid_sd_jwt",
            Self::Membership => "membership",
            Self::DrivingLicence => MDL,
            Self::PidMdoc => "pid_mdoc",
            Self::ProofOfAge => "proof_of_age",
        }
    }

    /// The id of its configuration in the format of drafts 13 and 14; `None` for mdocs, whose
    /// format did not change.
    pub(super) const fn draft_id(self) -> Option<&'static str> {
        match self {
            Self::Pid => Some("pid_sd_jwt_vc"),
            Self::Membership => Some("membership_vc"),
            Self::DrivingLicence | Self::PidMdoc | Self::ProofOfAge => None,
        }
    }

    /// Whether `id` names one of its configurations.
    pub(super) fn has_id(self, id: &str) -> bool {
        self.id() == id || self.draft_id() == Some(id)
    }

    /// `vct`, or the document type.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Pid => samples::VCT,
            Self::Membership => MEMBERSHIP,
            Self::DrivingLicence => MDL,
            Self::PidMdoc => PID,
            Self::ProofOfAge => AGE_DOC_TYPE,
        }
    }

    pub(crate) const fn is_mdoc(self) -> bool {
        self.draft_id().is_none()
    }

    /// Its name, as a phone shows it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pid => "TEST identity",
            Self::Membership => "TEST membership card",
            Self::DrivingLicence => "TEST driving licence",
            Self::PidMdoc => "TEST identity (mdoc)",
            Self::ProofOfAge => "TEST proof of age",
        }
    }

    /// The colour of its card (CSS).
    pub(super) const fn colour(self) -> &'static str {
        match self {
            Self::Pid => "#1a4fa3",
            Self::Membership => "#7a3e9d",
            Self::DrivingLicence => "#a3541a",
            Self::PidMdoc => "#14707a",
            Self::ProofOfAge => "#2f6b2f",
        }
    }

    /// The claims that a wallet shows. In an mdoc each path begins with the namespace.
    pub(super) const fn claims(self) -> &'static [Shown] {
        match self {
            Self::Pid => &[
                (&["given_name"], "Given name"),
                (&["family_name"], "Family name"),
                (&["birthdate"], "Date of birth"),
                (&["address"], "Address"),
                (&["place_of_birth"], "Place of birth"),
            ],
            Self::Membership => &[
                (&["membership_number"], "Number"),
                (&["given_name"], "Given name"),
                (&["family_name"], "Family name"),
                (&["member_since"], "Member since"),
                (&["level"], "Level"),
            ],
            Self::DrivingLicence => &[
                (&[MDL_NAME_SPACE, "family_name"], "Family name"),
                (&[MDL_NAME_SPACE, "given_name"], "Given name"),
                (&[MDL_NAME_SPACE, "birth_date"], "Date of birth"),
                (&[MDL_NAME_SPACE, "issue_date"], "Issued on"),
                (&[MDL_NAME_SPACE, "expiry_date"], "Expires on"),
                (&[MDL_NAME_SPACE, "issuing_country"], "Country"),
                (&[MDL_NAME_SPACE, "issuing_authority"], "Authority"),
                (&[MDL_NAME_SPACE, "document_number"], "Number"),
                (&[MDL_NAME_SPACE, "age_over_18"], "18 or older"),
            ],
            Self::PidMdoc => &[
                (&[PID, "family_name"], "Family name"),
                (&[PID, "given_name"], "Given name"),
                (&[PID, "birth_date"], "Date of birth"),
                (&[PID, "age_over_18"], "18 or older"),
                (&[PID, "issuing_country"], "Country"),
                (&[PID, "issuing_authority"], "Authority"),
            ],
            Self::ProofOfAge => &[
                (&[AGE_DOC_TYPE, "age_over_18"], "18 or older"),
                (&[AGE_DOC_TYPE, "age_over_16"], "16 or older"),
                (&[AGE_DOC_TYPE, "age_over_21"], "21 or older"),
            ],
        }
    }

    /// The claims of an SD-JWT VC, without those about its issuance; `None` for mdocs.
    pub(super) fn sd_jwt(self) -> Option<CredentialBuilder> {
        match self {
            Self::Pid => Some(identity()),
            Self::Membership => Some(
                CredentialBuilder::new()
                    .plain("vct", MEMBERSHIP)
                    .sd("membership_number", "UT-0815-4711")
                    .sd("given_name", "Erika")
                    .sd("family_name", "Mustermann")
                    .sd("member_since", "2019-05-01")
                    .sd("level", Claim::Value("gold".into())),
            ),
            Self::DrivingLicence | Self::PidMdoc | Self::ProofOfAge => None,
        }
    }

    /// The namespace of an mdoc.
    pub(super) const fn name_space(self) -> &'static str {
        match self {
            Self::DrivingLicence => MDL_NAME_SPACE,
            other => other.kind(),
        }
    }

    /// The elements of an mdoc; empty for SD-JWT VCs.
    pub(super) fn elements(self, now_ms: u64) -> Vec<(&'static str, Cbor)> {
        let date = |ms: u64| Cbor::full_date(rfc3339(ms).get(..10).unwrap_or_default());
        let person = || {
            vec![
                ("family_name", Cbor::from("Mustermann")),
                ("given_name", "Erika".into()),
                ("birth_date", Cbor::full_date("1984-08-12")),
                ("age_over_18", true.into()),
                ("age_over_21", true.into()),
                ("issuing_country", "UT".into()),
                ("issuing_authority", "Utopia Registry (TEST)".into()),
                ("expiry_date", date(now_ms.saturating_add(10 * YEAR_MS))),
            ]
        };
        match self {
            Self::Pid | Self::Membership => Vec::new(),
            Self::PidMdoc => {
                let mut elements = person();
                elements.push(("issuance_date", date(now_ms.saturating_sub(DAY_MS))));
                elements
            }
            Self::DrivingLicence => {
                let mut elements = person();
                elements.extend([
                    ("issue_date", date(now_ms.saturating_sub(DAY_MS))),
                    ("document_number", "UT-0815-4711".into()),
                    ("un_distinguishing_sign", "UT".into()),
                    ("driving_privileges", Cbor::Array(Vec::new())),
                    ("age_over_16", true.into()),
                    ("age_over_65", false.into()),
                ]);
                elements
            }
            Self::ProofOfAge => ages(),
        }
    }
}

/// A person of Utopia: `UT` is not the code of a state.
fn identity() -> CredentialBuilder {
    let address = Claim::object()
        .sd("street_address", "Heath Street 17")
        .sd("locality", "Utopia City")
        .sd("postal_code", "51147")
        .sd("country", "UT");
    let ages = [("12", true), ("16", true), ("18", true), ("21", true), ("65", false)];
    let ages = ages.into_iter().fold(Claim::object(), |all, (age, is)| all.sd(age, is));
    CredentialBuilder::new()
        .plain("vct", samples::VCT)
        .plain("issuing_country", "UT")
        .plain("issuing_authority", "Utopia Registry (TEST)")
        .plain("age_equal_or_over", ages)
        .sd("given_name", "Erika")
        .sd("family_name", "Mustermann")
        .sd("birthdate", "1984-08-12")
        .sd("nationalities", Claim::array().sd_element("UT"))
        .sd("address", address)
        .sd("place_of_birth", json!({ "locality": "Utopia City", "country": "UT" }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_found_by_its_key_and_by_the_id_of_its_configuration() {
        for sample in Sample::ALL {
            assert_eq!(Sample::named(sample.key()), Some(sample));
            assert_eq!(Sample::named(sample.id()), Some(sample));
            assert!(sample.name().starts_with("TEST "), "{}", sample.name());
        }
        assert_eq!(Sample::named("passport"), None);
    }

    #[test]
    fn a_proof_of_age_has_only_age_elements() {
        let elements = Sample::ProofOfAge.elements(0);
        assert!(elements.iter().all(|(name, _)| name.starts_with("age_over_")), "{elements:?}");
    }
}

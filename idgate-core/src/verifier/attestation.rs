//! The registration certificate of the tenant: whether it goes to wallets with a request, and what
//! the request asks for beyond it (OpenID4VP 5.1).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{ErrorCode, Remedy, RequestError};
use crate::request::{
    PresentationRequest, Presets, Profile, RegistrationCertificate, VerifierInfo,
};
use crate::session::ClientIdForm;
use crate::time::UnixMillis;
use crate::verifier::{ProfileOptions, Verifier};

/// The registration certificate that accompanies a request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Attestation {
    /// The entry for wallets. `None`: no request of the session goes out under `x509_hash` or with
    /// a reader's signature, or the registration certificate has expired.
    pub verifier_info: Option<VerifierInfo>,
    /// Whether the certificate has expired and would otherwise go to wallets.
    pub expired: bool,
    /// The requested claims that are not registered, one text each. Wallets warn about them or
    /// refuse the request.
    pub beyond: Vec<String>,
    /// The member of the tenant's body that has the credentials.
    path: &'static str,
}

impl Verifier {
    /// Compares `request` with a registration certificate. The certificate goes to wallets only
    /// with the access certificate that it was issued for: over a link, or through a browser.
    /// `signer` is that of the [`NewSession`](crate::verifier::NewSession).
    ///
    /// # Errors
    /// The request names a profile that this verifier does not support.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn attest(
        &self,
        request: &PresentationRequest,
        signer: Option<&str>,
        certificate: &RegistrationCertificate,
        now: UnixMillis,
    ) -> Result<Attestation, RequestError> {
        let spoken = self.profiles.of(request)?;
        // The age app supports neither a reader nor a hash.
        if request.presets == Presets::AgeApp {
            return Ok(Attestation::default());
        }
        let form = |profile: &_| self.profiles.shape(*profile, &self.draft).client_id_form;
        let linked = spoken.iter().any(|profile| form(profile) == ClientIdForm::X509Hash);
        if !linked
            && !self.goes_to_browsers_by_hash(request, &spoken, signer, now)
            && !self.registers_device_request(request, signer, now)
        {
            return Ok(Attestation::default());
        }
        if !certificate.is_valid_at(now) {
            return Ok(Attestation { expired: true, ..Attestation::default() });
        }
        Ok(Attestation {
            verifier_info: Some(certificate.verifier_info()),
            expired: false,
            beyond: certificate.exceeded_by(request),
            path: request.path(),
        })
    }

    /// Whether a browser gets the request under `x509_hash`: as the required name or, where a
    /// certificate is in force, as an additional one.
    fn goes_to_browsers_by_hash(
        &self,
        request: &PresentationRequest,
        spoken: &[Profile],
        signer: Option<&str>,
        now: UnixMillis,
    ) -> bool {
        let profile = ProfileOptions::of_browsers(spoken).filter(|_| request.dc_api.is_some());
        let forms = profile.map_or(Vec::new(), |profile| self.profiles.browser_forms(profile));
        let hash = ClientIdForm::X509Hash;
        let can_sign = || self.signers.for_new(hash, signer, None, now).is_ok();
        forms.first() == Some(&hash) || forms.contains(&hash) && can_sign()
    }
}

impl Attestation {
    /// Refuses a request that a wallet may refuse because of the registration certificate.
    ///
    /// # Errors
    /// `unsupported_profile`: the certificate has expired. `invalid_request`: the request asks for
    /// more than is registered.
    pub fn strict(self) -> Result<Self, RequestError> {
        if self.expired {
            let rule = "needs a registration certificate, which has expired";
            let error = RequestError::new(ErrorCode::UnsupportedProfile, "profiles", rule);
            return Err(error.with_remedy(Remedy::RenewCertificate));
        }
        if !self.beyond.is_empty() {
            let beyond = self.beyond.join(", ");
            let rule = format!("asks for more than is registered: {beyond}; ask for less");
            return Err(RequestError::new(ErrorCode::InvalidRequest, self.path, rule));
        }
        Ok(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {

    use serde_json::json;

    use super::*;
    use crate::codec::base64url;
    use crate::request::fixtures::{self, NOW};
    use crate::request::{DcApiPages, RequestForm};
    use crate::verifier::DcApi;

    /// The registration of a shop that may ask for this claim, for a minute.
    fn registered(claim: &str) -> RegistrationCertificate {
        let header = json!({ "alg": "ES256", "typ": "rc-wrp+jwt" });
        let claims = json!({
            "sub": "VATUT-123", "exp": NOW.as_secs() + 60,
            "credentials": [{ "format": "dc+sd-jwt", "meta": { "vct_values": ["urn:one"] },
                "claim": [{ "path": [claim] }] }],
        });
        let part = |json: &serde_json::Value| base64url::encode(json.to_string().as_bytes());
        let text = [part(&header), part(&claims), "c2ln".into()].join(".");
        RegistrationCertificate::import(&text, None, NOW).unwrap()
    }

    fn verifier(enabled: &[Profile], form: ClientIdForm) -> Verifier {
        asking(enabled, form, DcApi::Off)
    }

    fn asking(enabled: &[Profile], form: ClientIdForm, dc_api: DcApi) -> Verifier {
        let mut options = ProfileOptions::new(enabled.iter().copied());
        (options.client_id_form, options.dc_api) = (form, dc_api);
        let builder = fixtures::builder(fixtures::NO_CRYPTO).unsigned("https://gateway.example");
        builder.profile_options(options).build().unwrap()
    }

    fn haip() -> Verifier {
        verifier(&[Profile::Haip, Profile::Draft], ClientIdForm::X509Hash)
    }

    #[test]
    fn a_registration_certificate_goes_to_wallets_under_the_hash() {
        let (verifier, certificate) = (haip(), registered("given_name"));
        let request = fixtures::one_credential();
        let attested = verifier.attest(&request, None, &certificate, NOW).unwrap();
        assert_eq!(attested.verifier_info, Some(certificate.verifier_info()));
        assert!(!attested.expired && attested.beyond.is_empty());
        assert_eq!(attested.clone().strict(), Ok(attested));
    }

    #[test]
    fn under_another_client_id_no_registration_certificate_goes() {
        let certificate = registered("given_name");
        let mut draft = fixtures::one_credential();
        draft.profiles = vec![Profile::Draft];
        assert_eq!(haip().attest(&draft, None, &certificate, NOW), Ok(Attestation::default()));
        // A request by value is unsigned, whatever client identifier it has.
        let by_value = verifier(&[Profile::V1_0], ClientIdForm::X509Hash);
        let request = fixtures::one_credential();
        assert_eq!(by_value.attest(&request, None, &certificate, NOW), Ok(Attestation::default()));
        draft.profiles = vec![Profile::V1_0];
        let refused = haip().attest(&draft, None, &certificate, NOW).unwrap_err();
        assert_eq!(refused.code, ErrorCode::UnsupportedProfile);
    }

    #[test]
    fn to_browsers_it_goes_with_requests_signed_under_the_hash() {
        use ClientIdForm::{DecentralizedIdentifier, X509Hash};
        let (mut request, certificate) = (fixtures::one_credential(), registered("given_name"));
        request.dc_api = Some(DcApiPages::new(vec!["https://shop.example".into()]));
        for (form, dc_api, goes) in [
            (X509Hash, DcApi::Signed, true),
            (X509Hash, DcApi::Multisigned, true),
            (X509Hash, DcApi::Unsigned, false),
            (DecentralizedIdentifier, DcApi::Signed, false),
            // There is no certificate here, so no further name can sign.
            (DecentralizedIdentifier, DcApi::Multisigned, false),
        ] {
            let by_value = asking(&[Profile::V1_0], form, dc_api);
            let attested = by_value.attest(&request, None, &certificate, NOW).unwrap();
            assert_eq!(attested.verifier_info.is_some(), goes, "{form:?} {dc_api:?}");
        }
        request.dc_api = None;
        let by_value = asking(&[Profile::V1_0], X509Hash, DcApi::Signed);
        let attested = by_value.attest(&request, None, &certificate, NOW);
        assert_eq!(attested, Ok(Attestation::default()));
    }

    #[test]
    fn asking_for_more_is_reported_or_refused() {
        let request = fixtures::one_credential();
        let attested = haip().attest(&request, None, &registered("family_name"), NOW).unwrap();
        assert!(attested.verifier_info.is_some());
        assert_eq!(attested.beyond, ["given_name of urn:one"]);
        let refused = attested.strict().unwrap_err();
        assert_eq!((refused.code, &*refused.path), (ErrorCode::InvalidRequest, "credentials"));
        assert!(refused.rule.contains("given_name of urn:one"));
        let mut legacy = request;
        legacy.form = RequestForm::Legacy;
        let attested = haip().attest(&legacy, None, &registered("family_name"), NOW).unwrap();
        assert_eq!(attested.strict().unwrap_err().path, "issuer_id");
    }

    #[test]
    fn a_session_that_asks_for_more_is_refused_with_strict_registration() {
        use crate::error::CreateError;
        use crate::verifier::NewSession;
        let new = NewSession::live().strict_registration(&registered("family_name"));
        let mut entropy = fixtures::CountingEntropy::default();
        let request = fixtures::one_credential();
        let made = haip().create_resolved_session(request, new, &mut entropy, NOW);
        let Err(CreateError::Request(refused)) = made else { panic!("{made:?}") };
        assert_eq!((refused.code, &*refused.path), (ErrorCode::InvalidRequest, "credentials"));
    }

    #[test]
    fn an_expired_one_is_not_sent_or_refused() {
        let (request, later) = (fixtures::one_credential(), NOW.plus(60_000));
        let attested = haip().attest(&request, None, &registered("given_name"), later).unwrap();
        assert!(attested.expired && attested.verifier_info.is_none());
        let refused = attested.strict().unwrap_err();
        assert_eq!((refused.code, &*refused.path), (ErrorCode::UnsupportedProfile, "profiles"));
    }
}

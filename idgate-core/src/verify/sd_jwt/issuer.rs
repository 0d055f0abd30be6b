//! Authenticates the signer of an SD-JWT VC: a bare key of the trust entry, or a certificate in
//! `x5c` that leads to one of its roots. The material of the entry and the header decide which of
//! the two is used, and the other is never a fallback.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::malformed;
use crate::codec::json::{Tape, Value};
use crate::crypto::{Alg, CryptoProvider, PublicKey};
use crate::error::{Check, Reason, VerifyError};
use crate::formats::sd_jwt_vc::{CREDENTIAL_TYPES, ParsedSdJwt};
use crate::jose::{self, Header, X5cError};
use crate::revocation::{SignerStatus, Voucher};
use crate::trust::ListedBy;
use crate::trust::TrustedKey;
use crate::trust::known_signers::Purpose;
use crate::trust::path::VerifiedPath;
use crate::trust::sample_mark::SAMPLE_REFUSED;
use crate::verify::expected::ExpectedSdJwtVc;
use crate::verify::proof::{IssuerAuthenticated, TrustedBy};
use crate::verify::report::CredentialReport;

/// The key or certificate that made the issuer's signature.
pub(super) enum Signer {
    Key(PublicKey),
    Certificate(Arc<VerifiedPath>),
}

impl Signer {
    pub(super) fn alg(&self) -> Alg {
        match self {
            Self::Key(key) => key.alg(),
            Self::Certificate(path) => path.signer_key.alg(),
        }
    }

    pub(super) fn trust(&self) -> TrustedBy {
        match self {
            Self::Key(key) => TrustedBy::IssuerKey(*key),
            Self::Certificate(path) => TrustedBy::of(path),
        }
    }

    /// The provider that a trusted list names for it.
    pub(super) fn listed(&self) -> Option<Arc<ListedBy>> {
        match self {
            Self::Key(_) => None,
            Self::Certificate(path) => path.listed.clone(),
        }
    }

    /// OIDs of its certificate's unreadable extensions that were tolerated.
    pub(super) fn tolerated(&self) -> Vec<&'static str> {
        match self {
            Self::Key(_) => Vec::new(),
            Self::Certificate(path) => path.tolerated.clone(),
        }
    }

    /// The issuer's name in its certificate.
    pub(super) fn subject(&self) -> Option<String> {
        match self {
            Self::Key(_) => None,
            Self::Certificate(path) => Some(path.signer_subject.clone()),
        }
    }

    /// The facts for checking its certificate's status, and its trust anchor.
    pub(super) fn status(&self) -> (Option<SignerStatus>, Option<Voucher>) {
        match self {
            Self::Key(_) => (None, None),
            Self::Certificate(path) => {
                let voucher = Voucher::of_sd_jwt(path.anchor_sha256);
                (Some(SignerStatus::of(path)), Some(voucher.listed_as(path.listed.clone())))
            }
        }
    }
}

/// Authenticates the signer of the issuer's JWT (SD-JWT VC on key discovery, HAIP 6.1.1). Other
/// keys in the header are ignored.
pub(super) fn authenticate(
    provider: &CryptoProvider,
    parsed: &ParsedSdJwt<'_>,
    tape: &Tape<'_>,
    expected: &ExpectedSdJwtVc<'_>,
    report: &mut CredentialReport,
) -> Result<(Signer, IssuerAuthenticated), VerifyError> {
    let header_json = tape.value(parsed.issuer_header);
    let header = Header::from_json(header_json)
        .map_err(|_| malformed(Check::IssuerJwt, "the header cannot be used"))?;
    check_typ(&header, report)?;
    let signed = Signed { provider, parsed };
    let chain = match expected.issuer.takes_x5c(expected.livemode) {
        true => chain(header_json)?,
        false if is_of_samples_alone(expected) => return Err(sample_refused()),
        false => None,
    };
    let signer = match chain {
        Some(chain) => signed.by_certificate(&header, &chain, expected, report)?,
        None => signed.by_key(&header, expected, report)?,
    };
    report.pass(Check::IssuerSignature);
    Ok((signer, IssuerAuthenticated::assertion()))
}

/// Whether a live session has only certificates of a sandbox to verify with.
fn is_of_samples_alone(expected: &ExpectedSdJwtVc<'_>) -> bool {
    let issuer = expected.issuer;
    expected.livemode && issuer.keys_for(true).next().is_none() && issuer.has_samples_alone(false)
}

fn sample_refused() -> VerifyError {
    VerifyError::new(Reason::UntrustedIssuer, Check::CertificatePath, SAMPLE_REFUSED)
}

struct Signed<'s, 'a> {
    provider: &'s CryptoProvider,
    parsed: &'s ParsedSdJwt<'a>,
}

impl Signed<'_, '_> {
    /// The trusted keys decide which algorithms are possible; the header only selects among them
    /// (RFC 8725 3.1).
    fn by_key(
        &self,
        header: &Header<'_>,
        expected: &ExpectedSdJwtVc<'_>,
        report: &mut CredentialReport,
    ) -> Result<Signer, VerifyError> {
        let alg = accepted_alg(header, expected)?;
        report.pass(Check::IssuerAlg);
        let mut buffer = [0; 132];
        let signature = self.signature(&mut buffer)?;
        let named = |key: &&TrustedKey| match (&header.kid, &key.kid) {
            (Some(kid), Some(name)) => kid.is(name),
            _ => false,
        };
        let fitting = || expected.keys().filter(|key| key.key.alg() == alg);
        // An unknown `kid` selects nothing: then every fitting key is tried.
        let selected = fitting().any(|key| named(&key));
        fitting()
            .filter(|key| !selected || named(key))
            .find(|key| self.is_made_by(&key.key, signature))
            .map(|key| Signer::Key(key.key))
            .ok_or(VerifyError::new(
                Reason::IssuerSignatureInvalid,
                Check::IssuerSignature,
                "no trusted key of the issuer made this signature",
            ))
    }

    /// The certificate's key decides the algorithm; its path is validated first.
    fn by_certificate(
        &self,
        header: &Header<'_>,
        chain: &[Vec<u8>],
        expected: &ExpectedSdJwtVc<'_>,
        report: &mut CredentialReport,
    ) -> Result<Signer, VerifyError> {
        let path = self.authenticate(chain, expected)?;
        for check in [Check::CertificatePath, Check::CertificateValidity, Check::CertificateProfile]
        {
            report.pass(check);
        }
        let alg = path.signer_key.alg();
        if header.alg() != Some(alg) || expected.alg.is_some_and(|wanted| wanted != alg) {
            let detail = "alg does not fit the certificate's key, or is not the one asked for";
            return Err(VerifyError::new(Reason::AlgorithmNotAllowed, Check::IssuerAlg, detail));
        }
        report.pass(Check::IssuerAlg);
        let mut buffer = [0; 132];
        let signature = self.signature(&mut buffer)?;
        if !self.is_made_by(&path.signer_key, signature) {
            let detail = "the first certificate of x5c did not make this signature";
            let reason = Reason::IssuerSignatureInvalid;
            return Err(VerifyError::new(reason, Check::IssuerSignature, detail));
        }
        Ok(Signer::Certificate(path))
    }

    fn authenticate(
        &self,
        chain: &[Vec<u8>],
        expected: &ExpectedSdJwtVc<'_>,
    ) -> Result<Arc<VerifiedPath>, VerifyError> {
        let chain: Vec<&[u8]> = chain.iter().map(Vec::as_slice).collect();
        let ExpectedSdJwtVc { issuer, livemode, now, .. } = *expected;
        let purpose = Purpose { issuer, doc_type: None, livemode };
        purpose.authenticate(expected.known_signers(), self.provider, &chain, now)
    }

    fn signature<'b>(&self, buffer: &'b mut [u8; 132]) -> Result<&'b [u8], VerifyError> {
        jose::decode_signature(self.parsed.issuer.signature, buffer).ok_or(VerifyError::new(
            Reason::IssuerSignatureInvalid,
            Check::IssuerSignature,
            "the signature has a wrong length or encoding",
        ))
    }

    fn is_made_by(&self, key: &PublicKey, signature: &[u8]) -> bool {
        let message = self.parsed.issuer.signing_input.as_bytes();
        self.provider.verify(key, message, signature).is_ok()
    }
}

fn chain(header: Value<'_, '_>) -> Result<Option<Vec<Vec<u8>>>, VerifyError> {
    jose::x5c(header).map_err(|error| match error {
        X5cError::Malformed => {
            malformed(Check::IssuerJwt, "x5c is not a list of certificates in standard base64")
        }
        X5cError::TooMany => {
            let detail = "x5c has more than 10 certificates";
            VerifyError::new(Reason::LimitExceeded, Check::Limits, detail)
        }
    })
}

fn check_typ(header: &Header<'_>, report: &mut CredentialReport) -> Result<(), VerifyError> {
    if !header.has_typ(CREDENTIAL_TYPES) {
        let detail = "typ is neither dc+sd-jwt nor vc+sd-jwt";
        return Err(malformed(Check::CredentialType, detail));
    }
    report.pass(Check::CredentialType);
    Ok(())
}

fn accepted_alg(header: &Header<'_>, expected: &ExpectedSdJwtVc<'_>) -> Result<Alg, VerifyError> {
    if expected.keys().next().is_none() {
        let detail = "the trust entry has no key for a session of this mode";
        return Err(VerifyError::new(Reason::UntrustedIssuer, Check::IssuerAlg, detail));
    }
    let narrowed = |alg: &Alg| expected.alg.is_none_or(|wanted| wanted == *alg);
    let fits = |alg: &Alg| expected.keys().any(|key| key.key.alg() == *alg);
    header.alg().filter(narrowed).filter(fits).ok_or(VerifyError::new(
        Reason::AlgorithmNotAllowed,
        Check::IssuerAlg,
        "alg does not fit a trusted key, or is not the one asked for",
    ))
}

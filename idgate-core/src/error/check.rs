//! The checks with their names and clauses.

use core::fmt;

macro_rules! checks {
    ($($group:literal { $($variant:ident: $title:literal, $clause:literal;)* })*) => {
        /// One rule that an answer must satisfy.
        #[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
        #[non_exhaustive]
        pub enum Check { $($(#[doc = concat!($title, " (", $clause, ")")] $variant,)*)* }

        impl Check {
            /// All checks, in the order in which they are made.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The part of an answer that the check belongs to.
            pub const fn group(self) -> &'static str {
                match self { $($(Self::$variant => $group,)*)* }
            }

            /// The rule of the check: what must hold.
            pub const fn title(self) -> &'static str {
                match self { $($(Self::$variant => $title,)*)* }
            }

            /// The clause that the check implements, in every profile.
            pub const fn clause(self) -> &'static str {
                match self { $($(Self::$variant => $clause,)*)* }
            }
        }
    };
}

checks! {
    "answer" {
        Submission: "the answer matches the request", "OpenID4VP 8.1, 8.6; in draft Presentation Exchange 2 6, too";
        Limits: "the answer is within its limits", "idgate limits";
    }
    "text" {
        SdJwtShape: "issuer JWT, disclosures and key binding JWT are separable", "RFC 9901 4";
        IssuerJwt: "the issuer JWT is strict JSON in strict base64url", "RFC 7515 7.1, RFC 9901 4.1";
        KeyBindingPresent: "a key binding JWT is present", "RFC 9901 7.3 step 1";
    }
    "issuer" {
        CredentialType: "typ is that of an SD-JWT VC", "SD-JWT VC 2.2.1";
        IssuerAlg: "alg fits a trusted key", "RFC 8725 3.1, RFC 7518 3.4";
        IssuerSignature: "a trusted key signed it", "RFC 9901 7.1 step 2";
        Issuer: "iss is the trusted issuer", "SD-JWT VC 2.2.2.1";
        Vct: "vct is an accepted type", "SD-JWT VC 2.2.2.1";
        SdAlg: "_sd_alg is an accepted hash", "RFC 9901 4.1.1";
    }
    "disclosures" {
        DisclosureFormat: "each disclosure is well-formed for its place", "RFC 9901 4.2, 7.1 step 3";
        DigestPlaces: "digests are only in permitted places", "RFC 9901 4.2.4";
        DisclosedName: "disclosed names are new and not reserved", "RFC 9901 7.1 step 3";
        DigestsUnique: "no digest or disclosure appears twice", "RFC 9901 7.1 step 4";
        NeverDisclosed: "security claims are not selectively disclosed", "SD-JWT VC 2.2.2.3";
        AllReferenced: "the issuer signed every disclosure's digest", "RFC 9901 7.1 step 5";
    }
    "validity" {
        Expiry: "exp is in the future", "RFC 7519 4.1.4";
        NotBefore: "nbf and iat are in the past", "RFC 7519 4.1.5, 4.1.6";
        CredentialAudience: "aud of the credential, if any, includes the verifier", "RFC 9901 7.1 step 6";
    }
    "holder" {
        ConfirmationKey: "cnf holds the holder's public key", "RFC 7800 3.2, RFC 9901 4.1.2";
        KeyBindingJwt: "the key binding JWT is strict JSON in strict base64url", "RFC 9901 4.3";
        KeyBindingTyp: "typ is kb+jwt", "RFC 9901 7.3 step 5a";
        KeyBindingAlg: "alg fits the holder's key", "RFC 9901 7.3 step 5b";
        KeyBindingSignature: "the holder's key signed it", "RFC 9901 7.3 step 5c";
        KeyBindingTime: "iat is within the session's time; exp and nbf, if present, are valid now", "RFC 9901 7.3 step 5e";
        Audience: "aud is this verifier", "RFC 9901 7.3 step 5f, OpenID4VP 14.8";
        Nonce: "nonce is this request's", "RFC 9901 7.3 step 5f, OpenID4VP 14.1";
        SdHash: "sd_hash covers this presentation", "RFC 9901 4.3.1, 7.3 step 5g";
        TransactionData: "the holder approved the requested transaction", "OpenID4VP 8.4, B.3.3";
    }
    "device response" {
        DeviceResponse: "the DeviceResponse is strict CBOR with the right structure", "ISO/IEC 18013-5 8.3.2.1.2.2";
        ResponseStatus: "version is 1.x, status is 0, no error for the requested document", "ISO/IEC 18013-5 8.3.2.1.2.3";
        DocType: "one document of the requested type is present", "ISO/IEC 18013-5 8.3.2.1.2.2";
    }
    "document signer" {
        IssuerAuth: "issuerAuth is a COSE_Sign1 with its certificates", "ISO/IEC 18013-5 9.1.2.4";
        CertificatePath: "the certificates lead to a trusted root", "ISO/IEC 18013-5 9.3.3, HAIP 1.0 6.1.1, RFC 5280 6";
        CertificateValidity: "the signer's certificate and those above it are within their validity periods", "RFC 5280 6.1.3";
        CertificateProfile: "each certificate follows the profile", "RFC 5280 4.2; for mdoc ISO/IEC 18013-5 Annex B";
        MsoAlg: "alg fits the document signer's key", "ISO/IEC 18013-5 9.1.2.4, RFC 9053 2.1";
        MsoSignature: "the document signer signed the MSO", "ISO/IEC 18013-5 9.3.1, RFC 9052 4.4";
    }
    "mobile security object" {
        Mso: "the MSO has version 1.0 and the right structure", "ISO/IEC 18013-5 9.1.2.4";
        DigestAlgorithm: "digestAlgorithm is an accepted hash", "ISO/IEC 18013-5 9.1.2.5";
        MsoDocType: "the MSO has the document's type", "ISO/IEC 18013-5 9.3.1";
        IssuerSignedItems: "each item is well-formed and occurs once", "ISO/IEC 18013-5 8.3.2.1.2.2";
        ValueDigests: "the issuer signed the digest of every item", "ISO/IEC 18013-5 9.3.1";
        ValidityInfo: "signed, validFrom and validUntil are consistent and include the present", "ISO/IEC 18013-5 9.3.1";
        IssuingCountry: "issuing_country and issuing_jurisdiction match the signer's certificate", "ISO/IEC 18013-5 9.3.1";
    }
    "device" {
        DeviceKey: "the MSO holds the device's public key", "ISO/IEC 18013-5 9.1.2.4, RFC 9053 7.1.1";
        DeviceAuth: "there is one device signature or MAC, with a suitable algorithm", "ISO/IEC 18013-5 9.1.3";
        SessionTranscript: "the device's key authenticated this session", "ISO/IEC 18013-5 9.1.3.4, OpenID4VP B.2.6";
        KeyAuthorizations: "the device signed only what it is allowed to", "ISO/IEC 18013-5 9.1.2.4";
    }
    "request" {
        ClaimsPresent: "every requested claim is present", "OpenID4VP 14.9";
        ClaimFilters: "every claim meets its filter", "OpenID4VP 1.0 6.4.1; in draft Presentation Exchange 2 5.2.2";
        SameSubject: "credentials of a group are about one person", "idgate same_subject_groups";
    }
    "status" {
        SignerStatus: "the signer's certificate is not revoked", "RFC 5280 6.3";
        Status: "the credential is not revoked", "draft-ietf-oauth-status-list 8.3, ISO/IEC 18013-5 second edition 12.3.6";
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// A set of checks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CheckSet(u64);

const _: () = assert!(Check::ALL.len() <= 64);

impl CheckSet {
    pub(crate) fn insert(&mut self, check: Check) {
        self.0 |= Self::bit(check);
    }

    /// Whether `check` is in the set.
    pub fn contains(self, check: Check) -> bool {
        self.0 & Self::bit(check) != 0
    }

    const fn bit(check: Check) -> u64 {
        1 << (check as u64)
    }
}

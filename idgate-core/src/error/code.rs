//! The table of stable codes. Codes are only ever added. The API's `error` and `reason`,
//! `AuditEntry.error_code`, metric labels and the bindings use them unchanged.

use alloc::borrow::Cow;
use core::fmt;

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All codes, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stable text of this code.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The code with this text, if there is one.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(d)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::custom("unknown code"))
            }
        }
    };
}

impl ErrorCode {
    /// The HTTP status that goes with this code.
    pub const fn http_status(self) -> u16 {
        match self {
            Self::InvalidApiKey | Self::InvalidAdminToken => 401,
            Self::InsufficientScope => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::SessionNotPending => 409,
            Self::PayloadTooLarge => 413,
            Self::RateLimited => 429,
            Self::InternalError => 500,
            Self::MetricsUnavailable => 502,
            Self::TemporarilyUnavailable => 503,
            Self::InvalidRequest
            | Self::InvalidJson
            | Self::UnknownField
            | Self::UnknownIssuer
            | Self::UnsupportedFormat
            | Self::InvalidCursor
            | Self::InvalidLimit
            | Self::InvalidWebhookEndpoint
            | Self::InvalidScopes
            | Self::InvalidExpiry
            | Self::InvalidResponse
            | Self::StateMismatch
            | Self::DecryptionFailed
            | Self::InvalidPresentation
            | Self::QuotaExceeded
            | Self::UnsupportedProfile => 400,
        }
    }
}

codes! {
    /// The `error` member of an API answer: what the caller must correct.
    ErrorCode {
        /// A session request, or another body, breaks a rule; the message names the field.
        InvalidRequest => "invalid_request",
        /// The body is not strict JSON.
        InvalidJson => "invalid_json",
        /// A member that the interface does not define.
        UnknownField => "unknown_field",
        /// There is no trust entry of that name, or it cannot serve the request.
        UnknownIssuer => "unknown_issuer",
        /// A credential format that the gateway does not support.
        UnsupportedFormat => "unsupported_format",
        /// A pagination cursor that was not issued for this list, or is too old.
        InvalidCursor => "invalid_cursor",
        /// A `limit` or window outside its range.
        InvalidLimit => "invalid_limit",
        /// A webhook URL or secret that cannot be used.
        InvalidWebhookEndpoint => "invalid_webhook_endpoint",
        /// API key scopes that are empty, repeated or unknown.
        InvalidScopes => "invalid_scopes",
        /// An expiry that is past or not UTC.
        InvalidExpiry => "invalid_expiry",
        /// The request has no usable API key.
        InvalidApiKey => "invalid_api_key",
        /// The request has no usable admin token.
        InvalidAdminToken => "invalid_admin_token",
        /// The API key is valid but lacks the scope.
        InsufficientScope => "insufficient_scope",
        /// There is no such object for this caller.
        NotFound => "not_found",
        /// The path exists but does not allow the method.
        MethodNotAllowed => "method_not_allowed",
        /// A wallet answer for a session that can no longer take one.
        SessionNotPending => "session_not_pending",
        /// A wallet answer that is not well-formed.
        InvalidResponse => "invalid_response",
        /// A wallet answer with another session's `state`.
        StateMismatch => "state_mismatch",
        /// An encrypted wallet answer that does not decrypt.
        DecryptionFailed => "decryption_failed",
        /// A wallet answer that was evaluated and refused.
        InvalidPresentation => "invalid_presentation",
        /// A wallet answer over the size limit.
        PayloadTooLarge => "payload_too_large",
        /// Too many requests.
        RateLimited => "rate_limited",
        /// The gateway sheds load; try again.
        TemporarilyUnavailable => "temporarily_unavailable",
        /// A fault of the gateway.
        InternalError => "internal_error",
        /// The metrics store failed or was slow.
        MetricsUnavailable => "metrics_unavailable",
        /// The client has reached the limit for this kind of object.
        QuotaExceeded => "quota_exceeded",
        /// An OpenID4VP profile that the gateway does not support, or cannot serve at the moment.
        UnsupportedProfile => "unsupported_profile",
    }
}

codes! {
    /// The reason why a session ended FAILED or EXPIRED: `reason` for the tenant, `error_code` in
    /// the audit log.
    Reason {
        /// The issuer's signature does not verify with a trusted key.
        IssuerSignatureInvalid => "issuer_signature_invalid",
        /// The credential names a different issuer than the trusted one.
        UntrustedIssuer => "untrusted_issuer",
        /// The certificate chain does not lead to a trusted root, or breaks its profile.
        ChainInvalid => "chain_invalid",
        /// A certificate of the chain is outside its validity period.
        CertificateExpired => "certificate_expired",
        /// A certificate of the chain is revoked.
        CertificateRevoked => "certificate_revoked",
        /// The status of the credential or its signer could not be determined.
        RevocationUnknown => "revocation_unknown",
        /// The credential has expired.
        CredentialExpired => "credential_expired",
        /// The credential is not yet valid.
        CredentialNotYetValid => "credential_not_yet_valid",
        /// The issuer revoked the credential.
        CredentialRevoked => "credential_revoked",
        /// The issuer suspended the credential.
        CredentialSuspended => "credential_suspended",
        /// There is no proof that the presenter holds the credential's key.
        HolderBindingMissing => "holder_binding_missing",
        /// The proof of the holder's key does not verify.
        HolderBindingInvalid => "holder_binding_invalid",
        /// The proof was made for another request.
        NonceMismatch => "nonce_mismatch",
        /// The proof, or the credential, is meant for another verifier.
        AudienceMismatch => "audience_mismatch",
        /// The proof was made outside the session's lifetime.
        KbJwtStale => "kb_jwt_stale",
        /// The proof covers a different presentation.
        SdHashMismatch => "sd_hash_mismatch",
        /// Disclosed data that the issuer did not sign.
        DigestMismatch => "digest_mismatch",
        /// The device's proof does not verify.
        DeviceAuthInvalid => "device_auth_invalid",
        /// The document has a different type than the request asks for.
        DocTypeMismatch => "doc_type_mismatch",
        /// The credential has a different type than the trust entry accepts.
        TypeMismatch => "type_mismatch",
        /// An algorithm that does not fit the trusted key, or that is not accepted at all.
        AlgorithmNotAllowed => "algorithm_not_allowed",
        /// A requested claim, or everything in it, was not disclosed.
        ClaimMissing => "claim_missing",
        /// A disclosed claim does not meet the session's filter.
        ClaimFilterMismatch => "claim_filter_mismatch",
        /// Credentials of one group are not about the same person.
        SubjectMismatch => "subject_mismatch",
        /// The answer does not map onto the request.
        SubmissionMismatch => "submission_mismatch",
        /// A presentation that cannot be read.
        MalformedPresentation => "malformed_presentation",
        /// A presentation that exceeds the work that one answer may cause.
        LimitExceeded => "limit_exceeded",
        /// The wallet answered with an error.
        WalletError => "wallet_error",
        /// No answer came in time.
        SessionExpired => "session_expired",
        /// The holder did not approve the transaction as requested.
        TransactionDataMismatch => "transaction_data_mismatch",
        /// The operator revoked the client that asked.
        ClientRevoked => "client_revoked",
        /// The person cancelled on the page that showed the request.
        Cancelled => "cancelled",
    }
}

codes! {
    /// The error of a wallet that presents nothing (OpenID4VP 8.5): the member `wallet_error`,
    /// which accompanies the reason of the same name. Wallets send more codes than the standard
    /// defines; their own words are never kept.
    WalletError {
        /// No credential, no consent, or the person is not authenticated; these cannot be told
        /// apart.
        AccessDenied => "access_denied",
        /// The wallet considers the request invalid.
        InvalidRequest => "invalid_request",
        /// The wallet does not accept the client identifier.
        InvalidClient => "invalid_client",
        /// The wallet supports none of the formats.
        VpFormatsNotSupported => "vp_formats_not_supported",
        /// The wallet does not support the request_uri_method.
        InvalidRequestUriMethod => "invalid_request_uri_method",
        /// The wallet does not accept the transaction data.
        InvalidTransactionData => "invalid_transaction_data",
        /// The wallet cannot be opened.
        WalletUnavailable => "wallet_unavailable",
        /// The wallet does not support the scope.
        InvalidScope => "invalid_scope",
        /// The wallet could not fetch the request.
        InvalidRequestUri => "invalid_request_uri",
        /// The wallet considers the Request Object invalid.
        InvalidRequestObject => "invalid_request_object",
        /// The wallet does not support requests by reference.
        RequestUriNotSupported => "request_uri_not_supported",
        /// The wallet failed.
        ProcessingError => "processing_error",
        /// Any other error.
        Other => "other",
    }
}

impl WalletError {
    /// Maps `error` of a wallet's answer to a code.
    pub fn of(error: &str) -> Self {
        Self::parse(error).unwrap_or(Self::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_unique_and_round_trip() {
        for (i, code) in Reason::ALL.iter().enumerate() {
            assert_eq!(Reason::parse(code.as_str()), Some(*code));
            assert!(!Reason::ALL[i + 1..].iter().any(|other| other.as_str() == code.as_str()));
        }
        for (i, code) in WalletError::ALL.iter().enumerate() {
            assert_eq!(WalletError::of(code.as_str()), *code);
            assert!(!WalletError::ALL[i + 1..].iter().any(|other| other.as_str() == code.as_str()));
        }
        for (i, code) in ErrorCode::ALL.iter().enumerate() {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
            assert!(!ErrorCode::ALL[i + 1..].iter().any(|other| other.as_str() == code.as_str()));
        }
    }
}

//! Identifiers as distinct types: parsed on entry, so that they cannot be mixed up later.

mod claim_path;

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

pub use self::claim_path::ClaimPath;
pub(crate) use self::claim_path::RESERVED_NAMES;
use crate::entropy::{Entropy, EntropyUnavailable};

/// Document type and namespace of the European proof of age (AV profile, annex A).
pub const AGE_DOC_TYPE: &str = "eu.europa.ec.av.1";

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text without checks.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

text_ids! {
    /// The public handle of a session: `ses_` and 22 base62 characters.
    SessionId;
    /// The handle of an additional offer of a session: `off_` and 22 base62 characters.
    OfferId;
    /// The tenant that owns a session; on the wire it is `client_id`.
    TenantId;
    /// The name of a trust entry.
    IssuerId;
    /// The OAuth `client_id` of a request: the audience that a holder's proof must name.
    ClientIdentifier;
    /// An mdoc document type, for example `org.iso.18013.5.1.mDL`.
    DocType;
    /// An mdoc namespace, for example `org.iso.18013.5.1`.
    NameSpace;
}

/// The format of a credential, by its name in the API.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[non_exhaustive]
pub enum CredentialFormat {
    /// SD-JWT VC
    #[serde(rename = "vc+sd-jwt")]
    SdJwtVc,
    /// ISO/IEC 18013-5 mdoc
    #[serde(rename = "mso_mdoc")]
    Mdoc,
}

impl CredentialFormat {
    /// Parses the name in a request: `vc+sd-jwt`, or `dc+sd-jwt`, which means the same; or
    /// `mso_mdoc`.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "vc+sd-jwt" | "dc+sd-jwt" => Some(Self::SdJwtVc),
            "mso_mdoc" => Some(Self::Mdoc),
            _ => None,
        }
    }

    /// The name of the format in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SdJwtVc => "vc+sd-jwt",
            Self::Mdoc => "mso_mdoc",
        }
    }
}

macro_rules! secret_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Deserialize, Serialize)]
        #[serde(transparent)]
        pub(crate) struct $name(zeroize::Zeroizing<String>);

        impl $name {
            /// Wraps the text without checks.
            pub(crate) fn new(text: impl Into<String>) -> Self {
                Self(zeroize::Zeroizing::new(text.into()))
            }

            /// The text. Keep it out of logs.
            pub(crate) fn expose(&self) -> &str {
                &self.0
            }

            /// 256 fresh bits as base64url: every OpenID4VP version allows these characters.
            pub(crate) fn fresh(entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
                let mut bytes = zeroize::Zeroizing::new([0u8; 32]);
                entropy.fill(&mut *bytes)?;
                Ok(Self::new(crate::codec::base64url::encode(&*bytes)))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(***)"))
            }
        }
    )*};
}

secret_ids! {
    /// The value that binds a holder's proof to one request.
    Nonce;
    /// The OAuth `state` of a request.
    State;
}

impl State {
    /// Equality in constant time.
    pub(crate) fn matches(&self, other: &str) -> bool {
        crate::crypto::ct::eq(self.0.as_bytes(), other.as_bytes())
    }
}

impl SessionId {
    /// A fresh id.
    pub(crate) fn fresh(entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
        random_id("ses_", entropy).map(Self)
    }
}

impl OfferId {
    /// A fresh id.
    pub(crate) fn fresh(entropy: &mut dyn Entropy) -> Result<Self, EntropyUnavailable> {
        random_id("off_", entropy).map(Self)
    }
}

/// Returns `prefix` and 22 base62 characters with 128 random bits.
pub fn random_id(prefix: &str, entropy: &mut dyn Entropy) -> Result<String, EntropyUnavailable> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut bytes = [0u8; 16];
    entropy.fill(&mut bytes)?;
    let mut rest = u128::from_be_bytes(bytes);
    let mut id = String::with_capacity(prefix.len() + 22);
    id.push_str(prefix);
    for _ in 0..22 {
        let digit = usize::try_from(rest % 62).unwrap_or(0);
        id.push(DIGITS.get(digit).map_or('0', |d| char::from(*d)));
        rest /= 62;
    }
    Ok(id)
}

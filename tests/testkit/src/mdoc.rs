//! Sample mdocs (ISO/IEC 18013-5): an issuer and a holder. Every part can be changed before it is
//! signed. They use a bare CBOR writer, so a test controls every byte.

mod cbor;
mod decode;
mod holder;
mod issuer;
mod transcript;

pub use self::cbor::Cbor;
pub(crate) use self::holder::hmac;
pub use self::holder::{DeviceProof, Document, device_response};
pub use self::issuer::{IssuerSigned, Item, cose_key, cose_label, rfc3339, sign1};
pub use self::transcript::{iso_18013_7, iso_18013_7_annex_c, openid4vp, openid4vp_dc_api};

/// The document type of an mDL.
pub const MDL: &str = "org.iso.18013.5.1.mDL";
/// The namespace of an mDL.
pub const MDL_NAME_SPACE: &str = "org.iso.18013.5.1";

//! Who is trusted, for what: an immutable snapshot that the embedder builds and shares.

pub(crate) mod anchors;
pub(crate) mod bare_key;
pub(crate) mod certificate;
pub(crate) mod crl;
pub(crate) mod entry;
mod issuer;
mod issuers;
pub(crate) mod known_signers;
mod list_file;
mod listed_profile;
pub(crate) mod listing;
pub(crate) mod master_list;
pub(crate) mod names;
pub(crate) mod oid;
pub(crate) mod path;
pub(crate) mod pem;
pub(crate) mod pinned_signer;
mod profile;
pub(crate) mod root_file;
pub(crate) mod sample_mark;
mod sd_jwt_profile;
pub(crate) mod snapshot;
pub(crate) mod trusted_list;
pub(crate) mod verifier_certificate;
pub(crate) mod vical;

pub(crate) use self::anchors::TrustAnchor;
pub(crate) use self::bare_key::TrustedKey;
pub(crate) use self::entry::TrustEntry;
pub use self::entry::{DeviceResponseDocuments, RevocationPolicy};
pub use self::issuer::{Field, Issuer, TrustError};
pub use self::issuers::Trust;
pub use self::list_file::{ListFile, ListReport, ListState, NotAListState};
pub use self::listing::{ListType, ListedBy, TrustServiceProvider};
pub(crate) use self::pinned_signer::PinnedSigner;
pub(crate) use self::snapshot::TrustSnapshot;
pub(crate) use self::verifier_certificate::VerifierCertificate;

//! The outcome for revocation, for the credential and for its signer's certificate separately.

/// The outcome for a credential's status, in one word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Revocation {
    /// The credential's own status was checked and is good, and so is its signer's certificate if
    /// that publishes a status.
    Good,
    /// The issuer publishes no status for the credential; the certificate of its signer was checked
    /// and is good.
    SignerGood,
    /// The issuer publishes no status for the credential or its signer.
    NotPublished,
    /// The trust entry says that the status is not checked.
    Off,
    /// The status list of the credential could not be fetched, and the trust entry and the request
    /// accept that. Its signer's certificate is good, if that publishes a status.
    Unknown,
}

impl Revocation {
    /// The text in `verification_details`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::SignerGood => "signer_good",
            Self::NotPublished => "not_published",
            Self::Off => "off",
            Self::Unknown => "unknown",
        }
    }
}

/// The outcome for one question about revocation. A bad answer is a refusal, and has no value here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RevocationOutcome {
    /// The status was checked and is good.
    Good,
    /// No status is published.
    NotPublished,
    /// The trust entry says that the status is not checked.
    Off,
    /// The list could not be fetched, and that is accepted. Never for a signer.
    Unknown,
}

impl RevocationOutcome {
    /// The text in `verification_details`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::NotPublished => "not_published",
            Self::Off => "off",
            Self::Unknown => "unknown",
        }
    }

    const fn of(asked: bool) -> Self {
        if asked { Self::Good } else { Self::NotPublished }
    }
}

/// The outcome for the credential and for its signer separately.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RevocationDetails {
    /// For the credential: its place in a status list.
    pub credential: RevocationOutcome,
    /// For the certificate that signed it, by CRL; a bare key publishes nothing.
    pub signer: RevocationOutcome,
}

impl RevocationDetails {
    /// The outcome if every requested status is good.
    pub(crate) const fn asked(credential: bool, signer: bool) -> Self {
        let (credential, signer) =
            (RevocationOutcome::of(credential), RevocationOutcome::of(signer));
        Self { credential, signer }
    }

    /// The outcome if nothing is checked, for a credential whose signer has a certificate, or a
    /// bare key.
    pub(crate) const fn off(certified: bool) -> Self {
        let signer =
            if certified { RevocationOutcome::Off } else { RevocationOutcome::NotPublished };
        Self { credential: RevocationOutcome::Off, signer }
    }

    /// Both outcomes in one word.
    pub const fn summary(self) -> Revocation {
        match (self.credential, self.signer) {
            (RevocationOutcome::Off, _) => Revocation::Off,
            (RevocationOutcome::Unknown, _) => Revocation::Unknown,
            (RevocationOutcome::Good, _) => Revocation::Good,
            (RevocationOutcome::NotPublished, RevocationOutcome::Good) => Revocation::SignerGood,
            (RevocationOutcome::NotPublished, _) => Revocation::NotPublished,
        }
    }
}

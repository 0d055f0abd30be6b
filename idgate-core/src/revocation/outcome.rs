//! How revocation was settled, of the credential and of the certificate that signed it apart.

/// How the status of a credential was settled, in one word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Revocation {
    /// The credential's own status was asked and is good, and so is its signer's certificate if
    /// that publishes a status.
    Good,
    /// The issuer publishes no status for the credential; the certificate of its signer was asked
    /// and is good.
    SignerGood,
    /// The issuer publishes no status for it, nor for its signer.
    NotPublished,
    /// The trust entry says not to look.
    Off,
    /// The status list of the credential could not be had, and the trust entry and the request accept
    /// that. Its signer's certificate is good, if that publishes a status.
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

/// What one question about revocation came to. A bad answer is a refusal, and never comes here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RevocationOutcome {
    /// It was asked, and is good.
    Good,
    /// There is nothing to ask.
    NotPublished,
    /// The trust entry says not to look.
    Off,
    /// The list could not be had, and that is accepted. Never of a signer.
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

/// How revocation was settled, of the credential and of its signer apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct RevocationDetails {
    /// Of the credential: its place in a status list.
    pub credential: RevocationOutcome,
    /// Of the certificate that signed it, by CRL; a bare key publishes nothing.
    pub signer: RevocationOutcome,
}

impl RevocationDetails {
    /// Whatever was asked is good.
    pub(crate) const fn asked(credential: bool, signer: bool) -> Self {
        let (credential, signer) =
            (RevocationOutcome::of(credential), RevocationOutcome::of(signer));
        Self { credential, signer }
    }

    /// Nothing was to be asked of a credential whose signer has a certificate, or a bare key.
    pub(crate) const fn off(certified: bool) -> Self {
        let signer =
            if certified { RevocationOutcome::Off } else { RevocationOutcome::NotPublished };
        Self { credential: RevocationOutcome::Off, signer }
    }

    /// Both in one word.
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

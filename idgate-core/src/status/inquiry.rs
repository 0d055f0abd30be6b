//! What is still to be asked about one credential, and what the answers made of it. A question
//! without an answer settles as unknown.

#[cfg(all(test, feature = "aws-lc-rs"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

use super::crl::CrlIssuer;
use super::token_status_list::ListSigner;
use super::{
    Need, Published, PublishedStatus, SignerStatus, StatusContext, StatusListReference, Supplied,
    VerifiedCrl, VerifiedSource, VerifiedStatusList, is_fetchable, unknown,
};
use crate::crypto::CryptoProvider;
use crate::error::{Reason, VerifyError};
use crate::ids::IssuerId;
use crate::limits::MAX_STATUS_URIS;
use crate::request::CredentialFormat;
use crate::time::UnixMillis;
use crate::trust::certificate::Certificate;
use crate::trust::path::authenticate_status_signer;
use crate::trust::{RevocationPolicy, TrustAnchor, TrustEntry};
use crate::verify::Check;

/// What revocation came to, when nothing is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Settled {
    /// Everything published was asked, and is good.
    Good,
    /// Nothing is published, and nothing is required.
    NotPublished,
    /// The operator switched it off.
    Off,
}

/// The questions about one credential.
#[derive(Clone, Debug)]
pub(crate) struct Inquiry {
    /// What it comes to when every question has a good answer.
    outcome: Settled,
    list: Option<ListQuestion>,
    signer: Option<SignerQuestion>,
}

#[derive(Clone, Debug)]
struct ListQuestion {
    reference: StatusListReference,
    answer: Option<Result<(), VerifyError>>,
}

#[derive(Clone, Debug)]
struct SignerQuestion {
    status: SignerStatus,
    issuer: Option<CrlIssuer>,
    /// Distribution points that were not asked yet.
    open: Vec<String>,
    /// The worst and the best so far.
    revoked: Option<VerifyError>,
    failed: Option<VerifyError>,
    good: bool,
}

impl Inquiry {
    /// What a trust entry demands (decisions 3). What no source can change is refused here, before
    /// anything is fetched.
    pub(crate) fn open(
        published: Published,
        context: &StatusContext<'_>,
    ) -> Result<Self, VerifyError> {
        let policy = context.issuer.revocation;
        if policy == RevocationPolicy::Off {
            return Ok(Self { outcome: Settled::Off, list: None, signer: None });
        }
        let signer = match published.signer {
            Some(status) => SignerQuestion::open(status, context)?,
            None => None,
        };
        let list = match published.status {
            PublishedStatus::None => None,
            PublishedStatus::List(reference) => Some(ListQuestion { reference, answer: None }),
            PublishedStatus::Unknown => {
                return Err(unknown("status names no mechanism that can be looked up"));
            }
        };
        let outcome = match (policy, list.is_some() || signer.is_some()) {
            (_, true) => Settled::Good,
            (RevocationPolicy::Required, false) => {
                return Err(unknown("the credential publishes no status, and one is required"));
            }
            (_, false) => Settled::NotPublished,
        };
        Ok(Self { outcome, list, signer })
    }

    /// The sources that were not asked yet.
    pub(crate) fn needs(&self) -> impl Iterator<Item = Need> {
        let list = self.list.iter().filter(|list| list.answer.is_none());
        let list = list.map(|list| Need::StatusList { uri: list.reference.uri.clone() });
        let points = self.signer.iter().flat_map(|signer| &signer.open);
        list.chain(points.map(|uri| Need::Crl { uri: uri.clone() }))
    }

    /// Judges what came of `need`, if this credential asks for it. What was authenticated is given
    /// back for later verifications.
    pub(crate) fn supply(
        &mut self,
        need: &Need,
        what: Supplied<'_>,
        context: &StatusContext<'_>,
    ) -> Option<VerifiedSource> {
        match (need, &mut self.list, &mut self.signer) {
            (Need::StatusList { uri }, Some(list), _) if list.asks(uri) => {
                list.supply(what, context).map(VerifiedSource::StatusList)
            }
            (Need::Crl { uri }, _, Some(signer)) => signer
                .supply(uri, what, context)
                .map(|crl| VerifiedSource::Crl { uri: uri.clone(), crl }),
            _ => None,
        }
    }

    /// Answers from a source that was authenticated before. `false`: it does not serve here, and
    /// what it would have answered is still to be asked.
    pub(crate) fn reuse(&mut self, source: &VerifiedSource, context: &StatusContext<'_>) -> bool {
        match (source, &mut self.list, &mut self.signer) {
            (VerifiedSource::StatusList(known), Some(list), _) => {
                let serves = list.asks(known.uri()) && known.serves(signer_of(context), context);
                if serves {
                    list.answer = Some(known.check(list.reference.idx));
                }
                serves
            }
            (VerifiedSource::Crl { uri, crl }, _, Some(signer)) => {
                let serves = crl.next_update() >= context.now
                    && signer.is_from_issuer(crl)
                    && signer.takes(uri);
                if serves {
                    signer.judge(crl, context);
                }
                serves
            }
            _ => false,
        }
    }

    /// The outcome; a refusal names the reason.
    pub(crate) fn settle(&self) -> Result<Settled, VerifyError> {
        if let Some(signer) = &self.signer {
            signer.settle()?;
        }
        if let Some(list) = &self.list {
            list.answer.clone().unwrap_or(Err(unknown("the status list was not asked")))?;
        }
        Ok(self.outcome)
    }

    /// Whether a certificate's revocation was part of it.
    pub(crate) fn covers_signer(&self) -> bool {
        self.signer.is_some()
    }
}

/// Whether the certificate `leaf`, directly below one of `roots`, is good by CRLs that its operator
/// supplied, without the profile of ISO/IEC 18013-5: what certificate test suites exercise.
#[doc(hidden)]
pub fn is_good_by_crls(
    provider: &CryptoProvider,
    leaf: &[u8],
    roots: &[TrustAnchor],
    crls: &[&[u8]],
    now: UnixMillis,
) -> bool {
    let mut issuer = TrustEntry::new(IssuerId::new("suite"));
    issuer.roots = roots.to_vec();
    let crl = |der: &&[u8]| VerifiedCrl::from_der(provider, der, roots).ok();
    issuer.crls = crls.iter().filter_map(crl).collect();
    let Ok(path) = authenticate_status_signer(provider, &[leaf], &issuer, true, now) else {
        return false;
    };
    let context = StatusContext {
        provider,
        issuer: &issuer,
        trust_version: 0,
        livemode: true,
        format: CredentialFormat::Mdoc,
        now,
    };
    let signer = Some(SignerStatus::of(&path));
    let published = Published { status: PublishedStatus::None, signer };
    Inquiry::open(published, &context).and_then(|inquiry| inquiry.settle()) == Ok(Settled::Good)
}

/// Whether `token` is the status list at `uri` of `issuer`, and calls the credential at `idx` good:
/// what tests of the parsers exercise.
#[doc(hidden)]
pub fn is_good_by_status_list(
    provider: &CryptoProvider,
    token: &[u8],
    (uri, idx): (&str, u64),
    issuer: &TrustEntry,
    format: CredentialFormat,
    now: UnixMillis,
) -> bool {
    let context = StatusContext { provider, issuer, trust_version: 0, livemode: true, format, now };
    let status =
        StatusListReference::new(idx, uri).map_or(PublishedStatus::Unknown, PublishedStatus::List);
    Inquiry::open(Published { status, signer: None }, &context).is_ok_and(|mut inquiry| {
        let need = Need::StatusList { uri: uri.into() };
        inquiry.supply(&need, Supplied::Bytes(token), &context);
        inquiry.settle() == Ok(Settled::Good)
    })
}

/// What was not asked yet, equal ones once.
pub(crate) fn needs_of(inquiries: &[Inquiry]) -> Vec<Need> {
    let mut needs: Vec<Need> = inquiries.iter().flat_map(Inquiry::needs).collect();
    needs.sort_unstable();
    needs.dedup();
    needs
}

/// The work that one answer may cause elsewhere is bounded, whatever is cached.
pub(crate) fn check_count(inquiries: &[Inquiry]) -> Result<(), VerifyError> {
    if needs_of(inquiries).len() > MAX_STATUS_URIS {
        let detail = "the answer asks for more than 20 status sources";
        return Err(VerifyError::new(Reason::LimitExceeded, Check::Limits, detail));
    }
    Ok(())
}

/// SD-JWT VC is signed by bare keys, mdoc by certificates, and so are their lists.
fn signer_of(context: &StatusContext<'_>) -> ListSigner {
    match context.format {
        CredentialFormat::SdJwtVc => ListSigner::IssuerKey,
        CredentialFormat::Mdoc => ListSigner::Certificate,
    }
}

impl ListQuestion {
    fn asks(&self, uri: &str) -> bool {
        self.answer.is_none() && self.reference.uri == uri
    }

    fn supply(
        &mut self,
        what: Supplied<'_>,
        context: &StatusContext<'_>,
    ) -> Option<VerifiedStatusList> {
        let uri = &self.reference.uri;
        let list = match what {
            Supplied::Bytes(token) => {
                VerifiedStatusList::verify(token, uri, signer_of(context), context)
            }
            Supplied::Unavailable => Err(unknown("the status list is unavailable")),
        };
        self.answer = Some(match &list {
            Ok(list) => list.check(self.reference.idx),
            Err(error) => Err(error.clone()),
        });
        list.ok()
    }
}

impl SignerStatus {
    fn issuer(&self) -> Option<Certificate<'_>> {
        self.issuer.as_deref().and_then(|der| Certificate::parse(der).ok())
    }

    /// Whether a CRL that the operator supplied lists the certificate. Nothing else is asked, so
    /// one that is out of date counts too: who was revoked does not become good with time.
    pub(super) fn is_revoked_by_operator(&self, context: &StatusContext<'_>) -> bool {
        let issuer = self.issuer().and_then(|issuer| CrlIssuer::of(context.provider, &issuer));
        let revokes = |crl: &VerifiedCrl| {
            issuer.is_some_and(|issuer| crl.is_of(&issuer)) && crl.lists(&self.serial)
        };
        context.issuer.crls.iter().any(revokes)
    }

    /// The distinct URIs that can be fetched.
    fn fetchable(&self) -> Vec<String> {
        let mut uris: Vec<String> =
            self.points.iter().flatten().filter(|uri| is_fetchable(uri)).cloned().collect();
        uris.sort_unstable();
        uris.dedup();
        uris
    }
}

impl SignerQuestion {
    /// `None`: the certificate publishes nothing. CRLs that the operator supplied for its issuer
    /// replace the fetch, also when they are out of date.
    fn open(
        status: SignerStatus,
        context: &StatusContext<'_>,
    ) -> Result<Option<Self>, VerifyError> {
        if context.issuer.crls.is_empty() && status.points.is_empty() {
            return Ok(None);
        }
        let issuer = status.issuer().and_then(|issuer| CrlIssuer::of(context.provider, &issuer));
        let mut question =
            Self { status, issuer, open: Vec::new(), revoked: None, failed: None, good: false };
        let mut replaced = false;
        for crl in &context.issuer.crls {
            if question.is_from_issuer(crl) {
                replaced = true;
                question.judge(crl, context);
            }
        }
        if replaced {
            question.settle()?;
        } else if question.status.points.is_empty() {
            return Ok(None);
        } else {
            question.open = question.points_to_ask()?;
        }
        Ok(Some(question))
    }

    fn points_to_ask(&self) -> Result<Vec<String>, VerifyError> {
        if self.issuer.is_none() {
            return Err(no_crl("no trusted root could have signed the certificate's CRL"));
        }
        if self.status.points.iter().any(Vec::is_empty) {
            return Err(no_crl("a CRL distribution point has no URI, or is for some reasons only"));
        }
        let uris = self.status.fetchable();
        if uris.is_empty() {
            return Err(no_crl("the certificate's CRL distribution points cannot be fetched"));
        }
        Ok(uris)
    }

    fn is_from_issuer(&self, crl: &VerifiedCrl) -> bool {
        self.issuer.is_some_and(|issuer| crl.is_of(&issuer))
    }

    /// Takes `uri` off the open ones.
    fn takes(&mut self, uri: &str) -> bool {
        let before = self.open.len();
        self.open.retain(|open| open != uri);
        self.open.len() < before
    }

    fn supply(
        &mut self,
        uri: &str,
        what: Supplied<'_>,
        context: &StatusContext<'_>,
    ) -> Option<VerifiedCrl> {
        if !self.takes(uri) {
            return None;
        }
        let crl = match what {
            Supplied::Bytes(der) => self.verify(der, context),
            Supplied::Unavailable => Err(no_crl("the certificate's CRL is unavailable")),
        };
        match crl {
            Ok(crl) => {
                self.judge(&crl, context);
                Some(crl)
            }
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    fn verify(&self, der: &[u8], context: &StatusContext<'_>) -> Result<VerifiedCrl, VerifyError> {
        let issuer = self.status.issuer();
        let issuer = issuer.ok_or(no_crl("the certificate's issuer cannot be read"))?;
        Ok(VerifiedCrl::verify(context.provider, der, &issuer)?)
    }

    fn judge(&mut self, crl: &VerifiedCrl, context: &StatusContext<'_>) {
        match crl.check(&self.status.serial, &self.status.points, context.now) {
            Ok(()) => self.good = true,
            Err(error) if error.reason == Reason::CertificateRevoked => self.revoked = Some(error),
            Err(error) => self.failed = Some(error),
        }
    }

    /// Each distribution point has a list for all reasons, so one good list suffices (RFC 5280
    /// 6.3.3), but every one is asked, and one that revokes outweighs all others.
    fn settle(&self) -> Result<(), VerifyError> {
        match (&self.revoked, self.good && self.open.is_empty(), &self.failed) {
            (Some(revoked), _, _) => Err(revoked.clone()),
            (None, true, _) => Ok(()),
            (None, false, Some(failed)) => Err(failed.clone()),
            (None, false, None) => Err(no_crl("the certificate's CRL was not asked")),
        }
    }
}

const fn no_crl(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::RevocationUnknown, Check::SignerStatus, detail)
}

//! Whether a signer, or a CA between it and its root, is revoked: the CRLs of each issuer, from the
//! operator or from the distribution points.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::context::{SignerStatus, StatusContext, is_fetchable};
use super::super::source::Supplied;
use crate::error::{Check, Reason, VerifyError};
use crate::trust::certificate::Certificate;
use crate::trust::crl::{CrlIssuer, VerifiedCrl};

/// The questions about a signer and the CAs between it and its root, with the answers so far.
#[derive(Clone, Debug)]
pub(super) struct SignerQuestion {
    signer: Option<CertificateQuestion>,
    intermediates: Vec<CertificateQuestion>,
}

/// The question about one certificate, with the answer so far.
#[derive(Clone, Debug)]
struct CertificateQuestion {
    status: SignerStatus,
    issuer: Option<CrlIssuer>,
    /// Distribution points that were not requested yet.
    open: Vec<String>,
    /// The worst and the best answer so far.
    revoked: Option<VerifyError>,
    failed: Option<VerifyError>,
    good: bool,
}

impl SignerStatus {
    fn issuer(&self) -> Option<Certificate<'_>> {
        self.issuer.as_deref().and_then(|der| Certificate::parse(der).ok())
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
    /// `None`: no certificate of the path publishes a status, and none of the operator's CRLs is by
    /// one of their issuers.
    pub(super) fn open(
        status: SignerStatus,
        context: &StatusContext<'_>,
    ) -> Result<Option<Self>, VerifyError> {
        let mut intermediates = Vec::new();
        for ca in &status.intermediates {
            let question = CertificateQuestion::open(ca.clone(), context);
            intermediates.extend(question.map_err(of_intermediate)?);
        }
        let signer = CertificateQuestion::open(status, context)?;
        let asks = signer.is_some() || !intermediates.is_empty();
        Ok(asks.then_some(Self { signer, intermediates }))
    }

    fn certificates(&self) -> impl Iterator<Item = &CertificateQuestion> {
        self.signer.iter().chain(&self.intermediates)
    }

    fn certificates_mut(&mut self) -> impl Iterator<Item = &mut CertificateQuestion> {
        self.signer.iter_mut().chain(&mut self.intermediates)
    }

    /// The distribution points that were not requested yet.
    pub(super) fn open_points(&self) -> impl Iterator<Item = &String> {
        self.certificates().flat_map(|one| &one.open)
    }

    /// Answers from a CRL that was authenticated before; `false`: it cannot be used here.
    pub(super) fn reuse(
        &mut self,
        uri: &str,
        crl: &VerifiedCrl,
        context: &StatusContext<'_>,
    ) -> bool {
        let mut serves = false;
        for one in self.certificates_mut() {
            serves |= one.reuse(uri, crl, context);
        }
        serves
    }

    /// Judges the answer from `uri`, if a certificate requests it. Returns an authentic CRL.
    pub(super) fn supply(
        &mut self,
        uri: &str,
        what: Supplied<'_>,
        context: &StatusContext<'_>,
    ) -> Option<VerifiedCrl> {
        self.certificates_mut().fold(None, |known, one| one.supply(uri, what, context).or(known))
    }

    /// Every certificate of the path must be good; a revoked one outweighs an unknown one.
    pub(super) fn settle(&self) -> Result<(), VerifyError> {
        let signer = self.signer.iter().map(CertificateQuestion::settle);
        let intermediates = self.intermediates.iter();
        let intermediates = intermediates.map(|one| one.settle().map_err(of_intermediate));
        let refusals = || signer.clone().chain(intermediates.clone()).filter_map(Result::err);
        let revoked = refusals().find(|error| error.reason == Reason::CertificateRevoked);
        revoked.or_else(|| refusals().next()).map_or(Ok(()), Err)
    }
}

impl CertificateQuestion {
    /// `None`: the certificate publishes nothing. CRLs that the operator supplied for its issuer
    /// replace the fetch, even if they are out of date.
    fn open(
        status: SignerStatus,
        context: &StatusContext<'_>,
    ) -> Result<Option<Self>, VerifyError> {
        if context.issuer.crls.is_empty() && status.points.is_empty() {
            return Ok(None);
        }
        let (mut question, replaced) = Self::by_supplied_crls(status, context)?;
        if replaced {
            return Ok(Some(question));
        }
        if question.status.points.is_empty() {
            return Ok(None);
        }
        question.open = question.points_to_ask()?;
        Ok(Some(question))
    }

    /// Applies the operator's CRLs, and returns whether one of them is by the certificate's issuer.
    fn by_supplied_crls(
        status: SignerStatus,
        context: &StatusContext<'_>,
    ) -> Result<(Self, bool), VerifyError> {
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
        }
        Ok((question, replaced))
    }

    fn reuse(&mut self, uri: &str, crl: &VerifiedCrl, context: &StatusContext<'_>) -> bool {
        let serves =
            crl.next_update() >= context.now && self.is_from_issuer(crl) && self.takes(uri);
        if serves {
            self.judge(crl, context);
        }
        serves
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

    /// Removes `uri` from the open ones.
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
            Supplied::Failed(fault) => Err(no_crl(fault.of_crl())),
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

    /// Each distribution point has a list for all reasons, so one good list is enough (RFC 5280
    /// 6.3.3). But every one is fetched, and one that revokes outweighs all others.
    fn settle(&self) -> Result<(), VerifyError> {
        match (&self.revoked, self.good && self.open.is_empty(), &self.failed) {
            (Some(revoked), _, _) => Err(revoked.clone()),
            (None, true, _) => Ok(()),
            (None, false, Some(failed)) => Err(failed.clone()),
            (None, false, None) => Err(no_crl("the certificate's CRL was not fetched")),
        }
    }
}

fn of_intermediate(error: VerifyError) -> VerifyError {
    match error.reason {
        Reason::CertificateRevoked => {
            VerifyError { detail: "an intermediate certificate of the path is revoked", ..error }
        }
        Reason::RevocationUnknown => VerifyError {
            detail: "the CRL of an intermediate certificate of the path is unavailable",
            ..error
        },
        _ => error,
    }
}

const fn no_crl(detail: &'static str) -> VerifyError {
    VerifyError::new(Reason::RevocationUnknown, Check::SignerStatus, detail)
}

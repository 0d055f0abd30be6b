//! The status of one credential: its place in a status list or an identifier list, and the status
//! of the certificate that signed the list.

use alloc::string::String;

use super::super::context::{SignerStatus, StatusContext, Voucher, unknown};
use super::super::outcome::RevocationOutcome;
use super::super::source::{Need, Supplied};
use super::super::token_status_list::{
    Judged, ListSigner, StatusListReference, VerifiedStatusList,
};
use super::signer::SignerQuestion;
use crate::error::{Reason, VerifyError};
use crate::ids::CredentialFormat;
use crate::trust::crl::VerifiedCrl;

/// The question about one credential, with its answer.
#[derive(Clone, Debug)]
pub(super) struct ListQuestion {
    reference: StatusListReference,
    /// `None`: a bare key signed the credential.
    voucher: Option<Voucher>,
    /// The list's answer about the credential.
    answer: Option<Result<(), VerifyError>>,
    /// Whether a list that cannot be fetched is accepted as unknown.
    accepts_unknown: bool,
    /// Whether the credential's status is unknown; `answer` then has the reason.
    is_unknown: bool,
    /// About the certificate that signed the list. `None`: a bare key did, it publishes nothing, or
    /// it is that of the credential's own signer, which is checked anyway.
    signer: Option<SignerQuestion>,
}

impl ListQuestion {
    pub(super) fn new(
        reference: StatusListReference,
        voucher: Option<Voucher>,
        accepts_unknown: bool,
    ) -> Self {
        Self { reference, voucher, answer: None, accepts_unknown, is_unknown: false, signer: None }
    }

    /// The list, while it has not been requested.
    pub(super) fn need(&self) -> Option<Need> {
        let need = || Need::of_list(self.reference.kind(), &self.reference.uri, self.format());
        self.answer.is_none().then(need)
    }

    /// The format of the credential.
    fn format(&self) -> CredentialFormat {
        self.list_signer().format()
    }

    /// The distribution points of the list's signer that were not requested yet.
    pub(super) fn open_points(&self) -> impl Iterator<Item = &String> {
        self.signer.iter().flat_map(SignerQuestion::open_points)
    }

    /// The answer of the list itself, whatever the status of its signer.
    #[cfg(feature = "internals")]
    pub(super) fn answer(&self) -> Option<&Result<(), VerifyError>> {
        self.answer.as_ref()
    }

    /// Judges the answer to `need`. `credentials_signer` is checked anyway.
    pub(super) fn supply(
        &mut self,
        need: &Need,
        what: Supplied<'_>,
        credentials_signer: Option<&SignerStatus>,
        context: &StatusContext<'_>,
    ) -> Option<VerifiedStatusList> {
        if !self.asks(need) {
            return None;
        }
        let StatusListReference { uri, .. } = &self.reference;
        let (kind, signer) = (self.reference.kind(), self.list_signer());
        let list = match what {
            Supplied::Bytes(token) => {
                VerifiedStatusList::verify_kind(kind, token, uri, signer, context)
            }
            Supplied::Unavailable => Err(unknown("the status list is unavailable")),
            Supplied::Failed(fault) => {
                self.is_unknown = fault.leaves_unknown();
                Err(unknown(fault.of_list()))
            }
        };
        match list {
            Ok(Judged::Current(list)) => {
                self.read(&list, credentials_signer, context);
                Some(list)
            }
            Ok(Judged::Over(list, why)) => {
                self.read_over(&list, why, credentials_signer, context);
                None
            }
            Err(error) => {
                self.answer = Some(Err(error));
                None
            }
        }
    }

    /// Answers from a list that was authenticated before; `false`: it cannot be used here. After
    /// the status is found to be unknown, an earlier list can only count against the credential: if
    /// it ever said that the credential is not good, this is not accepted as unknown.
    pub(super) fn reuse(
        &mut self,
        list: &VerifiedStatusList,
        credentials_signer: Option<&SignerStatus>,
        context: &StatusContext<'_>,
    ) -> bool {
        let reference = &self.reference;
        let is_of_it = list.kind() == reference.kind() && list.uri() == reference.uri;
        if !is_of_it || !list.is_for(self.list_signer(), context) {
            return false;
        }
        let serves = list.serves(self.list_signer(), context);
        if self.answer.is_none() {
            if serves {
                self.read(list, credentials_signer, context);
            }
            return serves;
        }
        let Some(Err(bad)) = self.is_unknown.then(|| list.check_at(&reference.place)) else {
            return false;
        };
        self.is_unknown = false;
        if serves {
            self.answer = Some(Err(bad));
        }
        true
    }

    /// Judges the answer from a distribution point of the list's signer.
    pub(super) fn supply_crl(
        &mut self,
        uri: &str,
        what: Supplied<'_>,
        context: &StatusContext<'_>,
    ) -> Option<VerifiedCrl> {
        self.signer.as_mut()?.supply(uri, what, context)
    }

    pub(super) fn reuse_crl(
        &mut self,
        uri: &str,
        crl: &VerifiedCrl,
        context: &StatusContext<'_>,
    ) -> bool {
        self.signer.as_mut().is_some_and(|signer| signer.reuse(uri, crl, context))
    }

    /// The list's answer counts only if its signer is good.
    pub(super) fn settle(&self) -> Result<RevocationOutcome, VerifyError> {
        if let Some(signer) = &self.signer {
            signer.settle().map_err(|error| of_list_signer(&error))?;
        }
        match &self.answer {
            Some(Ok(())) => Ok(RevocationOutcome::Good),
            Some(Err(_)) if self.is_unknown && self.accepts_unknown => {
                Ok(RevocationOutcome::Unknown)
            }
            Some(Err(error)) => Err(error.clone()),
            None => Err(unknown("the status list was not fetched")),
        }
    }

    fn asks(&self, need: &Need) -> bool {
        self.need().is_some_and(|open| open == *need)
    }

    fn list_signer(&self) -> ListSigner<'_> {
        self.voucher.as_ref().map_or(ListSigner::IssuerKey, ListSigner::Certificate)
    }

    fn read(
        &mut self,
        list: &VerifiedStatusList,
        credentials_signer: Option<&SignerStatus>,
        context: &StatusContext<'_>,
    ) {
        self.answer = Some(list.check_at(&self.reference.place));
        let Some(status) = list.signer().filter(|status| Some(*status) != credentials_signer)
        else {
            return;
        };
        match SignerQuestion::open(status.clone(), context) {
            Ok(question) => self.signer = question,
            Err(error) => self.answer = Some(Err(of_list_signer(&error))),
        }
    }

    /// An expired list never makes a status good. Where an unknown status is accepted, the expired
    /// list must have had good answers for the credential and for its signer: a bad status does not
    /// become unknown with time.
    fn read_over(
        &mut self,
        list: &VerifiedStatusList,
        why: VerifyError,
        credentials_signer: Option<&SignerStatus>,
        context: &StatusContext<'_>,
    ) {
        if self.accepts_unknown {
            self.read(list, credentials_signer, context);
            self.is_unknown = self.answer == Some(Ok(()));
        }
        self.answer = Some(Err(why));
    }
}

/// Statements signed by a revoked certificate never count.
fn of_list_signer(error: &VerifyError) -> VerifyError {
    if error.reason == Reason::CertificateRevoked {
        return unknown("the certificate that signed the status list is revoked");
    }
    unknown("the revocation status of the certificate that signed the status list is unknown")
}

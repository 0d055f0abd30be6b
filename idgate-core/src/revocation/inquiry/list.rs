//! The status of one credential: its place in a status list or an identifier list, and whether the
//! certificate that signed the list is good itself.

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

/// What is to be asked about one credential, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct ListQuestion {
    reference: StatusListReference,
    /// `None`: a bare key signed the credential.
    voucher: Option<Voucher>,
    /// What the list says about the credential.
    answer: Option<Result<(), VerifyError>>,
    /// Whether a status that cannot be had is accepted.
    accepts_unknown: bool,
    /// Whether nothing is known of the credential. `answer` has the reason then.
    is_unknown: bool,
    /// About the certificate that signed the list. `None`: a bare key did, it publishes nothing, or
    /// it is that of the credential's own signer, which is asked anyway.
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

    /// The list, as long as it was not asked.
    pub(super) fn need(&self) -> Option<Need> {
        let need = || Need::of_list(self.reference.kind(), &self.reference.uri, self.format());
        self.answer.is_none().then(need)
    }

    /// Of the credential.
    fn format(&self) -> CredentialFormat {
        self.list_signer().format()
    }

    /// The distribution points of the list's signer that were not asked yet.
    pub(super) fn open_points(&self) -> impl Iterator<Item = &String> {
        self.signer.iter().flat_map(SignerQuestion::open_points)
    }

    /// What the list itself says, whatever became of its signer.
    #[cfg(feature = "internals")]
    pub(super) fn answer(&self) -> Option<&Result<(), VerifyError>> {
        self.answer.as_ref()
    }

    /// Judges what came of `need`. `credentials_signer` is asked anyway.
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

    /// Answers from a list that was authenticated before; `false`: it does not serve here. Once the answer is that the
    /// status is unknown, a list from before counts against the credential alone: at whatever time it said that the
    /// credential is not good, that is not accepted as unknown.
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

    /// Judges what came from a distribution point of the list's signer.
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

    /// What a list says counts when its signer is good.
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
            None => Err(unknown("the status list was not asked")),
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

    /// A list whose time is over says nothing good. Where that is accepted, what it said of the credential and
    /// of its signer must have been good: a status that was bad does not become unknown with time.
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

/// Nothing that a revoked certificate signed says anything about a credential.
fn of_list_signer(error: &VerifyError) -> VerifyError {
    if error.reason == Reason::CertificateRevoked {
        return unknown("the certificate that signed the status list is revoked");
    }
    unknown("whether the certificate that signed the status list is revoked is not known")
}

//! Rules for signers below a CA of a trusted list. Such a CA may sign many other certificates, so a
//! mark is required that keeps these out.

use super::profile::{Broken, SignerProfile, check_document_signer, check_unmarked_signer};
use super::sd_jwt_profile::has_one_of;
use crate::codec::der::{self, Reader};
use crate::trust::anchors::TrustAnchor;
use crate::trust::certificate::Certificate;
use crate::trust::listing::{ListFacts, ListProfile, ListType};
use crate::trust::oid::Oid;

/// Rules for a signer of mdocs below a CA of a trusted list: the profile of ISO/IEC 18013-5, or its
/// qcStatement (ETSI TS 119 412-6), which only issuers receive.
pub(crate) fn check_listed_signer(
    signer: &Certificate<'_>,
    issuer_key_identifier: Option<&[u8]>,
    root: &TrustAnchor,
    profile: SignerProfile<'_>,
    list: &ListFacts,
) -> Result<(), Broken> {
    let iso = || check_document_signer(signer, issuer_key_identifier, root, profile);
    let etsi = || check_unmarked_signer(signer, issuer_key_identifier, root, profile.tolerant);
    match list.profile {
        ListProfile::Iso => iso(),
        ListProfile::Etsi if !has_qc_statement(signer, list.list_type) => Err(NO_QC_STATEMENT),
        ListProfile::Etsi | ListProfile::Any => etsi(),
        ListProfile::Either if has_qc_statement(signer, list.list_type) => {
            iso().or_else(|_| etsi())
        }
        ListProfile::Either if !has_usage_of(signer, profile.ekus) => Err(NO_MARK),
        ListProfile::Either => iso(),
    }
}

/// The mark of an issuer in a signer of SD-JWT VCs below a CA of a trusted list. `ekus` are those
/// of document signers, `sd_jwt_ekus` those that the operator requires of signers of SD-JWT VCs.
pub(crate) fn check_listed_mark(
    signer: &Certificate<'_>,
    ekus: &[Oid],
    sd_jwt_ekus: &[Oid],
    list: &ListFacts,
) -> Result<(), Broken> {
    let by_usage = || has_usage_of(signer, ekus) || has_one_of(signer, sd_jwt_ekus);
    let by_statement = || has_qc_statement(signer, list.list_type);
    match list.profile {
        ListProfile::Iso if !by_usage() => {
            Err("has an extended key usage that is not a document signer's")
        }
        ListProfile::Etsi if !by_statement() => Err(NO_QC_STATEMENT),
        ListProfile::Either if !by_usage() && !by_statement() => Err(NO_MARK),
        _ => Ok(()),
    }
}

const NO_QC_STATEMENT: Broken = "lacks the qcStatement of an issuer of this list's kind";
const NO_MARK: Broken = "has neither an accepted extended key usage nor the qcStatement of an issuer \
                         of this list's kind";

fn has_usage_of(signer: &Certificate<'_>, ekus: &[Oid]) -> bool {
    let usages = signer.extended_key_usages().unwrap_or_default();
    let is_accepted = |oid: &&[u8]| ekus.iter().any(|eku| eku.as_der() == *oid);
    !usages.is_empty() && usages.iter().all(is_accepted)
}

/// Whether it has the qcStatement of issuers on such a list: QcType id-etsi-qct-pid, or QcPSB (ETSI
/// TS 119 412-6). The Commission's lists of mDL and of proofs of age have none of their own. The
/// qcStatements of qualified certificates do not mark a qualified provider: every customer of a
/// qualified CA has them.
fn has_qc_statement(signer: &Certificate<'_>, list_type: ListType) -> bool {
    let extension = signer.extensions().iter().find(|own| own.oid.as_bytes() == QC_STATEMENTS);
    let statements = extension.and_then(|own| Reader::within(own.value, der::SEQUENCE));
    let Some(mut statements) = statements else { return false };
    while let Some(mut statement) = statements.enter(der::SEQUENCE) {
        let Some(id) = statement.element(der::OID) else { return false };
        let is_it = match list_type {
            ListType::Pid => id.content == QC_TYPE && names_pid(statement),
            ListType::PubEaa => id.content == QC_PSB,
            ListType::Mdl | ListType::Av | ListType::Qeaa => false,
        };
        if is_it {
            return true;
        }
    }
    false
}

/// `QcType ::= SEQUENCE OF OBJECT IDENTIFIER`
fn names_pid(mut statement: Reader<'_>) -> bool {
    let Some(mut types) = statement.enter(der::SEQUENCE) else { return false };
    while let Some(kind) = types.element(der::OID) {
        if kind.content == QCT_PID {
            return true;
        }
    }
    false
}

/// 1.3.6.1.5.5.7.1.3
const QC_STATEMENTS: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x01\x03";
/// 0.4.0.1862.1.6
const QC_TYPE: &[u8] = b"\x04\x00\x8e\x46\x01\x06";
/// 0.4.0.1862.1.10
const QC_PSB: &[u8] = b"\x04\x00\x8e\x46\x01\x0a";
/// 0.4.0.194126.1.1
const QCT_PID: &[u8] = b"\x04\x00\x8b\xec\x4e\x01\x01";

//! The options of `trust add` for European trusted lists.

use std::path::{Path, PathBuf};

use clap::Args;
use idgate_core::UnixMillis;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    AGE_DOC_TYPE, ListAnchors, ListProfile, TrustedList, VerifiedCrl, is_of_another_list,
};
use idgate_core::trust::ListType;

use super::preset::Preset;
use super::{Fetch, lotl};
use crate::admin::files::{in_file, read_at_most};
use crate::failure::Failure;
use crate::limits::MAX_LIST_FILE_BYTES;
use idgate_store::{ListSettings, NewCrl, NewTrustedList, TrustChange, TrustRecord, list_url};

/// The types of credentials for an entry whose operator names none.
const MDL: &str = "org.iso.18013.5.1.mDL";
const PID_VCT: &str = "urn:eudi:pid:1";
const PID_DOC_TYPE: &str = "eu.europa.ec.eudi.pid.1";

/// The options that name a trusted list.
#[derive(Args, Debug)]
pub(super) struct ListOptions {
    /// European trusted list in JSON (ETSI TS 119 602) or XML (ETSI TS 119 612), from a file or an
    /// https URL; `serve` keeps a list from a URL up to date; replaces the entry's former list
    #[arg(long, value_name = "FILE|URL", group = "source")]
    trusted_list: Option<String>,
    /// List of lists (ETSI TS 119 612), from a file or an https URL; it names the trusted list of
    /// --country and the signers of that list
    #[arg(long, value_name = "FILE|URL", group = "source")]
    pub(super) lotl: Option<String>,
    /// Trust anchors of the trusted list or the list of lists: CAs above its signer, or the signer
    /// itself; PEM or DER, one or many
    #[arg(long, value_name = "FILE", requires = "source")]
    list_signer_ca: Option<PathBuf>,
    /// Type of the list: pid, mdl, pub-eaa, av or qeaa; the first list fixes it [default: the type
    /// in the list; qeaa for a national list in XML]
    #[arg(long, value_name = "TYPE", value_parser = list_type, requires = "source")]
    pub(super) list_type: Option<ListType>,
    /// Accept only the provider with this registration identifier, for example NTRLU-B1
    /// (repeatable)
    #[arg(long, value_name = "ID")]
    provider: Option<Vec<String>>,
    /// Certificate profile of signers below the CAs of the list: iso, etsi, either or any
    /// [default: iso for mdl, else either]
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    signer_profile: Option<ListProfile>,
    /// Accept the list even if a newer one was seen
    #[arg(long, requires = "source")]
    pub(super) accept_rollback: bool,
    /// Queries of 1.0 and haip name the list's URL, so that wallets look only for credentials of
    /// its providers
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    etsi_tl: Option<bool>,
}

impl ListOptions {
    /// Uses the preset's type of list unless the operator names a type.
    pub(super) fn with_preset(mut self, preset: Option<Preset>) -> Self {
        self.list_type = self.list_type.or(preset.map(Preset::list_type));
        self
    }

    /// Reads the list into `change`, whose other attributes are set. `before`: the entry called
    /// `issuer_id` as it is now. CRLs of the list's anchors are stored with the list.
    pub(super) fn read(
        &self,
        change: &mut TrustChange,
        (issuer_id, before): (&str, Option<&TrustRecord>),
        allow_stale: bool,
        fetch: &Fetch<'_>,
        now: UnixMillis,
    ) -> Result<(), Failure> {
        change.etsi_tl = self.etsi_tl;
        let follows = before.is_some_and(|before| before.trusted_list.is_some());
        change.list_settings = ListSettings {
            providers: self.provider.clone(),
            profile: self.signer_profile,
            allow_stale: match self.trusted_list.is_some() || self.lotl.is_some() {
                true => Some(allow_stale),
                false => (allow_stale && follows).then_some(true),
            },
        };
        if self.lotl.is_some() {
            return self.read_named(change, (issuer_id, before), fetch, now);
        }
        lotl::check_country(change, before)?;
        let Some(place) = &self.trusted_list else { return Ok(()) };
        let anchors = self.anchors()?;
        // Anchors that a list of lists named, or that a list for tests has, are not kept for this one.
        let keeps = before.is_some_and(|before| {
            let list = before.trusted_list.as_ref();
            list.is_some_and(|list| list.row.test_only == change.test_only)
                && before.list_of_lists.is_none()
        });
        if anchors.is_none() && !change.test_only && !keeps {
            return Err(Failure::Usage(
                "--trusted-list needs --list-signer-ca FILE, or --test: without a CA, anyone could have \
                 made the list"
                    .into(),
            ));
        }
        let (url, token) = fetched("--trusted-list", place, fetch)?;
        let crls = anchors.as_ref().and_then(|anchors| take_crls(change, anchors));
        let ders = anchors.map(|anchors| anchors.certificates().flatten().copied().collect());
        let accept_rollback = self.accept_rollback;
        let list_type = self.list_type;
        let new = NewTrustedList { url, token, list_type, crls, anchors: ders, accept_rollback };
        let list = new.authenticated((issuer_id, before), change, now)?;
        self.name_types(change, before, &list)?;
        change.trusted_list = Some(new);
        Ok(())
    }

    pub(super) fn anchors(&self) -> Result<Option<ListAnchors>, Failure> {
        let Some(path) = &self.list_signer_ca else { return Ok(None) };
        let file = read_at_most(path, MAX_LIST_FILE_BYTES)?;
        let anchors = ListAnchors::from_file(&PROVIDER, &file);
        anchors.map(Some).map_err(|why| in_file(path, why))
    }

    /// Sets the types of credentials that the list is about if the operator names none. A list
    /// never makes an entry accept all types.
    pub(super) fn name_types(
        &self,
        change: &mut TrustChange,
        before: Option<&TrustRecord>,
        list: &TrustedList,
    ) -> Result<(), Failure> {
        if let Some(wanted) = self.list_type.filter(|wanted| *wanted != list.list_type) {
            let (own, wanted) = (list.list_type.name(), wanted.name());
            return Err(Failure::Error(format!(
                "the trusted list is of the type {own}, and {wanted} is asked for"
            )));
        }
        let vct = change.vct.as_deref().or(before.map(|before| &before.vct[..]));
        let doc_types = change.doc_types.as_deref().or(before.map(|before| &before.doc_types[..]));
        let (vct, doc_types) =
            (vct.unwrap_or_default().to_vec(), doc_types.unwrap_or_default().to_vec());
        match list.list_type {
            ListType::Pid if vct.is_empty() && doc_types.is_empty() => {
                change.vct = Some(vec![PID_VCT.into()]);
                change.doc_types = Some(vec![PID_DOC_TYPE.into()]);
            }
            ListType::Mdl => {
                return only_type(change, ("an mDL list", MDL), (vct, doc_types));
            }
            ListType::Av => {
                return only_type(change, ("the age list", AGE_DOC_TYPE), (vct, doc_types));
            }
            ListType::PubEaa if vct.is_empty() && doc_types.is_empty() => {
                return Err(says_no_types("a list of public bodies"));
            }
            ListType::Qeaa if vct.is_empty() && doc_types.is_empty() => {
                return Err(says_no_types("a list of qualified providers"));
            }
            _ => {}
        }
        let of_another = |name: &&String| is_of_another_list(list.list_type, name);
        if let Some(name) = vct.iter().chain(&doc_types).find(of_another) {
            return Err(Failure::Error(format!(
                "{name}: the trusted list is of qualified providers, which do not issue it; for the PID providers of a \
                 national list, give --list-type pid; for proofs of age, follow the age list"
            )));
        }
        Ok(())
    }
}

/// Sets the only document type that a list is about, and refuses other types.
fn only_type(
    change: &mut TrustChange,
    (list, doc_type): (&str, &str),
    (vct, doc_types): (Vec<String>, Vec<String>),
) -> Result<(), Failure> {
    if !vct.is_empty() {
        return Err(Failure::Usage(format!(
            "--vct: {list} is not for SD-JWT VCs; use a separate entry"
        )));
    }
    if doc_types.is_empty() {
        change.doc_types = Some(vec![doc_type.to_owned()]);
    } else if doc_types != [doc_type] {
        return Err(Failure::Usage(format!(
            "--doc-type: {list} is only for {doc_type}; use a separate entry"
        )));
    }
    Ok(())
}

fn says_no_types(list: &str) -> Failure {
    Failure::Usage(format!("{list} does not say what they issue; give --vct or --doc-type"))
}

/// Takes the CRLs of the list's anchors out of `change`. They are about the signers of lists, not
/// about issuers.
pub(super) fn take_crls(change: &mut TrustChange, anchors: &ListAnchors) -> Option<Vec<u8>> {
    let is_of_list =
        |crl: &NewCrl| VerifiedCrl::from_der(&PROVIDER, &crl.der, anchors.cas()).is_ok();
    let crls = std::mem::take(&mut change.crls);
    let (own, others): (Vec<NewCrl>, _) = crls.into_iter().partition(is_of_list);
    change.crls = others;
    (!own.is_empty()).then(|| own.into_iter().flat_map(|crl| crl.der).collect())
}

/// Reads the list that `option` names, at an https URL or in a file. Returns the URL and the list.
pub(super) fn fetched(
    option: &str,
    place: &str,
    fetch: &Fetch<'_>,
) -> Result<(Option<String>, Vec<u8>), Failure> {
    let scheme = place.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        Some("https") => {
            let url = list_url(place).map_err(|why| {
                Failure::Usage(format!("{option}: the URL {why}; give it as https://HOST/PATH"))
            })?;
            let token = fetch(&url).map_err(|why| Failure::Error(format!("{url}: {why}")))?;
            Ok((Some(url), token))
        }
        Some("http") => Err(Failure::Usage(format!("{option}: must be an https URL or a file"))),
        _ => Ok((None, read_at_most(Path::new(place), MAX_LIST_FILE_BYTES)?)),
    }
}

fn list_type(text: &str) -> Result<ListType, String> {
    ListType::from_name(text).ok_or_else(|| "must be pid, mdl, pub-eaa, av or qeaa".into())
}

fn profile(text: &str) -> Result<ListProfile, String> {
    ListProfile::from_name(text).ok_or_else(|| "must be iso, etsi, either or any".into())
}

//! Trust material: what a file brings to an entry.

use std::fmt;

use idgate_core::Issuer;
use idgate_core::UnixMillis;
use idgate_core::shell::VerifiedCrl;
use idgate_core::shell::{
    ImportedList, ListAnchors, ListMark, ListRules, ListTerms, TrustAnchor, TrustEntry,
    TrustMaterialError, TrustedList, import_master_list, import_trusted_list, import_vical,
    pem_or_der, roots_from_file,
};
use idgate_core::trust::{Field, ListType};

use super::{IDGATE_ALLOW_STALE, IDGATE_TEST_ONLY, idgate_material};
use crate::choice::choices;
use crate::failure::Failure;
use crate::issuer;
use crate::provider::PROVIDER;

choices! {
    idgate_material: IDGATE_JWK, IDGATE_PUBLIC_KEY_PEM, IDGATE_IACA_ROOTS, IDGATE_MDOC_SIGNERS,
        IDGATE_MASTER_LIST, IDGATE_VICAL, IDGATE_CRLS, IDGATE_STATUS_ROOTS, IDGATE_X5C_ROOTS,
        IDGATE_X5C_SIGNERS, IDGATE_TRUSTED_LIST;
}

const LACKS_SIGNER_CA: &str =
    "needs the CA of its signer: without it anyone could have made the list";

/// The next trusted list of an issuer is compared with this. It stays as long as the collection, even if the
/// issuer is replaced.
#[derive(Clone)]
pub(super) struct Former {
    mark: ListMark,
    list_type: ListType,
    /// The signer of the first list. Otherwise any customer of its CA could publish lists.
    organization: Option<String>,
}

impl Former {
    pub(super) fn of(list: &TrustedList, before: Option<Self>, now: UnixMillis) -> Self {
        let mark = list.mark(before.as_ref().map(|before| &before.mark), now);
        let own = list.signer.organization.clone();
        let organization = before.and_then(|before| before.organization).or(own);
        Self { mark, list_type: list.list_type, organization }
    }
}

/// Material as a caller gives it.
pub(super) struct Given<'a> {
    pub(super) issuer_id: &'a str,
    pub(super) file: &'a [u8],
    pub(super) signer_ca: &'a [u8],
    pub(super) flags: u64,
    pub(super) now: UnixMillis,
}

pub(super) struct Material<'a> {
    pub(super) kind: idgate_material,
    given: Given<'a>,
    test_only: bool,
    allow_stale: bool,
}

impl<'a> Material<'a> {
    pub(super) fn new(kind: i32, given: Given<'a>) -> Result<Self, Failure> {
        let kind = idgate_material::of(kind, "material")?;
        if given.flags & !(IDGATE_TEST_ONLY | IDGATE_ALLOW_STALE) != 0 {
            return Err(Failure::misuse("flags has a bit that idgate.h does not define"));
        }
        let test_only = given.flags & IDGATE_TEST_ONLY != 0;
        let allow_stale = given.flags & IDGATE_ALLOW_STALE != 0;
        Ok(Self { kind, given, test_only, allow_stale })
    }

    /// Adds the material, and returns the report if it is a list.
    pub(super) fn add_to(&self, entry: &mut TrustEntry) -> Result<Option<ImportedList>, Failure> {
        use idgate_material::*;
        match self.kind {
            IDGATE_MASTER_LIST | IDGATE_VICAL => {
                let list = self.list()?;
                entry.roots.extend(list.roots.iter().cloned().map(|root| self.mark(root)));
                return Ok(Some(list));
            }
            IDGATE_CRLS => self.add_crls(entry)?,
            _ => {
                let read = issuer::read(self.issuer())?;
                entry.keys.extend(read.keys);
                entry.roots.extend(read.roots);
                entry.pinned_signers.extend(read.pinned_signers);
                entry.sd_jwt_roots.extend(read.sd_jwt_roots);
                entry.sd_jwt_signers.extend(read.sd_jwt_signers);
                entry.status_roots.extend(read.status_roots);
            }
        }
        Ok(None)
    }

    /// An issuer with only this material.
    fn issuer(&self) -> Issuer {
        use idgate_material::*;
        let issuer = Issuer::new(self.given.issuer_id);
        let issuer = if self.test_only { issuer.test_only() } else { issuer };
        let file = self.given.file;
        match self.kind {
            IDGATE_JWK => issuer.jwk(file),
            IDGATE_PUBLIC_KEY_PEM => issuer.public_key_pem(file),
            IDGATE_IACA_ROOTS => issuer.iaca_roots(file),
            IDGATE_MDOC_SIGNERS => issuer.mdoc_signers(file),
            IDGATE_X5C_ROOTS => issuer.x5c_roots(file),
            IDGATE_X5C_SIGNERS => issuer.x5c_signers(file),
            IDGATE_STATUS_ROOTS => issuer.status_roots(file),
            // These are read together with the material that the issuer has.
            IDGATE_CRLS | IDGATE_MASTER_LIST | IDGATE_VICAL | IDGATE_TRUSTED_LIST => issuer,
        }
    }

    fn add_crls(&self, entry: &mut TrustEntry) -> Result<(), Failure> {
        let roots = [entry.roots.as_slice(), &entry.sd_jwt_roots, &entry.status_roots].concat();
        for der in pem_or_der(self.given.file, "X509 CRL").map_err(|why| self.fault(why.0))? {
            let crl = VerifiedCrl::from_der(&PROVIDER, &der, &roots);
            entry.crls.push(crl.map_err(|why| self.fault(why.0))?);
        }
        Ok(())
    }

    pub(super) fn trusted_list(&self, former: Option<&Former>) -> Result<TrustedList, Failure> {
        let anchors = match self.given.signer_ca {
            [] => None,
            file => {
                Some(ListAnchors::from_file(&PROVIDER, file).map_err(|why| self.ca_fault(&why))?)
            }
        };
        let mut rules = match &anchors {
            Some(anchors) => ListRules::new(anchors),
            None if self.test_only => ListRules::for_tests(),
            None => return Err(self.fault(LACKS_SIGNER_CA)),
        };
        rules.test_only = self.test_only;
        rules.allow_stale = self.allow_stale;
        if let Some(Former { mark, list_type, organization }) = former {
            (rules.mark, rules.list_type) = (Some(mark), Some(*list_type));
            rules.organization = organization.as_deref();
        }
        let (file, now) = (self.given.file, self.now()?);
        import_trusted_list(&PROVIDER, file, &rules, now).map_err(|error| self.fault(error.why))
    }

    pub(super) fn take(&self, list: &TrustedList, entry: &mut TrustEntry) {
        let mut terms = ListTerms::default();
        terms.allow_stale = self.allow_stale;
        terms.test_only = self.test_only;
        entry.forget_lists();
        entry.take_list(list, &terms);
    }

    fn list(&self) -> Result<ImportedList, Failure> {
        let Given { file, signer_ca, .. } = self.given;
        let cas = match signer_ca {
            [] if self.test_only => None,
            [] => return Err(self.fault(LACKS_SIGNER_CA)),
            ca => Some(roots_from_file(&PROVIDER, ca).map_err(|why| self.ca_fault(&why))?),
        };
        let (cas, now) = (cas.as_deref(), self.now()?);
        let imported = match self.kind {
            idgate_material::IDGATE_VICAL => {
                import_vical(&PROVIDER, file, cas, self.allow_stale, now)
            }
            _ => import_master_list(&PROVIDER, file, cas, now),
        };
        imported.map_err(|why| self.fault(why.0))
    }

    fn mark(&self, root: TrustAnchor) -> TrustAnchor {
        if self.test_only { root.for_test_only() } else { root }
    }

    /// The current time, which lists need.
    fn now(&self) -> Result<UnixMillis, Failure> {
        match self.given.now {
            UnixMillis(0) => Err(self.fault("needs now_ms, the current time")),
            now => Ok(now),
        }
    }

    fn ca_fault(&self, why: &TrustMaterialError) -> Failure {
        self.fault(format_args!("has a signer_ca that {}", why.0))
    }

    /// A fault of material that the core's [`Issuer`] does not read.
    fn fault(&self, why: impl fmt::Display) -> Failure {
        use idgate_material::*;
        let field = match self.kind {
            IDGATE_CRLS => Field::Crls,
            IDGATE_MASTER_LIST => Field::MasterList,
            IDGATE_VICAL => Field::Vical,
            _ => Field::TrustedList,
        };
        Failure::of_issuer(self.given.issuer_id, field.name(), None, why)
    }
}

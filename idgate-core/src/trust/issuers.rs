//! The trusted issuers, together with the cryptography that verifies their credentials.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::TrustSnapshot;
use super::anchors::{TrustAnchor, TrustMaterialError};
use super::bare_key::TrustedKey;
use super::crl::VerifiedCrl;
use super::entry::{RevocationPolicy, TrustEntry};
use super::issuer::{Field, Issuer, Material, TrustError};
use super::list_file::{ListFile, ListReport, ListState};
use super::master_list::{ImportedList, ListedCertificate, import_master_list};
use super::oid::Oid;
use super::on_unknown::OnUnknownRevocation;
use super::pem::pem_or_der;
use super::pinned_signer::PinnedSigner;
use super::root_file::roots_from_file;
use super::trusted_list::{ListAnchors, ListRules, ListTerms, TrustedList, import_trusted_list};
use super::vical::import_vical;
use crate::codec::json::Tape;
use crate::crypto::{CryptoProvider, Jwk, JwkError, PublicKey};
use crate::ids::IssuerId;

/// The trusted issuers with their checked material, and the cryptography that verifies. It is cheap
/// to clone; to change trust, replace it.
///
/// ```
/// # #[cfg(feature = "rustcrypto")] {
/// use idgate_core::crypto::rustcrypto::PROVIDER;
/// use idgate_core::{Issuer, Trust};
///
/// let key = r#"{"kty":"EC","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",
///     "y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}"#;
/// let pid = Issuer::new("https://issuer.example").vct("urn:eudi:pid:1").jwk(key);
/// let trust = Trust::new(PROVIDER, [pid]).unwrap();
/// assert_eq!(trust.issuers().count(), 1);
/// # }
/// ```
#[derive(Clone)]
pub struct Trust {
    pub(crate) provider: CryptoProvider,
    pub(crate) snapshot: Arc<TrustSnapshot>,
    lists: Arc<[ListReport]>,
}

impl Trust {
    /// Reads and checks the material of `issuers`. The version is derived from the keys,
    /// certificates and lists that may sign. A status list that was fetched under one trust is
    /// reused only by its clones.
    ///
    /// # Errors
    /// The first field that cannot be used, by issuer and field name; or two issuers have the same
    /// name.
    pub fn new(
        provider: CryptoProvider,
        issuers: impl IntoIterator<Item = Issuer>,
    ) -> Result<Self, TrustError> {
        let (mut entries, mut lists) = (Vec::new(), Vec::new());
        let mut names: BTreeSet<IssuerId> = BTreeSet::new();
        let mut said = Vec::new();
        for issuer in issuers {
            issuer.say(&mut said);
            let id = issuer.entry.issuer_id.clone();
            if !names.insert(id.clone()) {
                let why = "is given twice; put the material of both into one";
                return Err(TrustError::new(id, Field::Id, None, why.into()));
            }
            entries.push(Reading::new(&provider, issuer, &mut lists).read()?);
        }
        let snapshot = Arc::new(TrustSnapshot::new(number(&provider, &said), entries));
        Ok(Self { provider, snapshot, lists: lists.into() })
    }

    /// Creates a trust from entries that are stored and read elsewhere: a gateway reads each row of
    /// its database once.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn of_snapshot(provider: CryptoProvider, snapshot: Arc<TrustSnapshot>) -> Self {
        Self { provider, snapshot, lists: Arc::default() }
    }

    /// Returns the same trust with your own version. Sessions record the version that decided.
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        self.snapshot = Arc::new(self.snapshot.numbered(version));
        self
    }

    /// The entries of this trust.
    #[cfg_attr(feature = "shell", visibility::make(pub))]
    pub(crate) fn snapshot(&self) -> &Arc<TrustSnapshot> {
        &self.snapshot
    }

    /// The version that sessions record when they are decided.
    pub fn version(&self) -> u64 {
        self.snapshot.version()
    }

    /// The names of the issuers.
    pub fn issuers(&self) -> impl Iterator<Item = &IssuerId> {
        self.snapshot.entries().map(|entry| &entry.issuer_id)
    }

    /// A report on each list that was given for an issuer.
    pub fn lists(&self) -> &[ListReport] {
        &self.lists
    }

    /// The provider of the cryptography that this trust uses.
    pub fn provider(&self) -> &CryptoProvider {
        &self.provider
    }
}

/// Shows the names of the issuers.
impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("issuers", &self.issuers().collect::<Vec<_>>()).finish()
    }
}

/// A number for the whole material, small enough for JavaScript.
fn number(provider: &CryptoProvider, said: &[u8]) -> u64 {
    let digest = provider.sha256(said);
    let first = digest.iter().take(7).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    first >> 3
}

const OTHER_CRL: &str = "has a CRL that no CA of its signer signed";

/// Why a value of a field cannot be used.
struct Unusable(Cow<'static, str>);

impl From<TrustMaterialError> for Unusable {
    fn from(error: TrustMaterialError) -> Self {
        Self(error.0)
    }
}

impl From<JwkError> for Unusable {
    fn from(error: JwkError) -> Self {
        Self(error.0.into())
    }
}

/// An issuer that is being read.
struct Reading<'r> {
    provider: &'r CryptoProvider,
    issuer: Issuer,
    lists: &'r mut Vec<ListReport>,
}

impl<'r> Reading<'r> {
    const fn new(
        provider: &'r CryptoProvider,
        issuer: Issuer,
        lists: &'r mut Vec<ListReport>,
    ) -> Self {
        Self { provider, issuer, lists }
    }

    fn read(mut self) -> Result<TrustEntry, TrustError> {
        let mut entry = self.issuer.entry.clone();
        let days = entry.status_max_age_days;
        if !(1..=3650).contains(&days) {
            return Err(self.error(Field::StatusMaxAgeDays, None, "is not 1 to 3650".into()));
        }
        if entry.revocation == RevocationPolicy::Required
            && entry.on_unknown_revocation != OnUnknownRevocation::Refuse
        {
            let why = "cannot be set for an issuer whose revocation is required";
            return Err(self.error(Field::OnUnknownRevocation, None, why.into()));
        }
        self.read_texts(&mut entry)?;
        let material = core::mem::take(&mut self.issuer.material);
        // A CRL is verified with the roots, whichever of the two is given first.
        let (crls, others): (Vec<_>, Vec<_>) =
            material.into_iter().partition(|one| one.field == Field::Crls);
        for one in others.iter().chain(&crls) {
            let of_field = if one.field == Field::Crls { &crls } else { &others };
            let taken = self.take(one, &mut entry);
            taken.map_err(|Unusable(why)| self.error(one.field, place(one, of_field), why))?;
        }
        Ok(entry)
    }

    fn error(&self, field: Field, index: Option<usize>, why: Cow<'static, str>) -> TrustError {
        TrustError::new(self.issuer.entry.issuer_id.clone(), field, index, why)
    }

    fn read_texts(&self, entry: &mut TrustEntry) -> Result<(), TrustError> {
        for (field, into) in
            [(Field::MdocEku, &mut entry.ekus), (Field::X5cEku, &mut entry.sd_jwt_ekus)]
        {
            let texts = self.issuer.texts.iter().filter(|(own, _)| *own == field);
            let mut read = Vec::new();
            for (index, (_, text)) in texts.enumerate() {
                let why = "is not an object identifier, for example 1.0.18013.5.1.2";
                let oid = Oid::parse(text);
                read.push(oid.ok_or_else(|| self.error(field, Some(index), why.into()))?);
            }
            if !read.is_empty() {
                *into = read;
            }
        }
        Ok(())
    }

    fn take(&mut self, material: &Material, entry: &mut TrustEntry) -> Result<(), Unusable> {
        let file = &material.bytes;
        match (material.field, &material.list) {
            (Field::Jwk, _) => entry.keys.extend(self.jwks(file)?),
            (Field::PublicKeyPem, _) => entry.keys.push(self.public_key(file)?),
            (Field::IacaRoots, _) => entry.roots.extend(self.roots(file)?),
            (Field::X5cRoots, _) => entry.sd_jwt_roots.extend(self.roots(file)?),
            (Field::StatusRoots, _) => entry.status_roots.extend(self.roots(file)?),
            (Field::MdocSigners, _) => entry.pinned_signers.extend(self.signers(file)?),
            (Field::X5cSigners, _) => entry.sd_jwt_signers.extend(self.signers(file)?),
            (Field::Crls, _) => {
                let roots =
                    [entry.roots.as_slice(), &entry.sd_jwt_roots, &entry.status_roots].concat();
                for der in pem_or_der(file, "X509 CRL")? {
                    let crl = VerifiedCrl::from_der(self.provider, &der, &roots);
                    entry.crls.push(crl.map_err(|error| Unusable(error.0.into()))?);
                }
            }
            (Field::TrustedList, Some(list)) => self.take_trusted_list(list, entry)?,
            (field @ (Field::Vical | Field::MasterList), Some(list)) => {
                let imported = self.certificate_list(field, list)?;
                entry.roots.extend(imported.roots.iter().cloned().map(|root| self.mark(root)));
                self.report(field, &imported.certificates, imported.next_update, None);
            }
            // No method creates any other.
            _ => {}
        }
        Ok(())
    }

    fn take_trusted_list(
        &mut self,
        file: &ListFile,
        entry: &mut TrustEntry,
    ) -> Result<(), Unusable> {
        let anchors = match &file.signer_ca {
            Some(ca) => Some(ListAnchors::from_file(self.provider, ca)?),
            None => None,
        };
        let mut rules = match &anchors {
            Some(anchors) => ListRules::new(anchors),
            None => self.unsigned(ListRules::for_tests())?,
        };
        let crls = self.crls_of(file, anchors.as_ref())?;
        rules.crls = &crls;
        rules.test_only = self.issuer.test_only;
        rules.allow_stale = file.allow_stale;
        if let Some(ListState { mark, list_type, organization }) = &file.former {
            (rules.mark, rules.list_type) = (Some(mark), Some(*list_type));
            rules.organization = organization.as_deref();
        }
        let list: TrustedList = import_trusted_list(self.provider, &file.bytes, &rules, file.now)
            .map_err(|error| Unusable(error.why))?;
        let terms = ListTerms {
            allow_stale: file.allow_stale,
            test_only: self.issuer.test_only,
            ..ListTerms::default()
        };
        entry.take_list(&list, &terms);
        let services = list.providers.iter().flat_map(|provider| &provider.services);
        let certificates: Vec<ListedCertificate> =
            services.flat_map(|service| &service.certificates).cloned().collect();
        let state = ListState::of(&list, file.former.as_ref(), file.now);
        self.report(Field::TrustedList, &certificates, Some(list.next_update), Some(state));
        Ok(())
    }

    /// CRLs for the signer of a list. Without a CA there are none.
    fn crls_of(
        &self,
        file: &ListFile,
        anchors: Option<&ListAnchors>,
    ) -> Result<Vec<VerifiedCrl>, Unusable> {
        let cas = anchors.map_or(&[][..], ListAnchors::cas);
        let mut crls = Vec::new();
        for file in &file.crls {
            for der in pem_or_der(file, "X509 CRL")? {
                let crl = VerifiedCrl::from_der(self.provider, &der, cas);
                crls.push(crl.map_err(|_| Unusable(OTHER_CRL.into()))?);
            }
        }
        Ok(crls)
    }

    fn certificate_list(&self, field: Field, file: &ListFile) -> Result<ImportedList, Unusable> {
        if !file.crls.is_empty() || file.former.is_some() {
            let why =
                "has CRLs or the state of the previous list, which only a trusted list accepts";
            return Err(Unusable(why.into()));
        }
        if field == Field::MasterList && file.allow_stale {
            return Err(Unusable("does not say when a newer one is due".into()));
        }
        let cas = match &file.signer_ca {
            Some(ca) => Some(roots_from_file(self.provider, ca)?),
            None => self.unsigned(None)?,
        };
        let (bytes, cas) = (&file.bytes, cas.as_deref());
        Ok(match field {
            Field::Vical => import_vical(self.provider, bytes, cas, file.allow_stale, file.now)?,
            _ => import_master_list(self.provider, bytes, cas, file.now)?,
        })
    }

    /// A list with an unknown signer is accepted for tests only.
    fn unsigned<T>(&self, taken: T) -> Result<T, Unusable> {
        match self.issuer.test_only {
            true => Ok(taken),
            false => Err(Unusable(
                "needs the CA of its signer: without it anyone could have made the list".into(),
            )),
        }
    }

    fn report(
        &mut self,
        field: Field,
        certificates: &[ListedCertificate],
        next_update: Option<crate::time::UnixMillis>,
        state: Option<ListState>,
    ) {
        let skipped = certificates.iter().filter_map(|one| {
            one.skipped_because().map(|why| (one.subject.clone(), String::from(why)))
        });
        let skipped: Vec<_> = skipped.collect();
        let taken = certificates.len().saturating_sub(skipped.len());
        let issuer = self.issuer.entry.issuer_id.clone();
        self.lists.push(ListReport { issuer, field, taken, skipped, next_update, state });
    }

    fn roots(&self, file: &[u8]) -> Result<impl Iterator<Item = TrustAnchor>, Unusable> {
        let roots = roots_from_file(self.provider, file)?;
        Ok(roots.into_iter().map(|root| self.mark(root)))
    }

    fn signers(&self, file: &[u8]) -> Result<Vec<PinnedSigner>, Unusable> {
        let mut signers = Vec::new();
        for der in pem_or_der(file, "CERTIFICATE")? {
            let signer = PinnedSigner::from_der(self.provider, &der)?;
            signers.push(if self.issuer.test_only { signer.for_test_only() } else { signer });
        }
        Ok(signers)
    }

    fn mark(&self, root: TrustAnchor) -> TrustAnchor {
        if self.issuer.test_only { root.for_test_only() } else { root }
    }

    fn public_key(&self, file: &[u8]) -> Result<TrustedKey, Unusable> {
        let pem = core::str::from_utf8(file).map_err(|_| Unusable("is not PEM".into()))?;
        let key = PublicKey::from_pem(pem).map_err(|why| Unusable(why.0.into()))?;
        self.trusted(key, None)
    }

    /// One JWK, or the members of a JWK Set (RFC 7517 5).
    fn jwks(&self, file: &[u8]) -> Result<Vec<TrustedKey>, Unusable> {
        let mut tape = Tape::default();
        let id = tape.parse(file).map_err(|_| Unusable("is not strict JSON".into()))?;
        let value = tape.value(id);
        let Some(keys) = value.get("keys").and_then(|keys| keys.elements()) else {
            let jwk = Jwk::from_json(value)?;
            return Ok(Vec::from([self.trusted(jwk.key, jwk.kid)?]));
        };
        let mut trusted = Vec::new();
        for (index, key) in keys.enumerate() {
            let jwk = Jwk::from_json(key).map_err(|why| {
                Unusable(alloc::format!("has a key with number {index} that {}", why.0).into())
            })?;
            trusted.push(self.trusted(jwk.key, jwk.kid)?);
        }
        match trusted.is_empty() {
            true => Err(Unusable("is a JWK Set without keys".into())),
            false => Ok(trusted),
        }
    }

    /// Refuses a key that could never verify anything.
    fn trusted(&self, key: PublicKey, kid: Option<String>) -> Result<TrustedKey, Unusable> {
        let on_curve = self.provider.check_key(&key);
        on_curve.map_err(|_| Unusable("is not a point on its curve".into()))?;
        let mut trusted = TrustedKey::new(key);
        trusted.kid = kid;
        trusted.test_only = self.issuer.test_only;
        Ok(trusted)
    }
}

/// The index of the value in its field; `None`: it is the only one.
fn place(one: &Material, all: &[Material]) -> Option<usize> {
    let mut of_field = all.iter().filter(|other| other.field == one.field);
    let index = of_field.clone().position(|other| core::ptr::eq(other, one));
    if of_field.by_ref().count() > 1 { index } else { None }
}

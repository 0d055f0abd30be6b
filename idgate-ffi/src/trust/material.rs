//! Trust material: what a file brings to an entry.

use idgate_core::UnixMillis;
use idgate_core::crypto::PublicKey;
use idgate_core::shell::{
    ImportedList, Jwk, ListAnchors, ListMark, ListRules, ListTerms, PinnedSigner, TrustAnchor,
    TrustEntry, TrustedKey, TrustedList, VerifiedCrl, import_master_list, import_trusted_list,
    import_vical, pem_or_der, roots_from_file,
};
use idgate_core::trust::ListType;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{IDGATE_ALLOW_STALE, IDGATE_TEST_ONLY, idgate_material};
use crate::failure::Failure;
use crate::provider::PROVIDER;

const LACKS_SIGNER_CA: &str =
    "a list needs signer_ca, or IDGATE_TEST_ONLY: without it anybody could have made the list";

/// What the next trusted list of an entry is measured by. It stays as long as the collection, also where
/// the entry is replaced.
#[derive(Clone)]
pub(super) struct Former {
    mark: ListMark,
    list_type: ListType,
    /// Of the signer of the first one: any customer of its CA could publish lists otherwise.
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

pub(super) struct Material<'a> {
    pub(super) kind: idgate_material,
    file: &'a [u8],
    signer_ca: &'a [u8],
    test_only: bool,
    allow_stale: bool,
    pub(super) now: UnixMillis,
}

impl<'a> Material<'a> {
    pub(super) fn new(
        kind: i32,
        file: &'a [u8],
        signer_ca: &'a [u8],
        flags: u32,
        now: UnixMillis,
    ) -> Result<Self, Failure> {
        use idgate_material::*;
        let kinds = [
            IDGATE_JWK,
            IDGATE_PUBLIC_KEY,
            IDGATE_ROOT,
            IDGATE_PINNED_SIGNER,
            IDGATE_MASTER_LIST,
            IDGATE_VICAL,
            IDGATE_CRL,
            IDGATE_STATUS_ROOT,
            IDGATE_SD_JWT_ROOT,
            IDGATE_SD_JWT_SIGNER,
            IDGATE_TRUSTED_LIST,
        ];
        let kind = kinds.into_iter().find(|known| *known as i32 == kind);
        let kind = kind.ok_or_else(|| Failure::misuse("material is not an idgate_material"))?;
        if flags & !(IDGATE_TEST_ONLY | IDGATE_ALLOW_STALE) != 0 {
            return Err(Failure::misuse("flags has a bit that means nothing"));
        }
        let test_only = flags & IDGATE_TEST_ONLY != 0;
        let allow_stale = flags & IDGATE_ALLOW_STALE != 0;
        Ok(Self { kind, file, signer_ca, test_only, allow_stale, now })
    }

    /// What became of a list, when it is one.
    pub(super) fn add_to(&self, entry: &mut TrustEntry) -> Result<Option<ImportedList>, Failure> {
        match self.kind {
            idgate_material::IDGATE_JWK => entry.keys.extend(self.jwks()?),
            idgate_material::IDGATE_PUBLIC_KEY => entry.keys.push(self.public_key()?),
            idgate_material::IDGATE_ROOT => entry.roots.extend(self.roots()?),
            idgate_material::IDGATE_PINNED_SIGNER => entry.pinned_signers.extend(self.signers()?),
            idgate_material::IDGATE_SD_JWT_ROOT => entry.sd_jwt_roots.extend(self.roots()?),
            idgate_material::IDGATE_SD_JWT_SIGNER => entry.sd_jwt_signers.extend(self.signers()?),
            idgate_material::IDGATE_MASTER_LIST | idgate_material::IDGATE_VICAL => {
                let list = self.list()?;
                entry.roots.extend(list.roots.iter().cloned().map(|root| self.mark(root)));
                return Ok(Some(list));
            }
            // What it brings depends on what was taken before.
            idgate_material::IDGATE_TRUSTED_LIST => {}
            idgate_material::IDGATE_STATUS_ROOT => entry.status_roots.extend(self.roots()?),
            idgate_material::IDGATE_CRL => {
                let roots =
                    [entry.roots.as_slice(), &entry.sd_jwt_roots, &entry.status_roots].concat();
                for der in pem_or_der(self.file, "X509 CRL")? {
                    let crl = VerifiedCrl::from_der(&PROVIDER, &der, &roots);
                    entry.crls.push(crl.map_err(Failure::config)?);
                }
            }
        }
        Ok(None)
    }

    pub(super) fn trusted_list(&self, former: Option<&Former>) -> Result<TrustedList, Failure> {
        let anchors = match self.signer_ca {
            [] => None,
            file => Some(ListAnchors::from_file(&PROVIDER, file)?),
        };
        let mut rules = match &anchors {
            Some(anchors) => ListRules::new(anchors),
            None if self.test_only => ListRules::for_tests(),
            None => return Err(Failure::config(LACKS_SIGNER_CA)),
        };
        rules.test_only = self.test_only;
        rules.allow_stale = self.allow_stale;
        if let Some(Former { mark, list_type, organization }) = former {
            (rules.mark, rules.list_type) = (Some(mark), Some(*list_type));
            rules.organization = organization.as_deref();
        }
        import_trusted_list(&PROVIDER, self.file, &rules, self.now).map_err(Failure::config)
    }

    pub(super) fn take(&self, list: &TrustedList, entry: &mut TrustEntry) {
        let mut terms = ListTerms::default();
        terms.allow_stale = self.allow_stale;
        terms.test_only = self.test_only;
        entry.forget_lists();
        entry.take_list(list, &terms);
    }

    fn list(&self) -> Result<ImportedList, Failure> {
        let cas = match self.signer_ca {
            [] if self.test_only => None,
            [] => return Err(Failure::config(LACKS_SIGNER_CA)),
            file => Some(roots_from_file(&PROVIDER, file)?),
        };
        let cas = cas.as_deref();
        Ok(match self.kind {
            idgate_material::IDGATE_VICAL => {
                import_vical(&PROVIDER, self.file, cas, self.allow_stale, self.now)?
            }
            _ => import_master_list(&PROVIDER, self.file, cas, self.now)?,
        })
    }

    fn roots(&self) -> Result<impl Iterator<Item = TrustAnchor>, Failure> {
        let roots = roots_from_file(&PROVIDER, self.file)?;
        Ok(roots.into_iter().map(|root| self.mark(root)))
    }

    fn signers(&self) -> Result<Vec<PinnedSigner>, Failure> {
        let mut signers = Vec::new();
        for der in pem_or_der(self.file, "CERTIFICATE")? {
            let signer = PinnedSigner::from_der(&PROVIDER, &der)?;
            signers.push(if self.test_only { signer.for_test_only() } else { signer });
        }
        Ok(signers)
    }

    fn mark(&self, root: TrustAnchor) -> TrustAnchor {
        if self.test_only { root.for_test_only() } else { root }
    }

    fn public_key(&self) -> Result<TrustedKey, Failure> {
        let pem =
            std::str::from_utf8(self.file).map_err(|_| Failure::config("the key is not PEM"))?;
        let key =
            PublicKey::from_pem(pem).map_err(|why| Failure::config(format!("the key {why}")))?;
        self.trusted(key, None)
    }

    /// One JWK, or the members of a JWK Set (RFC 7517 5).
    fn jwks(&self) -> Result<Vec<TrustedKey>, Failure> {
        #[derive(Deserialize)]
        struct Set<'s> {
            #[serde(borrow)]
            keys: Vec<&'s RawValue>,
        }
        let one = |text: &[u8]| {
            let jwk = Jwk::parse(text).map_err(|why| Failure::config(format!("the JWK {why}")))?;
            self.trusted(jwk.key, jwk.kid)
        };
        match serde_json::from_slice::<Set<'_>>(self.file) {
            Ok(set) if set.keys.is_empty() => Err(Failure::config("the JWK Set has no keys")),
            Ok(set) => set.keys.iter().map(|key| one(key.get().as_bytes())).collect(),
            Err(_) => Ok(vec![one(self.file)?]),
        }
    }

    /// Refuses a key that could never verify anything.
    fn trusted(&self, key: PublicKey, kid: Option<String>) -> Result<TrustedKey, Failure> {
        PROVIDER
            .check_key(&key)
            .map_err(|_| Failure::config("the key is not a point on its curve"))?;
        let mut trusted = TrustedKey::new(key);
        trusted.kid = kid;
        trusted.test_only = self.test_only;
        Ok(trusted)
    }
}

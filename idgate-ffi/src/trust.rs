//! Who is trusted: collected here, frozen when a verifier is made of it.

mod material;

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::shell::{TrustEntry, TrustSnapshot};
use idgate_core::{Trust, UnixMillis};

use self::material::{Former, Material};
use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes, input, text};
use crate::failure::{Failure, idgate_error};
use crate::handles;
use crate::provider::PROVIDER;
use crate::report;
use crate::status::idgate_status;
use crate::trust_entry;

/// Trust entries that are being collected.
#[allow(non_camel_case_types)]
pub struct idgate_trust {
    _private: [u8; 0],
}

/// A kind of trust material.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_material {
    /// An SD-JWT VC issuer's public key: a JWK or a JWK Set.
    IDGATE_JWK = 1,
    /// An SD-JWT VC issuer's public key: PEM.
    IDGATE_PUBLIC_KEY = 2,
    /// X.509 roots of mdoc issuers: PEM or DER, one or many.
    IDGATE_ROOT = 3,
    /// mdoc document signers that are trusted without a root: PEM or DER.
    IDGATE_PINNED_SIGNER = 4,
    /// An ICAO Master List.
    IDGATE_MASTER_LIST = 5,
    /// A VICAL (ISO/IEC 18013-5 annex C).
    IDGATE_VICAL = 6,
    /// CRLs of roots that were added before: PEM or DER. They replace the fetch.
    IDGATE_CRL = 7,
    /// X.509 roots below which status lists may be signed, besides the one that vouched for the
    /// credential: PEM or DER, one or many.
    IDGATE_STATUS_ROOT = 8,
    /// X.509 roots of SD-JWT VC issuers whose certificates come in `x5c`: PEM or DER, one or many.
    /// They vouch for no mdoc, and IDGATE_ROOT for no SD-JWT VC.
    IDGATE_SD_JWT_ROOT = 9,
    /// Certificates of SD-JWT VC issuers that are trusted without a root: PEM or DER.
    IDGATE_SD_JWT_SIGNER = 10,
    /// A European trusted list (ETSI TS 119 602, JSON). It replaces what the entry took of one before, and
    /// must not be older than one that this collection took before.
    IDGATE_TRUSTED_LIST = 11,
}

/// The material serves test-mode sessions only.
pub const IDGATE_TEST_ONLY: u32 = 1;
/// Take a VICAL though a newer one is due; a trusted list then goes on vouching.
pub const IDGATE_ALLOW_STALE: u32 = 2;

#[derive(Default)]
pub(crate) struct TrustHandle {
    entries: Mutex<Entries>,
    /// Held from reading an entry to replacing it, so that of two changes at once none is lost.
    /// Who only reads need not wait for the import of a list.
    changing: Mutex<()>,
    /// Of the newest trusted list of each entry.
    formers: Mutex<BTreeMap<String, Former>>,
}

handles::named!(TrustHandle => idgate_trust);

/// Each entry as a snapshot of its own: shared, so that a lookup copies no material, and with the
/// document signers that it met, which are right until the entry is replaced.
type Entries = BTreeMap<String, Arc<TrustSnapshot>>;

impl TrustHandle {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        // An entry is replaced whole, so what a panic left behind is consistent.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn formers(&self) -> MutexGuard<'_, BTreeMap<String, Former>> {
        self.formers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self, version: u64) -> TrustSnapshot {
        let entries = self.entries();
        TrustSnapshot::new(version, entries.values().flat_map(|one| one.entries().cloned()))
    }

    /// Its entries of now, under that number.
    pub(crate) fn trust(&self, version: u64) -> Trust {
        Trust::of_snapshot(PROVIDER, Arc::new(self.snapshot(version)))
    }

    /// That entry alone.
    pub(crate) fn alone(&self, issuer_id: &str) -> Result<Arc<TrustSnapshot>, Failure> {
        self.entries().get(issuer_id).cloned().ok_or_else(no_entry)
    }

    fn put(&self, entry: TrustEntry) {
        let name = entry.issuer_id.as_str().to_owned();
        self.entries().insert(name, Arc::new(TrustSnapshot::new(0, [entry])));
    }
}

/// The entry of a snapshot of one.
pub(crate) fn entry(alone: &TrustSnapshot) -> Result<&TrustEntry, Failure> {
    alone.entries().next().ok_or_else(no_entry)
}

fn no_entry() -> Failure {
    Failure::config("there is no such trust entry; add it with idgate_trust_add_entry")
}

/// An empty collection: it trusts nobody.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_trust_new(
    out: *mut *mut idgate_trust,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || put(out, || Ok(handles::make(TrustHandle::default()))))
}

/// Adds an entry, or replaces the entry of that name and its material. JSON: `issuer_id`, and as
/// needed `iss`, `vct`, `doc_types`, `namespaces`, `claims`, `countries`, `ekus` (arrays of text),
/// `sd_jwt_ekus` (array of text: the extended key usages of which the certificate of an SD-JWT VC
/// issuer must have one; without it any will do, but one that is for other things alone),
/// `revocation` ("if_published", "required", "off"), `status_max_age_days` (1 to 3650: how long a
/// status list token without `exp` counts), `issuing_country_unbound` (test-mode sessions take an
/// mDL whose issuing_country is not its signer's, and say so); and, for the profiles 1.0 and haip,
/// `claim_paths` (an object: claim name to path, as ["address","locality"]), `aki` (whether queries
/// name the roots), `device_response_documents` ("one", "any"). Unknown members are refused.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_trust_add_entry(
    trust: *const idgate_trust,
    json: *const c_char,
    json_len: usize,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise.
        let json = unsafe { input(json.cast(), json_len, "json")? };
        let entry = trust_entry::parse(json)?;
        let _changing = trust.changing();
        trust.put(entry);
        Ok(())
    })
}

/// Adds material to an entry. `material` is an idgate_material, `flags` a sum of IDGATE_TEST_ONLY
/// and IDGATE_ALLOW_STALE. `signer_ca`, PEM or DER, vouches for the signer of a Master List, a
/// VICAL or a trusted list, which without it is taken with IDGATE_TEST_ONLY only; for a trusted list
/// it may also be the signer itself. `report_out` may be NULL: a JSON array with what became of each
/// certificate of a list; of a trusted list an object with `list_type`, `sequence`, `issued_at_ms`,
/// `next_update_ms` (from then on it vouches for nobody), `organization`, `providers` and
/// `certificates`. The next one of the entry is of that type, below a CA signed for that organization,
/// and not older: remember `list_type`, `organization` and `sequence`, and hold a list to them after a
/// restart.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code, clippy::too_many_arguments)]
pub unsafe extern "C" fn idgate_trust_add(
    trust: *const idgate_trust,
    issuer_id: *const c_char,
    issuer_id_len: usize,
    material: i32,
    file: *const u8,
    file_len: usize,
    signer_ca: *const u8,
    signer_ca_len: usize,
    flags: u32,
    now_ms: u64,
    report_out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise, for each of the three.
        let (issuer_id, file, signer_ca) = unsafe {
            (
                text(issuer_id, issuer_id_len, "issuer_id")?,
                input(file, file_len, "file")?,
                input(signer_ca, signer_ca_len, "signer_ca")?,
            )
        };
        let material = Material::new(material, file, signer_ca, flags, UnixMillis(now_ms))?;
        let _changing = trust.changing();
        let mut entry = entry(&*trust.alone(issuer_id)?)?.clone();
        let (listed, former) = match material.kind {
            idgate_material::IDGATE_TRUSTED_LIST => {
                let before = trust.formers().get(issuer_id).cloned();
                let list = material.trusted_list(before.as_ref())?;
                material.take(&list, &mut entry);
                let former = Former::of(&list, before, material.now);
                (report::trusted_list(&list), Some(former))
            }
            _ => {
                let list = material.add_to(&mut entry)?;
                (list.map(|list| report::listed(&list)).unwrap_or_default(), None)
            }
        };
        if !report_out.is_null() {
            put(report_out, || Ok(give(listed.to_string())))?;
        }
        trust.formers().extend(former.map(|former| (issuer_id.to_owned(), former)));
        trust.put(entry);
        Ok(())
    })
}

/// Frees a collection. Verifiers made of it keep what they have.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_trust_free(trust: *mut idgate_trust) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<TrustHandle>(trust))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, unsafe_code)]
mod tests {
    use std::ptr;

    use idgate_core::crypto::Es256Key;
    use idgate_testkit::keys::Curve;
    use idgate_testkit::trusted_list::{
        Kind, TrustedList, list_ca, list_signer, list_signer_below, provider,
    };
    use idgate_testkit::x509::Identity;

    use super::*;
    use crate::status::idgate_status::{IDGATE_CONFIG, IDGATE_MISUSE, IDGATE_OK};

    fn add(trust: *const idgate_trust, key: &str, report: *mut idgate_bytes) -> idgate_status {
        let (key, len, none) = (key.as_ptr(), key.len(), ptr::null_mut());
        // SAFETY: live texts of their lengths.
        unsafe {
            let id = "i".as_ptr().cast();
            idgate_trust_add(trust, id, 1, 1, key, len, ptr::null(), 0, 0, 0, report, none)
        }
    }

    fn collected() -> *mut idgate_trust {
        let handle = handles::make(TrustHandle::default());
        let trust = handles::find::<TrustHandle>(handle).unwrap();
        trust.put(trust_entry::parse(br#"{"issuer_id":"i"}"#).unwrap());
        handle
    }

    fn keys(trust: *const idgate_trust) -> usize {
        let trust = handles::find::<TrustHandle>(trust).unwrap();
        entry(&trust.alone("i").unwrap()).unwrap().keys.len()
    }

    fn jwk(scalar: u8) -> String {
        Es256Key::from_scalar(&[scalar; 32]).unwrap().public_key().to_jwk_json(None)
    }

    #[test]
    fn of_changes_at_once_none_is_lost() {
        let trust = collected();
        let name = trust.addr();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for round in 0..8 {
                        let trust = ptr::without_provenance(name);
                        let key = jwk(1 + thread * 8 + round);
                        assert_eq!(add(trust, &key, ptr::null_mut()), IDGATE_OK);
                    }
                });
            }
        });
        assert_eq!(keys(trust), 64);
        handles::free::<TrustHandle>(trust).unwrap();
    }

    const NOW_MS: u64 = 1_800_000_000_000;

    fn take(trust: *const idgate_trust, list: &TrustedList, signer: &Identity, ca: &[u8]) -> bool {
        let token = list.sign(signer);
        let material = idgate_material::IDGATE_TRUSTED_LIST as i32;
        // SAFETY: live texts of their lengths; no report is asked for.
        let status = unsafe {
            let (id, none) = ("i".as_ptr().cast(), ptr::null_mut());
            let (file, len, report) = (token.as_ptr(), token.len(), ptr::null_mut());
            let (ca, ca_len) = (ca.as_ptr(), ca.len());
            idgate_trust_add(trust, id, 1, material, file, len, ca, ca_len, 0, NOW_MS, report, none)
        };
        assert!([IDGATE_OK, IDGATE_CONFIG].contains(&status));
        status == IDGATE_OK
    }

    fn list(kind: Kind, number: u64, providers: usize) -> TrustedList {
        let root = Identity::issuer_root(Curve::P256, NOW_MS);
        let services = [kind.issuance(&[&root.der])];
        (0..providers).fold(TrustedList::new(kind, NOW_MS).numbered(number), |list, n| {
            list.with(provider("P", &format!("NTRLU-{n}"), "LU", &services))
        })
    }

    #[test]
    fn a_trusted_list_replaces_the_one_before_and_is_never_an_older_one() {
        let (trust, signer) = (collected(), list_signer(NOW_MS));
        let take = |number, providers, ca: &[u8]| {
            take(trust, &list(Kind::Pid, number, providers), &signer, ca)
        };
        let roots = || {
            let trust = handles::find::<TrustHandle>(trust).unwrap();
            entry(&trust.alone("i").unwrap()).unwrap().roots.len()
        };
        assert!(!take(7, 1, &[]), "nobody vouches for its signer");
        assert!(take(7, 1, &signer.der));
        assert!(take(8, 1, &signer.der));
        assert_eq!(roots(), 1);
        assert!(!take(7, 1, &signer.der));
        assert_eq!(roots(), 1);
        assert!(take(9, 0, &signer.der));
        assert_eq!(roots(), 0);
        handles::free::<TrustHandle>(trust).unwrap();
    }

    #[test]
    fn a_trusted_list_is_of_the_type_of_the_one_before() {
        let (trust, signer) = (collected(), list_signer(NOW_MS));
        assert!(take(trust, &list(Kind::Pid, 7, 1), &signer, &signer.der));
        assert!(!take(trust, &list(Kind::Mdl, 8, 1), &signer, &signer.der));
        assert!(take(trust, &list(Kind::Pid, 8, 1), &signer, &signer.der));
        handles::free::<TrustHandle>(trust).unwrap();
    }

    /// Any customer of the CA could publish lists otherwise.
    #[test]
    fn below_a_ca_a_trusted_list_is_signed_for_who_signed_the_one_before() {
        let (trust, ca) = (collected(), list_ca(NOW_MS));
        let by = |organization: &str, number| {
            let operator = serde_json::json!([{ "lang": "en", "value": organization }]);
            let list = list(Kind::Pid, number, 1).scheme("SchemeOperatorName", operator);
            take(trust, &list, &list_signer_below(&ca, organization, NOW_MS), &ca.der)
        };
        assert!(by("Example Operator", 7));
        assert!(!by("Another Customer", 8));
        assert!(by("Example Operator", 8));
        // Replacing the entry does not forget it.
        let handle = handles::find::<TrustHandle>(trust).unwrap();
        handle.put(trust_entry::parse(br#"{"issuer_id":"i"}"#).unwrap());
        assert!(!by("Another Customer", 9));
        assert!(by("Example Operator", 9));
        handles::free::<TrustHandle>(trust).unwrap();
    }

    #[test]
    fn what_fails_changes_nothing() {
        let trust = collected();
        let set = format!(r#"{{"keys":[{},{{}}]}}"#, jwk(1));
        assert_eq!(add(trust, &set, ptr::null_mut()), IDGATE_CONFIG);
        let odd = ptr::without_provenance_mut(3);
        assert_eq!(add(trust, &jwk(1), odd), IDGATE_MISUSE);
        assert_eq!(keys(trust), 0);
        handles::free::<TrustHandle>(trust).unwrap();
    }
}

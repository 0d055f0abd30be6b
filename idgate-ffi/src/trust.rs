//! The trusted issuers: collected here, frozen when a verifier is made of them.

mod material;

use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use idgate_core::shell::{TrustEntry, TrustSnapshot};
use idgate_core::{Trust, UnixMillis};

use self::material::{Former, Given, Material};
use crate::boundary::{boundary, put, room};
use crate::bytes::{give, idgate_bytes};
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, text};
use crate::handles;
use crate::issuer;
use crate::provider::PROVIDER;
use crate::report;
use crate::sized;
use crate::status::idgate_status;

/// The issuers that you trust, and their material.
#[allow(non_camel_case_types)]
pub struct idgate_trust {
    _private: [u8; 0],
}

/// A kind of trust material.
#[repr(i32)]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(non_camel_case_types, clippy::upper_case_acronyms)]
pub enum idgate_material {
    /// The public key of an SD-JWT VC issuer: a JWK or a JWK Set.
    IDGATE_JWK = 1,
    /// The public key of an SD-JWT VC issuer: PEM.
    IDGATE_PUBLIC_KEY_PEM = 2,
    /// X.509 roots of mdoc document signers: PEM or DER, one or many.
    IDGATE_IACA_ROOTS = 3,
    /// Certificates of mdoc document signers that are trusted without a root: PEM or DER.
    IDGATE_MDOC_SIGNERS = 4,
    /// An ICAO Master List.
    IDGATE_MASTER_LIST = 5,
    /// A VICAL (ISO/IEC 18013-5 annex C).
    IDGATE_VICAL = 6,
    /// CRLs of roots that you added before: PEM or DER. They replace the fetch.
    IDGATE_CRLS = 7,
    /// X.509 roots below which status lists may be signed, in addition to the root of the credential: PEM or
    /// DER, one or many.
    IDGATE_STATUS_ROOTS = 8,
    /// X.509 roots of SD-JWT VC issuers that sign with the certificates in `x5c`: PEM or DER, one or many. They
    /// serve no mdoc, and IDGATE_IACA_ROOTS serve no SD-JWT VC.
    IDGATE_X5C_ROOTS = 9,
    /// Certificates of SD-JWT VC issuers that are trusted without a root: PEM or DER.
    IDGATE_X5C_SIGNERS = 10,
    /// A European trusted list (ETSI TS 119 602, JSON). It replaces the one before of this issuer, and must not
    /// be older than a list that this collection took for it.
    IDGATE_TRUSTED_LIST = 11,
}

/// The material serves test-mode sessions only.
pub const IDGATE_TEST_ONLY: u64 = 1;
/// Take a VICAL or a trusted list although a newer one is due.
pub const IDGATE_ALLOW_STALE: u64 = 2;

/// Choices for trust material.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct idgate_material_options {
    /// `sizeof(idgate_material_options)`
    pub size: usize,
    /// A sum of IDGATE_TEST_ONLY and IDGATE_ALLOW_STALE.
    pub flags: u64,
    /// The current time. Lists need it.
    pub now_ms: u64,
    /// The CA below which the signer of a list must be, in PEM or DER; for a trusted list also the signer itself.
    /// A list without it is accepted only with IDGATE_TEST_ONLY.
    pub signer_ca: idgate_str,
    /// NULL, or where to write the report on a list, as JSON. For a Master List or a VICAL it is an array with
    /// each certificate. For a trusted list it is an object with `list_type`, `sequence`, `issued_at_ms`,
    /// `next_update_ms` (the list no longer counts from then on), `organization`, `providers` and `certificates`.
    /// Keep `list_type`, `organization` and `sequence`, and compare them with the next list after a restart:
    /// within one collection the library does so itself.
    pub report_out: *mut idgate_bytes,
}

sized::sized!(idgate_material_options, "the material options": u64, u64, idgate_str, *mut idgate_bytes);

#[derive(Default)]
pub(crate) struct TrustHandle {
    entries: Mutex<Entries>,
    /// Held from reading an entry to replacing it, so that concurrent changes all take effect. A reader need
    /// not wait for the import of a list.
    changing: Mutex<()>,
    /// The mark of the newest trusted list of each issuer.
    formers: Mutex<BTreeMap<String, Former>>,
}

handles::named!(TrustHandle => idgate_trust, "trust");

/// A snapshot of each issuer. It is shared, so that a lookup copies no material. It also keeps the known document
/// signers, which are valid until the issuer is replaced.
type Entries = BTreeMap<String, Arc<TrustSnapshot>>;

/// A status list that was fetched for one state of an issuer is not used for another state.
static STATES: AtomicU64 = AtomicU64::new(1);

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

    /// Its current issuers, under that version number.
    pub(crate) fn trust(&self, version: u64) -> Trust {
        let entries = self.entries();
        let entries = entries.values().flat_map(|one| one.entries().cloned());
        Trust::of_snapshot(PROVIDER, Arc::new(TrustSnapshot::new(version, entries)))
    }

    /// A trust with only that issuer; empty if there is no such issuer.
    pub(crate) fn alone(&self, issuer_id: &str) -> Trust {
        let alone = self.entries().get(issuer_id).cloned();
        Trust::of_snapshot(PROVIDER, alone.unwrap_or_default())
    }

    fn entry(&self, issuer_id: &str) -> Result<TrustEntry, Failure> {
        let entry = self.entries().get(issuer_id).and_then(|one| one.entries().next().cloned());
        let why = "is not in this trust; add the issuer before its material";
        entry.ok_or_else(|| Failure::of_issuer(issuer_id, "issuer_id", None, why))
    }

    fn put(&self, entry: TrustEntry) {
        let name = entry.issuer_id.as_str().to_owned();
        let state = STATES.fetch_add(1, Ordering::Relaxed);
        self.entries().insert(name, Arc::new(TrustSnapshot::new(state, [entry])));
    }
}

/// Makes a collection without issuers.
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

/// Adds an issuer, or replaces the one of that name together with its material. `json` is an object with
/// `issuer_id`, the name that requests use. The other members may be left out:
///
/// - `iss` (text): the value that `iss` must have where a credential has one; without it, `issuer_id` if that is a
///   URL or a DID. `any_iss` (true): `iss` is not compared.
/// - `vct` (array): types of SD-JWT VC that are accepted; without it, any.
/// - `doc_types`, `namespaces` (arrays): types of mdoc that are accepted, and namespaces that requests may leave
///   unnamed.
/// - `claim_paths` (object): the paths of claims of SD-JWT VCs that are not members of the payload by their name,
///   for example {"city":["address","locality"]}. Not for the profile `draft`.
/// - `default_claims` (array): the claims of a request that names only this issuer.
/// - `countries` (array): countries whose roots serve; without it, any.
/// - `mdoc_ekus` (array): extended key usages of mdoc document signers; without it, that of the mDL. `x5c_ekus`
///   (array): extended key usages of which the certificate of an SD-JWT VC issuer must have one.
/// - `revocation`: "if_published" (the default), "required" or "off".
/// - `on_unknown_revocation`: "refuse" (the default), "accept" or "tenant": what to do with a credential whose status
///   list cannot be fetched. Not with "required". With "tenant" the session's request decides.
/// - `status_max_age_days` (1 to 3650, default 7): how long a status list without `exp` counts.
/// - `named_in_queries` (true): queries name the roots. `trusted_list_urls` (array): queries name these lists. Wallets
///   then look only for credentials below them (OpenID4VP 6.1.1).
/// - `device_response_documents`: "one" (the default) or "any".
/// - `issuing_country_unbound` (true): test-mode sessions accept an mDL whose issuing_country is not its signer's.
///
/// IDGATE_CONFIG: idgate_error_issuer and idgate_error_field say what cannot be used.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_trust_add_issuer(
    trust: *const idgate_trust,
    json: idgate_str,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise.
        let json = unsafe { input(json, "the issuer")? };
        let entry = issuer::parse(json)?;
        let _changing = trust.changing();
        trust.put(entry);
        Ok(())
    })
}

/// Adds material to an issuer of this collection. `material` is an idgate_material; `options` may be NULL.
/// IDGATE_CONFIG: nothing was added; idgate_error_issuer and idgate_error_field say what cannot be used.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_trust_add_material(
    trust: *const idgate_trust,
    issuer_id: idgate_str,
    material: i32,
    file: idgate_str,
    options: *const idgate_material_options,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let trust = handles::find::<TrustHandle>(trust)?;
        // SAFETY: the caller's promise, for each.
        let (issuer_id, file, options) = unsafe {
            (text(issuer_id, "issuer_id")?, input(file, "the material")?, sized::optional(options)?)
        };
        let (flags, now, report_out) = match &options {
            Some(it) => (it.flags, UnixMillis(it.now_ms), it.report_out),
            None => (0, UnixMillis(0), ptr::null_mut()),
        };
        // SAFETY: the caller's promise.
        let signer_ca =
            unsafe { input(options.map(|it| it.signer_ca).unwrap_or_default(), "signer_ca")? };
        if !report_out.is_null() {
            room(report_out)?;
        }
        let given = Given { issuer_id, file, signer_ca, flags, now };
        let material = Material::new(material, given)?;
        let _changing = trust.changing();
        let mut entry = trust.entry(issuer_id)?;
        let (listed, former) = match material.kind {
            idgate_material::IDGATE_TRUSTED_LIST => {
                let before = trust.formers().get(issuer_id).cloned();
                let list = material.trusted_list(before.as_ref())?;
                material.take(&list, &mut entry);
                let former = Former::of(&list, before, now);
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

/// Frees a collection. Verifiers that were made from it keep what they have.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_trust_free(trust: *mut idgate_trust) -> idgate_status {
    boundary(ptr::null_mut(), || handles::free::<TrustHandle>(trust))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, unsafe_code)]
mod tests {
    use idgate_core::crypto::Es256Key;
    use idgate_testkit::keys::Curve;
    use idgate_testkit::trusted_list::{
        Kind, TrustedList, list_ca, list_signer, list_signer_below, provider,
    };
    use idgate_testkit::x509::Identity;

    use super::*;
    use crate::status::idgate_status::{IDGATE_CONFIG, IDGATE_MISUSE, IDGATE_OK};

    fn options(
        signer_ca: &[u8],
        now_ms: u64,
        report_out: *mut idgate_bytes,
    ) -> idgate_material_options {
        let size = size_of::<idgate_material_options>();
        idgate_material_options { size, flags: 0, now_ms, signer_ca: signer_ca.into(), report_out }
    }

    fn add(trust: *const idgate_trust, key: &str, report: *mut idgate_bytes) -> idgate_status {
        let (options, none) = (options(&[], 0, report), ptr::null_mut());
        // SAFETY: live texts of their lengths.
        unsafe { idgate_trust_add_material(trust, "i".into(), 1, key.into(), &options, none) }
    }

    fn collected() -> *mut idgate_trust {
        let handle = handles::make(TrustHandle::default());
        let trust = handles::find::<TrustHandle>(handle).unwrap();
        trust.put(issuer::parse(br#"{"issuer_id":"i"}"#).unwrap());
        handle
    }

    fn keys(trust: *const idgate_trust) -> usize {
        let trust = handles::find::<TrustHandle>(trust).unwrap();
        trust.entry("i").unwrap().keys.len()
    }

    fn jwk(scalar: u8) -> String {
        Es256Key::from_scalar(&[scalar; 32]).unwrap().public_key().to_jwk_json(None)
    }

    #[test]
    fn no_concurrent_change_is_lost() {
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
        let options = options(ca, NOW_MS, ptr::null_mut());
        // SAFETY: live texts of their lengths; no report is asked for.
        let status = unsafe {
            let (token, none) = (token.as_str().into(), ptr::null_mut());
            idgate_trust_add_material(trust, "i".into(), material, token, &options, none)
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
    fn a_trusted_list_replaces_only_an_older_list() {
        let (trust, signer) = (collected(), list_signer(NOW_MS));
        let take = |number, providers, ca: &[u8]| {
            take(trust, &list(Kind::Pid, number, providers), &signer, ca)
        };
        let roots = || {
            let trust = handles::find::<TrustHandle>(trust).unwrap();
            trust.entry("i").unwrap().roots.len()
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
    fn a_trusted_list_must_keep_its_type() {
        let (trust, signer) = (collected(), list_signer(NOW_MS));
        assert!(take(trust, &list(Kind::Pid, 7, 1), &signer, &signer.der));
        assert!(!take(trust, &list(Kind::Mdl, 8, 1), &signer, &signer.der));
        assert!(take(trust, &list(Kind::Pid, 8, 1), &signer, &signer.der));
        handles::free::<TrustHandle>(trust).unwrap();
    }

    /// Otherwise any customer of the CA could publish lists.
    #[test]
    fn a_trusted_list_below_a_ca_must_keep_its_signer() {
        let (trust, ca) = (collected(), list_ca(NOW_MS));
        let by = |organization: &str, number| {
            let operator = serde_json::json!([{ "lang": "en", "value": organization }]);
            let list = list(Kind::Pid, number, 1).scheme("SchemeOperatorName", operator);
            take(trust, &list, &list_signer_below(&ca, organization, NOW_MS), &ca.der)
        };
        assert!(by("Example Operator", 7));
        assert!(!by("Another Customer", 8));
        assert!(by("Example Operator", 8));
        // The mark survives a replaced entry.
        let handle = handles::find::<TrustHandle>(trust).unwrap();
        handle.put(issuer::parse(br#"{"issuer_id":"i"}"#).unwrap());
        assert!(!by("Another Customer", 9));
        assert!(by("Example Operator", 9));
        handles::free::<TrustHandle>(trust).unwrap();
    }

    #[test]
    fn a_failed_call_changes_nothing() {
        let trust = collected();
        let set = format!(r#"{{"keys":[{},{{}}]}}"#, jwk(1));
        assert_eq!(add(trust, &set, ptr::null_mut()), IDGATE_CONFIG);
        let odd = ptr::without_provenance_mut(3);
        assert_eq!(add(trust, &jwk(1), odd), IDGATE_MISUSE);
        assert_eq!(keys(trust), 0);
        handles::free::<TrustHandle>(trust).unwrap();
    }
}

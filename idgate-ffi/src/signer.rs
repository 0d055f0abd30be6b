//! Signers of Request Objects: a key in memory, or a function of the caller.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use idgate_core::crypto::{
    Alg, Es256Key, PublicKey, RequestSigner, SignerUnavailable, SoftwareSigner,
};
use idgate_core::shell::Jwk;
use idgate_core::shell::discovery::{PublishedKey, did_document_json, did_web, jwks_json, key_id};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::boundary::{boundary, put};
use crate::bytes::{give, idgate_bytes};
use crate::entropy::OsEntropy;
use crate::failure::{Failure, idgate_error};
use crate::given::{idgate_str, input, text};
use crate::handles;
use crate::json;
use crate::provider::PROVIDER;
use crate::status::idgate_status::{self, IDGATE_CONFIG};

/// Signs Request Objects.
#[allow(non_camel_case_types)]
pub struct idgate_signer {
    _private: [u8; 0],
}

/// A function of yours that signs `input` with ES256, writes the raw signature r‖s, which has 64 bytes, and
/// returns 0. Another number means that the key cannot be used now. It may be called from any thread, and from
/// several at the same time. Nothing may unwind or jump out of it.
#[allow(non_camel_case_types)]
pub type idgate_sign = Option<
    unsafe extern "C" fn(
        userdata: *mut c_void,
        input: *const u8,
        input_len: usize,
        signature: *mut u8,
    ) -> i32,
>;

pub(crate) struct SignerHandle {
    pub(crate) signer: Arc<dyn RequestSigner>,
    pub(crate) public: PublicKey,
}

handles::named!(SignerHandle => idgate_signer, "signer");

/// Makes a fresh P-256 signing key of 32 bytes for idgate_signer_new. Keep it sealed.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_signing_key_generate(
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        put(out, || {
            let key = Es256Key::generate(&mut OsEntropy).map_err(Failure::unavailable)?;
            Ok(give(key.expose_scalar().as_slice()))
        })
    })
}

/// Makes a signer with a key in memory: the 32 bytes of idgate_signing_key_generate. `base_url` is the
/// verifier's.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_signer_new(
    base_url: idgate_str,
    key: idgate_str,
    out: *mut *mut idgate_signer,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for both.
        let (base_url, key) = unsafe { (text(base_url, "base_url")?, input(key, "key")?) };
        let key = Es256Key::from_scalar(key)
            .map_err(|_| Failure::config("the signing key is not a 32-byte P-256 scalar"))?;
        let public = *key.public_key();
        let signer = SoftwareSigner::new(key, id_of(base_url, &public)?);
        put(out, || Ok(handles::make(SignerHandle { signer: Arc::new(signer), public })))
    })
}

/// Makes a signer that calls a function of yours, for example for a key in an HSM. `public_key` is its public JWK.
/// The function gets `userdata` unchanged: it must live as long as verifiers use the signer, and serve any
/// thread.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_signer_new_external(
    base_url: idgate_str,
    public_key: idgate_str,
    sign: idgate_sign,
    userdata: *mut c_void,
    out: *mut *mut idgate_signer,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for both.
        let (base_url, public_key) =
            unsafe { (text(base_url, "base_url")?, input(public_key, "public_key")?) };
        let function = sign.ok_or_else(|| Failure::misuse("the signing function is missing"))?;
        let public = public_jwk(public_key)?;
        let key_id = id_of(base_url, &public)?;
        let signer = External { key_id, function, userdata: Userdata(userdata) };
        put(out, || Ok(handles::make(SignerHandle { signer: Arc::new(signer), public })))
    })
}

/// Gives the signer's public key as a JWK, for publication.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_signer_public_key(
    signer: *const idgate_signer,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        let signer = handles::find::<SignerHandle>(signer)?;
        let jwk = signer.public.to_jwk_json(Some(signer.signer.key_id()));
        put(out, || Ok(give(jwk)))
    })
}

/// Frees a signer. Verifiers that were made with it keep working.
#[unsafe(no_mangle)]
#[allow(unsafe_code)] // the name is ours by its prefix
pub extern "C" fn idgate_signer_free(signer: *mut idgate_signer) -> idgate_status {
    boundary(core::ptr::null_mut(), || handles::free::<SignerHandle>(signer))
}

/// Gives the DID document of `base_url`, to be served at `/.well-known/did.json`. `keys` is a JSON array of
/// public JWKs: the key in use, and those that sessions were made with.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_did_document(
    base_url: idgate_str,
    keys: idgate_str,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for both.
        let (base_url, keys) = unsafe { (text(base_url, "base_url")?, input(keys, "keys")?) };
        let keys = published(base_url, keys)?;
        put(out, || Ok(give(did_document_json(&did_web(base_url)?, &keys))))
    })
}

/// Gives the JWK Set of the same keys, to be served at `/.well-known/jwks.json`.
///
/// # Safety
/// The pointers are as the head of the header says.
#[unsafe(no_mangle)]
#[allow(unsafe_code)]
pub unsafe extern "C" fn idgate_jwks(
    base_url: idgate_str,
    keys: idgate_str,
    out: *mut idgate_bytes,
    err_out: *mut *mut idgate_error,
) -> idgate_status {
    boundary(err_out, || {
        // SAFETY: the caller's promise, for both.
        let (base_url, keys) = unsafe { (text(base_url, "base_url")?, input(keys, "keys")?) };
        let keys = published(base_url, keys)?;
        put(out, || Ok(give(jwks_json(&keys))))
    })
}

fn published(base_url: &str, keys: &[u8]) -> Result<Vec<PublishedKey>, Failure> {
    let keys: Vec<Box<RawValue>> = json::read(keys, "keys", IDGATE_CONFIG)?;
    let one = |key: Box<RawValue>| {
        let public = public_jwk(key.get().as_bytes())?;
        Ok(PublishedKey::new(id_of(base_url, &public)?, public))
    };
    keys.into_iter().map(one).collect()
}

fn public_jwk(text: &[u8]) -> Result<PublicKey, Failure> {
    let jwk = Jwk::parse(text).map_err(|why| Failure::config(format!("the JWK {why}")))?;
    PROVIDER
        .check_key(&jwk.key)
        .map_err(|_| Failure::config("the key is not a point on its curve"))?;
    match jwk.key.alg() {
        Alg::Es256 => Ok(jwk.key),
        _ => Err(Failure::config("Request Objects are signed with a P-256 key")),
    }
}

/// The same value for the same key, however it is named.
fn id_of(base_url: &str, key: &PublicKey) -> Result<String, Failure> {
    Ok(key_id(&PROVIDER, &did_web(base_url)?, key))
}

struct External {
    key_id: String,
    function: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8) -> i32,
    userdata: Userdata,
}

struct Userdata(*mut c_void);

// SAFETY: idgate never follows the pointer; the header asks the caller for one that serves any
// thread.
#[allow(unsafe_code)]
unsafe impl Send for Userdata {}
// SAFETY: the same.
#[allow(unsafe_code)]
unsafe impl Sync for Userdata {}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "External({})", self.key_id)
    }
}

impl RequestSigner for External {
    fn alg(&self) -> Alg {
        Alg::Es256
    }

    fn key_id(&self) -> &str {
        &self.key_id
    }

    fn sign(&self, signing_input: &[u8]) -> Result<Vec<u8>, SignerUnavailable> {
        let mut signature = Zeroizing::new([0; 64]);
        let (data, len) = (signing_input.as_ptr(), signing_input.len());
        // SAFETY: the input lives through the call, `signature` has the 64 bytes that the type of
        // the function promises to write at most.
        #[allow(unsafe_code)]
        let said = unsafe { (self.function)(self.userdata.0, data, len, signature.as_mut_ptr()) };
        match said {
            0 => Ok(signature.to_vec()),
            code => Err(SignerUnavailable::new(format!("the signing function returned {code}"))),
        }
    }
}

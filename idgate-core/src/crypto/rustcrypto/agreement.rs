//! ECDH and HMAC from the RustCrypto crates.

use ecdsa::elliptic_curve::point::AffineCoordinates;
use ecdsa::elliptic_curve::sec1::{FromSec1Point, ModulusSize, ToSec1Point};
use ecdsa::elliptic_curve::{
    AffinePoint, CurveArithmetic, CurveGroup, FieldBytesSize, PublicKey as Point, SecretKey,
};
use hmac::{Hmac, KeyInit, Mac};
use p256::NistP256;
use p384::NistP384;
use p521::NistP521;
use sha2::Sha256;

use crate::crypto::agreement::{EcdhPrivateKey, KeyAgreement, SharedSecret};
use crate::crypto::key::{Curve, InvalidKey, PublicKey};

#[derive(Debug)]
pub(super) struct Agreement;

impl KeyAgreement for Agreement {
    fn ecdh(
        &self,
        private: &EcdhPrivateKey,
        public: &PublicKey,
    ) -> Result<SharedSecret, InvalidKey> {
        if private.curve() != public.curve() {
            return Err(InvalidKey);
        }
        match private.curve() {
            Curve::P256 => agree::<NistP256>(private, public),
            Curve::P384 => agree::<NistP384>(private, public),
            Curve::P521 => agree::<NistP521>(private, public),
        }
    }

    fn public_key(&self, private: &EcdhPrivateKey) -> Result<PublicKey, InvalidKey> {
        match private.curve() {
            Curve::P256 => public_half::<NistP256>(private),
            Curve::P384 => public_half::<NistP384>(private),
            Curve::P521 => public_half::<NistP521>(private),
        }
    }

    fn hmac_sha256(&self, key: &[u8], data: &[u8]) -> [u8; 32] {
        match Hmac::<Sha256>::new_from_slice(key) {
            Ok(mac) => mac.chain_update(data).finalize().into_bytes().into(),
            // HMAC takes keys of any length.
            Err(_) => [0; 32],
        }
    }
}

fn agree<C>(private: &EcdhPrivateKey, public: &PublicKey) -> Result<SharedSecret, InvalidKey>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    let private = SecretKey::<C>::from_slice(private.expose_scalar()).map_err(|_| InvalidKey)?;
    let public = Point::<C>::from_sec1_bytes(public.sec1()).map_err(|_| InvalidKey)?;
    let point = public.to_projective() * private.to_nonzero_scalar().as_ref();
    SharedSecret::new(point.to_affine().x().as_ref())
}

fn public_half<C>(private: &EcdhPrivateKey) -> Result<PublicKey, InvalidKey>
where
    C: CurveArithmetic,
    AffinePoint<C>: FromSec1Point<C> + ToSec1Point<C>,
    FieldBytesSize<C>: ModulusSize,
{
    let curve = private.curve();
    let private = SecretKey::<C>::from_slice(private.expose_scalar()).map_err(|_| InvalidKey)?;
    PublicKey::from_sec1(curve, private.public_key().to_sec1_point(false).as_bytes())
}

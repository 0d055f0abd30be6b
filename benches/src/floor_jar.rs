//! The floor of the jar profile: unavoidable work, without any care. A Request Object is two base64
//! texts and a signature. Decrypting an answer is JSON, ECDH, one hash and one decryption. It checks
//! nothing and panics on malformed input.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used)]

use std::hint::black_box;

use aws_lc_rs::agreement::{self, ECDH_P256, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::cipher::{AES_128, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::EcdsaKeyPair;
use aws_lc_rs::{aead, constant_time, digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// A Request Object of the same size as the one in the bench.
pub(crate) fn request_object(key: &EcdsaKeyPair) -> String {
    let header =
        r#"{"alg":"ES256","typ":"oauth-authz-req+jwt","kid":"did:web:gateway.example#key"}"#;
    let fields: Vec<Value> =
        (0..10).map(|n| json!({"path": [format!("$.claim_{n:04}")]})).collect();
    let nonce = black_box("n".repeat(43));
    let claims = json!({
        "client_id": "did:web:gateway.example",
        "response_uri": "https://gateway.example/v1/oid4vp/response/ses_0000000000000000000000",
        "response_type": "vp_token", "response_mode": "direct_post.jwt",
        "nonce": nonce, "state": nonce, "aud": "https://self-issued.me/v2",
        "iat": 1_796_083_200, "exp": 1_796_083_500,
        "presentation_definition": {"id": "ses_0000000000000000000000", "input_descriptors": [{
            "id": "credential_1",
            "format": {"vc+sd-jwt": {"sd-jwt_alg_values": ["ES256", "ES384", "ES512"],
                "kb-jwt_alg_values": ["ES256", "ES384", "ES512"]}},
            "constraints": {"limit_disclosure": "required", "fields": fields},
        }]},
        "client_metadata": {
            "vp_formats": {"vc+sd-jwt": {"sd-jwt_alg_values": ["ES256", "ES384", "ES512"],
                "kb-jwt_alg_values": ["ES256", "ES384", "ES512"]}},
            "jwks": {"keys": [{"kty": "EC", "crv": "P-256", "x": nonce, "y": nonce, "use": "enc",
                "alg": "ECDH-ES", "kid": nonce}]},
            "authorization_encrypted_response_alg": "ECDH-ES",
            "authorization_encrypted_response_enc": "A256GCM",
            "encrypted_response_enc_values_supported": ["A128GCM", "A256GCM", "A128CBC-HS256"],
        },
    });
    let mut text = URL_SAFE_NO_PAD.encode(header);
    text.push('.');
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(&claims).unwrap(), &mut text);
    let signature = key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
    text.push('.');
    URL_SAFE_NO_PAD.encode_string(signature.as_ref(), &mut text);
    text
}

/// The plaintext of a compact JWE.
pub(crate) fn open(jwe: &str, scalar: &[u8]) -> Vec<u8> {
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let parts: Vec<&str> = jwe.split('.').collect();
    let header: Value = serde_json::from_slice(&decode(parts[0])).unwrap();
    let coordinate = |name: &str| decode(header["epk"][name].as_str().unwrap());
    let point = [vec![4], coordinate("x"), coordinate("y")].concat();
    let party = |name: &str| decode(header[name].as_str().unwrap());
    let enc = header["enc"].as_str().unwrap();
    let key_len: u32 = if enc == "A128GCM" { 16 } else { 32 };
    let private = PrivateKey::from_private_key(&ECDH_P256, scalar).unwrap();
    let public = UnparsedPublicKey::new(&ECDH_P256, point);
    let (apu, apv) = (party("apu"), party("apv"));
    let key = agreement::agree(&private, public, (), |secret| {
        let mut kdf = digest::Context::new(&digest::SHA256);
        kdf.update(&1u32.to_be_bytes());
        kdf.update(secret);
        for part in [enc.as_bytes(), &apu, &apv] {
            kdf.update(&u32::try_from(part.len()).unwrap().to_be_bytes());
            kdf.update(part);
        }
        kdf.update(&(key_len * 8).to_be_bytes());
        Ok(kdf.finish())
    });
    let key = &key.unwrap().as_ref()[..key_len as usize].to_vec();
    let (iv, tag) = (decode(parts[2]), decode(parts[4]));
    let mut text = decode(parts[3]);
    let len = if enc == "A128CBC-HS256" {
        let bits = (parts[0].len() as u64 * 8).to_be_bytes();
        let mac = hmac::Key::new(hmac::HMAC_SHA256, &key[..16]);
        let mut mac = hmac::Context::with_key(&mac);
        for part in [parts[0].as_bytes(), &iv, &text, &bits] {
            mac.update(part);
        }
        constant_time::verify_slices_are_equal(&mac.sign().as_ref()[..16], &tag).unwrap();
        let iv: [u8; 16] = iv.try_into().unwrap();
        let key = UnboundCipherKey::new(&AES_128, &key[16..]).unwrap();
        let context = DecryptionContext::Iv128((&iv).into());
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).unwrap();
        key.decrypt(&mut text, context).unwrap().len()
    } else {
        text.extend(tag);
        let algorithm = if key_len == 16 { &aead::AES_128_GCM } else { &aead::AES_256_GCM };
        let key = aead::LessSafeKey::new(aead::UnboundKey::new(algorithm, key).unwrap());
        let nonce = aead::Nonce::try_assume_unique_for_key(&iv).unwrap();
        let aad = aead::Aad::from(parts[0].as_bytes());
        key.open_in_place(nonce, aad, &mut text).unwrap().len()
    };
    text.truncate(len);
    text
}

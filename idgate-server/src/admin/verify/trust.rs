//! Whom to trust, from the files that the options name.

use std::path::{Path, PathBuf};

use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::crypto::{Jwk, PublicKey};
use idgate_core::ids::IssuerId;
use idgate_core::status::VerifiedCrl;
use idgate_core::trust::{
    Oid, PinnedSigner, RevocationPolicy, TrustEntry, TrustedKey, pem_or_der, roots_from_file,
};

use super::{VerifyOptions, read, read_text, unusable};
use crate::failure::Failure;

/// The issuer of an SD-JWT VC, by its keys.
pub(super) fn issuer_keys(options: &VerifyOptions) -> Result<TrustEntry, Failure> {
    if options.issuer_key.is_empty() {
        return Err(Failure::Usage("vc+sd-jwt needs --issuer-key FILE".into()));
    }
    let mut issuer = entry(options)?;
    issuer.iss.clone_from(&options.iss);
    issuer.vct.clone_from(&options.vct);
    for path in &options.issuer_key {
        issuer.keys.push(issuer_key(path)?);
    }
    Ok(issuer)
}

/// The issuer of an mdoc, by its certificates.
pub(super) fn certificates(options: &VerifyOptions) -> Result<TrustEntry, Failure> {
    if options.root.is_empty() && options.pinned_signer.is_empty() {
        let why = "mso_mdoc needs --root FILE or --pinned-signer FILE";
        return Err(Failure::Usage(why.into()));
    }
    let mut issuer = entry(options)?;
    if !options.eku.is_empty() {
        issuer.ekus = options.eku.iter().map(|text| eku(text)).collect::<Result<_, _>>()?;
    }
    issuer.issuing_country_unbound = options.issuing_country_unbound;
    for path in &options.root {
        issuer.roots.extend(roots_from_file(&read(path)?).map_err(|why| unusable(path, why))?);
    }
    for (path, der) in blocks(&options.pinned_signer, "CERTIFICATE")? {
        let signer = PinnedSigner::from_der(&der).map_err(|why| unusable(path, why))?;
        issuer.pinned_signers.push(signer);
    }
    for (path, der) in blocks(&options.crl, "X509 CRL")? {
        let crl = VerifiedCrl::from_der(&PROVIDER, &der, &issuer.roots);
        issuer.crls.push(crl.map_err(|why| unusable(path, why))?);
    }
    Ok(issuer)
}

fn entry(options: &VerifyOptions) -> Result<TrustEntry, Failure> {
    let mut issuer = TrustEntry::new(IssuerId::new("issuer"));
    issuer.revocation = RevocationPolicy::from_name(&options.revocation).ok_or_else(|| {
        let policy = &options.revocation;
        Failure::Usage(format!("--revocation {policy}: write required, if_published or off"))
    })?;
    Ok(issuer)
}

fn eku(text: &str) -> Result<Oid, Failure> {
    Oid::parse(text).ok_or_else(|| Failure::Usage(format!("--eku {text}: write 1.0.18013.5.1.2")))
}

fn blocks<'p>(paths: &'p [PathBuf], label: &str) -> Result<Vec<(&'p Path, Vec<u8>)>, Failure> {
    let mut found = Vec::new();
    for path in paths {
        let blocks = pem_or_der(&read(path)?, label).map_err(|why| unusable(path, why))?;
        found.extend(blocks.into_iter().map(|der| (path.as_path(), der)));
    }
    Ok(found)
}

fn issuer_key(path: &Path) -> Result<TrustedKey, Failure> {
    let text = read_text(path)?;
    if text.trim_start().starts_with('{') {
        let jwk = Jwk::parse(text.as_bytes()).map_err(|why| unusable(path, why))?;
        let key = TrustedKey::new(jwk.key);
        return Ok(match jwk.kid {
            Some(kid) => key.with_kid(kid),
            None => key,
        });
    }
    let key = PublicKey::from_pem(&text).map_err(|why| unusable(path, why))?;
    Ok(TrustedKey::new(key))
}

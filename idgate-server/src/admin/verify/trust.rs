//! The trusted issuer, from the files in the options.

use std::path::Path;

use idgate_core::IssuerId;
use idgate_core::crypto::PublicKey;
use idgate_core::crypto::aws_lc_rs::PROVIDER;
use idgate_core::shell::{
    Jwk, Oid, TrustAnchor, TrustEntry, TrustedKey, VerifiedCrl, roots_from_file,
};
use idgate_core::trust::RevocationPolicy;

use super::{VerifyOptions, read, read_text};
use crate::admin::files::{blocks, in_file, signers};
use crate::failure::Failure;

/// The issuer of an SD-JWT VC, by its keys or certificates.
pub(super) fn sd_jwt_issuer(options: &VerifyOptions) -> Result<TrustEntry, Failure> {
    if options.issuer_key.is_empty() && options.root.is_empty() && options.pinned_signer.is_empty()
    {
        let why = "vc+sd-jwt needs --issuer-key FILE, --root FILE or --pinned-signer FILE";
        return Err(Failure::Usage(why.into()));
    }
    let mut issuer = entry(options)?;
    issuer.iss.clone_from(&options.iss);
    issuer.vct.clone_from(&options.vct);
    issuer.sd_jwt_ekus = ekus("--sd-jwt-eku", &options.sd_jwt_eku)?;
    for path in &options.issuer_key {
        issuer.keys.push(issuer_key(path)?);
    }
    issuer.sd_jwt_roots = roots(options)?;
    issuer.sd_jwt_signers = signers(&options.pinned_signer, read)?;
    issuer.crls = crls(options, &issuer.sd_jwt_roots)?;
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
        issuer.ekus = ekus("--eku", &options.eku)?;
    }
    issuer.issuing_country_unbound = options.issuing_country_unbound;
    issuer.roots = roots(options)?;
    issuer.pinned_signers = signers(&options.pinned_signer, read)?;
    issuer.crls = crls(options, &issuer.roots)?;
    Ok(issuer)
}

fn roots(options: &VerifyOptions) -> Result<Vec<TrustAnchor>, Failure> {
    let mut roots = Vec::new();
    for path in &options.root {
        roots.extend(roots_from_file(&PROVIDER, &read(path)?).map_err(|why| in_file(path, why))?);
    }
    Ok(roots)
}

fn crls(options: &VerifyOptions, roots: &[TrustAnchor]) -> Result<Vec<VerifiedCrl>, Failure> {
    let crl = |(path, der): (&Path, Vec<u8>)| {
        VerifiedCrl::from_der(&PROVIDER, &der, roots).map_err(|why| in_file(path, why))
    };
    blocks(&options.crl, "X509 CRL", read)?.into_iter().map(crl).collect()
}

fn entry(options: &VerifyOptions) -> Result<TrustEntry, Failure> {
    let mut issuer = TrustEntry::new(IssuerId::new("issuer"));
    issuer.revocation = RevocationPolicy::from_name(&options.revocation).ok_or_else(|| {
        let policy = &options.revocation;
        Failure::Usage(format!("--revocation {policy}: write required, if_published or off"))
    })?;
    Ok(issuer)
}

fn ekus(option: &str, texts: &[String]) -> Result<Vec<Oid>, Failure> {
    let eku = |text: &String| {
        let why =
            || Failure::Usage(format!("{option} {text}: write an OID such as 1.0.18013.5.1.2"));
        Oid::parse(text).ok_or_else(why)
    };
    texts.iter().map(eku).collect()
}

fn issuer_key(path: &Path) -> Result<TrustedKey, Failure> {
    let text = read_text(path)?;
    if text.trim_start().starts_with('{') {
        let jwk = Jwk::parse(text.as_bytes()).map_err(|why| in_file(path, why))?;
        let key = TrustedKey::new(jwk.key);
        return Ok(match jwk.kid {
            Some(kid) => key.with_kid(kid),
            None => key,
        });
    }
    let key = PublicKey::from_pem(&text).map_err(|why| in_file(path, why))?;
    Ok(TrustedKey::new(key))
}

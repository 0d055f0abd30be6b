//! Signs the samples for phones, below the first provider's root. The certificates name the public
//! host; status lists and the CRL are at the public address.

use std::net::IpAddr;

use idgate_testkit::codec::{HashAlg, base64url};
use idgate_testkit::der;
use idgate_testkit::jws;

use idgate_testkit::mdoc::{Cbor, IssuerSigned, rfc3339};
use idgate_testkit::status::{StatusCwt, StatusJwt, StatusList, status_claim};
use idgate_testkit::time::{DAY_MS, MINUTE_MS, numeric_date};
use idgate_testkit::x509::{
    CRL_DISTRIBUTION_POINTS, CertificateBuilder, EXT_KEY_USAGE, Identity, Name, SUBJECT_ALT_NAME,
    distribution_points,
};
use serde_json::json;
use url::{Host, Url};

use super::digests::random;
use super::jwt::HolderKey;
use super::samples::Sample;
use crate::issuers::Provider;
use crate::limits::{PHONE_SAMPLE_DAYS, PHONE_SIGNER_DAYS, STATUS_PLACES};

/// Tags of a dNSName, a uniformResourceIdentifier and an iPAddress in a GeneralName.
const DNS_NAME: u8 = 0x82;
const URI: u8 = 0x86;
const IP_ADDRESS: u8 = 0x87;

/// The two signers of the samples for phones.
pub(super) struct Signers {
    provider: Provider,
    /// Signs SD-JWT VCs. Its certificate has no extended key usage: serverAuth is for servers, and
    /// the document signer's is for mdocs.
    sd_jwt: Identity,
    /// Signs mdocs.
    mdoc: Identity,
    /// The base URL of status lists and the CRL.
    lists: String,
}

/// A credential before it is signed.
pub(super) struct Wanted<'w> {
    pub(super) sample: Sample,
    /// Whether the format has its name of drafts 13 and 14.
    pub(super) is_draft: bool,
    pub(super) holder: &'w HolderKey,
    /// Its index in the status lists.
    pub(super) idx: u64,
    /// `iss`
    pub(super) issuer: &'w str,
}

impl Signers {
    /// For an issuer whose public address begins with `base_url`, and whose lists are at `lists`.
    pub(super) fn new(provider: &Provider, base_url: &str, lists: &str, now_ms: u64) -> Self {
        let key = provider.phone_key();
        let points = distribution_points(&[&format!("{lists}/crl")]);
        let leaf = |what: &str| {
            let name = Name::new(provider.is.country, &format!("{} TEST {what}", provider.is.name));
            let builder = CertificateBuilder::document_signer(&provider.root, name, &key, now_ms)
                .set(CRL_DISTRIBUTION_POINTS, false, points.clone())
                .set(SUBJECT_ALT_NAME, false, names(base_url))
                .marked_as_sample();
            let days = PHONE_SIGNER_DAYS.saturating_mul(DAY_MS);
            // The serial number must be unique for an issuer.
            let own = format!("{what} {base_url} {lists} {now_ms}");
            let serial = HashAlg::Sha256.hash(&[own.as_bytes(), &key.public_sec1()].concat());
            builder.with(|leaf| {
                leaf.not_after_ms = leaf.not_before_ms.saturating_add(days);
                leaf.serial = serial.into_iter().take(16).collect();
            })
        };
        let sd_jwt = leaf("SD-JWT VC signer").without(EXT_KEY_USAGE).issue(&provider.root, &key);
        let mdoc = leaf("document signer").issue(&provider.root, &key);
        Self { provider: provider.clone(), sd_jwt, mdoc, lists: lists.to_owned() }
    }

    /// Signs a credential for the credential response.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(super) fn issue(&self, wanted: &Wanted<'_>, now_ms: u64) -> Result<String, String> {
        match wanted.sample.sd_jwt() {
            Some(claims) => {
                // Times are rounded to days, so that they cannot link presentations.
                let from = numeric_date(day(now_ms));
                let until = numeric_date(day(now_ms).saturating_add(validity_ms()));
                let typ = if wanted.is_draft { "vc+sd-jwt" } else { "dc+sd-jwt" };
                let status = status_claim(wanted.idx, &self.status_uri("jwt"));
                let issued = claims
                    .salt_seed(base64url(&random::<32>()?))
                    .header("typ", typ)
                    .x5c(&[&self.sd_jwt.der])
                    .plain("iss", wanted.issuer)
                    .plain("iat", from)
                    .plain("nbf", from)
                    .plain("exp", until)
                    .plain("cnf", json!({ "jwk": wanted.holder.to_jwk() }))
                    .plain("status", status)
                    .issue(&self.sd_jwt.key);
                let disclosures = issued.disclosures.iter().map(|one| format!("{}~", one.text));
                Ok(format!("{}~{}", issued.jwt, disclosures.collect::<String>()))
            }
            None => self.mdoc(wanted, now_ms),
        }
    }

    fn mdoc(&self, wanted: &Wanted<'_>, now_ms: u64) -> Result<String, String> {
        let sample = wanted.sample;
        let (elements, signed_at) = (sample.elements(now_ms), day(now_ms));
        let chain = [self.mdoc.der.clone()];
        let key = &self.mdoc.key;
        let mut issued = IssuerSigned::mdl(&elements, key, &chain, key, signed_at);
        for item in &mut issued.items {
            item.name_space = sample.name_space().into();
            item.map.set("random", Cbor::Bytes(random::<32>()?.to_vec()));
        }
        issued.mso.set("docType", sample.kind());
        let (x, y) = wanted.holder.coordinates();
        let device_key = Cbor::Map(vec![
            (1.into(), 2.into()),
            ((-1).into(), 1.into()),
            ((-2).into(), Cbor::Bytes(x.to_vec())),
            ((-3).into(), Cbor::Bytes(y.to_vec())),
        ]);
        issued.mso.at("deviceKeyInfo").set("deviceKey", device_key);
        let until = Cbor::tdate(&rfc3339(signed_at.saturating_add(validity_ms())));
        issued.mso.at("validityInfo").set("validUntil", until);
        let (idx, uri) = (i64::try_from(wanted.idx).unwrap_or(0), self.status_uri("cwt"));
        let list = Cbor::map([("idx", idx.into()), ("uri", (&*uri).into())]);
        issued.mso.set("status", Cbor::map([("status_list", list)]));
        issued.digest(HashAlg::Sha256);
        Ok(base64url(&issued.sign().encode()))
    }

    /// The status list of SD-JWT VCs; `withdrawn` has the indexes.
    pub(super) fn status_jwt(&self, withdrawn: impl Iterator<Item = u64>, now_ms: u64) -> String {
        // Without `exp` and `ttl` no verifier caches it, so a withdrawal takes effect at the next
        // presentation.
        StatusJwt::new(&statuses(withdrawn), &self.status_uri("jwt"), issued(now_ms))
            .without("exp")
            .without("ttl")
            .with_header("x5c", jws::x5c(&[&self.sd_jwt.der]))
            .sign(&self.sd_jwt.key)
    }

    /// The status list of mdocs.
    pub(super) fn status_cwt(&self, withdrawn: impl Iterator<Item = u64>, now_ms: u64) -> Vec<u8> {
        const EXP: i64 = 4;
        const TTL: i64 = 65534;
        let (uri, chain) = (self.status_uri("cwt"), [&*self.mdoc.der]);
        StatusCwt::new(&statuses(withdrawn), &uri, issued(now_ms), &chain)
            .without(EXP)
            .without(TTL)
            .sign(&self.mdoc.key)
    }

    /// The root's CRL.
    pub(super) fn crl(&self, now_ms: u64) -> Vec<u8> {
        self.provider.crl(now_ms)
    }

    fn status_uri(&self, form: &str) -> String {
        format!("{}/status.{form}", self.lists)
    }
}

fn statuses(withdrawn: impl Iterator<Item = u64>) -> StatusList {
    let places = usize::try_from(STATUS_PLACES).unwrap_or(0);
    let withdrawn = withdrawn.filter_map(|idx| usize::try_from(idx).ok());
    withdrawn.fold(StatusList::new(1, places), |list, idx| list.with(idx, 1))
}

fn issued(now_ms: u64) -> u64 {
    numeric_date(now_ms.saturating_sub(MINUTE_MS))
}

/// The start of the day.
const fn day(now_ms: u64) -> u64 {
    now_ms - now_ms % DAY_MS
}

const fn validity_ms() -> u64 {
    PHONE_SAMPLE_DAYS.saturating_mul(DAY_MS)
}

/// GeneralNames for the host and origin of `base_url`, and for both issuers below it. Wallets
/// compare `iss` with one of them; where the host is an IP address, some accept only the issuer
/// identifier itself.
fn names(base_url: &str) -> Vec<u8> {
    let url = Url::parse(base_url).ok();
    let host = url.as_ref().and_then(|url| match url.host()? {
        Host::Domain(name) => Some(der::tlv(DNS_NAME, &[name.as_bytes()])),
        Host::Ipv4(address) => Some(ip(IpAddr::V4(address))),
        Host::Ipv6(address) => Some(ip(IpAddr::V6(address))),
    });
    let uris = ["", "/vci", "/vci-attested"].map(|path| [base_url, path].concat());
    let [origin, plain, attested] = uris.map(|uri| der::tlv(URI, &[uri.as_bytes()]));
    der::sequence(&[&host.unwrap_or_default(), &origin, &plain, &attested])
}

fn ip(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => der::tlv(IP_ADDRESS, &[&address.octets()]),
        IpAddr::V6(address) => der::tlv(IP_ADDRESS, &[&address.octets()]),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use idgate_core::crypto::aws_lc_rs::PROVIDER;
    use idgate_core::shell::{PinnedSigner, RootOrigin, TrustAnchor};
    use idgate_testkit::time::SAMPLE_NOW_MS;

    use super::*;

    /// By this marker live sessions refuse them, even if an operator pins a signer.
    #[test]
    fn every_root_and_signer_of_samples_has_the_marker() {
        for provider in Provider::all("a seed", SAMPLE_NOW_MS, "http://localhost") {
            let signers = Signers::new(&provider, "https://a.example", "https://a.example/vci", 0);
            for leaf in [&signers.sd_jwt, &signers.mdoc, &provider.signer] {
                assert!(PinnedSigner::from_der(&PROVIDER, &leaf.der).unwrap().is_sample());
            }
            let root = TrustAnchor::from_der(&PROVIDER, &provider.root.der, RootOrigin::RootFile);
            assert!(root.unwrap().is_sample());
        }
    }
}

//! `TrustedEntitiesList`: each provider with its services, and the outcome for their certificates.
//! Unusable parts are skipped and counted, and the rest is imported. A withdrawn entry outweighs
//! one in force.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::anchors::{is_ca, organizations};
use super::error::{TrustedListError, unusable};
use super::gathered::{Gathered, Keys};
use super::scheme::{has_critical, texts, uris};
use crate::codec::json::Value;
use crate::crypto::CryptoProvider;
use crate::limits::{MAX_CERTIFICATES, MAX_LIST_PROVIDERS, MAX_LIST_SERVICES};
use crate::time::UnixMillis;
use crate::trust::anchors::{RootOrigin, TrustAnchor, TrustMaterialError};
use crate::trust::certificate::Certificate;
use crate::trust::listing::{ListRole, ListType, TrustServiceProvider, member_state};
use crate::trust::master_list::{ListOutcome, ListedCertificate, describe, take};
use crate::trust::pinned_signer::PinnedSigner;

/// A provider and its services.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedProvider {
    /// The provider's identity.
    pub provider: Arc<TrustServiceProvider>,
    /// The provider's services, including those that the list is not for.
    pub services: Vec<ListedService>,
}

/// A service of a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListedService {
    /// The role of the service; `None`: its type is not one that this list is for.
    pub role: Option<ListRole>,
    /// The time from which it counts.
    pub from: UnixMillis,
    /// Why the whole service is skipped, for example because it is withdrawn.
    pub skipped: Option<&'static str>,
    /// Every certificate, in the order of the list, with its outcome.
    pub certificates: Vec<ListedCertificate>,
    /// The certificates of CAs.
    pub(super) roots: Vec<TrustAnchor>,
    /// The other certificates, which sign credentials themselves.
    pub(super) signers: Vec<PinnedSigner>,
}

impl ListedService {
    /// The usable certificates of CAs.
    pub fn roots(&self) -> &[TrustAnchor] {
        &self.roots
    }

    /// The usable certificates of signers.
    pub fn signers(&self) -> &[PinnedSigner] {
        &self.signers
    }
}

/// The providers that were read, and the number of unknown members.
pub(super) struct Entities<'p> {
    pub(super) provider: &'p CryptoProvider,
    pub(super) list_type: ListType,
    pub(super) now: UnixMillis,
    pub(super) ignored: usize,
    pub(super) misnamed: Misnamed,
}

/// Certificates whose organization differs from their provider's.
#[derive(Default)]
pub(super) struct Misnamed {
    count: usize,
    /// The first of them, and its provider in the list.
    first: Option<(String, String)>,
}

impl Misnamed {
    /// The warning for the operator; `None`: there are none.
    pub(super) fn warning(&self) -> Option<String> {
        let (own, provider) = self.first.as_ref()?;
        Some(format!(
            "has {} certificates whose organizationName is not the TEName of their provider, first one \
             of O={own} under {provider}",
            self.count
        ))
    }

    /// Checks the certificates of the services of `provider`.
    pub(super) fn look_at(&mut self, provider: &TrustServiceProvider, services: &[ListedService]) {
        for service in services {
            let (roots, signers) = (service.roots.iter(), service.signers.iter());
            let ders = roots.map(TrustAnchor::der).chain(signers.map(PinnedSigner::der));
            ders.for_each(|der| self.look(provider, der));
        }
    }

    fn look(&mut self, provider: &TrustServiceProvider, der: &[u8]) {
        let Ok(certificate) = Certificate::parse(der) else { return };
        let own = organizations(&certificate);
        let Some(first) = own.first() else { return };
        if own.iter().any(|own| provider.has_name(own)) {
            return;
        }
        self.count = self.count.saturating_add(1);
        self.first.get_or_insert_with(|| (first.clone(), provider.name.clone()));
    }
}

impl Entities<'_> {
    /// Reads all providers, and merges those that occur twice.
    pub(super) fn read(
        &mut self,
        list: Option<Value<'_, '_>>,
    ) -> Result<Vec<ListedProvider>, TrustedListError> {
        let Some(list) = list else { return Ok(Vec::new()) };
        let entities = list.elements();
        let entities =
            entities.ok_or_else(|| unusable("has a TrustedEntitiesList that is not a list"))?;
        let mut gathered = Gathered::default();
        for (place, entity) in entities.enumerate() {
            if place >= MAX_LIST_PROVIDERS {
                return Err(unusable("has more than 2000 providers"));
            }
            self.count(entity, &["TrustedEntityInformation", "TrustedEntityServices"]);
            let provider = self.provider(entity.get("TrustedEntityInformation"), place);
            let mut services = Vec::new();
            let mut withdrawn = Keys::new();
            let critical = entity
                .get("TrustedEntityInformation")
                .is_some_and(|info| has_critical(info.get("TEInformationExtensions")));
            let listed = entity.get("TrustedEntityServices").and_then(Value::elements);
            for (nth, service) in listed.into_iter().flatten().enumerate() {
                if nth >= MAX_LIST_SERVICES {
                    return Err(unusable("has a provider with more than 20 services"));
                }
                services.push(self.service(service, critical, &mut withdrawn)?);
            }
            self.misnamed.look_at(&provider, &services);
            gathered.add(provider, services, withdrawn);
        }
        Ok(gathered.finish())
    }

    fn provider(
        &mut self,
        information: Option<Value<'_, '_>>,
        place: usize,
    ) -> TrustServiceProvider {
        const MEMBERS: &[&str] =
            &["TEName", "TETradeName", "TEAddress", "TEInformationURI", "TEInformationExtensions"];
        if let Some(information) = information {
            self.count(information, MEMBERS);
        }
        let member = |name| information.and_then(|information| information.get(name));
        let names = texts(member("TEName"));
        TrustServiceProvider {
            name: names.first().cloned().unwrap_or_default(),
            identifiers: texts(member("TETradeName")),
            country: responsible_state(&uris(member("TEInformationURI")))
                .or_else(|| state_of_address(member("TEAddress"))),
            names,
            place,
        }
    }

    fn service(
        &mut self,
        service: Value<'_, '_>,
        critical: bool,
        withdrawn: &mut Keys,
    ) -> Result<ListedService, TrustedListError> {
        const MEMBERS: &[&str] = &[
            "ServiceTypeIdentifier",
            "ServiceName",
            "ServiceDigitalIdentity",
            "ServiceStatus",
            "StatusStartingTime",
            "SchemeServiceDefinitionURI",
            "ServiceSupplyPoints",
            "ServiceDefinitionURI",
            "ServiceInformationExtensions",
        ];
        self.count(service, &["ServiceInformation", "ServiceHistory"]);
        let information = service.get("ServiceInformation");
        if let Some(information) = information {
            self.count(information, MEMBERS);
        }
        let member = |name| information.and_then(|information| information.get(name));
        let text = |name| member(name).and_then(Value::as_str);
        let status = self.status(member("ServiceStatus"));
        let from = match member("StatusStartingTime") {
            None => Some(UnixMillis(0)),
            Some(at) => at.as_str().and_then(|at| UnixMillis::parse_rfc3339(&at)),
        };
        let role = text("ServiceTypeIdentifier").and_then(|kind| self.list_type.role(&kind));
        let skipped = match (role, status, from) {
            _ if critical || has_critical(member("ServiceInformationExtensions")) => {
                Some("has a critical extension that is not known")
            }
            (None, _, _) => Some("is of a type that this list is not for"),
            (_, Err(why), _) => Some(why),
            (_, _, None) => Some("has a StatusStartingTime that is not a date and time"),
            _ => None,
        };
        let mut read = ListedService {
            role,
            from: from.unwrap_or_default(),
            skipped,
            certificates: Vec::new(),
            roots: Vec::new(),
            signers: Vec::new(),
        };
        let identity = member("ServiceDigitalIdentity");
        self.certificates(identity, &mut read, (status.is_err(), withdrawn))?;
        if read.certificates.is_empty() && read.skipped.is_none() {
            read.skipped = Some("names no certificate, and a name is not a key");
        }
        Ok(read)
    }

    /// Whether a service with this `ServiceStatus` counts.
    fn status(&self, status: Option<Value<'_, '_>>) -> Result<(), &'static str> {
        const NOTIFIED: &str = "http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus/notified";
        match status.map(Value::as_str) {
            None if self.list_type == ListType::PubEaa => Err("has no status"),
            None => Ok(()),
            Some(Some(status)) if status == NOTIFIED => Ok(()),
            Some(_) => Err("is withdrawn, or has a status that is not known"),
        }
    }

    fn certificates(
        &mut self,
        identity: Option<Value<'_, '_>>,
        into: &mut ListedService,
        (is_withdrawn, withdrawn): (bool, &mut Keys),
    ) -> Result<(), TrustedListError> {
        const MEMBERS: &[&str] =
            &["X509Certificates", "X509SubjectNames", "PublicKeyValues", "X509SKIs", "OtherIds"];
        let Some(identity) = identity else { return Ok(()) };
        self.count(identity, MEMBERS);
        let listed = identity.get("X509Certificates").and_then(Value::elements);
        for (nth, certificate) in listed.into_iter().flatten().enumerate() {
            if nth >= MAX_CERTIFICATES {
                return Err(unusable("has a service with more than 10 certificates"));
            }
            let text = certificate.get("val").and_then(Value::as_str).unwrap_or_default();
            let der = STANDARD.decode(text.as_bytes()).unwrap_or_default();
            if is_withdrawn && let Ok(parsed) = Certificate::parse(&der) {
                withdrawn.insert(parsed.spki().to_vec());
            }
            self.certificate(&der, into);
        }
        Ok(())
    }

    /// A CA becomes a root, any other certificate a signer.
    pub(super) fn certificate(&self, der: &[u8], into: &mut ListedService) {
        let parsed = Certificate::parse(der).ok();
        if parsed.as_ref().is_none_or(is_ca) {
            let (root, listed) = take(self.provider, der, RootOrigin::TrustedList, self.now);
            into.roots.extend(root);
            into.certificates.push(listed);
            return;
        }
        let signer = parsed.ok_or(TrustMaterialError(Cow::Borrowed("is not a certificate")));
        let signer = signer.and_then(|signer| listed_signer(self.provider, &signer));
        let outcome = match &signer {
            Ok(_) => ListOutcome::Usable,
            Err(TrustMaterialError(why)) => ListOutcome::Unusable(String::from(&**why)),
        };
        into.certificates.push(describe(self.provider, der, outcome, self.now));
        into.signers.extend(signer.ok());
    }

    fn count(&mut self, object: Value<'_, '_>, known: &[&str]) {
        let members = object.members().into_iter().flatten();
        let unknown = members.filter(|(name, _)| !known.iter().any(|known| name.is(known)));
        self.ignored = self.ignored.saturating_add(unknown.count());
    }
}

/// A signer that a list names directly: its key must be for signing, and not for TLS.
fn listed_signer(
    provider: &CryptoProvider,
    signer: &Certificate<'_>,
) -> Result<PinnedSigner, TrustMaterialError> {
    const TLS: [&[u8]; 2] =
        [b"\x2b\x06\x01\x05\x05\x07\x03\x01", b"\x2b\x06\x01\x05\x05\x07\x03\x02"];
    let refuse = |why| Err(TrustMaterialError(Cow::Borrowed(why)));
    let usages = signer.extended_key_usages().unwrap_or_default();
    if usages.iter().any(|usage| TLS.contains(usage)) {
        return refuse("is a certificate for TLS");
    }
    if signer.key_usage().is_some_and(|usage| !usage.digital_signature()) {
        return refuse("has a key usage without digitalSignature");
    }
    crate::trust::profile::check_listed(signer)
        .map_err(|why| TrustMaterialError(Cow::Borrowed(why)))?;
    PinnedSigner::from_der(provider, signer.der())
}

/// The state at the end of a provider's `TEInformationURI` (ETSI TS 119 602 Table D.2).
fn responsible_state(uris: &[String]) -> Option<String> {
    const PREFIXES: [&str; 2] =
        ["http://uri.etsi.org/19602/ListOfTrustedEntities/", "http://trust.ec.europa.eu/lists/"];
    let of_scheme = |uri: &&String| PREFIXES.iter().any(|prefix| uri.starts_with(prefix));
    let mut last = uris.iter().filter(of_scheme).filter_map(|uri| uri.rsplit('/').next());
    last.find(|code| is_country(code)).map(member_state)
}

fn state_of_address(address: Option<Value<'_, '_>>) -> Option<String> {
    let postal = address?.get("TEPostalAddress")?.elements()?;
    let mut countries = postal.filter_map(|one| one.get("Country")?.as_str());
    countries.find(|code| is_country(code)).map(|code| member_state(&code))
}

fn is_country(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic())
}

//! The content of a list (ETSI TS 119 612 clause 5), read from its canonical form.

use idgate_core::shell::{ReadList, ReadProvider, ReadScheme, ReadService, TrustedListError};
use idgate_core::trust::ListType;
use idgate_core::{CryptoProvider, UnixMillis};
use roxmltree::Node;

use crate::error::{out_of_date, unusable};
use crate::limits::{MAX_ANNOUNCED, MAX_POINTERS};
use crate::names::{STATUS, ns};
use crate::tree::{self, child, elements};

/// The age list of the Commission.
const AGE_LIST: &str = "http://ec.europa.eu/tools/lotl/av/TrstSvc/TrustedList/TSLType/AVTL";
/// The list of a member state.
const NATIONAL_LIST: &str = "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUgeneric";
/// The list of the lists of the member states.
pub(crate) const LIST_OF_LISTS: &str =
    "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUlistofthelists";

/// Reads the signed text. `wanted`: the requested type.
pub(crate) fn read(
    provider: &CryptoProvider,
    signed: &str,
    wanted: Option<ListType>,
) -> Result<ReadList, TrustedListError> {
    let document = tree::parsed(signed)?;
    let root = document.root_element();
    let information = scheme_information(root)?;
    let mut reader = Reader { list_type: list_type(information, wanted)?, others: 0 };
    let scheme = read_scheme(information)?;
    let providers = reader.providers(root, territory(information));
    Ok(ReadList {
        list_type: reader.list_type,
        scheme,
        providers,
        other_services: reader.others,
        announced_signers: announced(provider, information)?,
    })
}

/// Returns `SchemeInformation` (5.3).
pub(crate) fn scheme_information<'a, 'i>(
    root: Node<'a, 'i>,
) -> Result<Node<'a, 'i>, TrustedListError> {
    own(root, "SchemeInformation").ok_or_else(|| unusable("lacks its SchemeInformation"))
}

/// Reads the attributes of the list and of this issue.
pub(crate) fn read_scheme(scheme: Node<'_, '_>) -> Result<ReadScheme, TrustedListError> {
    if !matches!(number(scheme, "TSLVersionIdentifier"), Some(5 | 6)) {
        return Err(unusable("is not of version 5 or 6"));
    }
    if has_critical(own(scheme, "SchemeExtensions")) {
        return Err(unusable("has a critical scheme extension that is not known"));
    }
    let sequence = number(scheme, "TSLSequenceNumber");
    Ok(ReadScheme {
        sequence: sequence.ok_or_else(|| unusable("has no TSLSequenceNumber that is a number"))?,
        operators: names(own(scheme, "SchemeOperatorName"), "Name"),
        territory: territory_text(scheme).to_owned(),
        issued_at: instant(own(scheme, "ListIssueDateTime"))
            .ok_or_else(|| unusable("has no ListIssueDateTime that is a date and time"))?,
        next_update: next_update(scheme)?,
    })
}

/// Reads `NextUpdate` (5.3.15), which is empty in a closed list.
fn next_update(scheme: Node<'_, '_>) -> Result<UnixMillis, TrustedListError> {
    let next = own(scheme, "NextUpdate");
    let next = next.ok_or_else(|| unusable("has no NextUpdate that is a date and time"))?;
    let Some(at) = own(next, "dateTime") else {
        return Err(out_of_date("is closed (no next update)"));
    };
    instant(Some(at)).ok_or_else(|| unusable("has no NextUpdate that is a date and time"))
}

/// Returns the type of the list. A national list has services of several types, of which `wanted`
/// chooses one.
fn list_type(scheme: Node<'_, '_>, wanted: Option<ListType>) -> Result<ListType, TrustedListError> {
    match list_type_uri(scheme) {
        AGE_LIST => Ok(ListType::Av),
        NATIONAL_LIST if wanted == Some(ListType::Pid) => Ok(ListType::Pid),
        NATIONAL_LIST => Ok(ListType::Qeaa),
        LIST_OF_LISTS => Err(unusable(
            "is the list of lists, which has no providers; give it with --lotl, or name the list of one member state",
        )),
        _ => Err(unusable("is of a type that is not known here")),
    }
}

/// Returns `TSLType` (5.3.3).
pub(crate) fn list_type_uri<'a>(scheme: Node<'a, '_>) -> &'a str {
    own(scheme, "TSLType").and_then(tree::text).unwrap_or_default()
}

struct Reader {
    list_type: ListType,
    /// The number of services of other types.
    others: usize,
}

impl Reader {
    /// Reads the providers that have a service of the type. `TrustServiceProviderList` is absent
    /// from a list without providers.
    fn providers(&mut self, root: Node<'_, '_>, territory: Option<&str>) -> Vec<ReadProvider> {
        let list = own(root, "TrustServiceProviderList").into_iter();
        let all = list.flat_map(elements).filter(|one| is_own(one, "TrustServiceProvider"));
        all.filter_map(|one| self.provider(one, territory)).collect()
    }

    fn provider(
        &mut self,
        provider: Node<'_, '_>,
        territory: Option<&str>,
    ) -> Option<ReadProvider> {
        let information = own(provider, "TSPInformation");
        let part = |name| information.and_then(|information| own(information, name));
        let critical = has_critical(part("TSPInformationExtensions"));
        let listed = own(provider, "TSPServices").into_iter().flat_map(elements);
        let listed = listed.filter(|one| is_own(one, "TSPService"));
        let services: Vec<ReadService> =
            listed.filter_map(|one| self.service(one, critical)).collect();
        (!services.is_empty()).then(|| ReadProvider {
            names: names(part("TSPName"), "Name"),
            identifiers: registrations(part("TSPTradeName")),
            country: territory.map(str::to_owned).or_else(|| country(part("TSPAddress"))),
            services,
        })
    }

    /// Reads `ServiceInformation` (5.5), the current state. `ServiceHistory` is not read.
    fn service(&mut self, service: Node<'_, '_>, critical: bool) -> Option<ReadService> {
        let information = own(service, "ServiceInformation");
        let part = |name| information.and_then(|information| own(information, name));
        let kind = part("ServiceTypeIdentifier").and_then(tree::text).unwrap_or_default();
        if kind != service_type(self.list_type) {
            self.others = self.others.saturating_add(1);
            return None;
        }
        let status = part("ServiceStatus").and_then(tree::text).unwrap_or_default();
        Some(ReadService {
            from: instant(part("StatusStartingTime")),
            in_force: matches!(
                status.strip_prefix(STATUS),
                Some("granted" | "recognisedatnationallevel")
            ),
            has_critical: critical || has_critical(part("ServiceInformationExtensions")),
            certificates: certificates(part("ServiceDigitalIdentity")),
        })
    }
}

/// Returns the type identifier of issuing services in such a list.
const fn service_type(list_type: ListType) -> &'static str {
    match list_type {
        ListType::Av => "http://ec.europa.eu/tools/lotl/av/TrstSvc/Svctype/PAA",
        ListType::Pid => "http://uri.etsi.org/TrstSvc/Svctype/PID",
        _ => "http://uri.etsi.org/TrstSvc/Svctype/EAA/Q",
    }
}

/// Returns the certificates of an identity. Names and key identifiers are ignored. A certificate
/// that is not in Base64 becomes an empty one, which `trust show` lists as unusable.
pub(crate) fn certificates(identity: Option<Node<'_, '_>>) -> Vec<Vec<u8>> {
    let ids = identity.into_iter().flat_map(elements).filter(|one| is_own(one, "DigitalId"));
    let listed = ids.flat_map(elements).filter(|one| is_own(one, "X509Certificate"));
    listed.map(|one| tree::base64(one).unwrap_or_default()).collect()
}

/// Returns the hashes of the certificates in the list's pointers to itself (5.3.13). Such a pointer
/// has the list's own type and territory.
fn announced(
    provider: &CryptoProvider,
    scheme: Node<'_, '_>,
) -> Result<Vec<[u8; 32]>, TrustedListError> {
    let pointers = pointers(scheme)?;
    let here = |name| (name, own(scheme, name).and_then(tree::text));
    let own_values = ["TSLType", "SchemeTerritory"].map(here);
    let is_here = |pointer: Node<'_, '_>, (name, here): &(&str, Option<&str>)| {
        let found = pointer.descendants().find(|one| is_own(one, name));
        here.is_some() && found.and_then(tree::text) == *here
    };
    let to_itself = pointers
        .into_iter()
        .filter(|pointer| own_values.iter().all(|value| is_here(*pointer, value)));
    let identities = to_itself.filter_map(|pointer| own(pointer, "ServiceDigitalIdentities"));
    let ders = identities.flat_map(elements).flat_map(|one| certificates(Some(one)));
    Ok(ders.take(MAX_ANNOUNCED).map(|der| sha256(provider, &der)).collect())
}

/// Returns the pointers to other lists (5.3.13).
pub(crate) fn pointers<'a, 'i>(
    scheme: Node<'a, 'i>,
) -> Result<Vec<Node<'a, 'i>>, TrustedListError> {
    let all = own(scheme, "PointersToOtherTSL").into_iter().flat_map(elements);
    let all: Vec<Node<'a, 'i>> = all.take(MAX_POINTERS.saturating_add(1)).collect();
    match all.len() > MAX_POINTERS {
        true => Err(unusable("has more than 256 pointers to other lists")),
        false => Ok(all),
    }
}

/// Returns `SchemeTerritory` (5.3.10).
fn territory_text<'a>(scheme: Node<'a, '_>) -> &'a str {
    own(scheme, "SchemeTerritory").and_then(tree::text).unwrap_or_default()
}

/// Returns the state of a national list. The age list has none.
fn territory<'a>(scheme: Node<'a, '_>) -> Option<&'a str> {
    let territory = territory_text(scheme);
    (is_country(territory) && territory != "EU").then_some(territory)
}

fn country(address: Option<Node<'_, '_>>) -> Option<String> {
    let postal = own(address?, "PostalAddresses").into_iter().flat_map(elements);
    let mut countries = postal.filter_map(|one| own(one, "CountryName").and_then(tree::text));
    countries.find(|code| is_country(code)).map(str::to_owned)
}

fn is_country(code: &str) -> bool {
    code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns the registration identifiers among the trade names (5.4.2, in the form of ETSI EN 319
/// 412-1 5.1.4, for example `VATLU-1`). The others are brands, which several providers may share.
fn registrations(trade_names: Option<Node<'_, '_>>) -> Vec<String> {
    let mut all = names(trade_names, "Name");
    all.retain(|name| is_registration(name));
    all
}

fn is_registration(name: &str) -> bool {
    let Some((kind, number)) = name.split_once('-') else { return false };
    let has_form = kind.len() == 5 && kind.bytes().all(|byte| byte.is_ascii_uppercase());
    has_form && !number.is_empty()
}

/// Returns the texts of a multilingual element, the English ones first.
fn names(around: Option<Node<'_, '_>>, name: &str) -> Vec<String> {
    let all = around.into_iter().flat_map(elements).filter(|one| is_own(one, name));
    let mut texts: Vec<(bool, String)> = all
        .filter_map(|one| {
            let is_other = one.attribute((ns::XML, "lang")) != Some("en");
            Some((is_other, tree::text(one)?.to_owned()))
        })
        .collect();
    texts.sort_by_key(|(is_other, _)| *is_other);
    texts.into_iter().map(|(_, text)| text).collect()
}

/// Whether an extension is critical. No extension is known here.
fn has_critical(extensions: Option<Node<'_, '_>>) -> bool {
    let critical = |one: Node<'_, '_>| {
        one.attribute("Critical").is_some_and(|value| !matches!(value.trim(), "false" | "0"))
    };
    extensions.into_iter().flat_map(elements).any(critical)
}

fn number(around: Node<'_, '_>, name: &str) -> Option<u64> {
    let text = own(around, name).and_then(tree::text)?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn instant(element: Option<Node<'_, '_>>) -> Option<UnixMillis> {
    element.and_then(tree::text).and_then(UnixMillis::parse_rfc3339)
}

fn sha256(provider: &CryptoProvider, bytes: &[u8]) -> [u8; 32] {
    let hash = provider.hash(idgate_core::crypto::HashAlg::Sha256, bytes);
    hash.as_bytes().try_into().unwrap_or_default()
}

/// Returns the first child element with this name in the namespace of lists.
pub(crate) fn own<'a, 'i>(around: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    child(around, ns::LIST, name)
}

pub(crate) fn is_own(one: &Node<'_, '_>, name: &str) -> bool {
    one.has_tag_name((ns::LIST, name))
}

//! Trusted lists in XML (ETSI TS 119 612) of a publisher: a text that a test can break anywhere, with its XAdES
//! signature. The texts are written in canonical form, so no canonicalisation is needed.

use std::fmt;

use crate::codec::{HashAlg, base64_standard};
use crate::keys::Curve;
use crate::mdoc::rfc3339;
use crate::time::DAY_MS;
use crate::x509::Identity;

/// The namespace of lists.
pub const LIST_NS: &str = "http://uri.etsi.org/02231/v2#";
/// The namespace of signatures.
pub const DS_NS: &str = "http://www.w3.org/2000/09/xmldsig#";
const XADES_NS: &str = "http://uri.etsi.org/01903/v1.3.2#";
const FILTER_NS: &str = "http://www.w3.org/2002/06/xmldsig-filter2";
/// Exclusive XML Canonicalization 1.0.
pub const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
/// Canonical XML 1.0.
pub const INCLUSIVE: &str = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315";
/// The status of a service that counts.
pub const GRANTED: &str = "granted";
/// A provider of proofs of age.
pub const PAA: &str = "http://ec.europa.eu/tools/lotl/av/TrstSvc/Svctype/PAA";
/// A qualified provider of attestations.
pub const QEAA: &str = "http://uri.etsi.org/TrstSvc/Svctype/EAA/Q";
/// A provider of PID.
pub const PID: &str = "http://uri.etsi.org/TrstSvc/Svctype/PID";

/// A kind of list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum XmlKind {
    /// The age list of the Commission.
    Age,
    /// The list of a member state.
    National,
    /// The list of lists.
    OfLists,
}

impl XmlKind {
    const fn uri(self) -> &'static str {
        match self {
            Self::Age => "http://ec.europa.eu/tools/lotl/av/TrstSvc/TrustedList/TSLType/AVTL",
            Self::National => "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUgeneric",
            Self::OfLists => "http://uri.etsi.org/TrstSvc/TrustedList/TSLType/EUlistofthelists",
        }
    }
}

/// A service of that type and status, with these certificates, since the beginning of 2026.
pub fn service(kind: &str, status: &str, certificates: &[&[u8]]) -> String {
    let ids: String = certificates
        .iter()
        .map(|der| {
            let text = base64_standard(der);
            format!("<DigitalId><X509Certificate>{text}</X509Certificate></DigitalId>")
        })
        .collect();
    format!(
        "<TSPService><ServiceInformation><ServiceTypeIdentifier>{kind}</ServiceTypeIdentifier>\
         <ServiceName><Name xml:lang=\"en\">Service</Name></ServiceName>\
         <ServiceDigitalIdentity>{ids}</ServiceDigitalIdentity>\
         <ServiceStatus>http://uri.etsi.org/TrstSvc/TrustedList/Svcstatus/{status}</ServiceStatus>\
         <StatusStartingTime>2026-01-01T00:00:00Z</StatusStartingTime></ServiceInformation></TSPService>"
    )
}

/// A provider of this name, registration identifier and state.
pub fn provider(name: &str, identifier: &str, country: &str, services: &[String]) -> String {
    format!(
        "<TrustServiceProvider><TSPInformation><TSPName><Name xml:lang=\"en\">{name}</Name></TSPName>\
         <TSPTradeName><Name xml:lang=\"en\">{identifier}</Name></TSPTradeName>\
         <TSPAddress><PostalAddresses><PostalAddress xml:lang=\"en\"><CountryName>{country}</CountryName>\
         </PostalAddress></PostalAddresses></TSPAddress></TSPInformation>\
         <TSPServices>{}</TSPServices></TrustServiceProvider>",
        services.concat()
    )
}

/// A pointer of the list of lists to the list in XML of a member state, with the certificates of its signers.
pub fn pointer(territory: &str, location: &str, signers: &[&[u8]]) -> String {
    let identity = |der: &&[u8]| {
        let text = base64_standard(der);
        format!(
            "<ServiceDigitalIdentity><DigitalId><X509Certificate>{text}</X509Certificate></DigitalId>\
             </ServiceDigitalIdentity>"
        )
    };
    let identities: String = signers.iter().map(identity).collect();
    format!(
        "<OtherTSLPointer><ServiceDigitalIdentities>{identities}</ServiceDigitalIdentities>\
         <TSLLocation>{location}</TSLLocation><AdditionalInformation>\
         <OtherInformation><TSLType>{}</TSLType></OtherInformation>\
         <OtherInformation><SchemeTerritory>{territory}</SchemeTerritory></OtherInformation>\
         <OtherInformation><t:MimeType xmlns:t=\"http://uri.etsi.org/02231/v2/additionaltypes#\">\
         application/vnd.etsi.tsl+xml</t:MimeType></OtherInformation>\
         </AdditionalInformation></OtherTSLPointer>",
        XmlKind::National.uri()
    )
}

/// A list before it is signed.
#[derive(Clone, Debug)]
pub struct XmlList {
    /// Its kind.
    pub kind: XmlKind,
    /// Its number.
    pub sequence: u64,
    /// Its publisher.
    pub operator: String,
    /// Its territory.
    pub territory: String,
    /// Its time of issue.
    pub issued: String,
    /// The time of its next issue. Empty: the list is closed.
    pub next_update: String,
    /// Further members of its scheme.
    pub scheme: String,
    /// Its providers. If empty, the element is absent.
    pub providers: Vec<String>,
}

/// The list of lists with this number, which names the list of Utopia: its URL and its signer.
pub fn naming_utopia(number: u64, url: &str, signer: &Identity, now_ms: u64) -> XmlList {
    let list = XmlList::new(XmlKind::OfLists, now_ms).numbered(number);
    list.pointing(&[pointer("UT", url, &[&signer.der])])
}

/// The list of Utopia with this number and this many qualified providers, all with one root.
pub fn list_of_utopia(number: u64, providers: usize, now_ms: u64) -> XmlList {
    let root = Identity::issuer_root(Curve::P256, now_ms);
    let services = [service(QEAA, GRANTED, &[&root.der])];
    let list = XmlList::new(XmlKind::National, now_ms).numbered(number);
    (0..providers).fold(list, |list, n| {
        list.with(provider(&format!("P {n}"), &format!("VATUT-{n}"), "UT", &services))
    })
}

impl XmlList {
    /// A list with number 7, made a day before `now_ms` and valid for 90 days, without providers.
    pub fn new(kind: XmlKind, now_ms: u64) -> Self {
        let issued = now_ms.saturating_sub(DAY_MS);
        let next = rfc3339(issued.saturating_add(90 * DAY_MS));
        Self {
            kind,
            sequence: 7,
            operator: "Example Operator".into(),
            territory: if kind == XmlKind::National { "UT".into() } else { "EU".into() },
            issued: rfc3339(issued),
            next_update: format!("<dateTime>{next}</dateTime>"),
            scheme: String::new(),
            providers: Vec::new(),
        }
    }

    /// With this number.
    #[must_use]
    pub fn numbered(mut self, sequence: u64) -> Self {
        self.sequence = sequence;
        self
    }

    /// With one more provider.
    #[must_use]
    pub fn with(mut self, provider: String) -> Self {
        self.providers.push(provider);
        self
    }

    /// With these pointers to other lists.
    #[must_use]
    pub fn pointing(mut self, pointers: &[String]) -> Self {
        self.scheme = format!("<PointersToOtherTSL>{}</PointersToOtherTSL>", pointers.concat());
        self
    }

    /// With this time of its next issue.
    #[must_use]
    pub fn due(mut self, at_ms: u64) -> Self {
        self.next_update = format!("<dateTime>{}</dateTime>", rfc3339(at_ms));
        self
    }

    /// The list without a signature, in its canonical form.
    pub fn text(&self) -> String {
        let providers = match self.providers.is_empty() {
            true => String::new(),
            false => format!(
                "<TrustServiceProviderList>{}</TrustServiceProviderList>",
                self.providers.concat()
            ),
        };
        format!(
            "<TrustServiceStatusList xmlns=\"{LIST_NS}\" TSLTag=\"http://uri.etsi.org/19612/TSLTag\">\
             <SchemeInformation><TSLVersionIdentifier>6</TSLVersionIdentifier>\
             <TSLSequenceNumber>{}</TSLSequenceNumber><TSLType>{}</TSLType>\
             <SchemeOperatorName><Name xml:lang=\"en\">{}</Name></SchemeOperatorName>\
             <SchemeTerritory>{}</SchemeTerritory>{}\
             <ListIssueDateTime>{}</ListIssueDateTime><NextUpdate>{}</NextUpdate></SchemeInformation>\
             {providers}</TrustServiceStatusList>",
            self.sequence,
            self.kind.uri(),
            self.operator,
            self.territory,
            self.scheme,
            self.issued,
            self.next_update,
        )
    }

    /// The list, signed by `signer` like the age list, at its time of issue.
    pub fn sign(&self, signer: &Identity) -> String {
        XmlSigner::of(signer, &self.issued).sign(&self.text())
    }
}

type Sign<'s> = Box<dyn Fn(&[u8]) -> Vec<u8> + 's>;
type Edit = Box<dyn Fn(String) -> String>;

/// How a list is signed.
pub struct XmlSigner<'s> {
    /// The certificates in its `KeyInfo`. Without any, the element is absent.
    pub chain: Vec<Vec<u8>>,
    /// The certificate whose digest is in the signed properties.
    pub named: Option<Vec<u8>>,
    /// The identifier of the algorithm.
    pub algorithm: String,
    /// Makes a signature.
    pub make: Sign<'s>,
    /// The canonicalisation of all three.
    pub method: &'static str,
    /// Whether the signature is taken out by XPath Filter 2.0.
    pub by_xpath: bool,
    /// When it is made; `None`: nothing says so, and no properties are signed.
    pub signed_at: Option<String>,
    /// Changes `SignedInfo` before it is signed.
    pub edit: Edit,
}

impl fmt::Debug for XmlSigner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("XmlSigner").field("algorithm", &self.algorithm).finish_non_exhaustive()
    }
}

impl<'s> XmlSigner<'s> {
    /// As the age list is signed.
    pub fn of(signer: &'s Identity, signed_at: &str) -> Self {
        let bits = signer.key.alg().trim_start_matches("ES").to_owned();
        Self {
            chain: vec![signer.der.clone()],
            named: Some(signer.der.clone()),
            algorithm: format!("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha{bits}"),
            make: Box::new(|input| signer.key.sign(input)),
            method: EXCLUSIVE,
            by_xpath: true,
            signed_at: Some(signed_at.to_owned()),
            edit: Box::new(|text| text),
        }
    }

    /// With a `SignedInfo` that is changed before it is signed.
    #[must_use]
    pub fn editing(mut self, edit: impl Fn(String) -> String + 'static) -> Self {
        self.edit = Box::new(edit);
        self
    }

    /// Signs a list that is in its canonical form, and puts the signature at its end.
    pub fn sign(&self, list: &str) -> String {
        self.sign_over(list, list)
    }

    /// Signs the list `digested`, and puts the signature into `list`.
    pub fn sign_over(&self, digested: &str, list: &str) -> String {
        let is_exclusive = self.method == EXCLUSIVE;
        let around = format!(" xmlns=\"{LIST_NS}\"");
        let around = if is_exclusive { "" } else { around.as_str() };
        let ds = format!(" xmlns:ds=\"{DS_NS}\"");
        let ds_inside = if is_exclusive { ds.as_str() } else { "" };
        let properties = self.signed_at.as_deref().map(|at| {
            let ds_around = if is_exclusive { "" } else { ds.as_str() };
            let declared = format!("{around}{ds_around} xmlns:xades=\"{XADES_NS}\"");
            (self.properties(at, &declared, ds_inside), self.properties(at, "", ""))
        });
        let digest = properties.as_ref().map(|(canonical, _)| digest_of(canonical));
        let info = |declared: &str| {
            let text = self.signed_info(&digest_of(digested), digest.as_deref());
            (self.edit)(text).replacen("<ds:SignedInfo", &format!("<ds:SignedInfo{declared}"), 1)
        };
        let value = base64_standard(&(self.make)(info(&format!("{around}{ds}")).as_bytes()));
        let object = properties.map_or_else(String::new, |(_, text)| {
            format!(
                "<ds:Object><xades:QualifyingProperties xmlns:xades=\"{XADES_NS}\" Target=\"#sig\">\
                 {text}</xades:QualifyingProperties></ds:Object>"
            )
        });
        let signature = format!(
            "<ds:Signature xmlns:ds=\"{DS_NS}\" Id=\"sig\">{}<ds:SignatureValue>{value}\
             </ds:SignatureValue>{}{object}</ds:Signature>",
            info(""),
            self.key_info(),
        );
        let end = "</TrustServiceStatusList>";
        list.strip_suffix(end).map_or_else(String::new, |body| format!("{body}{signature}{end}"))
    }

    fn key_info(&self) -> String {
        if self.chain.is_empty() {
            return String::new();
        }
        let of = |der: &Vec<u8>| {
            format!("<ds:X509Certificate>{}</ds:X509Certificate>", base64_standard(der))
        };
        let all: String = self.chain.iter().map(of).collect();
        format!("<ds:KeyInfo><ds:X509Data>{all}</ds:X509Data></ds:KeyInfo>")
    }

    fn signed_info(&self, list: &str, properties: Option<&str>) -> String {
        let canonical = format!("<ds:Transform Algorithm=\"{}\"></ds:Transform>", self.method);
        let without = match self.by_xpath {
            true => format!(
                "<ds:Transform Algorithm=\"{FILTER_NS}\"><f:XPath xmlns:f=\"{FILTER_NS}\" \
                 Filter=\"subtract\">/descendant::ds:Signature</f:XPath></ds:Transform>"
            ),
            false => {
                format!("<ds:Transform Algorithm=\"{DS_NS}enveloped-signature\"></ds:Transform>")
            }
        };
        let digest = |value: &str| {
            format!(
                "<ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\">\
                 </ds:DigestMethod><ds:DigestValue>{value}</ds:DigestValue>"
            )
        };
        let properties = properties.map_or_else(String::new, |value| {
            format!(
                "<ds:Reference Type=\"http://uri.etsi.org/01903#SignedProperties\" \
                 URI=\"#xades-sig\"><ds:Transforms>{canonical}</ds:Transforms>{}</ds:Reference>",
                digest(value)
            )
        });
        format!(
            "<ds:SignedInfo><ds:CanonicalizationMethod Algorithm=\"{}\"></ds:CanonicalizationMethod>\
             <ds:SignatureMethod Algorithm=\"{}\"></ds:SignatureMethod><ds:Reference Id=\"r\" URI=\"\">\
             <ds:Transforms>{without}{canonical}</ds:Transforms>{}</ds:Reference>{properties}\
             </ds:SignedInfo>",
            self.method,
            self.algorithm,
            digest(list),
        )
    }

    fn properties(&self, signed_at: &str, declared: &str, ds: &str) -> String {
        let named = self.named.as_ref().map_or_else(String::new, |der| {
            format!(
                "<xades:SigningCertificateV2><xades:Cert><xades:CertDigest><ds:DigestMethod{ds} \
                 Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha512\"></ds:DigestMethod>\
                 <ds:DigestValue{ds}>{}</ds:DigestValue></xades:CertDigest></xades:Cert>\
                 </xades:SigningCertificateV2>",
                base64_standard(&HashAlg::Sha512.hash(der))
            )
        });
        format!(
            "<xades:SignedProperties{declared} Id=\"xades-sig\"><xades:SignedSignatureProperties>\
             <xades:SigningTime>{signed_at}</xades:SigningTime>{named}\
             </xades:SignedSignatureProperties></xades:SignedProperties>"
        )
    }
}

fn digest_of(text: &str) -> String {
    base64_standard(&HashAlg::Sha256.hash(text.as_bytes()))
}

//! Names in lists and in their signatures.

/// Namespaces.
pub(crate) mod ns {
    /// ETSI TS 119 612.
    pub(crate) const LIST: &str = "http://uri.etsi.org/02231/v2#";
    /// More types of ETSI TS 119 612, for example that of the media type of a list.
    pub(crate) const ADDITIONAL: &str = "http://uri.etsi.org/02231/v2/additionaltypes#";
    /// XML signatures.
    pub(crate) const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
    /// XAdES (ETSI EN 319 132-1).
    pub(crate) const XADES: &str = "http://uri.etsi.org/01903/v1.3.2#";
    /// XML Signature XPath Filter 2.0.
    pub(crate) const FILTER: &str = "http://www.w3.org/2002/06/xmldsig-filter2";
    /// The namespace of the prefix `xml`.
    pub(crate) const XML: &str = "http://www.w3.org/XML/1998/namespace";
}

/// Exclusive XML Canonicalization 1.0, without comments.
pub(crate) const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
/// Canonical XML 1.0, without comments.
pub(crate) const INCLUSIVE: &str = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315";
/// The transform that removes the signature.
pub(crate) const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
/// The type of the reference to the signed properties.
pub(crate) const SIGNED_PROPERTIES: &str = "http://uri.etsi.org/01903#SignedProperties";
/// The prefix of the status of a service.
pub(crate) const STATUS: &str = "http://uri.etsi.org/TrstSvc/TrustedList/Svcstatus/";

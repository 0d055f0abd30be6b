//! The size and count limits of all readers in one place. They bound the work that an attacker can
//! cause, and each has its reason.

/// Parameters of one form. OpenID4VP has five; others are ignored (RFC 6749 3.1).
pub const MAX_FORM_PARAMETERS: usize = 64;
/// Presentations in one answer: the most credentials a session may ask for.
pub const MAX_PRESENTATIONS: usize = 10;
/// Largest single presentation. A portrait in a PID has less than 100 KiB.
pub const MAX_PRESENTATION_BYTES: usize = 512 * 1024;
/// Disclosures in one SD-JWT. Real ones have tens; processing is linear up to this limit.
pub const MAX_DISCLOSURES: usize = 4000;
/// Namespaces of one mdoc, and of the errors that it reports. Real ones have two.
pub const MAX_NAME_SPACES: usize = 32;
/// Elements of one namespace that an mdoc reports as missing: more than any document type has. Each
/// requested element is searched among them.
pub const MAX_REPORTED_ERRORS: usize = 256;
/// Nesting of JSON and CBOR. Real credentials nest five deep.
pub const MAX_DEPTH: usize = 32;
/// JSON values in one presentation, one body or one token. A value takes a byte or two of text and
/// 24 bytes of memory. So this limit, and not the size of the text, bounds the memory for
/// unauthenticated input: 768 KiB. An SD-JWT with 4000 disclosures has 20,000 values.
pub const MAX_JSON_VALUES: usize = 32 * 1024;
/// JSON values in one answer of a wallet, plain or decrypted, or in one submission: ten credentials
/// take fewer than two hundred.
pub const MAX_ANSWER_VALUES: usize = 4096;
/// Bytes of member names with escapes in one JSON text: each is resolved before it is compared with
/// the others. Encoders that write ASCII-only JSON escape only the few names with other characters.
pub const MAX_ESCAPED_NAME_BYTES: usize = 16 * 1024;
/// CBOR items, or chunks of strings, in one document. An item takes a byte of input and 40 bytes of
/// memory: 320 KiB. An mdoc of 4000 elements has fewer.
pub const MAX_CBOR_ITEMS: usize = 8 * 1024;
/// CBOR items of a VICAL, where a certificate takes about 35, and values of a trusted list, where a
/// provider takes about 100.
pub const MAX_LIST_NODES: usize = 512 * 1024;
/// Requests in one session: there are three profiles, and the browser's request.
pub const MAX_OFFERS: usize = 4;
/// Credentials in one session request.
pub const MAX_CREDENTIALS: usize = 10;
/// Elements of one array in a session request: no use needs more, and each carries its path.
pub const MAX_REQUEST_ELEMENTS: usize = 1000;
/// Claims per credential request: keeps the request URI short enough for wallets.
pub const MAX_CLAIMS: usize = 100;
/// Length of a credential id in characters.
pub const MAX_CREDENTIAL_ID_CHARS: usize = 128;
/// Characters of a caller's member name that an error repeats: enough to find the name.
pub const MAX_SHOWN_NAME_CHARS: usize = 64;
/// Page origins in one session request: an answer may be verified once for each.
pub const MAX_DC_API_ORIGINS: usize = 5;
/// Length of a page origin: the longest host name, a scheme and a port.
pub const MAX_ORIGIN_BYTES: usize = 300;
/// Length of a host name in bytes (RFC 1035 2.3.4).
pub const MAX_HOST_NAME_BYTES: usize = 253;
/// Length of one label of a host name in bytes (RFC 1035 2.3.4).
pub const MAX_HOST_LABEL_BYTES: usize = 63;
/// Length of `redirect_uri` in characters: the length that browsers reliably follow.
pub const MAX_REDIRECT_URI_CHARS: usize = 2000;
/// Length of a claim filter's `pattern` in characters; bounds the compiled automaton.
pub const MAX_PATTERN_CHARS: usize = 256;
/// Characters of all patterns in one session request, where each counts as at least
/// [`MIN_PATTERN_COST_CHARS`]. Each is compiled once as a check, in 1 ms or, with many Unicode
/// classes, 30 µs per character: a creation stays below 50 ms.
pub const MAX_PATTERNS_CHARS: usize = 2048;
/// The minimum cost of a pattern in characters; so there are at most 32 patterns.
pub const MIN_PATTERN_COST_CHARS: usize = 64;
/// Size of a compiled pattern in bytes. Nested repetitions multiply regardless of the length of the
/// text, and compile time grows with the size.
pub const MAX_PATTERN_BYTES: usize = 128 * 1024;
/// Longest disclosed text that a pattern is matched against, in bytes; a longer one does not match.
/// Patterns are for names, numbers and dates; matching a portrait would take seconds.
pub const MAX_PATTERN_TEXT_BYTES: usize = 4096;
/// Length of an inline request behind `openid4vp://` in bytes. Proxies and wallets commonly refuse
/// URIs and headers beyond 16 KiB, and a QR code holds less than 3 KiB.
pub const MAX_QR_CODE_URL_BYTES: usize = 16 * 1024;
/// Length of a `wallet_nonce` in characters; a copy of it goes into the Request Object.
pub const MAX_WALLET_NONCE_CHARS: usize = 256;
/// Length of the protected header of an encrypted answer in characters. It holds a key, two nonces
/// and names: below 1 KiB in every known wallet.
pub const MAX_JWE_HEADER_CHARS: usize = 8192;
/// Longest initialisation vector of a JWE in bytes: a block of AES (RFC 7518 5.2.2.1).
pub const MAX_JWE_IV_BYTES: usize = 16;
/// Longest signature of a JWS in bytes: r‖s on P-521 (RFC 7518 3.4).
pub const MAX_JWS_SIGNATURE_BYTES: usize = 132;
/// How often random bytes are drawn for a private key. Random bytes are not a valid scalar once in
/// 2^32 draws, so a source that fails this often is broken.
pub const MAX_KEY_DRAWS: usize = 4;
/// Largest inflated status list: 2^25 credentials of a whole byte each.
pub const MAX_STATUS_LIST_BYTES: usize = 32 * 1024 * 1024;
/// Default age in days up to which a status list token without `exp` is accepted after its `iat`; a
/// trust entry can change it. Lists are renewed daily, and a list that is no longer renewed must
/// expire at some time.
pub const DEFAULT_STATUS_MAX_AGE_DAYS: u32 = 7;
/// CBOR items in the claims of an identifier list: 250,000 identifiers of revoked mdocs take two
/// each, and the rest is for the other claims. An item takes 40 bytes of memory while the list is
/// read.
pub const MAX_IDENTIFIER_LIST_ITEMS: usize = 2 * 250_000 + 64;
/// Length of the header of a status list token in characters; it is read before the signature is
/// checked. Ten certificates of the largest known size take 42 KiB.
pub const MAX_STATUS_HEADER_CHARS: usize = 64 * 1024;
/// Certificates in one x5chain. A document signer is directly below its root; ten is more than any
/// chain needs.
pub const MAX_CERTIFICATES: usize = 10;
/// Roots that a query names by their key identifiers. A Master List has hundreds, and a query that
/// names them all would be useless.
pub const MAX_AKI_VALUES: usize = 10;
/// Largest certificate. The largest of 520 in the ICAO Master List of July 2025 has 2.3 KiB.
pub const MAX_CERTIFICATE_BYTES: usize = 16 * 1024;
/// Signature checks for one path. An honest chain needs one or two, a root under key rollover a few
/// more.
pub const MAX_PATH_SIGNATURE_CHECKS: u32 = 16;
/// Presented certificates that are tried as issuers for one path. An honest chain has one or two.
/// Each further one costs a signature check with a root's key, and eight cost less than three times
/// as much as a good answer.
pub const MAX_PATH_ISSUERS: u32 = 8;
/// Longest validity of a document signer: 457 days (ISO/IEC 18013-5 Annex B.1.4).
pub const MAX_SIGNER_LIFETIME_MS: u64 = 457 * 24 * 60 * 60 * 1000;
/// Document signers in each of the two generations that a trust snapshot remembers. A country has
/// tens of them at a time.
pub const MAX_KNOWN_SIGNERS: usize = 256;
/// Largest certificate of a document signer that is remembered: real ones are below 2 KiB, and all
/// remembered ones take a few MiB at most.
pub const MAX_KNOWN_SIGNER_BYTES: usize = 8 * 1024;
/// Smallest RSA key, in bits: smaller ones can be factored.
pub const MIN_RSA_BITS: u32 = 2048;
/// Largest RSA key, in bits: verification with larger ones is too expensive.
pub const MAX_RSA_BITS: usize = 8192;
/// Extensions of one certificate, one CRL or one entry of a CRL. Each is compared with the others.
/// The ICAO Master List has at most ten.
pub const MAX_EXTENSIONS: usize = 32;
/// URIs in the issuing distribution point of one CRL; each is compared with those of a certificate.
/// Real ones have one or two.
pub const MAX_CRL_SCOPE_URIS: usize = 32;
/// DER elements in one certificate, including those in its extensions, where a name takes two
/// bytes. The ICAO Master List has at most 163.
pub const MAX_CERTIFICATE_ELEMENTS: usize = 1024;
/// Largest distinguished name, as received and after folding case and compatibility forms. The ICAO
/// Master List has at most 297 bytes.
pub const MAX_NAME_BYTES: usize = 1024;
/// Characters of a contact in a registration certificate, which a page shows in full.
pub const MAX_CONTACT_CHARS: usize = 512;
/// Certificates in one Master List or VICAL. The ICAO Master List has 520.
pub const MAX_LISTED_CERTIFICATES: usize = 8192;
/// Providers in one trusted list. There are 27 member states; public bodies may be many.
pub const MAX_LIST_PROVIDERS: usize = 2000;
/// Services of one provider in a trusted list. Real ones have two.
pub const MAX_LIST_SERVICES: usize = 20;
/// Largest sequence number of a trusted list: every JSON reader represents numbers up to here
/// exactly.
pub const MAX_LIST_SEQUENCE: u64 = (1 << 53) - 1;
/// How far in the future the date of a trusted list may be.
pub const LIST_CLOCK_SKEW_MS: u64 = 5 * 60 * 1000;
/// Longest time between a trusted list and the next one: six months (ETSI TS 119 602 annexes D to
/// H) and some days, because months differ.
pub const MAX_LIST_PERIOD_MS: u64 = 190 * 24 * 60 * 60 * 1000;
/// Signers of one list that a list of lists names. Real ones have up to six.
pub const MAX_NAMED_LIST_SIGNERS: usize = 32;
/// Bytes of the URL of a list that a list of lists names. Real ones have about 60.
pub const MAX_NAMED_LIST_URL_BYTES: usize = 1024;
/// Signers of one Master List; each is checked over the whole list. Real ones have one.
pub const MAX_LIST_SIGNERS: usize = 4;
/// Certificates of one Master List in addition to those of its signers. Real ones have two.
pub const MAX_LIST_SIGNER_CERTIFICATES: usize = 32;
/// Length of a namespace or a document type in characters. Real ones are below 40.
pub const MAX_MDOC_NAME_CHARS: usize = 255;
/// Shortest `random` of an item of an mdoc in bytes (ISO/IEC 18013-5 9.1.2.5).
pub const MIN_MDOC_RANDOM_BYTES: usize = 16;
/// Length of a claim name in characters. Real ones are below 40.
pub const MAX_CLAIM_NAME_CHARS: usize = 255;
/// Claims that are compared within a same-subject group; each is normalised once per answer.
pub const MAX_SUBJECT_CLAIM_PATHS: usize = 10;
/// Credential sets of a request: ten credentials need no more.
pub const MAX_CREDENTIAL_SETS: usize = 10;
/// Options of one credential set; each is compared with the received credentials.
pub const MAX_SET_OPTIONS: usize = 10;
/// Transaction data of a request; each is hashed once per presentation. More would be too many to
/// approve at a time.
pub const MAX_TRANSACTION_DATA: usize = 10;
/// Same-subject groups of a request: more than ten credentials can usefully form.
pub const MAX_GROUPS: usize = 50;
/// Fewest characters of a webhook's signing secret.
pub const MIN_WEBHOOK_SECRET_CHARS: usize = 16;
/// Digits of the longest accepted timestamp of a webhook; more than any clock shows.
pub const MAX_WEBHOOK_TIMESTAMP_DIGITS: usize = 16;

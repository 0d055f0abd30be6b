// idgate: the verifier side of OpenID4VP for SD-JWT VC and ISO/IEC 18013-5 mdoc.
//
// cbindgen makes this file from idgate-ffi; `cargo test -p idgate-ffi` says when it is out of date.
//
// Results. Most functions return an idgate_status. Outputs come last and are written only with IDGATE_OK. `err_out`
// may be NULL; it is written only with another status: free the error with idgate_error_free. Functions that
// read one fact return it, and return nothing (0, or an idgate_str without bytes) for a wrong handle.
//
// Handles (idgate_trust *, ...) are names, not addresses: never follow them. A handle that was freed, was never
// made or is of another kind is IDGATE_MISUSE. You may free NULL.
//
// Inputs are copied. The library keeps no pointer of yours after a call, except the `userdata` of a signer. Text and
// bytes go in as idgate_str, by value, of at most 64 MiB. Bytes that come out as idgate_bytes are yours: free them
// with idgate_bytes_free, which wipes them.
//
// Structs that begin with `size` may get more fields in later versions. Set all of a struct to zero, then `size` to its
// sizeof: a field that your program does not know is then zero, which is its default. A newer library takes the
// struct of an older program. An older library takes the struct of a newer program if the fields that it does not
// know are zero, and says IDGATE_MISUSE if not.
//
// Pointers that you give are NULL where that is allowed, or point to a value of their type that no other thread changes
// during the call.
//
// Times are milliseconds since 1970-01-01 UTC.
//
// Threads. You may call everything from any thread. Calls on one verification, and changes of one trust, wait for one
// another; everything else runs in parallel. Fork only while no other thread is within a call: a lock that such a
// thread holds stays held in the child for ever.

#ifndef IDGATE_H
#define IDGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this ABI. It goes up when something that existed changes or goes.
#define IDGATE_ABI_VERSION 1

// The material serves test-mode sessions only.
#define IDGATE_TEST_ONLY 1

// Take a VICAL or a trusted list although a newer one is due.
#define IDGATE_ALLOW_STALE 2

// The usual tolerance for timestamps: 5 minutes.
#define IDGATE_WEBHOOK_TOLERANCE_MS 300000

// The result of a call. The numbers never change.
enum idgate_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The call did what you asked for.
  IDGATE_OK = 0,
  // The presentation or the notification was evaluated and refused; the error's code is the reason.
  IDGATE_REFUSED = 1,
  // The tenant's request breaks a rule; the error's path names the field.
  IDGATE_BAD_REQUEST = 2,
  // The wallet's answer, or its fetch of a request, changes nothing. Store nothing, and send the error's
  // reply.
  IDGATE_BAD_RESPONSE = 3,
  // Trust material, keys, choices or a snapshot cannot be used.
  IDGATE_CONFIG = 4,
  // The caller broke a rule of this interface.
  IDGATE_MISUSE = 5,
  // The random source or the signer did not answer, or a status source could not be fetched. Try again.
  IDGATE_UNAVAILABLE = 6,
  // There is nothing to return.
  IDGATE_NOTHING = 7,
  // The library has a fault. Only the error was written.
  IDGATE_INTERNAL = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_status idgate_status;
#else
typedef int32_t idgate_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The status of a session.
enum idgate_session_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The handle is not a session.
  IDGATE_SESSION_NONE = 0,
  // CREATED: no wallet has fetched the request yet.
  IDGATE_SESSION_CREATED = 1,
  // PENDING: a wallet may answer.
  IDGATE_SESSION_PENDING = 2,
  // VERIFYING: an answer is being verified.
  IDGATE_SESSION_VERIFYING = 3,
  // VERIFIED: every check passed.
  IDGATE_SESSION_VERIFIED = 4,
  // FAILED: the answer was refused, or the wallet reported an error.
  IDGATE_SESSION_FAILED = 5,
  // EXPIRED: no answer came in time.
  IDGATE_SESSION_EXPIRED = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_session_state idgate_session_state;
#else
typedef int32_t idgate_session_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The kind of a step.
enum idgate_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The handle is not a step.
  IDGATE_STEP_NONE = 0,
  // Everything but the status is good. Commit the transition, fetch all needs at the same time, give each to
  // idgate_verification_supply, then step again. Or let an idgate_fetcher do it: call
  // idgate_verification_recall; if it has nothing, commit, then call idgate_verification_fetch,
  // idgate_verification_wait and idgate_verification_settle. Then step again.
  IDGATE_STEP_NEED = 1,
  // The verification is decided. Commit the transition, then send the reply to the wallet.
  IDGATE_STEP_DONE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_kind idgate_kind;
#else
typedef int32_t idgate_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The client identifier of signed requests of `1.0` (OpenID4VP 5.9.3).
enum idgate_client_id
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The `did:web` of the base URL: serve idgate_did_document.
  IDGATE_CLIENT_ID_DID = 1,
  // A dNSName of the certificate.
  IDGATE_CLIENT_ID_X509_SAN_DNS = 2,
  // The hash of the certificate.
  IDGATE_CLIENT_ID_X509_HASH = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_client_id idgate_client_id;
#else
typedef int32_t idgate_client_id;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The requests that pages may pass to their browser (OpenID4VP A.3). Each choice includes the simpler ones.
enum idgate_dc_api
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // `openid4vp-v1-unsigned`
  IDGATE_DC_API_UNSIGNED = 1,
  // `openid4vp-v1-signed`
  IDGATE_DC_API_SIGNED = 2,
  // `openid4vp-v1-multisigned`
  IDGATE_DC_API_MULTISIGNED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_dc_api idgate_dc_api;
#else
typedef int32_t idgate_dc_api;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The format of a credential.
enum idgate_format
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // SD-JWT VC.
  IDGATE_FORMAT_SD_JWT_VC = 1,
  // mdoc (ISO/IEC 18013-5).
  IDGATE_FORMAT_MDOC = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_format idgate_format;
#else
typedef int32_t idgate_format;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A kind of trust material.
enum idgate_material
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The public key of an SD-JWT VC issuer: a JWK or a JWK Set.
  IDGATE_JWK = 1,
  // The public key of an SD-JWT VC issuer: PEM.
  IDGATE_PUBLIC_KEY_PEM = 2,
  // X.509 roots of mdoc document signers: PEM or DER, one or many.
  IDGATE_IACA_ROOTS = 3,
  // Certificates of mdoc document signers that are trusted without a root: PEM or DER.
  IDGATE_MDOC_SIGNERS = 4,
  // An ICAO Master List.
  IDGATE_MASTER_LIST = 5,
  // A VICAL (ISO/IEC 18013-5 annex C).
  IDGATE_VICAL = 6,
  // CRLs of roots that you added before: PEM or DER. They replace the fetch.
  IDGATE_CRLS = 7,
  // X.509 roots below which status lists may be signed, in addition to the root of the credential: PEM or
  // DER, one or many.
  IDGATE_STATUS_ROOTS = 8,
  // X.509 roots of SD-JWT VC issuers that sign with the certificates in `x5c`: PEM or DER, one or many. They
  // serve no mdoc, and IDGATE_IACA_ROOTS serve no SD-JWT VC.
  IDGATE_X5C_ROOTS = 9,
  // Certificates of SD-JWT VC issuers that are trusted without a root: PEM or DER.
  IDGATE_X5C_SIGNERS = 10,
  // A European trusted list (ETSI TS 119 602, JSON). It replaces the one before of this issuer, and must not
  // be older than a list that this collection took for it.
  IDGATE_TRUSTED_LIST = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_material idgate_material;
#else
typedef int32_t idgate_material;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The mode: live or test.
enum idgate_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Live. Trust material for tests is not used.
  IDGATE_MODE_LIVE = 1,
  // Test.
  IDGATE_MODE_TEST = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_mode idgate_mode;
#else
typedef int32_t idgate_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The profile of a request.
enum idgate_profile
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // `draft`: the drafts 18 to 24 of OpenID4VP, with `presentation_definition`.
  IDGATE_PROFILE_DRAFT = 1,
  // `1.0`: OpenID4VP 1.0, with `dcql_query`.
  IDGATE_PROFILE_1_0 = 2,
  // `haip`: OpenID4VP 1.0 within the High Assurance Interoperability Profile 1.0.
  IDGATE_PROFILE_HAIP = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_profile idgate_profile;
#else
typedef int32_t idgate_profile;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A reader of a result.
enum idgate_reader
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // A person's browser. Its user may be a stranger.
  IDGATE_READER_BROWSER = 1,
  // Your own backend.
  IDGATE_READER_BACKEND = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_reader idgate_reader;
#else
typedef int32_t idgate_reader;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How requests of `draft` and `1.0` reach wallets. Requests of `haip` are always IDGATE_REQUEST_JAR.
enum idgate_request_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Unsigned, inside the link.
  IDGATE_REQUEST_INLINE = 1,
  // Signed, fetched by the wallet; the answer is encrypted (RFC 9101).
  IDGATE_REQUEST_JAR = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_request_mode idgate_request_mode;
#else
typedef int32_t idgate_request_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How answers to requests of `1.0` come back (OpenID4VP 8.2, 8.3.1).
enum idgate_response_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // `direct_post`: plain.
  IDGATE_RESPONSE_DIRECT_POST = 1,
  // `direct_post.jwt`: encrypted.
  IDGATE_RESPONSE_DIRECT_POST_JWT = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_response_mode idgate_response_mode;
#else
typedef int32_t idgate_response_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A scheme of webhook signatures. Each notification carries both.
enum idgate_webhook_scheme
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The gateway's own: `X-Timestamp` and `X-Signature`.
  IDGATE_WEBHOOK_GATEWAY = 1,
  // Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`.
  IDGATE_WEBHOOK_STANDARD = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_webhook_scheme idgate_webhook_scheme;
#else
typedef int32_t idgate_webhook_scheme;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An error: free it with idgate_error_free.
typedef struct idgate_error idgate_error;

// Fetches status lists and CRLs, and caches them.
typedef struct idgate_fetcher idgate_fetcher;

// A session at one revision; it never changes.
typedef struct idgate_session idgate_session;

// Signs Request Objects.
typedef struct idgate_signer idgate_signer;

// A step: what to commit, and what to fetch or to answer.
typedef struct idgate_step idgate_step;

// The issuers that you trust, and their material.
typedef struct idgate_trust idgate_trust;

// A verification in progress: of a wallet's answer, or of one presentation.
typedef struct idgate_verification idgate_verification;

// A verifier. Make a new one to change trust.
typedef struct idgate_verifier idgate_verifier;

// Choices for a verifier. Each idgate_verifier_options function takes one choice; idgate_verifier_new checks
// that they fit together. You may make several verifiers of the same choices.
typedef struct idgate_verifier_options idgate_verifier_options;

// Bytes that the caller owns: free them with idgate_bytes_free. `ptr` is NULL when `len` is 0.
typedef struct idgate_bytes {
  // The first byte.
  uint8_t *ptr;
  // How many there are.
  size_t len;
} idgate_bytes;

// Text or bytes: where they begin and how many there are. Text is UTF-8 without a terminating NUL. A `ptr`
// of NULL means that nothing is given; an empty text has another `ptr` and a `len` of 0. A literal is
// IDGATE_STR("text").
//
// An idgate_str that a function returns belongs to the object that the function was called with, and is
// valid until you free that object.
typedef struct idgate_str {
  // The first byte.
  const void *ptr;
  // How many bytes there are.
  size_t len;
} idgate_str;

// An idgate_str of a literal.
#ifdef __cplusplus
#define IDGATE_STR(literal) (idgate_str{"" literal, sizeof(literal) - 1})
#else
#define IDGATE_STR(literal) ((idgate_str){"" literal, sizeof(literal) - 1})
#endif

// An HTTP reply to a wallet. Set `size` before you ask for one. The texts belong to the step or the
// error that the reply is from. Send `Cache-Control: no-store` with each reply.
typedef struct idgate_reply {
  // `sizeof(idgate_reply)`
  size_t size;
  // The status code, for example 200 or 409.
  uint32_t status;
  // The `Retry-After` header in seconds; 0: send none.
  uint32_t retry_after_s;
  // The `Content-Type` header.
  struct idgate_str content_type;
  // The body. It may have a response code or a nonce: keep it out of logs.
  struct idgate_str body;
} idgate_reply;

// Choices for a fetcher.
typedef struct idgate_fetch_options {
  // `sizeof(idgate_fetch_options)`
  size_t size;
  // Address ranges that the fetcher may reach in addition to public addresses, for example "10.0.0.0/8".
  const struct idgate_str *allow;
  // How many ranges there are.
  size_t allow_len;
  // Certificates in PEM that https servers may be signed below, in addition to those of the operating system.
  struct idgate_str roots;
} idgate_fetch_options;

// The credential that a presentation must have, and the request that it answers.
typedef struct idgate_expected {
  // `sizeof(idgate_expected)`
  size_t size;
  // An idgate_format.
  int32_t format;
  // An idgate_profile: that of the request, which an mdoc depends on. 0: IDGATE_PROFILE_1_0.
  int32_t profile;
  // The issuer, by its name in the trust.
  struct idgate_str issuer_id;
  // The `client_id` exactly as you sent it.
  struct idgate_str client_id;
  // The nonce exactly as you sent it. You have to check that it was not used before.
  struct idgate_str nonce;
  // When you sent the request. The proof of an SD-JWT VC from before that time is stale. 0: `now_ms`.
  uint64_t sent_at_ms;
  // The claims that must be there. The result has only these.
  const struct idgate_str *claims;
  // How many claims there are.
  size_t claims_len;
  // Where claims of an SD-JWT VC are that are not members of the payload by their name: a JSON object, for example
  // {"city":["address","locality"]}.
  struct idgate_str claim_paths;
  // An idgate_mode. 0: IDGATE_MODE_LIVE.
  int32_t mode;
  // 1: the result lists every check that was made, with its clause.
  uint32_t checks;
  // The issuer's algorithm, for example ES256, if it must be that one.
  struct idgate_str alg;
  // For an mdoc: the document type.
  struct idgate_str doc_type;
  // For an mdoc: the namespace of the claims.
  struct idgate_str name_space;
  // For an mdoc that a wallet posted: the `response_uri`.
  struct idgate_str response_uri;
  // For an mdoc that a page got from its browser: the origin of the page.
  struct idgate_str origin;
  // For an mdoc in an encrypted answer: the JWK that the answer was encrypted to, with `d` if a device MAC is to
  // be accepted. A device MAC is accepted only in `draft`.
  struct idgate_str enc_key;
  // For an mdoc in an encrypted answer of `draft`: the `apu` of the header.
  struct idgate_str apu;
} idgate_expected;

// A session to create.
typedef struct idgate_new_session {
  // `sizeof(idgate_new_session)`
  size_t size;
  // An idgate_mode.
  int32_t mode;
  // 1: a request that asks for more than is registered, or whose certificate has expired, is
  // IDGATE_BAD_REQUEST. 0: wallets warn the person, or refuse.
  uint32_t strict;
  // Your name for the owner. A program with one tenant needs none.
  struct idgate_str tenant;
  // A registration certificate (a JWT, `rc-wrp+jwt`), if the tenant has one. It goes to wallets as
  // `verifier_info` where idgate_registration_compare says `sent`.
  struct idgate_str registration;
} idgate_new_session;

// A wallet's fetch of a request: GET or POST `{base_url}/v1/oid4vp/request/{handle}`.
typedef struct idgate_asked {
  // `sizeof(idgate_asked)`
  size_t size;
  // The path that the wallet asked for, or its last segment.
  struct idgate_str to;
  // For a POST: the `Content-Type` header.
  struct idgate_str content_type;
  // For a POST: the body, a form. A GET has neither `content_type` nor `body`.
  struct idgate_str body;
  // Instead of the two: the form's `wallet_nonce`, if you read the form yourself.
  struct idgate_str wallet_nonce;
} idgate_asked;

// A change to commit: store the snapshot of `session` if the stored revision is still `from`. If another revision is
// stored, another request was faster: discard the transition. Free `session` and `effects`.
typedef struct idgate_transition {
  // The revision that must be stored; 0: insert.
  uint64_t from;
  // The session afterwards.
  struct idgate_session *session;
  // The effects to carry out after the commit: a JSON array of objects with `type`: "publish_status" with
  // `status`, `reason`, `wallet_error` and `occurred_at_ms`, "expire_at" or "redact_claims_at" with `at_ms`.
  struct idgate_bytes effects;
} idgate_transition;

// A function of yours that signs `input` with ES256, writes the raw signature r‖s, which has 64 bytes, and
// returns 0. Another number means that the key cannot be used now. It may be called from any thread, and from
// several at the same time. Nothing may unwind or jump out of it.
typedef int32_t (*idgate_sign)(void *userdata, const uint8_t *input, size_t input_len, uint8_t *signature);

// Choices for trust material.
typedef struct idgate_material_options {
  // `sizeof(idgate_material_options)`
  size_t size;
  // A sum of IDGATE_TEST_ONLY and IDGATE_ALLOW_STALE.
  uint64_t flags;
  // The current time. Lists need it.
  uint64_t now_ms;
  // The CA below which the signer of a list must be, in PEM or DER; for a trusted list also the signer itself.
  // A list without it is accepted only with IDGATE_TEST_ONLY.
  struct idgate_str signer_ca;
  // NULL, or where to write the report on a list, as JSON. For a Master List or a VICAL it is an array with
  // each certificate. For a trusted list it is an object with `list_type`, `sequence`, `issued_at_ms`,
  // `next_update_ms` (the list no longer counts from then on), `organization`, `providers` and `certificates`.
  // Keep `list_type`, `organization` and `sequence`, and compare them with the next list after a restart:
  // within one collection the library does so itself.
  struct idgate_bytes *report_out;
} idgate_material_options;

// A wallet's answer: a POST to `{base_url}/v1/oid4vp/response/{handle}`, or a credential that a page of yours got from
// its browser.
typedef struct idgate_answer {
  // `sizeof(idgate_answer)`
  size_t size;
  // The path that the wallet posted to, or its last segment: the handle of an offer, see idgate_session_info.
  struct idgate_str to;
  // The `Content-Type` header, if there was one.
  struct idgate_str content_type;
  // The body.
  struct idgate_str body;
  // 1: a page of yours brings what its browser gave it (Digital Credentials API). `body` is then the JSON text of
  // the credential, an object with `protocol` and `data`; leave `to` and `content_type` out. An answer counts for
  // a page from one of the origins that the request named, and `verification_details` say which. 0: a wallet
  // posted it.
  uint64_t from_page;
} idgate_answer;

// One attempt to deliver a notification.
typedef struct idgate_webhook_attempt {
  // `sizeof(idgate_webhook_attempt)`
  size_t size;
  // The id of the notification: the same for every attempt.
  struct idgate_str id;
  // The number of the attempt, from 1.
  uint64_t number;
  // The body that you send.
  struct idgate_str body;
  // A secret that you replaced a short time ago, if there is one. It signs `webhook-signature` as well.
  struct idgate_str previous_secret;
} idgate_webhook_attempt;

// A notification as it arrived.
typedef struct idgate_webhook {
  // `sizeof(idgate_webhook)`
  size_t size;
  // An idgate_webhook_scheme.
  int64_t scheme;
  // The header `webhook-id`. Only IDGATE_WEBHOOK_STANDARD needs it.
  struct idgate_str id;
  // The header with the timestamp.
  struct idgate_str timestamp;
  // The header with the signature.
  struct idgate_str signature;
  // The body.
  struct idgate_str body;
  // How far the timestamp may be from the current time; 0: IDGATE_WEBHOOK_TOLERANCE_MS.
  uint64_t tolerance_ms;
} idgate_webhook;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Wipes and frees bytes. Bytes that were never given are IDGATE_MISUSE, and so are bytes that were
// freed already, until the same address is given again.
idgate_status idgate_bytes_free(struct idgate_bytes bytes);

// Makes a signer with the key of `signer` and a certificate for it. It signs the requests that name the verifier by
// certificate (`x509_san_dns`, `x509_hash` and all of `haip`), and no others. `chain`, in PEM or DER, is the
// certificate and then those that lead up from it; a root at the end is left out. The chain is checked for use at
// `now_ms`: the key, the dates, and that each certificate is signed by the next.
idgate_status idgate_signer_certified(const struct idgate_signer *signer,
                                      struct idgate_str chain,
                                      uint64_t now_ms,
                                      struct idgate_signer **out,
                                      struct idgate_error **err_out);

// Gives what a page passes to `navigator.credentials.get` as `digital`, as JSON:
// `{"requests":[{"protocol","data"}]}`. The request of the session must have had `dc_api`, for example
// `{"dc_api":{"origins":["https://shop.example"]}}`: name origins of your own, whose pages may ask. The JSON has the
// nonce: keep it out of logs. Give what the page gets to idgate_verification_begin as an answer with `from_page`.
// One answer settles the session, through a browser or by a link. IDGATE_BAD_RESPONSE: there is nothing to pass on,
// or the session no longer accepts an answer.
idgate_status idgate_dc_api_requests(const struct idgate_verifier *verifier,
                                     const struct idgate_session *session,
                                     uint64_t now_ms,
                                     struct idgate_bytes *out,
                                     struct idgate_error **err_out);

// The status that the error came with. IDGATE_MISUSE for a handle that is not an error.
idgate_status idgate_error_kind(const struct idgate_error *error);

// The stable code, for example `nonce_mismatch`. The gateway uses the same codes.
struct idgate_str idgate_error_code(const struct idgate_error *error);

// The message for people: the fault, its place, and the remedy. It never has claims, tokens, keys or nonces.
struct idgate_str idgate_error_message(const struct idgate_error *error);

// The field that breaks a rule: of a request, for example `credentials[0].claims[2]`, or of an issuer, for
// example `iaca_roots[1]`. Empty for other errors.
struct idgate_str idgate_error_path(const struct idgate_error *error);

// The issuer whose field or material cannot be used, by its `issuer_id`. Empty for other errors.
struct idgate_str idgate_error_issuer(const struct idgate_error *error);

// The field of that issuer without an index, for example `iaca_roots`: the name of a material in lower case, or
// a member of idgate_trust_add_issuer. Empty for other errors.
struct idgate_str idgate_error_field(const struct idgate_error *error);

// The check that a presentation failed, in a few words. Empty for other errors.
struct idgate_str idgate_error_check(const struct idgate_error *error);

// The clause of the standard behind that check, for example `RFC 9901 7.3`. Empty for other errors.
struct idgate_str idgate_error_clause(const struct idgate_error *error);

// What you can do about it, in a sentence. Empty if that is not known.
struct idgate_str idgate_error_hint(const struct idgate_error *error);

// The stable name of that hint. For a request: `add_vct`, `add_doc_type`, `update_trusted_list`,
// `add_certificate`, `renew_certificate`, `add_signer`, `add_reader_certificate`, `choose_profile`,
// `enable_profile`, `enable_dc_api`. For a presentation: `add_issuer`, `supply_status`, `try_again`. Later versions
// may have more.
struct idgate_str idgate_error_remedy(const struct idgate_error *error);

// The reply to the wallet whose answer or fetch caused this error: 4xx with IDGATE_BAD_RESPONSE, 503 with
// IDGATE_UNAVAILABLE, 500 with others. It reveals nothing about your configuration.
idgate_status idgate_error_reply(const struct idgate_error *error, struct idgate_reply *out);

// Frees an error.
idgate_status idgate_error_free(struct idgate_error *error);

// Makes a fetcher. Make one and keep it: it serves any number of verifications and verifiers at the same time.
// `options` may be NULL.
//
// The fetcher resolves a name once and connects to an address that it checked: a public one, or one in a range
// that you allow. It follows at most three redirects, each checked in the same way. A body may have 10 MiB, and
// all fetches for one answer take 5 s together. It uses no proxy, whatever the environment says. Its thread
// starts with the first fetch and ends with the fetcher. A forked process has a fetcher of its own, with an
// empty cache.
//
// It caches up to 1,024 lists in 64 MiB. It asks a source again when the source says so (`ttl`, `exp`,
// nextUpdate), and after a day at the latest. While a source is down, its last good copy serves up to 24 hours
// longer, and never past its own end (`exp`, nextUpdate). A CRL therefore serves to its nextUpdate.
//
// IDGATE_CONFIG: a range or a root cannot be used, or there are no roots from you or the operating system.
idgate_status idgate_fetcher_new(const struct idgate_fetch_options *options,
                                 struct idgate_fetcher **out,
                                 struct idgate_error **err_out);

// Frees a fetcher. Fetches in progress continue.
idgate_status idgate_fetcher_free(struct idgate_fetcher *fetcher);

// Answers needs of the last step at `now_ms` from the cache of `fetcher`, if that is fresh. `out` says whether it
// answered any: then step again, without committing the transition of the step.
idgate_status idgate_verification_recall(const struct idgate_verification *verification,
                                         const struct idgate_fetcher *fetcher,
                                         uint64_t now_ms,
                                         bool *out,
                                         struct idgate_error **err_out);

// Starts to fetch all needs of the last step and does not wait. Commit the transition of the step before.
// IDGATE_UNAVAILABLE: it could not start. Commit what idgate_session_released gives, and send the error's reply.
idgate_status idgate_verification_fetch(const struct idgate_verification *verification,
                                        const struct idgate_fetcher *fetcher,
                                        struct idgate_error **err_out);

// Waits up to `wait_ms` for the fetches of idgate_verification_fetch; with 0 it does not wait. `out` says whether
// all of them ended: then call idgate_verification_settle. They take 9 seconds at most.
idgate_status idgate_verification_wait(const struct idgate_verification *verification,
                                       uint32_t wait_ms,
                                       bool *out,
                                       struct idgate_error **err_out);

// Answers the needs of the last step with the results, at `now_ms`; then step again. A source that failed counts as
// unavailable, and the verification is decided on that. IDGATE_UNAVAILABLE: this machine could not ask a source (no
// file descriptor, no route), or a fetch has not ended yet. Commit what idgate_session_released gives, and send the
// error's reply.
idgate_status idgate_verification_settle(const struct idgate_verification *verification,
                                         uint64_t now_ms,
                                         struct idgate_error **err_out);

// Gives the number of handles and bytes of this process that you have not freed yet. It is 0 at the end of a
// program that leaks nothing. Leak checkers do not see them, because the library keeps a reference to each.
size_t idgate_in_use(void);

// Verifies one presentation as a wallet puts it into vp_token, without a session. Nothing is fetched: a credential
// whose status is published is `revocation_unknown`, unless its issuer's `revocation` is "off" or its CRL was added;
// idgate_presentation_begin is for these. `out` gets JSON: `claims`, and the facts about the credential, with the
// `provider` that a trusted list names for the issuer. IDGATE_REFUSED: the error's code is the reason, and
// idgate_error_clause names the rule.
idgate_status idgate_presentation_verify(const struct idgate_trust *trust,
                                         struct idgate_str presentation,
                                         const struct idgate_expected *expected,
                                         uint64_t now_ms,
                                         struct idgate_bytes *out,
                                         struct idgate_error **err_out);

// Starts to verify one presentation in steps, so that its status can be fetched. Step it like the verification of an
// answer; there is nothing to commit and no reply to send. idgate_step_json has the result.
idgate_status idgate_presentation_begin(const struct idgate_trust *trust,
                                        struct idgate_str presentation,
                                        const struct idgate_expected *expected,
                                        uint64_t now_ms,
                                        struct idgate_verification **out,
                                        struct idgate_error **err_out);

// Checks a registration certificate (a JWT, `rc-wrp+jwt`) for use at `now_ms` together with the certificate of
// `signer`, one of idgate_signer_certified: the dates, that its `sub` is the organizationIdentifier of the
// certificate, if that has one, and that its `srv_id` is one of the organizational units, if both are there. Wallets
// verify its signature. `out` gets JSON: `subject`, `issued_at_ms`, `expires_at_ms` (null: it has no end), and
// `compared`, whether there was an organizationIdentifier.
idgate_status idgate_registration_check(const struct idgate_signer *signer,
                                        struct idgate_str registration,
                                        uint64_t now_ms,
                                        struct idgate_bytes *out,
                                        struct idgate_error **err_out);

// Compares the registration certificate of `new_session` with a request, the same that idgate_session_create takes.
// `out` gets JSON: `sent`, whether it goes to wallets, which it does where a request of the session is signed under
// `x509_hash`, or for browsers as `org-iso-mdoc`; `expired`, whether it would go if it had not expired; `beyond`, an
// array of texts that name what the request asks for and the certificate does not register. Wallets warn the person of
// that, or refuse.
idgate_status idgate_registration_compare(const struct idgate_verifier *verifier,
                                          struct idgate_str request,
                                          const struct idgate_new_session *new_session,
                                          uint64_t now_ms,
                                          struct idgate_bytes *out,
                                          struct idgate_error **err_out);

// Gives the Request Object of a session whose request goes by reference: a step of the kind IDGATE_STEP_DONE, whose
// reply has it as body. A wallet may fetch it again while the session is CREATED or PENDING. The first fetch makes
// the session PENDING: commit the transition before you reply. IDGATE_BAD_RESPONSE: send the error's reply.
idgate_status idgate_request_object(const struct idgate_verifier *verifier,
                                    const struct idgate_session *session,
                                    const struct idgate_asked *asked,
                                    uint64_t now_ms,
                                    struct idgate_step **out,
                                    struct idgate_error **err_out);

// Creates a session from a request: a CreateSessionRequest in JSON, as the gateway takes it. Commit the
// transition, then show what idgate_session_info says. IDGATE_BAD_REQUEST: idgate_error_path names the field that
// breaks a rule.
idgate_status idgate_session_create(const struct idgate_verifier *verifier,
                                    struct idgate_str request,
                                    const struct idgate_new_session *new_session,
                                    uint64_t now_ms,
                                    struct idgate_transition *out,
                                    struct idgate_error **err_out);

// Gives the session as bytes for your database, without its result. They contain nonce, state and keys: seal them.
idgate_status idgate_session_snapshot(const struct idgate_session *session,
                                      struct idgate_bytes *out,
                                      struct idgate_error **err_out);

// Restores a session from a snapshot that this version or an earlier one made.
idgate_status idgate_session_restore(struct idgate_str snapshot,
                                     struct idgate_session **out,
                                     struct idgate_error **err_out);

// Gives the result as bytes, for a program that keeps it over a restart. They contain claims: seal them, and erase
// them 30 seconds after verification. IDGATE_NOTHING: there is no result.
idgate_status idgate_session_result_snapshot(const struct idgate_session *session,
                                             uint64_t now_ms,
                                             struct idgate_bytes *out,
                                             struct idgate_error **err_out);

// Gives the session with the result of idgate_session_result_snapshot put back. Only a VERIFIED session takes it.
idgate_status idgate_session_restore_result(const struct idgate_session *session,
                                            struct idgate_str snapshot,
                                            struct idgate_session **out,
                                            struct idgate_error **err_out);

// Gives the status of a session at `now_ms`.
idgate_session_state idgate_session_status(const struct idgate_session *session, uint64_t now_ms);

// Gives the facts of a session at `now_ms`, as JSON:
//
// - `session_id`, `tenant`, `mode` ("live", "test"), `status`, `revision`, `trust_version`.
// - `reason`, and with the reason "wallet_error" `wallet_error`, a name of OpenID4VP 8.5 or "other".
// - `created_at_ms`, `expires_at_ms`, `settled_at_ms`.
// - `qr_code_url` and `deep_links`, while a wallet can answer.
// - `offers`: the requests behind links, one for each profile, each with `handle` (the last segment of its paths),
//   `profile`, `client_id`, `response_uri`, `request_uri` (null: the request is inside the link) and, while a wallet
//   can answer, `deep_links`.
// - `dc_api`: null, or `profile`, `origins` and `protocols` of the request that pages pass to their browser.
idgate_status idgate_session_info(const struct idgate_session *session,
                                  uint64_t now_ms,
                                  struct idgate_bytes *out,
                                  struct idgate_error **err_out);

// Gives `claims` and `verification_details` of a VERIFIED session as JSON, until 30 seconds after verification.
// `reader` is an idgate_reader. IDGATE_READER_BROWSER is for a person's browser: `response_code` is what it had in
// the query of your `redirect_uri`, and NULL if it had none. Sessions that have to end in the browser that began
// them give their result only for the right code: all that offer `haip`, unless the request has `same_device` false, and
// those whose request has `same_device` true. IDGATE_READER_BACKEND reads without a code: never pass its result to a
// browser that you do not know. IDGATE_NOTHING: the error's code is `not_verified`, `response_code_missing`,
// `response_code_wrong` or `redacted`.
idgate_status idgate_session_result(const struct idgate_session *session,
                                    int32_t reader,
                                    struct idgate_str response_code,
                                    uint64_t now_ms,
                                    struct idgate_bytes *out,
                                    struct idgate_error **err_out);

// Records that the person followed the link: CREATED becomes PENDING. IDGATE_NOTHING: nothing changes.
idgate_status idgate_session_followed(const struct idgate_session *session,
                                      uint64_t now_ms,
                                      struct idgate_transition *out,
                                      struct idgate_error **err_out);

// Gives the change that is due at `now_ms`: to EXPIRED, or to PENDING after a verification that was given up.
// IDGATE_NOTHING: nothing is due.
idgate_status idgate_session_due(const struct idgate_session *session,
                                 uint64_t now_ms,
                                 struct idgate_transition *out,
                                 struct idgate_error **err_out);

// Gives up a verification because of a fault on your side: the session is PENDING again, or EXPIRED, so that the same
// answer can be accepted later. `session` is the one of the IDGATE_STEP_NEED that you committed. IDGATE_NOTHING: no
// verification is in progress.
idgate_status idgate_session_released(const struct idgate_session *session,
                                      uint64_t now_ms,
                                      struct idgate_transition *out,
                                      struct idgate_error **err_out);

// Frees a session. Verifications that began with it continue.
idgate_status idgate_session_free(struct idgate_session *session);

// Makes a fresh P-256 signing key of 32 bytes for idgate_signer_new. Keep it sealed.
idgate_status idgate_signing_key_generate(struct idgate_bytes *out, struct idgate_error **err_out);

// Makes a signer with a key in memory: the 32 bytes of idgate_signing_key_generate. `base_url` is the
// verifier's.
idgate_status idgate_signer_new(struct idgate_str base_url,
                                struct idgate_str key,
                                struct idgate_signer **out,
                                struct idgate_error **err_out);

// Makes a signer that calls a function of yours, for example for a key in an HSM. `public_key` is its public JWK.
// The function gets `userdata` unchanged: it must live as long as verifiers use the signer, and serve any
// thread.
idgate_status idgate_signer_new_external(struct idgate_str base_url,
                                         struct idgate_str public_key,
                                         idgate_sign sign,
                                         void *userdata,
                                         struct idgate_signer **out,
                                         struct idgate_error **err_out);

// Gives the signer's public key as a JWK, for publication.
idgate_status idgate_signer_public_key(const struct idgate_signer *signer,
                                       struct idgate_bytes *out,
                                       struct idgate_error **err_out);

// Frees a signer. Verifiers that were made with it keep working.
idgate_status idgate_signer_free(struct idgate_signer *signer);

// Gives the DID document of `base_url`, to be served at `/.well-known/did.json`. `keys` is a JSON array of
// public JWKs: the key in use, and those that sessions were made with.
idgate_status idgate_did_document(struct idgate_str base_url,
                                  struct idgate_str keys,
                                  struct idgate_bytes *out,
                                  struct idgate_error **err_out);

// Gives the JWK Set of the same keys, to be served at `/.well-known/jwks.json`.
idgate_status idgate_jwks(struct idgate_str base_url,
                          struct idgate_str keys,
                          struct idgate_bytes *out,
                          struct idgate_error **err_out);

// Gives the version of the ABI of the library that is linked. Compare it with IDGATE_ABI_VERSION.
uint32_t idgate_abi_version(void);

// Gives the version of the library: a text that ends with NUL and is never freed.
const char *idgate_version(void);

// Gives the kind of a step.
idgate_kind idgate_step_kind(const struct idgate_step *step);

// Gives the transition to commit. `session` in it is NULL if there is nothing to commit. Each call gives a
// handle of the session and bytes of their own: free them.
idgate_status idgate_step_transition(const struct idgate_step *step,
                                     struct idgate_transition *out,
                                     struct idgate_error **err_out);

// Gives the reply to the wallet, once the transition is committed. IDGATE_NOTHING: the step is an
// IDGATE_STEP_NEED, or of a presentation outside a session.
idgate_status idgate_step_reply(const struct idgate_step *step,
                                struct idgate_reply *out,
                                struct idgate_error **err_out);

// Gives the details of a step as JSON.
//
// - IDGATE_STEP_NEED: `{"needs":[{"kind","uri","accept","accept_otherwise"}]}`. `kind` is "status_list", "crl" or
//   "identifier_list". `accept` is the media type to ask for, `accept_otherwise` the one to ask for after 404, 406
//   or 415, or null.
// - IDGATE_STEP_DONE of an answer: `reply` ("accepted", "error_noted", "refused"), `redirect_uri`, `status`, `reason`,
//   `wallet_error`, and `report` with every check that was made.
// - IDGATE_STEP_DONE of a presentation: the same as idgate_presentation_verify gives.
// - Step of idgate_request_object: empty.
struct idgate_str idgate_step_json(const struct idgate_step *step);

// Frees a step.
idgate_status idgate_step_free(struct idgate_step *step);

// Makes a collection without issuers.
idgate_status idgate_trust_new(struct idgate_trust **out, struct idgate_error **err_out);

// Adds an issuer, or replaces the one of that name together with its material. `json` is an object with
// `issuer_id`, the name that requests use. The other members may be left out:
//
// - `iss` (text): the value that `iss` must have where a credential has one; without it, `issuer_id` if that is a
//   URL or a DID. `any_iss` (true): `iss` is not compared.
// - `vct` (array): types of SD-JWT VC that are accepted; without it, any.
// - `doc_types`, `namespaces` (arrays): types of mdoc that are accepted, and namespaces that requests may leave
//   unnamed.
// - `claim_paths` (object): the paths of claims of SD-JWT VCs that are not members of the payload by their name,
//   for example {"city":["address","locality"]}. Not for the profile `draft`.
// - `default_claims` (array): the claims of a request that names only this issuer.
// - `countries` (array): countries whose roots serve; without it, any.
// - `mdoc_ekus` (array): extended key usages of mdoc document signers; without it, that of the mDL. `x5c_ekus`
//   (array): extended key usages of which the certificate of an SD-JWT VC issuer must have one.
// - `revocation`: "if_published" (the default), "required" or "off".
// - `on_unknown_revocation`: "refuse" (the default), "accept" or "tenant": what to do with a credential whose status
//   list cannot be fetched. Not with "required". With "tenant" the session's request decides.
// - `status_max_age_days` (1 to 3650, default 7): how long a status list without `exp` counts.
// - `named_in_queries` (true): queries name the roots. `trusted_list_urls` (array): queries name these lists. Wallets
//   then look only for credentials below them (OpenID4VP 6.1.1).
// - `device_response_documents`: "one" (the default) or "any".
// - `issuing_country_unbound` (true): test-mode sessions accept an mDL whose issuing_country is not its signer's.
//
// IDGATE_CONFIG: idgate_error_issuer and idgate_error_field say what cannot be used.
idgate_status idgate_trust_add_issuer(const struct idgate_trust *trust,
                                      struct idgate_str json,
                                      struct idgate_error **err_out);

// Adds material to an issuer of this collection. `material` is an idgate_material; `options` may be NULL.
// IDGATE_CONFIG: nothing was added; idgate_error_issuer and idgate_error_field say what cannot be used.
idgate_status idgate_trust_add_material(const struct idgate_trust *trust,
                                        struct idgate_str issuer_id,
                                        int32_t material,
                                        struct idgate_str file,
                                        const struct idgate_material_options *options,
                                        struct idgate_error **err_out);

// Frees a collection. Verifiers that were made from it keep what they have.
idgate_status idgate_trust_free(struct idgate_trust *trust);

// Starts to verify a wallet's answer. IDGATE_BAD_RESPONSE: store nothing, and send the error's reply.
idgate_status idgate_verification_begin(const struct idgate_verifier *verifier,
                                        const struct idgate_session *session,
                                        const struct idgate_answer *answer,
                                        uint64_t now_ms,
                                        struct idgate_verification **out,
                                        struct idgate_error **err_out);

// Runs until the verification is decided, or needs the network. IDGATE_BAD_RESPONSE: the session no longer accepts an
// answer; store nothing, and send the error's reply. IDGATE_REFUSED: a presentation outside a session was refused; the
// code is the reason.
idgate_status idgate_verification_step(const struct idgate_verification *verification,
                                       struct idgate_step **out,
                                       struct idgate_error **err_out);

// Takes the body that was fetched for the need with that index in the last step, at `now_ms`. Commit the transition of
// the step before. A `body` with a `ptr` of NULL says that nothing came in time.
idgate_status idgate_verification_supply(const struct idgate_verification *verification,
                                         size_t need,
                                         struct idgate_str body,
                                         uint64_t now_ms,
                                         struct idgate_error **err_out);

// Frees a verification, finished or not.
idgate_status idgate_verification_free(struct idgate_verification *verification);

// Makes a verifier that trusts the issuers that `trust` has now. It keeps nothing of `options` and `trust`: free
// them when you like. A session keeps the profile that it was made in, whichever verifier takes its answer.
// IDGATE_CONFIG: the choices do not fit together.
idgate_status idgate_verifier_new(const struct idgate_verifier_options *options,
                                  const struct idgate_trust *trust,
                                  struct idgate_verifier **out,
                                  struct idgate_error **err_out);

// Frees a verifier. Verifications that began with it continue.
idgate_status idgate_verifier_free(struct idgate_verifier *verifier);

// Starts a set of choices for a verifier at `base_url`: an https origin, or http on loopback. Wallets post
// their answers to `{base_url}/v1/oid4vp/response/{handle}`, and fetch requests by reference from
// `{base_url}/v1/oid4vp/request/{handle}`. idgate_verifier_new needs a profile as well; everything else has a
// default.
idgate_status idgate_verifier_options_new(struct idgate_str base_url,
                                          struct idgate_verifier_options **out,
                                          struct idgate_error **err_out);

// Adds a profile: an idgate_profile. The first one that you add is for requests that name none.
idgate_status idgate_verifier_options_profile(struct idgate_verifier_options *options, int32_t profile);

// Adds a signer for new requests. The first signer that fits signs: requests under the DID need a signer without
// a certificate, requests under a certificate need one of idgate_signer_certified.
idgate_status idgate_verifier_options_signer(struct idgate_verifier_options *options,
                                             const struct idgate_signer *signer);

// Adds a signer that you replaced. It signs only for sessions that were made with it.
idgate_status idgate_verifier_options_former_signer(struct idgate_verifier_options *options,
                                                    const struct idgate_signer *signer);

// Sets the request mode of `draft` and `1.0`: an idgate_request_mode. Without it requests are signed and go by
// reference if there is a signer, else they are unsigned and inside the link.
idgate_status idgate_verifier_options_request_mode(struct idgate_verifier_options *options, int32_t request_mode);

// Sets the client identifier of signed requests of `1.0`: an idgate_client_id. Without it requests are signed
// under the certificate's hash if the first signer has a certificate, else under the DID.
idgate_status idgate_verifier_options_client_id(struct idgate_verifier_options *options, int32_t client_id);

// Sets how answers to requests of `1.0` come back: an idgate_response_mode. Without it they are encrypted if the
// request is signed. Answers in `haip` and from browsers are always encrypted.
idgate_status idgate_verifier_options_response_mode(struct idgate_verifier_options *options, int32_t response_mode);

// Lets links tell wallets that they may POST for the request (OpenID4VP 5.10).
idgate_status idgate_verifier_options_request_uri_post(struct idgate_verifier_options *options);

// Lets pages pass requests of `1.0` or `haip` to their browser: an idgate_dc_api. Signed requests are signed under
// the client identifier of `1.0`, in `haip` under the certificate's hash, and multi-signed ones of `1.0` under each
// identifier that a signer serves.
idgate_status idgate_verifier_options_dc_api(struct idgate_verifier_options *options, int32_t dc_api);

// Sets your own version number for the trust, which sessions record when they are decided. The default is 0.
idgate_status idgate_verifier_options_trust_version(struct idgate_verifier_options *options, uint64_t trust_version);

// Frees the choices. Verifiers that were made from them keep working.
idgate_status idgate_verifier_options_free(struct idgate_verifier_options *options);

// Gives the headers of one attempt to deliver a notification: a JSON object of names and values.
idgate_status idgate_webhook_headers(struct idgate_str secret,
                                     const struct idgate_webhook_attempt *attempt,
                                     uint64_t now_ms,
                                     struct idgate_bytes *out,
                                     struct idgate_error **err_out);

// Verifies a notification. IDGATE_REFUSED: the signature or the time is wrong, so do not trust it.
idgate_status idgate_webhook_verify(struct idgate_str secret,
                                    const struct idgate_webhook *webhook,
                                    uint64_t now_ms,
                                    struct idgate_error **err_out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* IDGATE_H */

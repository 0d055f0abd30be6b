// idgate: the verifier side of OpenID4VP for SD-JWT VC and ISO/IEC 18013-5 mdoc.
//
// Made by cbindgen from idgate-ffi; `cargo test -p idgate-ffi` says when it is out of date.
//
// Every function returns an idgate_status. Outputs come last and are written only with IDGATE_OK;
// `err_out` may be NULL and is written only with another status: free it with idgate_error_free.
// Handles (idgate_trust *, ...) are names, not addresses: never follow them. A handle that was
// freed, was never made or is of another kind is IDGATE_MISUSE. Freeing NULL is fine.
// Inputs are copied; no pointer of the caller is kept after the call, but for the `userdata` of a
// signer. Text is UTF-8 with a length, without a terminating NUL; NULL is the same as no bytes, but
// where a function says what it stands for.
// An input may have at most 64 MiB.
// Bytes that come out are yours: free them with idgate_bytes_free, which wipes them.
// Times are milliseconds since 1970-01-01 UTC.
// Everything may be called from any thread. Calls on one verification, and changes of one trust,
// wait for one another; everything else runs in parallel. Fork while no other thread is within a
// call: a lock that it holds stays held in the child, which waits for it for ever.

#ifndef IDGATE_H
#define IDGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this ABI. Raised when something that existed changes or goes.
#define IDGATE_ABI_VERSION 1

// The material serves test-mode sessions only.
#define IDGATE_TEST_ONLY 1

// Take a VICAL though a newer one is due; a trusted list then goes on vouching.
#define IDGATE_ALLOW_STALE 2

// How far a timestamp may be from the present unless there is a reason: 5 minutes.
#define IDGATE_WEBHOOK_TOLERANCE_MS 300000

// What a call came to. The numbers are fixed for ever.
enum idgate_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It did what was asked.
  IDGATE_OK = 0,
  // The presentation was evaluated and refused; the error's code is the reason.
  IDGATE_REFUSED = 1,
  // The tenant's request breaks a rule; the error's path names the field.
  IDGATE_BAD_REQUEST = 2,
  // The wallet's answer, or the question for a request, changes nothing: nothing is to be
  // stored.
  IDGATE_BAD_RESPONSE = 3,
  // Trust material, keys or the base URL cannot be used.
  IDGATE_CONFIG = 4,
  // The caller broke a rule of this interface.
  IDGATE_MISUSE = 5,
  // The random source or the signer did not answer, or a status source could not be asked.
  IDGATE_UNAVAILABLE = 6,
  // There is nothing of what was asked for.
  IDGATE_NOTHING = 7,
  // A fault of idgate. Nothing was written but the error.
  IDGATE_INTERNAL = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_status idgate_status;
#else
typedef int32_t idgate_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a step came to.
enum idgate_step_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Everything but the status is good. Commit the transition, fetch every need at once, give
  // each to idgate_verification_supply, then step again. Or have an idgate_fetcher do that: ask
  // idgate_verification_recall, and where it has nothing commit, then call
  // idgate_verification_fetch, idgate_verification_wait and idgate_verification_settle.
  IDGATE_STEP_NEED = 1,
  // Decided. Commit the transition, then answer the wallet.
  IDGATE_STEP_DONE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_step_kind idgate_step_kind;
#else
typedef int32_t idgate_step_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A kind of trust material.
enum idgate_material
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // An SD-JWT VC issuer's public key: a JWK or a JWK Set.
  IDGATE_JWK = 1,
  // An SD-JWT VC issuer's public key: PEM.
  IDGATE_PUBLIC_KEY = 2,
  // X.509 roots of mdoc issuers: PEM or DER, one or many.
  IDGATE_ROOT = 3,
  // mdoc document signers that are trusted without a root: PEM or DER.
  IDGATE_PINNED_SIGNER = 4,
  // An ICAO Master List.
  IDGATE_MASTER_LIST = 5,
  // A VICAL (ISO/IEC 18013-5 annex C).
  IDGATE_VICAL = 6,
  // CRLs of roots that were added before: PEM or DER. They replace the fetch.
  IDGATE_CRL = 7,
  // X.509 roots below which status lists may be signed, besides the one that vouched for the
  // credential: PEM or DER, one or many.
  IDGATE_STATUS_ROOT = 8,
  // X.509 roots of SD-JWT VC issuers whose certificates come in `x5c`: PEM or DER, one or many.
  // They vouch for no mdoc, and IDGATE_ROOT for no SD-JWT VC.
  IDGATE_SD_JWT_ROOT = 9,
  // Certificates of SD-JWT VC issuers that are trusted without a root: PEM or DER.
  IDGATE_SD_JWT_SIGNER = 10,
  // A European trusted list (ETSI TS 119 602, JSON). It replaces what the entry took of one before, and
  // must not be older than one that this collection took before.
  IDGATE_TRUSTED_LIST = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum idgate_material idgate_material;
#else
typedef int32_t idgate_material;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// An error: free it with idgate_error_free.
typedef struct idgate_error idgate_error;

// Fetches status lists and CRLs, and remembers them.
typedef struct idgate_fetcher idgate_fetcher;

// A session at one revision; it never changes.
typedef struct idgate_session idgate_session;

// Signs Request Objects.
typedef struct idgate_signer idgate_signer;

// Trust entries that are being collected.
typedef struct idgate_trust idgate_trust;

// A verification under way.
typedef struct idgate_verification idgate_verification;

// A verifier. Make a new one to change trust.
typedef struct idgate_verifier idgate_verifier;

// Bytes that the caller owns: free them with idgate_bytes_free. `ptr` is NULL when `len` is 0.
typedef struct idgate_bytes {
  // The first byte.
  uint8_t *ptr;
  // How many there are.
  size_t len;
} idgate_bytes;

// A change to commit: store the snapshot of `session` where the stored revision still is `from`.
// When another revision is stored, somebody else was faster: give the transition up. Free
// `session` and `effects`.
typedef struct idgate_transition {
  // The revision that must be stored; 0: insert.
  uint64_t from;
  // The session afterwards.
  struct idgate_session *session;
  // What to carry out after the commit: a JSON array of objects with `type` "publish_status",
  // "expire_at" or "redact_claims_at".
  struct idgate_bytes effects;
} idgate_transition;

// Signs `input` with ES256 and writes the raw signature r‖s, 64 bytes; anything but 0 means that
// the key cannot be used now. It is called from any thread, and from several at once. It returns:
// nothing may unwind or jump out of it.
typedef int32_t (*idgate_sign)(void *userdata,
                               const uint8_t *input,
                               size_t input_len,
                               uint8_t *signature);

// One step of a verification. Free `transition` and `json`.
typedef struct idgate_step {
  // What it came to.
  idgate_step_kind kind;
  // To commit.
  struct idgate_transition transition;
  // JSON. IDGATE_STEP_NEED: `{"needs":[{"kind":"status_list"|"crl"|"identifier_list","uri","accept",
  // "accept_otherwise"}]}`: the media type to ask for, and the one to ask for after 404, 406 or 415,
  // or null.
  // IDGATE_STEP_DONE: `{"reply":"accepted"|"error_noted"|"refused","body","redirect_uri","status",
  // "reason","wallet_error","report"}`: answer 200 with `body` to the first two, and 400
  // `invalid_presentation` to the third, whatever the reason. `body` is an object as the profile
  // of the offer has it, with `redirect_uri` when there is one; null: it was refused.
  struct idgate_bytes json;
} idgate_step;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Wipes and frees bytes. Bytes that were never given are IDGATE_MISUSE, and so are bytes that were
// freed already, until the same address is given again.
idgate_status idgate_bytes_free(struct idgate_bytes bytes);

// A signer with the key of `signer` and a certificate for it: it signs the requests that name the
// verifier by certificate (`x509_san_dns`, `x509_hash` and all of `haip`), and no others. `chain`,
// PEM or DER: the certificate, then those that lead up from it; a root at the end is left out. It
// is checked for use at `now_ms`: the key, the dates, each signed by the next.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_signer_certified(const struct idgate_signer *signer,
                                      const uint8_t *chain,
                                      size_t chain_len,
                                      uint64_t now_ms,
                                      struct idgate_signer **out,
                                      struct idgate_error **err_out);

// What a page passes to `navigator.credentials.get` as `digital`, as JSON:
// `{"requests":[{"protocol","data"}]}`, of a session whose request had `dc_api`, as
// `{"dc_api":{"origins":["https://shop.example"]}}`: name origins of your own, whose pages may ask.
// It carries the nonce: keep it out of logs. What the page gets goes to
// idgate_dc_api_verification_begin; one answer settles the session, through a browser or by a link.
// IDGATE_BAD_RESPONSE: there is nothing to pass on, or the session takes no answer any more.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_dc_api_requests(const struct idgate_verifier *verifier,
                                     const struct idgate_session *session,
                                     uint64_t now_ms,
                                     struct idgate_bytes *out,
                                     struct idgate_error **err_out);

// The stable code of an error, as `nonce_mismatch`: the same that the gateway uses.
idgate_status idgate_error_code(const struct idgate_error *error, struct idgate_bytes *out);

// What is wrong and what to do, for people. It never carries claims, tokens, keys or nonces.
idgate_status idgate_error_message(const struct idgate_error *error, struct idgate_bytes *out);

// The field of a request that breaks a rule, as `credentials[0].claims[2]`; else empty.
idgate_status idgate_error_path(const struct idgate_error *error, struct idgate_bytes *out);

// The clause of the standard that a presentation does not meet, as `RFC 9901 7.3`; else empty.
idgate_status idgate_error_clause(const struct idgate_error *error, struct idgate_bytes *out);

// Frees an error.
idgate_status idgate_error_free(struct idgate_error *error);

// A fetcher for any number of verifications, and verifiers, at once: make one and keep it. A name is
// resolved once, and the connection goes to an address that was checked: a public one, or one in a range
// that you allow. Redirects are checked in the same way, three at most; bodies have 10 MiB; all fetches of
// one answer have 5 s together. There is no proxy, whatever the environment says. A thread starts with the
// first fetch and ends with the fetcher; a process that was forked has its own, and remembers nothing.
//
// It remembers 1,024 lists, and 64 MiB. A source is asked again when it said that it wants to be (`ttl`,
// `exp`, nextUpdate), and after a day at the latest. While it is down its last good copy serves on, up to
// 24 hours beyond the time that it said and never past its own end (`exp`, nextUpdate): a CRL whose
// source stays down serves to its nextUpdate, however distant that is.
//
// `options`, JSON, NULL for none: `allow` (an array of ranges besides public ones, as "10.0.0.0/8"),
// `roots` (text: certificates in PEM that vouch for https servers, besides those of the operating
// system; IDGATE_CONFIG where neither has any).
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_fetcher_new(const char *options,
                                 size_t options_len,
                                 struct idgate_fetcher **out,
                                 struct idgate_error **err_out);

// Frees a fetcher. What is under way with it goes on.
idgate_status idgate_fetcher_free(struct idgate_fetcher *fetcher);

// Answers needs of the last step, at `now_ms`, from what `fetcher` remembers and is fresh. `out`:
// whether it answered any; then step again, without committing the transition of the step.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verification_recall(const struct idgate_verification *verification,
                                         const struct idgate_fetcher *fetcher,
                                         uint64_t now_ms,
                                         bool *out,
                                         struct idgate_error **err_out);

// Begins to fetch all needs of the last step at once, after its transition was committed, and waits
// for nothing. IDGATE_UNAVAILABLE: it could not begin; commit what idgate_session_released gives, and
// tell the wallet to come back.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verification_fetch(const struct idgate_verification *verification,
                                        const struct idgate_fetcher *fetcher,
                                        struct idgate_error **err_out);

// Waits for what idgate_verification_fetch began, for `wait_ms` at most; 0: it only looks. `out`:
// whether everything came, which takes 9 seconds at most; then call idgate_verification_settle.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verification_wait(const struct idgate_verification *verification,
                                       uint32_t wait_ms,
                                       bool *out,
                                       struct idgate_error **err_out);

// Answers the needs of the last step with what came, at `now_ms`; then step again. What could not be
// fetched by a fault of its source decides, as `unavailable` does. IDGATE_UNAVAILABLE: something could
// not be asked by a fault of ours (no file descriptor, no route), or did not come yet; commit what
// idgate_session_released gives, and tell the wallet to come back.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verification_settle(const struct idgate_verification *verification,
                                         uint64_t now_ms,
                                         struct idgate_error **err_out);

// How many handles and bytes of this process were given and not freed yet. 0 at the end of a
// program that leaks nothing: leak checkers do not see them, as idgate remembers each.
size_t idgate_in_use(void);

// Verifies one presentation as a wallet puts it into vp_token, without a session: nonce and
// audience are compared with what you expect, whether they were used before is yours to know.
// `expected`, JSON: `format` ("vc+sd-jwt", "mso_mdoc"), `issuer_id` (an entry of `trust`),
// `client_id` and `nonce` exactly as sent, `claims`, and as needed `requested_at_ms` (SD-JWT VC:
// older proofs are stale; default `now_ms`), `response_uri`, `doc_type`, `namespace` (mdoc, all
// three), `enc_key` and `apu` (mdoc in an encrypted answer: the JWK that it was encrypted to, with
// `d` when a device MAC shall be good, and the header's `apu`), `alg`, `livemode` (default true),
// `checks` (default false).
// `out`, JSON: `claims`, and what is known beside them, where a trusted list vouches also the
// `provider` that it names; with `checks` also each check that was made and its clause.
// IDGATE_REFUSED: the code is the reason.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verify_presentation(const struct idgate_trust *trust,
                                         const char *expected,
                                         size_t expected_len,
                                         const char *presentation,
                                         size_t presentation_len,
                                         uint64_t now_ms,
                                         struct idgate_bytes *out,
                                         struct idgate_error **err_out);

// Checks a registration certificate (a JWT, `rc-wrp+jwt`) for use at `now_ms` beside the
// certificate of `signer`, one of idgate_signer_certified: the dates, and its `sub`, which is the
// organizationIdentifier of the certificate where that has one. Its signature is for wallets to
// verify. JSON: `subject`, `issued_at_ms`, `expires_at_ms` (null: it does not say), and `compared`:
// whether there was an organizationIdentifier.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_registration_check(const struct idgate_signer *signer,
                                        const char *registration,
                                        size_t registration_len,
                                        uint64_t now_ms,
                                        struct idgate_bytes *out,
                                        struct idgate_error **err_out);

// What becomes of a registration certificate with this request, the same that
// idgate_session_create takes. JSON: `sent`: whether it goes to wallets, which it does where a
// request of the session is signed under `x509_hash`; `expired`: whether it would, had it not
// expired; `beyond`: an array of texts, what is asked for and is not registered. Wallets warn of
// it, or refuse.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_registration_compare(const struct idgate_verifier *verifier,
                                          const char *registration,
                                          size_t registration_len,
                                          const char *request,
                                          size_t request_len,
                                          bool livemode,
                                          uint64_t now_ms,
                                          struct idgate_bytes *out,
                                          struct idgate_error **err_out);

// idgate_session_create of a party with a registration certificate, which goes to wallets as
// `verifier_info` where idgate_registration_compare says so. `strict`: a request that asks for more
// than is registered, or whose certificate has expired, is IDGATE_BAD_REQUEST.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_create_registered(const struct idgate_verifier *verifier,
                                               const char *request,
                                               size_t request_len,
                                               const char *tenant,
                                               size_t tenant_len,
                                               bool livemode,
                                               const char *registration,
                                               size_t registration_len,
                                               bool strict,
                                               uint64_t now_ms,
                                               struct idgate_transition *out,
                                               struct idgate_error **err_out);

// The Request Object of a session whose request goes by reference, to be served as
// `application/oauth-authz-req+jwt`. A wallet may fetch it again while the session is CREATED or
// PENDING. `wallet_nonce`: what the wallet sent, NULL when it did not. The first fetch makes the
// session PENDING: when `transition_out` has a session, commit it before you answer; free it
// either way. IDGATE_BAD_RESPONSE: there is nothing to fetch.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_request_object(const struct idgate_verifier *verifier,
                                            const struct idgate_session *session,
                                            const char *wallet_nonce,
                                            size_t wallet_nonce_len,
                                            uint64_t now_ms,
                                            struct idgate_transition *transition_out,
                                            struct idgate_bytes *jwt_out,
                                            struct idgate_error **err_out);

// The same of the offer of that id, as idgate_session_info names it; NULL: of the session's own.
// Wallets fetch it at `{base_url}/v1/oid4vp/request/{offer id}`, with GET, or with POST and
// `wallet_nonce` in a form.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_offer_request_object(const struct idgate_verifier *verifier,
                                          const struct idgate_session *session,
                                          const char *offer,
                                          size_t offer_len,
                                          const char *wallet_nonce,
                                          size_t wallet_nonce_len,
                                          uint64_t now_ms,
                                          struct idgate_transition *transition_out,
                                          struct idgate_bytes *jwt_out,
                                          struct idgate_error **err_out);

// Makes a session from a CreateSessionRequest in JSON, the same that the gateway takes. `tenant`
// is your name for who owns it. A verifier of idgate_verifier_new that speaks more than "draft" takes
// `profiles` and the fields that come with it, too. Commit the transition, then show what
// idgate_session_info says.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_create(const struct idgate_verifier *verifier,
                                    const char *request,
                                    size_t request_len,
                                    const char *tenant,
                                    size_t tenant_len,
                                    bool livemode,
                                    uint64_t now_ms,
                                    struct idgate_transition *out,
                                    struct idgate_error **err_out);

// The session as bytes for your database, without its result. They hold nonce, state and keys:
// seal them.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_snapshot(const struct idgate_session *session,
                                      struct idgate_bytes *out,
                                      struct idgate_error **err_out);

// The session of a snapshot, of this version or an earlier one.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_restore(const uint8_t *snapshot,
                                     size_t snapshot_len,
                                     struct idgate_session **out,
                                     struct idgate_error **err_out);

// The result as bytes, for a caller that lets it survive a restart. IDGATE_NOTHING without one.
// They hold claims: seal them, and erase them 30 seconds after verification.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_result_snapshot(const struct idgate_session *session,
                                             uint64_t now_ms,
                                             struct idgate_bytes *out,
                                             struct idgate_error **err_out);

// A session with the result of idgate_session_result_snapshot put back. Only a VERIFIED session
// takes it.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_restore_result(const struct idgate_session *session,
                                            const uint8_t *snapshot,
                                            size_t snapshot_len,
                                            struct idgate_session **out,
                                            struct idgate_error **err_out);

// What can be said of a session at this time, as JSON: `session_id`, `tenant`, `livemode`,
// `status`, `reason`, `wallet_error` (of a session that is FAILED with that reason: a name of
// OpenID4VP 8.5 or `other`), `revision`, `created_at_ms`, `expires_at_ms`, `settled_at_ms`,
// `offers`, `dc_api`, and while a wallet can answer `qr_code_url` and `deep_links`.
// `offers`: the requests behind links, one for each profile that the session speaks, each with `id`
// (null: the session's own), `profile` ("draft", "1.0", "haip"), `client_id`, `response_uri`,
// `request_uri` (null: by value) and, while a wallet can answer, `deep_links` of its own.
// `dc_api`: what a page passes to its browser, by `profile`, `origins` and `protocols` (null: the
// session has nothing for browsers); idgate_dc_api_requests gives it.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_info(const struct idgate_session *session,
                                  uint64_t now_ms,
                                  struct idgate_bytes *out,
                                  struct idgate_error **err_out);

// Claims and verification details of a VERIFIED session as JSON, until 30 seconds after
// verification; else IDGATE_NOTHING. Whose browser it is for is not asked: see
// idgate_session_result_for.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_result(const struct idgate_session *session,
                                    uint64_t now_ms,
                                    struct idgate_bytes *out,
                                    struct idgate_error **err_out);

// The same for whoever brings `response_code`: what the person's browser had in the query of your
// `redirect_uri`, NULL when it had none. Where the person has to come back into the session that
// asked (of every session that offers `haip` but with `same_device` false in the request, and
// wherever that is true), a code that is missing or another is IDGATE_NOTHING; other sessions need
// none.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_result_for(const struct idgate_session *session,
                                        const char *response_code,
                                        size_t response_code_len,
                                        uint64_t now_ms,
                                        struct idgate_bytes *out,
                                        struct idgate_error **err_out);

// The person followed the link: CREATED becomes PENDING. IDGATE_NOTHING when nothing changes.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_followed(const struct idgate_session *session,
                                      uint64_t now_ms,
                                      struct idgate_transition *out,
                                      struct idgate_error **err_out);

// What the time has made of a session: EXPIRED, or PENDING after a verification that was given
// up. IDGATE_NOTHING when nothing is due.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_due(const struct idgate_session *session,
                                 uint64_t now_ms,
                                 struct idgate_transition *out,
                                 struct idgate_error **err_out);

// Gives up a verification before its time is over, by a fault of your own: PENDING again, or EXPIRED,
// so that the same answer is taken later. `session` is the one of the IDGATE_STEP_NEED that was
// committed. IDGATE_NOTHING when nothing is held.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_session_released(const struct idgate_session *session,
                                      uint64_t now_ms,
                                      struct idgate_transition *out,
                                      struct idgate_error **err_out);

// Frees a session. Verifications that began with it go on.
idgate_status idgate_session_free(struct idgate_session *session);

// A fresh P-256 signing key: 32 bytes. Keep them sealed; idgate_signer_new takes them.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_signing_key_generate(struct idgate_bytes *out, struct idgate_error **err_out);

// A signer with a key in memory: the 32 bytes of idgate_signing_key_generate. `base_url` is the
// verifier's.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_signer_new(const char *base_url,
                                size_t base_url_len,
                                const uint8_t *key,
                                size_t key_len,
                                struct idgate_signer **out,
                                struct idgate_error **err_out);

// A signer behind a function of yours, as for a key in an HSM. `public_key` is its public JWK.
// `userdata` is passed on as it is; it must live as long as verifiers use the signer, and serve
// any thread.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_signer_new_external(const char *base_url,
                                         size_t base_url_len,
                                         const char *public_key,
                                         size_t public_key_len,
                                         idgate_sign sign,
                                         void *userdata,
                                         struct idgate_signer **out,
                                         struct idgate_error **err_out);

// The signer's public key as a JWK, to be published.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_signer_public_key(const struct idgate_signer *signer,
                                       struct idgate_bytes *out,
                                       struct idgate_error **err_out);

// Frees a signer. Verifiers that were made with it go on.
idgate_status idgate_signer_free(struct idgate_signer *signer);

// The DID document of `base_url`, to be served at `/.well-known/did.json`. `keys`: a JSON array of
// public JWKs, the one in use and those that sessions were made with.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_did_document(const char *base_url,
                                  size_t base_url_len,
                                  const char *keys,
                                  size_t keys_len,
                                  struct idgate_bytes *out,
                                  struct idgate_error **err_out);

// The JWK Set of the same keys, to be served at `/.well-known/jwks.json`.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_jwks(const char *base_url,
                          size_t base_url_len,
                          const char *keys,
                          size_t keys_len,
                          struct idgate_bytes *out,
                          struct idgate_error **err_out);

// The version of the ABI of the library that is linked; compare it with IDGATE_ABI_VERSION.
uint32_t idgate_abi_version(void);

// The version of the library as text that ends with NUL and lives for ever.
const char *idgate_version(void);

// An empty collection: it trusts nobody.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_trust_new(struct idgate_trust **out, struct idgate_error **err_out);

// Adds an entry, or replaces the entry of that name and its material. JSON: `issuer_id`, and as
// needed `iss`, `vct`, `doc_types`, `namespaces`, `claims`, `countries`, `ekus` (arrays of text),
// `sd_jwt_ekus` (array of text: the extended key usages of which the certificate of an SD-JWT VC
// issuer must have one; without it any will do, but one that is for other things alone),
// `revocation` ("if_published", "required", "off"), `status_max_age_days` (1 to 3650: how long a
// status list token without `exp` counts), `issuing_country_unbound` (test-mode sessions take an
// mDL whose issuing_country is not its signer's, and say so); and, for the profiles 1.0 and haip,
// `claim_paths` (an object: claim name to path, as ["address","locality"]), `aki` (whether queries
// name the roots), `device_response_documents` ("one", "any"). Unknown members are refused.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_trust_add_entry(const struct idgate_trust *trust,
                                     const char *json,
                                     size_t json_len,
                                     struct idgate_error **err_out);

// Adds material to an entry. `material` is an idgate_material, `flags` a sum of IDGATE_TEST_ONLY
// and IDGATE_ALLOW_STALE. `signer_ca`, PEM or DER, vouches for the signer of a Master List, a
// VICAL or a trusted list, which without it is taken with IDGATE_TEST_ONLY only; for a trusted list
// it may also be the signer itself. `report_out` may be NULL: a JSON array with what became of each
// certificate of a list; of a trusted list an object with `list_type`, `sequence`, `issued_at_ms`,
// `next_update_ms` (from then on it vouches for nobody), `organization`, `providers` and
// `certificates`. The next one of the entry is of that type, below a CA signed for that organization,
// and not older: remember `list_type`, `organization` and `sequence`, and hold a list to them after a
// restart.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_trust_add(const struct idgate_trust *trust,
                               const char *issuer_id,
                               size_t issuer_id_len,
                               int32_t material,
                               const uint8_t *file,
                               size_t file_len,
                               const uint8_t *signer_ca,
                               size_t signer_ca_len,
                               uint32_t flags,
                               uint64_t now_ms,
                               struct idgate_bytes *report_out,
                               struct idgate_error **err_out);

// Frees a collection. Verifiers made of it keep what they have.
idgate_status idgate_trust_free(struct idgate_trust *trust);

// Takes a wallet's answer: the `Content-Type` header, NULL when there was none, and the body.
// IDGATE_BAD_RESPONSE: nothing is to be stored; the code says what to answer.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verification_begin(const struct idgate_verifier *verifier,
                                        const struct idgate_session *session,
                                        const char *content_type,
                                        size_t content_type_len,
                                        const uint8_t *body,
                                        size_t body_len,
                                        uint64_t now_ms,
                                        struct idgate_verification **out,
                                        struct idgate_error **err_out);

// The same for an answer to the offer of that id, as idgate_session_info names it; NULL: to the
// session's own. The answer to one offer settles the session.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_offer_verification_begin(const struct idgate_verifier *verifier,
                                              const struct idgate_session *session,
                                              const char *offer,
                                              size_t offer_len,
                                              const char *content_type,
                                              size_t content_type_len,
                                              const uint8_t *body,
                                              size_t body_len,
                                              uint64_t now_ms,
                                              struct idgate_verification **out,
                                              struct idgate_error **err_out);

// The same for what a page got from its browser: `answer` is the JSON text of the credential, an
// object with `protocol` and `data`, as your page sent it to you. It is good for a page from one of
// the origins that the request named, and `verification_details` say which; nothing in it is believed
// about that. Nobody waits for the `body` of the decision: tell the page what you like.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_dc_api_verification_begin(const struct idgate_verifier *verifier,
                                               const struct idgate_session *session,
                                               const uint8_t *answer,
                                               size_t answer_len,
                                               uint64_t now_ms,
                                               struct idgate_verification **out,
                                               struct idgate_error **err_out);

// Goes as far as possible without the world.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verification_step(const struct idgate_verification *verification,
                                       struct idgate_step *out,
                                       struct idgate_error **err_out);

// Gives back what came of the need of that index in the last step, at `now_ms`, after the
// transition of the step was committed. `unavailable`: nothing that can be used came in time.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verification_supply(const struct idgate_verification *verification,
                                         size_t need,
                                         bool unavailable,
                                         const uint8_t *body,
                                         size_t body_len,
                                         uint64_t now_ms,
                                         struct idgate_error **err_out);

// Frees a verification, finished or not.
idgate_status idgate_verification_free(struct idgate_verification *verification);

// A verifier that makes unsigned requests by value. Answers go to
// `{base_url}/v1/oid4vp/response/{session id}`; `base_url` is an https origin, or http on
// loopback. It trusts what `trust` holds now; `trust_version` is noted in sessions that it
// decides. A session keeps the profile that it was made in, whichever verifier takes its answer.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verifier_new_inline(const char *base_url,
                                         size_t base_url_len,
                                         const struct idgate_trust *trust,
                                         uint64_t trust_version,
                                         struct idgate_verifier **out,
                                         struct idgate_error **err_out);

// A verifier that makes signed requests by reference and takes encrypted answers. Wallets fetch
// `{base_url}/v1/oid4vp/request/{session id}`, which is idgate_session_request_object, and the
// gateway's did:web, which is idgate_did_document.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_verifier_new_jar(const char *base_url,
                                      size_t base_url_len,
                                      const struct idgate_signer *signer,
                                      const struct idgate_trust *trust,
                                      uint64_t trust_version,
                                      struct idgate_verifier **out,
                                      struct idgate_error **err_out);

// A verifier that speaks several profiles. `options`, JSON, NULL for none: `profiles` (of "draft",
// "1.0", "haip"; the first is for requests that name none; default "draft" alone), `request_mode` of
// "draft" and "1.0" ("inline", which is the default, or "jar"), and for "1.0" `client_id` of signed
// requests ("did", which is the default, "x509_san_dns", "x509_hash") and `response_mode` ("auto",
// which is the default and encrypts where the request is signed, "direct_post",
// "direct_post.jwt"); `request_uri_method` ("post": links say that wallets may POST for the
// request); `dc_api`, what pages pass to their browser in all but "draft" ("off", which is the
// default, "unsigned", "signed", then unsigned, "multisigned", then those): signed under
// `client_id`, in "haip" under `x509_hash`, and multi-signed in "1.0" under each that somebody can
// sign. `signers`: who signs what is made now, the first that fits; requests under the DID need
// one without a certificate, those under a certificate one of idgate_signer_certified. `former`: who
// signs for sessions that were made with them, and for no others.
//
// # Safety
// The pointers are as the head of the header says; `signers` and `former` point to that many.
idgate_status idgate_verifier_new(const char *base_url,
                                  size_t base_url_len,
                                  const char *options,
                                  size_t options_len,
                                  const struct idgate_signer *const *signers,
                                  size_t signers_len,
                                  const struct idgate_signer *const *former,
                                  size_t former_len,
                                  const struct idgate_trust *trust,
                                  uint64_t trust_version,
                                  struct idgate_verifier **out,
                                  struct idgate_error **err_out);

// Frees a verifier. Verifications that began with it go on.
idgate_status idgate_verifier_free(struct idgate_verifier *verifier);

// The headers of one attempt to deliver `body`, as a JSON object of name and value. `id` is the
// same for every attempt, `number` counts from 1. `previous_secret`, NULL when there is none, was
// replaced a short time ago and signs `webhook-signature` as well.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_webhook_headers(const char *secret,
                                     size_t secret_len,
                                     const char *previous_secret,
                                     size_t previous_secret_len,
                                     const char *id,
                                     size_t id_len,
                                     uint32_t number,
                                     const uint8_t *body,
                                     size_t body_len,
                                     uint64_t now_ms,
                                     struct idgate_bytes *out,
                                     struct idgate_error **err_out);

// Verifies a notification by the values of `X-Timestamp` and `X-Signature`. IDGATE_REFUSED: it is
// not to be believed.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_webhook_verify(const char *secret,
                                    size_t secret_len,
                                    const char *timestamp,
                                    size_t timestamp_len,
                                    const char *signature,
                                    size_t signature_len,
                                    const uint8_t *body,
                                    size_t body_len,
                                    uint64_t now_ms,
                                    uint64_t tolerance_ms,
                                    struct idgate_error **err_out);

// Verifies a notification by the values of `webhook-id`, `webhook-timestamp` and
// `webhook-signature` (Standard Webhooks). IDGATE_REFUSED: it is not to be believed.
//
// # Safety
// The pointers are as the head of the header says.
idgate_status idgate_webhook_verify_standard(const char *secret,
                                             size_t secret_len,
                                             const char *id,
                                             size_t id_len,
                                             const char *timestamp,
                                             size_t timestamp_len,
                                             const char *signature,
                                             size_t signature_len,
                                             const uint8_t *body,
                                             size_t body_len,
                                             uint64_t now_ms,
                                             uint64_t tolerance_ms,
                                             struct idgate_error **err_out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* IDGATE_H */

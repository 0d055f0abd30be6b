/* Several profiles: a certified signer, the offers of a session, an answer to one of them. */
#include "common.h"

#define ALL_PROFILES IDGATE_PROFILE_HAIP, IDGATE_PROFILE_1_0, IDGATE_PROFILE_DRAFT

/* The host of the certificate names the verifier, and wallets may POST. */
static idgate_verifier_options *by_host(const idgate_signer *first, const idgate_signer *second) {
    idgate_verifier_options *options = OPTIONS(ALL_PROFILES);
    CHECK(idgate_verifier_options_request_mode(options, IDGATE_REQUEST_JAR) == IDGATE_OK);
    CHECK(idgate_verifier_options_client_id(options, IDGATE_CLIENT_ID_X509_SAN_DNS) == IDGATE_OK);
    CHECK(idgate_verifier_options_request_uri_post(options) == IDGATE_OK);
    CHECK(idgate_verifier_options_trust_version(options, 41) == IDGATE_OK);
    if (first != NULL) CHECK(idgate_verifier_options_signer(options, first) == IDGATE_OK);
    if (second != NULL) CHECK(idgate_verifier_options_signer(options, second) == IDGATE_OK);
    return options;
}

/* A certificate is checked before it is used. */
static idgate_signer *certified(const char *root, idgate_signer *signer) {
    idgate_error *err = NULL;
    idgate_signer *certified = NULL, *other = NULL;
    idgate_bytes key;
    struct file chain = load(root, "offers/chain.der");
    IS(IDGATE_CONFIG, idgate_signer_certified(signer, NONE, NOW, &certified, &err));
    IS(IDGATE_CONFIG, idgate_signer_certified(signer, GIVEN(chain), 0, &certified, &err));
    IS(IDGATE_OK, idgate_signing_key_generate(&key, &err));
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, GIVEN(key), &other, &err));
    IS(IDGATE_CONFIG, idgate_signer_certified(other, GIVEN(chain), NOW, &certified, &err));
    idgate_bytes_free(key);
    IS(IDGATE_OK, idgate_signer_free(other));
    IS(IDGATE_OK, idgate_signer_certified(signer, GIVEN(chain), NOW, &certified, &err));
    free(chain.ptr);
    return certified;
}

static void refused(idgate_verifier_options *options, const idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_verifier *verifier = NULL;
    IS(IDGATE_CONFIG, idgate_verifier_new(options, trust, &verifier, &err));
    CHECK(verifier == NULL);
    IS(IDGATE_OK, idgate_verifier_options_free(options));
}

/* Choices that do not fit together are refused when the verifier is made. */
static void verifiers_that_cannot_be(idgate_signer *certified, idgate_trust *trust) {
    idgate_error *err = NULL;
    refused(OPTIONS(0), trust);
    refused(by_host(NULL, NULL), trust);
    idgate_verifier_options *options = by_host(certified, NULL);
    for (int32_t unknown = -1; unknown < 9; unknown += 5) {
        CHECK(idgate_verifier_options_profile(options, unknown) == IDGATE_MISUSE);
        CHECK(idgate_verifier_options_request_mode(options, unknown) == IDGATE_MISUSE);
        CHECK(idgate_verifier_options_client_id(options, unknown) == IDGATE_MISUSE);
        CHECK(idgate_verifier_options_response_mode(options, unknown) == IDGATE_MISUSE);
    }
    CHECK(idgate_verifier_options_signer(options, NULL) == IDGATE_MISUSE);
    CHECK(idgate_verifier_options_former_signer(options, (const idgate_signer *)options) == IDGATE_MISUSE);
    CHECK(idgate_verifier_options_signer(NULL, certified) == IDGATE_MISUSE);
    /* The DID needs a signer without a certificate. */
    refused(options, trust);
    idgate_verifier_options *elsewhere = NULL;
    IS(IDGATE_OK, idgate_verifier_options_new(IDGATE_STR("https://other.example"), &elsewhere, &err));
    CHECK(idgate_verifier_options_profile(elsewhere, IDGATE_PROFILE_HAIP) == IDGATE_OK);
    CHECK(idgate_verifier_options_client_id(elsewhere, IDGATE_CLIENT_ID_X509_SAN_DNS) == IDGATE_OK);
    CHECK(idgate_verifier_options_signer(elsewhere, certified) == IDGATE_OK);
    refused(elsewhere, trust);
}

static idgate_status fetch(const idgate_verifier *verifier, const idgate_session *session, idgate_asked asked,
                           idgate_step **step, idgate_error **err) {
    asked.size = sizeof asked;
    return idgate_request_object(verifier, session, &asked, NOW, step, err);
}

/* The first profile is for requests that name none. Each request is signed by the identity in it. */
static void a_request_under_the_certificate(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made, next;
    idgate_bytes info;
    idgate_step *step = NULL;
    struct file request = load(root, "offers/request.json");
    IS(IDGATE_OK, create(verifier, request, IDGATE_MODE_LIVE, &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"profile\":\"haip\"") && has(info, "x509_hash:"));
    CHECK(has(info, "request_uri_method=post") && has(info, "\"handle\":\"ses_"));
    idgate_str handle = after(GIVEN(info), "\"handle\":\""), path = after(GIVEN(info), "\"request_uri\":\"");
    IS(IDGATE_BAD_RESPONSE, fetch(verifier, made.session, (idgate_asked){.to = IDGATE_STR("off_1")}, &step, &err));
    /* By POST, with a form that the library reads; by GET, with the whole path. */
    idgate_asked posted = {.to = handle, .content_type = IDGATE_STR("application/x-www-form-urlencoded"),
                           .body = IDGATE_STR("wallet_nonce=wallet%27s")};
    IS(IDGATE_OK, fetch(verifier, made.session, posted, &step, &err));
    IS(IDGATE_OK, idgate_step_transition(step, &next, &err));
    CHECK(next.from == 1 && next.session != NULL);
    idgate_reply reply = reply_of(step);
    CHECK(reply.status == 200 && contains(reply.content_type, "application/oauth-authz-req+jwt"));
    size_t with_nonce = reply.body.len;
    step_free(step);
    IS(IDGATE_OK, fetch(verifier, made.session, (idgate_asked){.to = path}, &step, &err));
    CHECK(reply_of(step).body.len < with_nonce);
    step_free(step);
    posted.body = IDGATE_STR("wallet_nonce=a&wallet_nonce=b");
    IS(IDGATE_BAD_RESPONSE, fetch(verifier, made.session, posted, &step, &err));
    posted.wallet_nonce = IDGATE_STR("a");
    IS(IDGATE_MISUSE, fetch(verifier, made.session, posted, &step, &err));
    IS(IDGATE_MISUSE, fetch(verifier, made.session, (idgate_asked){.to = NONE}, &step, &err));
    idgate_bytes_free(info);
    transition_free(next);
    transition_free(made);
    free(request.ptr);
}

/* A profile that is not enabled is refused with a remedy. */
static const char HAIP[] = "{\"credentials\":[{\"format\":\"dc+sd-jwt\",\"issuer_id\":\"https://issuer.example\","
                           "\"claims\":[\"given_name\"]}],\"profiles\":[\"haip\"],"
                           "\"redirect_uri\":\"https://shop.example\"}";

static void a_refused_request_has_a_remedy(const idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_verifier *verifier = verifier_of_options(OPTIONS(IDGATE_PROFILE_1_0), trust);
    struct file haip = {(uint8_t *)(uintptr_t)HAIP, sizeof HAIP - 1};
    CHECK(create(verifier, haip, IDGATE_MODE_LIVE, &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(contains(idgate_error_code(err), "unsupported_profile") && contains(idgate_error_path(err), "profiles"));
    CHECK(contains(idgate_error_remedy(err), "profile") && idgate_error_hint(err).len > 0);
    idgate_error_free(err);
    idgate_verifier_free(verifier);
}

/* The info of a new session of a verifier in 1.0 with this signer; frees the choices. */
static idgate_bytes info_of(const char *root, idgate_verifier_options *options, const idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes info;
    struct file request = load(root, "offers/request.json");
    idgate_verifier *verifier = verifier_of_options(options, trust);
    IS(IDGATE_OK, create(verifier, request, IDGATE_MODE_LIVE, &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    transition_free(made);
    idgate_verifier_free(verifier);
    free(request.ptr);
    return info;
}

/* Without a choice the signer decides. */
static void choices_have_defaults(const char *root, const idgate_signer *signer, const idgate_signer *certified,
                                  const idgate_trust *trust) {
    idgate_bytes info = info_of(root, OPTIONS(IDGATE_PROFILE_1_0), trust);
    CHECK(has(info, "\"client_id\":\"redirect_uri:") && has(info, "response_mode=direct_post&"));
    CHECK(has(info, "\"request_uri\":null"));
    idgate_bytes_free(info);
    idgate_verifier_options *options = OPTIONS(IDGATE_PROFILE_1_0);
    CHECK(idgate_verifier_options_response_mode(options, IDGATE_RESPONSE_DIRECT_POST_JWT) == IDGATE_OK);
    info = info_of(root, options, trust);
    CHECK(has(info, "response_mode=direct_post.jwt&"));
    idgate_bytes_free(info);
    options = OPTIONS(IDGATE_PROFILE_1_0);
    CHECK(idgate_verifier_options_signer(options, certified) == IDGATE_OK);
    info = info_of(root, options, trust);
    CHECK(has(info, "\"client_id\":\"x509_hash:") && has(info, "request_uri=") && !has(info, "request_uri_method"));
    idgate_bytes_free(info);
    options = OPTIONS(IDGATE_PROFILE_1_0);
    CHECK(idgate_verifier_options_signer(options, signer) == IDGATE_OK);
    info = info_of(root, options, trust);
    CHECK(has(info, "\"client_id\":\"decentralized_identifier:did:web:"));
    idgate_bytes_free(info);
    options = OPTIONS(IDGATE_PROFILE_1_0);
    CHECK(idgate_verifier_options_signer(options, signer) == IDGATE_OK);
    CHECK(idgate_verifier_options_request_mode(options, IDGATE_REQUEST_INLINE) == IDGATE_OK);
    info = info_of(root, options, trust);
    CHECK(has(info, "\"client_id\":\"redirect_uri:"));
    idgate_bytes_free(info);
}

/* A request may name profiles of the verifier, and gets an offer for each. */
static void a_request_names_profiles(const char *root, idgate_verifier *verifier, idgate_verifier *draft) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes info;
    struct file request = load(root, "offers/profiles.json");
    IS(IDGATE_OK, create(verifier, request, IDGATE_MODE_LIVE, &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"handle\":\"off_") && has(info, "\"profile\":\"1.0\""));
    CHECK(has(info, "x509_san_dns:gateway.example") && has(info, "\"client_id\":\"did:web:"));
    idgate_bytes_free(info);
    transition_free(made);
    /* With only drafts, no profile can be named. */
    CHECK(create(draft, request, IDGATE_MODE_LIVE, &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(contains(idgate_error_code(err), "unsupported_profile"));
    CHECK(contains(idgate_error_path(err), "profiles"));
    idgate_error_free(err);
    free(request.ptr);
}

/* Sessions that have to end in the browser that began give their result only for the code of the redirect. */
static void the_result_needs_the_code(const idgate_session *session, idgate_str told) {
    idgate_error *err = NULL;
    idgate_bytes result;
    const int32_t browser = IDGATE_READER_BROWSER;
    idgate_str code = after(told, "?response_code=");
    CHECK(code.len == 22);
    CHECK(idgate_session_result(session, browser, NONE, NOW, &result, &err) == IDGATE_NOTHING);
    CHECK(contains(idgate_error_code(err), "response_code_missing"));
    idgate_error_free(err);
    CHECK(idgate_session_result(session, browser, IDGATE_STR("another"), NOW, &result, &err) == IDGATE_NOTHING);
    CHECK(contains(idgate_error_code(err), "response_code_wrong"));
    idgate_error_free(err);
    err = NULL;
    idgate_str cut = {code.ptr, code.len - 1};
    IS(IDGATE_NOTHING, idgate_session_result(session, browser, cut, NOW, &result, &err));
    IS(IDGATE_NOTHING, idgate_session_result(session, browser, code, NOW + 30000, &result, &err));
    IS(IDGATE_MISUSE, idgate_session_result(session, IDGATE_READER_BACKEND, code, NOW, &result, &err));
    IS(IDGATE_MISUSE, idgate_session_result(session, 0, NONE, NOW, &result, &err));
    IS(IDGATE_OK, idgate_session_result(session, browser, code, NOW, &result, &err));
    CHECK(has(result, "Erika") && has(result, "\"profile\":\"haip\""));
    idgate_bytes_free(result);
}

/* The stored session has a draft offer of its own and a haip offer with a name. */
static void an_answer_to_one_offer_settles_the_session(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    idgate_bytes info, result;
    struct answer answer = answer_of(root, "offers");
    struct file offer = load(root, "offers/offer");
    const char *handle = (const char *)offer.ptr;
    char path[256];
    snprintf(path, sizeof path, "/v1/oid4vp/response/%s", handle);
    IS(IDGATE_OK, idgate_session_restore(GIVEN(answer.session), &session, &err));
    IS(IDGATE_OK, idgate_session_info(session, NOW, &info, &err));
    CHECK(has(info, "\"profile\":\"draft\"") && has(info, "\"profile\":\"haip\"") && has(info, handle));
    idgate_bytes_free(info);
    /* A presentation for one offer is not an answer to another. */
    IS(IDGATE_BAD_RESPONSE, begin(verifier, session, NULL, answer, &verification, &err));
    CHECK(begin(verifier, session, "off_1", answer, &verification, &err) == IDGATE_BAD_RESPONSE);
    idgate_reply conflict = {.size = sizeof conflict};
    CHECK(idgate_error_reply(err, &conflict) == IDGATE_OK && conflict.status == 409);
    idgate_error_free(err);
    err = NULL;
    IS(IDGATE_OK, begin(verifier, session, handle, answer, &verification, &err));
    IS(IDGATE_OK, idgate_verification_free(verification));
    IS(IDGATE_OK, begin(verifier, session, path, answer, &verification, &err));
    idgate_step *step = step_of(verification);
    /* Except in drafts, the wallet receives only the redirect. */
    CHECK(contains(reply_of(step).body, "{\"redirect_uri\":\"https://shop.example/back"));
    idgate_session *settled = session_after(step);
    IS(IDGATE_OK, result_of(settled, NOW, &result, &err));
    CHECK(has(result, "Erika"));
    idgate_bytes_free(result);
    the_result_needs_the_code(settled, idgate_step_json(step));
    IS(IDGATE_OK, idgate_session_info(settled, NOW, &info, &err));
    CHECK(has(info, "\"VERIFIED\"") && !has(info, "deep_links") && has(info, "\"trust_version\":41"));
    idgate_bytes_free(info);
    idgate_verification_free(verification);
    IS(IDGATE_BAD_RESPONSE, begin(verifier, settled, handle, answer, &verification, &err));
    idgate_session_free(settled);
    step_free(step);
    idgate_session_free(session);
    free(offer.ptr);
    answer_free(answer);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_signer *signer = NULL;
    CHECK(argc == 2);
    struct file scalar = load(argv[1], "offers/scalar");
    idgate_trust *trust = trust_of_offers(argv[1]);
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, GIVEN(scalar), &signer, &err));
    free(scalar.ptr);
    idgate_signer *certificate = certified(argv[1], signer);
    verifiers_that_cannot_be(certificate, trust);
    idgate_verifier *draft = verifier_of_options(OPTIONS(IDGATE_PROFILE_DRAFT), trust);
    idgate_verifier *verifier = verifier_of_options(by_host(signer, certificate), trust);
    a_refused_request_has_a_remedy(trust);
    choices_have_defaults(argv[1], signer, certificate, trust);
    IS(IDGATE_OK, idgate_signer_free(signer));
    IS(IDGATE_OK, idgate_signer_free(certificate));
    IS(IDGATE_OK, idgate_trust_free(trust));
    a_request_under_the_certificate(argv[1], verifier);
    a_request_names_profiles(argv[1], verifier, draft);
    IS(IDGATE_OK, idgate_verifier_free(draft));
    an_answer_to_one_offer_settles_the_session(argv[1], verifier);
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    CHECK(idgate_in_use() == 0);
    return 0;
}

/* Several profiles: a certified signer, the offers of a session, an answer to one of them. */
#include "common.h"

static const char *const OPTIONS =
    "{\"profiles\":[\"haip\",\"1.0\",\"draft\"],\"request_mode\":\"jar\","
    "\"client_id\":\"x509_san_dns\",\"request_uri_method\":\"post\"}";

static idgate_status make(const char *options, const idgate_signer *const *signers, size_t count,
                          idgate_trust *trust, idgate_verifier **verifier, idgate_error **err) {
    return idgate_verifier_new(BASE_URL, strlen(BASE_URL), options, strlen(options), signers, count,
                               NULL, 0, trust, 1, verifier, err);
}

/* A certificate is checked before it is put to use. */
static idgate_signer *certified(const char *root, idgate_signer *signer) {
    idgate_error *err = NULL;
    idgate_signer *certified = NULL, *other = NULL;
    idgate_bytes key;
    struct file chain = load(root, "offers/chain.der");
    IS(IDGATE_CONFIG, idgate_signer_certified(signer, NULL, 0, NOW, &certified, &err));
    IS(IDGATE_CONFIG, idgate_signer_certified(signer, chain.ptr, chain.len, 0, &certified, &err));
    IS(IDGATE_OK, idgate_signing_key_generate(&key, &err));
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, strlen(BASE_URL), key.ptr, key.len, &other, &err));
    IS(IDGATE_CONFIG,
       idgate_signer_certified(other, chain.ptr, chain.len, NOW, &certified, &err));
    idgate_bytes_free(key);
    IS(IDGATE_OK, idgate_signer_free(other));
    IS(IDGATE_OK, idgate_signer_certified(signer, chain.ptr, chain.len, NOW, &certified, &err));
    free(chain.ptr);
    return certified;
}

/* What does not fit together is said when the verifier is made. */
static void verifiers_that_cannot_be(idgate_signer *certified, idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_verifier *verifier = NULL;
    const idgate_signer *const signers[] = {certified};
    IS(IDGATE_CONFIG, make("{\"profiles\":[\"2.0\"]}", signers, 1, trust, &verifier, &err));
    IS(IDGATE_CONFIG, make(OPTIONS, NULL, 0, trust, &verifier, &err));
    IS(IDGATE_MISUSE, make(OPTIONS, NULL, 1, trust, &verifier, &err));
    IS(IDGATE_MISUSE,
       make(OPTIONS, (const idgate_signer *const *)((const char *)signers + 1), 1, trust, &verifier,
            &err));
    IS(IDGATE_CONFIG, idgate_verifier_new("https://other.example", 21, OPTIONS, strlen(OPTIONS),
                                          signers, 1, NULL, 0, trust, 1, &verifier, &err));
    CHECK(verifier == NULL);
}

/* The first profile is for requests that name none; each request is signed by whom it names. */
static void a_request_under_the_certificate(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made, next;
    idgate_bytes info, jwt;
    struct file request = load(root, "offers/request.json");
    IS(IDGATE_OK, idgate_session_create(verifier, (char *)request.ptr, request.len, "shop", 4, true,
                                        NOW, &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"profile\":\"haip\"") && has(info, "x509_hash:"));
    CHECK(has(info, "request_uri_method=post") && has(info, "\"id\":null"));
    idgate_bytes_free(info);
    IS(IDGATE_BAD_RESPONSE,
       idgate_offer_request_object(verifier, made.session, "off_1", 5, NULL, 0, NOW, &next, &jwt,
                                   &err));
    IS(IDGATE_OK, idgate_offer_request_object(verifier, made.session, NULL, 0, "wallet's", 8, NOW,
                                              &next, &jwt, &err));
    CHECK(next.from == 1 && next.session != NULL);
    idgate_bytes_free(jwt);
    transition_free(next);
    transition_free(made);
    free(request.ptr);
}

/* A request may name profiles that the verifier speaks, and gets an offer for each. */
static void a_request_names_profiles(const char *root, idgate_verifier *verifier,
                                     idgate_verifier *draft) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes info, code;
    struct file request = load(root, "offers/profiles.json");
    IS(IDGATE_OK, idgate_session_create(verifier, (char *)request.ptr, request.len, "shop", 4, true,
                                        NOW, &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"id\":\"off_") && has(info, "\"profile\":\"1.0\""));
    CHECK(has(info, "x509_san_dns:gateway.example") && has(info, "\"client_id\":\"did:web:"));
    idgate_bytes_free(info);
    transition_free(made);
    /* Where only drafts are spoken, no profile can be named. */
    CHECK(idgate_session_create(draft, (char *)request.ptr, request.len, "shop", 4, true, NOW, &made,
                                &err) == IDGATE_BAD_REQUEST);
    CHECK(idgate_error_code(err, &code) == IDGATE_OK && has(code, "unsupported_profile"));
    idgate_bytes_free(code);
    idgate_error_free(err);
    err = NULL;
    free(request.ptr);
}

/* Where the person has to come back, the result is for whoever brings the code of the way back. */
static void the_result_is_for_whoever_brings_the_code(const idgate_session *session, idgate_bytes told) {
    idgate_error *err = NULL;
    idgate_bytes result;
    size_t len = 0;
    const char *code = after(told, "?response_code=", &len);
    CHECK(len == 22);
    IS(IDGATE_NOTHING, idgate_session_result_for(session, NULL, 0, NOW, &result, &err));
    IS(IDGATE_NOTHING, idgate_session_result_for(session, "another", 7, NOW, &result, &err));
    IS(IDGATE_NOTHING, idgate_session_result_for(session, code, len - 1, NOW, &result, &err));
    IS(IDGATE_NOTHING, idgate_session_result_for(session, code, len, NOW + 30000, &result, &err));
    IS(IDGATE_OK, idgate_session_result_for(session, code, len, NOW, &result, &err));
    CHECK(has(result, "Erika") && has(result, "\"profile\":\"haip\""));
    idgate_bytes_free(result);
}

/* The stored session has a draft offer of its own and a haip offer with a name. */
static void an_answer_to_one_offer_settles_the_session(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    idgate_step step;
    idgate_bytes info, result;
    struct answer answer = answer_of(root, "offers");
    struct file offer = load(root, "offers/offer");
    char *type = (char *)answer.content_type.ptr;
    size_t type_len = answer.content_type.len;
    IS(IDGATE_OK, idgate_session_restore(answer.session.ptr, answer.session.len, &session, &err));
    IS(IDGATE_OK, idgate_session_info(session, NOW, &info, &err));
    CHECK(has(info, "\"profile\":\"draft\"") && has(info, "\"profile\":\"haip\""));
    CHECK(has(info, (char *)offer.ptr));
    idgate_bytes_free(info);
    /* Made for one offer, it is not an answer to another. */
    IS(IDGATE_BAD_RESPONSE,
       idgate_verification_begin(verifier, session, type, type_len, answer.body.ptr,
                                 answer.body.len, NOW, &verification, &err));
    IS(IDGATE_BAD_RESPONSE,
       idgate_offer_verification_begin(verifier, session, "off_1", 5, type, type_len,
                                       answer.body.ptr, answer.body.len, NOW, &verification, &err));
    IS(IDGATE_OK, idgate_offer_verification_begin(
                      verifier, session, (char *)offer.ptr, offer.len, type, type_len,
                      answer.body.ptr, answer.body.len, NOW, &verification, &err));
    IS(IDGATE_OK, idgate_verification_step(verification, &step, &err));
    /* Outside of drafts the wallet is told where to go, and nothing else. */
    CHECK(has(step.json, "\"body\":{\"redirect_uri\":\"https://shop.example/back"));
    IS(IDGATE_OK, idgate_session_result(step.transition.session, NOW, &result, &err));
    CHECK(has(result, "Erika"));
    idgate_bytes_free(result);
    the_result_is_for_whoever_brings_the_code(step.transition.session, step.json);
    IS(IDGATE_OK, idgate_session_info(step.transition.session, NOW, &info, &err));
    CHECK(has(info, "\"VERIFIED\"") && !has(info, "deep_links"));
    idgate_bytes_free(info);
    idgate_verification_free(verification);
    IS(IDGATE_BAD_RESPONSE,
       idgate_verification_begin(verifier, step.transition.session, type, type_len, answer.body.ptr,
                                 answer.body.len, NOW, &verification, &err));
    idgate_bytes_free(step.json);
    transition_free(step.transition);
    idgate_session_free(session);
    free(offer.ptr);
    answer_free(answer);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_signer *signer = NULL;
    idgate_verifier *verifier = NULL;
    CHECK(argc == 2);
    struct file scalar = load(argv[1], "offers/scalar");
    idgate_trust *trust = trust_of_offers(argv[1]);
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, strlen(BASE_URL), scalar.ptr, scalar.len, &signer,
                                    &err));
    free(scalar.ptr);
    idgate_signer *certificate = certified(argv[1], signer);
    verifiers_that_cannot_be(certificate, trust);
    const idgate_signer *const signers[] = {signer, certificate};
    idgate_verifier *draft = NULL;
    IS(IDGATE_OK, make("{}", signers, 2, trust, &draft, &err));
    IS(IDGATE_OK, make(OPTIONS, signers, 2, trust, &verifier, &err));
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

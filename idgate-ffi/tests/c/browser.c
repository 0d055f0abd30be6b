/* A page that asks its browser: what it passes on, and what it brings back. */
#include "common.h"

static const char *const OPTIONS =
    "{\"profiles\":[\"1.0\",\"haip\"],\"request_mode\":\"jar\",\"dc_api\":\"multisigned\"}";

static idgate_status make(const char *options, const idgate_signer *const *signers, size_t count,
                          idgate_trust *trust, idgate_verifier **verifier, idgate_error **err) {
    return idgate_verifier_new(BASE_URL, strlen(BASE_URL), options, strlen(options), signers, count,
                               NULL, 0, trust, 1, verifier, err);
}

static idgate_status ask(idgate_verifier *verifier, const char *root, const char *name,
                         idgate_transition *made, idgate_error **err) {
    struct file request = load(root, name);
    idgate_status status = idgate_session_create(verifier, (char *)request.ptr, request.len, "shop",
                                                 4, true, NOW, made, err);
    free(request.ptr);
    return status;
}

/* Drafts know no browsers, and what nobody enabled is no field. */
static void where_nobody_enabled_it_there_is_nothing_of_it(const char *root, idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_verifier *verifier = NULL;
    idgate_transition made;
    idgate_bytes code;
    IS(IDGATE_CONFIG, make("{\"dc_api\":\"unsigned\"}", NULL, 0, trust, &verifier, &err));
    IS(IDGATE_CONFIG, make("{\"profiles\":[\"1.0\"],\"dc_api\":\"yes\"}", NULL, 0, trust, &verifier,
                           &err));
    IS(IDGATE_OK, make("{\"profiles\":[\"1.0\"]}", NULL, 0, trust, &verifier, &err));
    CHECK(ask(verifier, root, "offers/page.json", &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(idgate_error_code(err, &code) == IDGATE_OK && has(code, "unknown_field"));
    idgate_bytes_free(code);
    idgate_error_free(err);
    IS(IDGATE_OK, idgate_verifier_free(verifier));
}

static void a_page_passes_on_each_protocol(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes info, requests;
    IS(IDGATE_OK, ask(verifier, root, "offers/page.json", &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"origins\":[\"https://shop.example\"]") && has(info, "\"qr_code_url\""));
    CHECK(!has(info, "\"response_uri\":\"\""));
    idgate_bytes_free(info);
    IS(IDGATE_OK, idgate_dc_api_requests(verifier, made.session, NOW, &requests, &err));
    CHECK(has(requests, "{\"requests\":[{\"protocol\":\"openid4vp-v1-multisigned\","));
    CHECK(has(requests, "\"openid4vp-v1-signed\"") && has(requests, "\"openid4vp-v1-unsigned\""));
    idgate_bytes_free(requests);
    IS(IDGATE_MISUSE, idgate_dc_api_requests(verifier, NULL, NOW, &requests, &err));
    IS(IDGATE_MISUSE, idgate_dc_api_requests(verifier, made.session, NOW, NULL, &err));
    /* Ten years later nobody may answer. */
    IS(IDGATE_BAD_RESPONSE,
       idgate_dc_api_requests(verifier, made.session, NOW + 315360000000u, &requests, &err));
    transition_free(made);
    IS(IDGATE_OK, ask(verifier, root, "offers/request.json", &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"dc_api\":null"));
    idgate_bytes_free(info);
    IS(IDGATE_BAD_RESPONSE,
       idgate_dc_api_requests(verifier, made.session, NOW, &requests, &err));
    transition_free(made);
}

/* Made for a page from elsewhere, it is refused. */
static void a_copied_page_gets_nothing(const char *root, idgate_verifier *verifier,
                                       const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_bytes result;
    struct file copied = load(root, "offers/copied.json");
    idgate_step step = step_dc_api(verifier, session, copied);
    CHECK(has(step.json, "\"audience_mismatch\"") && has(step.json, "\"reply\":\"refused\""));
    IS(IDGATE_NOTHING, idgate_session_result(step.transition.session, NOW, &result, &err));
    step_free(step);
    free(copied.ptr);
}

static void what_a_page_brings_back_settles_the_session(const char *root, idgate_verifier *verifier,
                                                        const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_verification *verification = NULL;
    idgate_bytes result, requests;
    struct file answer = load(root, "offers/credential.json");
    struct file half = {answer.ptr, answer.len / 2}, none = {NULL, 0};
    IS(IDGATE_BAD_RESPONSE, begin_dc_api(verifier, session, half, &verification, &err));
    IS(IDGATE_BAD_RESPONSE, begin_dc_api(verifier, session, none, &verification, &err));
    IS(IDGATE_MISUSE, begin_dc_api(verifier, NULL, answer, &verification, &err));
    IS(IDGATE_MISUSE, begin_dc_api(NULL, session, answer, &verification, &err));
    idgate_step step = step_dc_api(verifier, session, answer);
    CHECK(has(step.json, "\"reply\":\"accepted\"") && has(step.json, "\"redirect_uri\":null"));
    /* Whoever has the page is there already: no code brings anybody back. */
    IS(IDGATE_OK, idgate_session_result_for(step.transition.session, NULL, 0, NOW, &result, &err));
    CHECK(has(result, "Erika") && has(result, "\"origin\":\"https://shop.example\""));
    CHECK(has(result, "\"request_mode\":\"dc_api\""));
    idgate_bytes_free(result);
    IS(IDGATE_BAD_RESPONSE,
       idgate_dc_api_requests(verifier, step.transition.session, NOW, &requests, &err));
    IS(IDGATE_BAD_RESPONSE,
       begin_dc_api(verifier, step.transition.session, answer, &verification, &err));
    step_free(step);
    free(answer.ptr);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_signer *signer = NULL, *certified = NULL;
    idgate_session *session = NULL;
    idgate_verifier *verifier = NULL;
    CHECK(argc == 2);
    struct file scalar = load(argv[1], "offers/scalar"), chain = load(argv[1], "offers/chain.der");
    struct file stored = load(argv[1], "offers/page_session");
    idgate_trust *trust = trust_of_offers(argv[1]);
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, strlen(BASE_URL), scalar.ptr, scalar.len, &signer,
                                    &err));
    IS(IDGATE_OK, idgate_signer_certified(signer, chain.ptr, chain.len, NOW, &certified, &err));
    where_nobody_enabled_it_there_is_nothing_of_it(argv[1], trust);
    const idgate_signer *const signers[] = {signer, certified};
    IS(IDGATE_OK, make(OPTIONS, signers, 2, trust, &verifier, &err));
    IS(IDGATE_OK, idgate_signer_free(signer));
    IS(IDGATE_OK, idgate_signer_free(certified));
    IS(IDGATE_OK, idgate_trust_free(trust));
    a_page_passes_on_each_protocol(argv[1], verifier);
    IS(IDGATE_OK, idgate_session_restore(stored.ptr, stored.len, &session, &err));
    a_copied_page_gets_nothing(argv[1], verifier, session);
    what_a_page_brings_back_settles_the_session(argv[1], verifier, session);
    IS(IDGATE_OK, idgate_session_free(session));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    free(scalar.ptr);
    free(chain.ptr);
    free(stored.ptr);
    CHECK(idgate_in_use() == 0);
    return 0;
}

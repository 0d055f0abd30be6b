/* ISO/IEC TS 18013-7 Annex C: a page asks its browser for a driving licence by org-iso-mdoc. */
#include "common.h"

static idgate_verifier *verifier_of(const char *root) {
    static const char *const OPTIONS = "{\"profiles\":[\"1.0\"],\"dc_api\":\"unsigned\"}";
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    idgate_verifier *verifier = NULL;
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    trust_issuer(trust, root, "https://iaca.example", IDGATE_ROOT, "iso_mdoc/root.der");
    IS(IDGATE_OK, idgate_verifier_new(BASE_URL, strlen(BASE_URL), OPTIONS, strlen(OPTIONS), NULL, 0,
                                      NULL, 0, trust, 1, &verifier, &err));
    IS(IDGATE_OK, idgate_trust_free(trust));
    return verifier;
}

static void a_licence_is_asked_for_by_both_protocols(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes requests, info;
    struct file request = load(root, "iso_mdoc/request.json");
    IS(IDGATE_OK, idgate_session_create(verifier, (char *)request.ptr, request.len, "shop", 4, false,
                                        NOW, &made, &err));
    IS(IDGATE_OK, idgate_dc_api_requests(verifier, made.session, NOW, &requests, &err));
    CHECK(has(requests, "{\"requests\":[{\"protocol\":\"openid4vp-v1-unsigned\","));
    CHECK(has(requests, "{\"protocol\":\"org-iso-mdoc\",\"data\":{\"deviceRequest\":\""));
    CHECK(has(requests, "\"encryptionInfo\":\""));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"org-iso-mdoc\""));
    idgate_bytes_free(info);
    idgate_bytes_free(requests);
    transition_free(made);
    free(request.ptr);
}

/* What is encrypted for a page from elsewhere does not open, and changes nothing. */
static void a_copied_page_gets_nothing(const char *root, idgate_verifier *verifier,
                                       const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_verification *verification = NULL;
    idgate_bytes code;
    struct file copied = load(root, "iso_mdoc/copied.json");
    CHECK(begin_dc_api(verifier, session, copied, &verification, &err) == IDGATE_BAD_RESPONSE);
    CHECK(idgate_error_code(err, &code) == IDGATE_OK && has(code, "decryption_failed"));
    idgate_bytes_free(code);
    idgate_error_free(err);
    free(copied.ptr);
}

static void what_a_page_brings_back_settles_the_session(const char *root, idgate_verifier *verifier,
                                                        const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_bytes result;
    struct file answer = load(root, "iso_mdoc/credential.json");
    idgate_step step = step_dc_api(verifier, session, answer);
    CHECK(has(step.json, "\"reply\":\"accepted\""));
    IS(IDGATE_OK, idgate_session_result(step.transition.session, NOW, &result, &err));
    CHECK(has(result, "Mustermann") && has(result, "\"origin\":\"https://shop.example\""));
    CHECK(has(result, "\"session_transcript\":\"iso18013-7-annex-c\""));
    idgate_bytes_free(result);
    step_free(step);
    free(answer.ptr);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    CHECK(argc == 2);
    struct file stored = load(argv[1], "iso_mdoc/session");
    idgate_verifier *verifier = verifier_of(argv[1]);
    a_licence_is_asked_for_by_both_protocols(argv[1], verifier);
    IS(IDGATE_OK, idgate_session_restore(stored.ptr, stored.len, &session, &err));
    a_copied_page_gets_nothing(argv[1], verifier, session);
    what_a_page_brings_back_settles_the_session(argv[1], verifier, session);
    IS(IDGATE_OK, idgate_session_free(session));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    free(stored.ptr);
    CHECK(idgate_in_use() == 0);
    return 0;
}

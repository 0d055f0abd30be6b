/* ISO/IEC TS 18013-7 Annex C: a page asks its browser for a driving licence by org-iso-mdoc. */
#include "page.h"

static idgate_verifier *verifier_of(const char *root) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    trust_issuer(trust, root, "https://iaca.example", IDGATE_IACA_ROOTS, "iso_mdoc/root.der");
    idgate_verifier_options *options = OPTIONS(IDGATE_PROFILE_1_0);
    CHECK(idgate_verifier_options_dc_api(options, IDGATE_DC_API_UNSIGNED) == IDGATE_OK);
    idgate_verifier *verifier = verifier_of_options(options, trust);
    IS(IDGATE_OK, idgate_trust_free(trust));
    return verifier;
}

static void a_licence_is_asked_for_by_both_protocols(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes requests, info;
    struct file request = load(root, "iso_mdoc/request.json");
    IS(IDGATE_OK, create(verifier, request, IDGATE_MODE_TEST, &made, &err));
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

/* An answer encrypted for a page of another origin cannot be decrypted, and changes nothing. */
static void a_copied_page_gets_nothing(const char *root, idgate_verifier *verifier, const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_verification *verification = NULL;
    struct file copied = load(root, "iso_mdoc/copied.json");
    CHECK(begin_dc_api(verifier, session, copied, &verification, &err) == IDGATE_BAD_RESPONSE);
    CHECK(contains(idgate_error_code(err), "decryption_failed"));
    idgate_error_free(err);
    free(copied.ptr);
}

static void what_a_page_brings_back_settles_the_session(const char *root, idgate_verifier *verifier,
                                                        const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_bytes result;
    struct file credential = load(root, "iso_mdoc/credential.json");
    idgate_step *step = step_dc_api(verifier, session, credential);
    CHECK(contains(idgate_step_json(step), "\"reply\":\"accepted\""));
    idgate_session *settled = session_after(step);
    IS(IDGATE_OK, result_of(settled, NOW, &result, &err));
    CHECK(has(result, "Mustermann") && has(result, "\"origin\":\"https://shop.example\""));
    CHECK(has(result, "\"session_transcript\":\"iso18013-7-annex-c\""));
    idgate_bytes_free(result);
    idgate_session_free(settled);
    step_free(step);
    free(credential.ptr);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    CHECK(argc == 2);
    struct file stored = load(argv[1], "iso_mdoc/session");
    idgate_verifier *verifier = verifier_of(argv[1]);
    a_licence_is_asked_for_by_both_protocols(argv[1], verifier);
    IS(IDGATE_OK, idgate_session_restore(GIVEN(stored), &session, &err));
    a_copied_page_gets_nothing(argv[1], verifier, session);
    what_a_page_brings_back_settles_the_session(argv[1], verifier, session);
    IS(IDGATE_OK, idgate_session_free(session));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    free(stored.ptr);
    CHECK(idgate_in_use() == 0);
    return 0;
}

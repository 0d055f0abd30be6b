/* A page that asks its browser: the requests that it passes on, and the answer. */
#include "page.h"

static idgate_status ask(idgate_verifier *verifier, const char *root, const char *name, idgate_transition *made,
                         idgate_error **err) {
    struct file request = load(root, name);
    idgate_status status = create(verifier, request, IDGATE_MODE_LIVE, made, err);
    free(request.ptr);
    return status;
}

/* Drafts have no requests to browsers, and dc_api is not a field unless it is enabled. */
static void where_nobody_enabled_it_there_is_nothing_of_it(const char *root, idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_verifier *verifier = NULL;
    idgate_transition made;
    idgate_verifier_options *drafts = OPTIONS(IDGATE_PROFILE_DRAFT);
    CHECK(idgate_verifier_options_dc_api(drafts, 7) == IDGATE_MISUSE);
    CHECK(idgate_verifier_options_dc_api(drafts, IDGATE_DC_API_UNSIGNED) == IDGATE_OK);
    IS(IDGATE_CONFIG, idgate_verifier_new(drafts, trust, &verifier, &err));
    IS(IDGATE_OK, idgate_verifier_options_free(drafts));
    verifier = verifier_of_options(OPTIONS(IDGATE_PROFILE_1_0), trust);
    CHECK(ask(verifier, root, "offers/page.json", &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(contains(idgate_error_code(err), "unknown_field"));
    CHECK(contains(idgate_error_path(err), "dc_api"));
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
    /* Ten years later the session accepts no answer. */
    IS(IDGATE_BAD_RESPONSE, idgate_dc_api_requests(verifier, made.session, NOW + 315360000000u, &requests, &err));
    transition_free(made);
    IS(IDGATE_OK, ask(verifier, root, "offers/request.json", &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"dc_api\":null"));
    idgate_bytes_free(info);
    IS(IDGATE_BAD_RESPONSE, idgate_dc_api_requests(verifier, made.session, NOW, &requests, &err));
    transition_free(made);
}

/* An answer for a page of another origin is refused. */
static void a_copied_page_gets_nothing(const char *root, idgate_verifier *verifier, const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_bytes result;
    struct file copied = load(root, "offers/copied.json");
    idgate_step *step = step_dc_api(verifier, session, copied);
    CHECK(contains(idgate_step_json(step), "\"audience_mismatch\""));
    CHECK(contains(idgate_step_json(step), "\"reply\":\"refused\"") && reply_of(step).status == 400);
    idgate_session *refused = session_after(step);
    IS(IDGATE_NOTHING, result_of(refused, NOW, &result, &err));
    idgate_session_free(refused);
    step_free(step);
    free(copied.ptr);
}

static void what_a_page_brings_back_settles_the_session(const char *root, idgate_verifier *verifier,
                                                        const idgate_session *session) {
    idgate_error *err = NULL;
    idgate_verification *verification = NULL;
    idgate_bytes result, requests;
    struct file credential = load(root, "offers/credential.json");
    struct file half = {credential.ptr, credential.len / 2}, none = {NULL, 0};
    IS(IDGATE_BAD_RESPONSE, begin_dc_api(verifier, session, half, &verification, &err));
    IS(IDGATE_BAD_RESPONSE, begin_dc_api(verifier, session, none, &verification, &err));
    IS(IDGATE_MISUSE, begin_dc_api(verifier, NULL, credential, &verification, &err));
    IS(IDGATE_MISUSE, begin_dc_api(NULL, session, credential, &verification, &err));
    /* An answer is either posted or from a page, not both. */
    idgate_answer both = {.size = sizeof both, .to = IDGATE_STR("ses_1"), .body = GIVEN(credential), .from_page = 1};
    IS(IDGATE_MISUSE, idgate_verification_begin(verifier, session, &both, NOW, &verification, &err));
    idgate_step *step = step_dc_api(verifier, session, credential);
    CHECK(contains(idgate_step_json(step), "\"reply\":\"accepted\""));
    CHECK(contains(idgate_step_json(step), "\"redirect_uri\":null"));
    idgate_session *settled = session_after(step);
    /* The page is already open, so there is no code for a redirect. */
    IS(IDGATE_OK, idgate_session_result(settled, IDGATE_READER_BROWSER, NONE, NOW, &result, &err));
    CHECK(has(result, "Erika") && has(result, "\"origin\":\"https://shop.example\""));
    CHECK(has(result, "\"request_mode\":\"dc_api\""));
    idgate_bytes_free(result);
    IS(IDGATE_BAD_RESPONSE, idgate_dc_api_requests(verifier, settled, NOW, &requests, &err));
    IS(IDGATE_BAD_RESPONSE, begin_dc_api(verifier, settled, credential, &verification, &err));
    idgate_session_free(settled);
    step_free(step);
    free(credential.ptr);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_signer *signer = NULL, *certified = NULL;
    idgate_session *session = NULL;
    CHECK(argc == 2);
    struct file scalar = load(argv[1], "offers/scalar"), chain = load(argv[1], "offers/chain.der");
    struct file stored = load(argv[1], "offers/page_session");
    idgate_trust *trust = trust_of_offers(argv[1]);
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, GIVEN(scalar), &signer, &err));
    IS(IDGATE_OK, idgate_signer_certified(signer, GIVEN(chain), NOW, &certified, &err));
    where_nobody_enabled_it_there_is_nothing_of_it(argv[1], trust);
    idgate_verifier_options *options = OPTIONS(IDGATE_PROFILE_1_0, IDGATE_PROFILE_HAIP);
    CHECK(idgate_verifier_options_signer(options, signer) == IDGATE_OK);
    CHECK(idgate_verifier_options_signer(options, certified) == IDGATE_OK);
    CHECK(idgate_verifier_options_dc_api(options, IDGATE_DC_API_MULTISIGNED) == IDGATE_OK);
    idgate_verifier *verifier = verifier_of_options(options, trust);
    IS(IDGATE_OK, idgate_signer_free(signer));
    IS(IDGATE_OK, idgate_signer_free(certified));
    IS(IDGATE_OK, idgate_trust_free(trust));
    a_page_passes_on_each_protocol(argv[1], verifier);
    IS(IDGATE_OK, idgate_session_restore(GIVEN(stored), &session, &err));
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

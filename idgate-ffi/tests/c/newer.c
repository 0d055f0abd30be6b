/* A program of a later version, whose structs have an additional field, with the current library. */
#include "common.h"

static const char *root;

/* The field that this library does not know is first zero, and then not. */
#define TAKES(expected, name, call)                                          \
    do {                                                                     \
        (name).added_later = 0;                                              \
        IS(expected, call);                                                  \
        (name).added_later = 1;                                              \
        CHECK((call) == IDGATE_MISUSE);                                      \
        CHECK(contains(idgate_error_message(err), "does not know"));         \
        idgate_error_free(err);                                              \
        err = NULL;                                                          \
        (name).added_later = 0;                                              \
    } while (0)

static void sessions(void) {
    idgate_error *err = NULL;
    idgate_transition made = {0};
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    idgate_step *step = NULL;
    idgate_bytes told;
    struct file request = load(root, "sd_jwt/request.json");
    struct answer given = answer_of(root, "sd_jwt");
    idgate_verifier *verifier = verifier_for(root, "https://issuer.example", IDGATE_JWK, "sd_jwt/key.json");
    idgate_new_session new_session = {.size = sizeof new_session, .mode = IDGATE_MODE_LIVE};
    TAKES(IDGATE_OK, new_session, idgate_session_create(verifier, GIVEN(request), &new_session, NOW, &made, &err));
    TAKES(IDGATE_MISUSE, new_session,
          idgate_registration_compare(verifier, GIVEN(request), &new_session, NOW, &told, &err));
    idgate_asked asked = {.size = sizeof asked, .to = IDGATE_STR("ses_1")};
    TAKES(IDGATE_BAD_RESPONSE, asked, idgate_request_object(verifier, made.session, &asked, NOW, &step, &err));
    transition_free(made);
    IS(IDGATE_OK, idgate_session_restore(GIVEN(given.session), &session, &err));
    IS(IDGATE_OK, idgate_session_info(session, NOW, &told, &err));
    idgate_answer answer = {.size = sizeof answer, .to = after(GIVEN(told), "\"handle\":\""),
                            .content_type = GIVEN(given.content_type), .body = GIVEN(given.body)};
    TAKES(IDGATE_OK, answer, idgate_verification_begin(verifier, session, &answer, NOW, &verification, &err));
    /* In a reply the library fills the fields that it knows, and leaves the others unchanged. */
    step = step_of(verification);
    idgate_reply reply = {.size = sizeof reply, .added_later = 7};
    IS(IDGATE_OK, idgate_step_reply(step, &reply, &err));
    CHECK(reply.status == 200 && reply.body.len > 0 && reply.added_later == 7 && reply.size == sizeof reply);
    idgate_bytes_free(told);
    step_free(step);
    idgate_verification_free(verification);
    idgate_session_free(session);
    idgate_verifier_free(verifier);
    answer_free(given);
    free(request.ptr);
}

static void trust_and_presentations(void) {
    idgate_error *err = NULL;
    idgate_bytes told;
    idgate_trust *trust = trust_of_offers(root);
    struct file key = load(root, "offers/key.json");
    idgate_material_options options = {.size = sizeof options, .flags = IDGATE_TEST_ONLY};
    TAKES(IDGATE_OK, options,
          idgate_trust_add_material(trust, IDGATE_STR("https://issuer.example"), IDGATE_JWK, GIVEN(key), &options, &err));
    idgate_expected expected = {.size = sizeof expected, .format = IDGATE_FORMAT_SD_JWT_VC,
                                .issuer_id = IDGATE_STR("https://issuer.example")};
    TAKES(IDGATE_REFUSED, expected,
          idgate_presentation_verify(trust, IDGATE_STR("x~"), &expected, NOW, &told, &err));
    free(key.ptr);
    IS(IDGATE_OK, idgate_trust_free(trust));
}

static void fetchers_and_webhooks(void) {
    idgate_error *err = NULL;
    idgate_bytes headers;
    idgate_fetcher *fetcher = NULL;
    const idgate_str secret = IDGATE_STR("an old secret of some length"), range = IDGATE_STR("10.0.0.1/8");
    idgate_fetch_options options = {.size = sizeof options, .allow = &range, .allow_len = 1};
    TAKES(IDGATE_CONFIG, options, idgate_fetcher_new(&options, &fetcher, &err));
    idgate_webhook_attempt attempt = {.size = sizeof attempt, .id = IDGATE_STR("whf_1"), .number = 1};
    TAKES(IDGATE_OK, attempt, idgate_webhook_headers(secret, &attempt, NOW, &headers, &err));
    idgate_bytes_free(headers);
    idgate_webhook webhook = {.size = sizeof webhook, .scheme = IDGATE_WEBHOOK_GATEWAY};
    TAKES(IDGATE_REFUSED, webhook, idgate_webhook_verify(secret, &webhook, NOW, &err));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    root = argv[1];
    sessions();
    trust_and_presentations();
    fetchers_and_webhooks();
    CHECK(idgate_in_use() == 0);
    return 0;
}

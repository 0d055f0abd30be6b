/* Every mistake of a caller that the library can detect. */
#include "common.h"

static void text_of_error(void) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    CHECK(idgate_trust_new(&trust, NULL) == IDGATE_OK);
    CHECK(idgate_trust_add_issuer(trust, IDGATE_STR("{}"), &err) == IDGATE_CONFIG);
    CHECK(idgate_error_kind(err) == IDGATE_CONFIG);
    CHECK(contains(idgate_error_code(err), "config"));
    CHECK(idgate_error_path(err).len == 0);
    idgate_reply reply = {.size = sizeof reply};
    CHECK(idgate_error_reply(err, &reply) == IDGATE_OK && reply.status == 500);
    CHECK(!contains(reply.body, "issuer_id"));
    CHECK(idgate_error_reply(err, NULL) == IDGATE_MISUSE);
    reply.size = 0;
    CHECK(idgate_error_reply(err, &reply) == IDGATE_MISUSE);
    CHECK(idgate_error_free(err) == IDGATE_OK);
    CHECK(idgate_error_free(err) == IDGATE_MISUSE);
    CHECK(idgate_error_message(err).ptr == NULL && idgate_error_kind(err) == IDGATE_MISUSE);
    CHECK(idgate_error_free(NULL) == IDGATE_OK);
    CHECK(idgate_trust_free(trust) == IDGATE_OK);
}

static idgate_status made_by(const idgate_verifier *verifier) {
    idgate_transition made;
    idgate_new_session new_session = {.size = sizeof new_session, .mode = IDGATE_MODE_LIVE};
    return idgate_session_create(verifier, IDGATE_STR("{}"), &new_session, NOW, &made, NULL);
}

static void handles(void) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    idgate_verifier *verifier = NULL;
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    idgate_verifier_options *options = OPTIONS(IDGATE_PROFILE_1_0);
    /* NULL, another kind, invented, freed. */
    IS(IDGATE_MISUSE, idgate_verifier_new(options, NULL, &verifier, &err));
    IS(IDGATE_MISUSE, idgate_verifier_new(NULL, trust, &verifier, &err));
    IS(IDGATE_MISUSE, idgate_verifier_new((idgate_verifier_options *)trust, trust, &verifier, &err));
    CHECK(made_by((idgate_verifier *)trust) == IDGATE_MISUSE);
    IS(IDGATE_MISUSE, idgate_verifier_free((idgate_verifier *)trust));
    for (uintptr_t invented = 1; invented != 0; invented <<= 1) {
        if (invented != (uintptr_t)trust) {
            IS(IDGATE_MISUSE, idgate_trust_free((idgate_trust *)invented));
        }
    }
    int own = 0;
    IS(IDGATE_MISUSE, idgate_session_free((idgate_session *)&own));
    CHECK(idgate_session_status((idgate_session *)&own, NOW) == IDGATE_SESSION_NONE);
    CHECK(idgate_step_kind((idgate_step *)&own) == IDGATE_STEP_NONE);
    CHECK(idgate_step_json(NULL).ptr == NULL);
    IS(IDGATE_OK, idgate_verifier_new(options, trust, &verifier, &err));
    IS(IDGATE_OK, idgate_verifier_options_free(options));
    CHECK(idgate_verifier_options_profile(options, IDGATE_PROFILE_1_0) == IDGATE_MISUSE);
    IS(IDGATE_OK, idgate_trust_free(trust));
    IS(IDGATE_MISUSE, idgate_trust_free(trust));
    IS(IDGATE_MISUSE, idgate_trust_add_issuer(trust, IDGATE_STR("{}"), &err));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    CHECK(made_by(verifier) == IDGATE_MISUSE);
    IS(IDGATE_OK, idgate_trust_free(NULL));
    IS(IDGATE_OK, idgate_verifier_free(NULL));
    IS(IDGATE_OK, idgate_verifier_options_free(NULL));
    IS(IDGATE_OK, idgate_session_free(NULL));
    IS(IDGATE_OK, idgate_step_free(NULL));
    IS(IDGATE_OK, idgate_verification_free(NULL));
}

static void inputs(void) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    idgate_session *session = NULL;
    idgate_transition made;
    idgate_bytes text;
    const uint8_t byte[] = {0xe9};
    const idgate_str latin1 = {byte, 1}, issuer = IDGATE_STR("i");
    IS(IDGATE_MISUSE, idgate_trust_new(NULL, &err));
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    IS(IDGATE_MISUSE, idgate_trust_add_issuer(trust, (idgate_str){NULL, 2}, &err));
    IS(IDGATE_MISUSE, idgate_trust_add_issuer(trust, (idgate_str){"{}", SIZE_MAX}, &err));
    IS(IDGATE_MISUSE, idgate_trust_add_issuer(trust, (idgate_str){"{}", (size_t)1 << 40}, &err));
    IS(IDGATE_CONFIG, idgate_trust_add_issuer(trust, IDGATE_STR(""), &err));
    IS(IDGATE_OK, idgate_trust_add_issuer(trust, IDGATE_STR("{\"issuer_id\":\"i\"}"), &err));
    IS(IDGATE_MISUSE, idgate_trust_add_material(trust, latin1, IDGATE_IACA_ROOTS, latin1, NULL, &err));
    IS(IDGATE_CONFIG, idgate_trust_add_material(trust, IDGATE_STR("other"), IDGATE_IACA_ROOTS, latin1, NULL, &err));
    for (int32_t kind = -1; kind <= 12; kind++) {
        idgate_status expected = kind >= 1 && kind <= 11 ? IDGATE_CONFIG : IDGATE_MISUSE;
        CHECK(idgate_trust_add_material(trust, issuer, kind, latin1, NULL, &err) == expected);
        CHECK(expected == IDGATE_MISUSE || contains(idgate_error_issuer(err), "i"));
        CHECK(expected == IDGATE_MISUSE || idgate_error_field(err).len > 0);
        idgate_error_free(err);
        err = NULL;
    }
    idgate_material_options options = {.size = sizeof options, .flags = 4};
    IS(IDGATE_MISUSE, idgate_trust_add_material(trust, issuer, IDGATE_IACA_ROOTS, latin1, &options, &err));
    options = (idgate_material_options){.size = 3};
    IS(IDGATE_MISUSE, idgate_trust_add_material(trust, issuer, IDGATE_IACA_ROOTS, latin1, &options, &err));
    idgate_verifier_options *choices = NULL;
    idgate_verifier *verifier = NULL;
    IS(IDGATE_MISUSE, idgate_verifier_options_new(latin1, &choices, &err));
    IS(IDGATE_MISUSE, idgate_verifier_options_new(BASE_URL, NULL, &err));
    IS(IDGATE_OK, idgate_verifier_options_new(IDGATE_STR("http://shop.example"), &choices, &err));
    CHECK(idgate_verifier_options_profile(choices, IDGATE_PROFILE_DRAFT) == IDGATE_OK);
    IS(IDGATE_CONFIG, idgate_verifier_new(choices, trust, &verifier, &err));
    IS(IDGATE_OK, idgate_verifier_options_free(choices));
    choices = OPTIONS(IDGATE_PROFILE_DRAFT);
    IS(IDGATE_MISUSE, idgate_verifier_new(choices, trust, NULL, &err));
    verifier = verifier_of_options(choices, trust);
    idgate_new_session new_session = {.size = sizeof new_session, .mode = IDGATE_MODE_LIVE};
    IS(IDGATE_BAD_REQUEST, idgate_session_create(verifier, IDGATE_STR("{"), &new_session, NOW, &made, &err));
    IS(IDGATE_MISUSE, idgate_session_create(verifier, IDGATE_STR("{}"), NULL, NOW, &made, &err));
    new_session.mode = 0;
    IS(IDGATE_MISUSE, idgate_session_create(verifier, IDGATE_STR("{}"), &new_session, NOW, &made, &err));
    IS(IDGATE_CONFIG, idgate_session_restore(latin1, &session, &err));
    IS(IDGATE_CONFIG, idgate_session_restore(NONE, &session, &err));
    idgate_expected expected = {.size = sizeof expected};
    IS(IDGATE_MISUSE, idgate_presentation_verify(trust, IDGATE_STR("x"), &expected, NOW, &text, &err));
    IS(IDGATE_MISUSE, idgate_presentation_verify(trust, IDGATE_STR("x"), NULL, NOW, &text, &err));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    IS(IDGATE_OK, idgate_trust_free(trust));
}

static void bytes_are_freed_once(void) {
    idgate_bytes key;
    uint8_t own[4] = {0};
    idgate_bytes foreign = {own, sizeof own};
    CHECK(idgate_signing_key_generate(&key, NULL) == IDGATE_OK && key.len == 32);
    CHECK(idgate_bytes_free(key) == IDGATE_OK);
    CHECK(idgate_bytes_free(key) == IDGATE_MISUSE);
    CHECK(idgate_bytes_free(foreign) == IDGATE_MISUSE);
}

static void a_verification_is_decided_once(const char *root) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    idgate_verifier *verifier = verifier_for(root, "https://issuer.example", IDGATE_JWK, "sd_jwt/key.json");
    struct answer given = answer_of(root, "sd_jwt");
    IS(IDGATE_OK, idgate_session_restore(GIVEN(given.session), &session, &err));
    idgate_answer answer = {.size = sizeof answer};
    /* Without a path; NULL; neither posted nor from a page. */
    IS(IDGATE_MISUSE, idgate_verification_begin(verifier, session, &answer, NOW, &verification, &err));
    IS(IDGATE_MISUSE, idgate_verification_begin(verifier, session, NULL, NOW, &verification, &err));
    answer.from_page = 2;
    IS(IDGATE_MISUSE, idgate_verification_begin(verifier, session, &answer, NOW, &verification, &err));
    answer = (idgate_answer){.size = sizeof answer, .to = IDGATE_STR("")};
    IS(IDGATE_BAD_RESPONSE, idgate_verification_begin(verifier, session, &answer, NOW, &verification, &err));
    IS(IDGATE_OK, begin(verifier, session, NULL, given, &verification, &err));
    /* The objects that it works with may be freed. */
    IS(IDGATE_OK, idgate_session_free(session));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    answer_free(given);
    IS(IDGATE_MISUSE, idgate_verification_supply(verification, 0, NONE, NOW, &err));
    /* There are no needs yet, so nothing is cached and nothing can be fetched. */
    idgate_fetcher *fetcher = NULL;
    bool came = true;
    const idgate_str range = IDGATE_STR("x");
    idgate_fetch_options options = {.size = sizeof options, .allow = &range, .allow_len = 1};
    IS(IDGATE_CONFIG, idgate_fetcher_new(&options, &fetcher, &err));
    IS(IDGATE_MISUSE, idgate_fetcher_new(NULL, NULL, &err));
    IS(IDGATE_OK, idgate_fetcher_new(NULL, &fetcher, &err));
    IS(IDGATE_OK, idgate_verification_recall(verification, fetcher, NOW, &came, &err));
    CHECK(!came);
    IS(IDGATE_MISUSE, idgate_verification_recall(verification, fetcher, NOW, NULL, &err));
    IS(IDGATE_MISUSE, idgate_verification_fetch(verification, fetcher, &err));
    IS(IDGATE_MISUSE, idgate_verification_fetch(verification, (idgate_fetcher *)verification, &err));
    IS(IDGATE_MISUSE, idgate_verification_wait(verification, 0, &came, &err));
    IS(IDGATE_MISUSE, idgate_verification_settle(verification, NOW, &err));
    IS(IDGATE_OK, idgate_fetcher_free(fetcher));
    IS(IDGATE_MISUSE, idgate_fetcher_free(fetcher));
    IS(IDGATE_MISUSE, idgate_verification_step(verification, NULL, &err));
    idgate_step *step = step_of(verification), *none = NULL;
    CHECK(idgate_step_kind(step) == IDGATE_STEP_DONE && contains(idgate_step_json(step), "\"VERIFIED\""));
    /* The session of a step can be read twice, and outlives the step. */
    idgate_session *once = session_after(step), *twice = session_after(step);
    step_free(step);
    IS(IDGATE_MISUSE, idgate_step_free(step));
    IS(IDGATE_OK, idgate_session_free(once));
    CHECK(idgate_session_status(twice, NOW) == IDGATE_SESSION_VERIFIED);
    IS(IDGATE_OK, idgate_session_free(twice));
    IS(IDGATE_MISUSE, idgate_verification_step(verification, &none, &err));
    IS(IDGATE_MISUSE, idgate_verification_supply(verification, 0, NONE, NOW, &err));
    IS(IDGATE_OK, idgate_verification_free(verification));
    IS(IDGATE_MISUSE, idgate_verification_free(verification));
    IS(IDGATE_MISUSE, idgate_verification_step(verification, &none, &err));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    text_of_error();
    handles();
    inputs();
    bytes_are_freed_once();
    a_verification_is_decided_once(argv[1]);
    CHECK(idgate_in_use() == 0);
    return 0;
}

/* Every mistake that a caller can make and a library can notice. */
#include "common.h"

static void text_of_error(void) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    idgate_bytes text;
    CHECK(idgate_trust_new(&trust, NULL) == IDGATE_OK);
    CHECK(idgate_trust_add_entry(trust, "{}", 2, &err) == IDGATE_CONFIG);
    CHECK(idgate_error_code(err, &text) == IDGATE_OK);
    CHECK(has(text, "config"));
    CHECK(idgate_bytes_free(text) == IDGATE_OK);
    CHECK(idgate_error_code(err, NULL) == IDGATE_MISUSE);
    CHECK(idgate_error_path(err, &text) == IDGATE_OK);
    CHECK(text.ptr == NULL && text.len == 0);
    CHECK(idgate_error_free(err) == IDGATE_OK);
    CHECK(idgate_error_free(err) == IDGATE_MISUSE);
    CHECK(idgate_error_message(err, &text) == IDGATE_MISUSE);
    CHECK(idgate_error_free(NULL) == IDGATE_OK);
    CHECK(idgate_trust_free(trust) == IDGATE_OK);
}

static void handles(void) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    idgate_verifier *verifier = NULL;
    idgate_transition made;
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    /* NULL, another kind, invented, freed. */
    IS(IDGATE_MISUSE, idgate_verifier_new_inline(BASE_URL, strlen(BASE_URL), NULL, 1, &verifier, &err));
    IS(IDGATE_MISUSE,
       idgate_session_create((idgate_verifier *)trust, "{}", 2, "t", 1, true, NOW, &made, &err));
    IS(IDGATE_MISUSE, idgate_verifier_free((idgate_verifier *)trust));
    for (uintptr_t invented = 1; invented != 0; invented <<= 1) {
        if (invented != (uintptr_t)trust) {
            IS(IDGATE_MISUSE, idgate_trust_free((idgate_trust *)invented));
        }
    }
    int own = 0;
    IS(IDGATE_MISUSE, idgate_session_free((idgate_session *)&own));
    IS(IDGATE_OK, idgate_verifier_new_inline(BASE_URL, strlen(BASE_URL), trust, 1, &verifier, &err));
    IS(IDGATE_OK, idgate_trust_free(trust));
    IS(IDGATE_MISUSE, idgate_trust_free(trust));
    IS(IDGATE_MISUSE, idgate_trust_add_entry(trust, "{}", 2, &err));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    IS(IDGATE_MISUSE,
       idgate_session_create(verifier, "{}", 2, "t", 1, true, NOW, &made, &err));
    IS(IDGATE_OK, idgate_trust_free(NULL));
    IS(IDGATE_OK, idgate_verifier_free(NULL));
    IS(IDGATE_OK, idgate_session_free(NULL));
    IS(IDGATE_OK, idgate_verification_free(NULL));
}

static void inputs(void) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    idgate_verifier *verifier = NULL;
    idgate_session *session = NULL;
    idgate_transition made;
    idgate_bytes text;
    const uint8_t latin1[] = {0xe9};
    IS(IDGATE_MISUSE, idgate_trust_new(NULL, &err));
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    IS(IDGATE_MISUSE, idgate_trust_add_entry(trust, NULL, 2, &err));
    IS(IDGATE_MISUSE, idgate_trust_add_entry(trust, "{}", SIZE_MAX, &err));
    IS(IDGATE_MISUSE, idgate_trust_add_entry(trust, "{}", (size_t)1 << 40, &err));
    IS(IDGATE_CONFIG, idgate_trust_add_entry(trust, "", 0, &err));
    IS(IDGATE_OK, idgate_trust_add_entry(trust, "{\"issuer_id\":\"i\"}", 17, &err));
    IS(IDGATE_MISUSE, idgate_trust_add(trust, (const char *)latin1, 1, IDGATE_ROOT, latin1, 1, NULL,
                                       0, 0, NOW, NULL, &err));
    IS(IDGATE_CONFIG, idgate_trust_add(trust, "other", 5, IDGATE_ROOT, latin1, 1, NULL, 0, 0, NOW,
                                       NULL, &err));
    for (int32_t kind = -1; kind <= 12; kind++) {
        idgate_status expected = kind >= 1 && kind <= 11 ? IDGATE_CONFIG : IDGATE_MISUSE;
        IS(expected, idgate_trust_add(trust, "i", 1, kind, latin1, 1, NULL, 0, 0, NOW, NULL, &err));
    }
    IS(IDGATE_MISUSE,
       idgate_trust_add(trust, "i", 1, IDGATE_ROOT, latin1, 1, NULL, 0, 4, NOW, NULL, &err));
    IS(IDGATE_CONFIG, idgate_verifier_new_inline("http://shop.example", 19, trust, 1, &verifier, &err));
    IS(IDGATE_MISUSE, idgate_verifier_new_inline(BASE_URL, strlen(BASE_URL), trust, 1, NULL, &err));
    IS(IDGATE_OK, idgate_verifier_new_inline(BASE_URL, strlen(BASE_URL), trust, 1, &verifier, &err));
    IS(IDGATE_BAD_REQUEST,
       idgate_session_create(verifier, "{", 1, "t", 1, true, NOW, &made, &err));
    IS(IDGATE_CONFIG, idgate_session_restore(latin1, 1, &session, &err));
    IS(IDGATE_CONFIG, idgate_session_restore(NULL, 0, &session, &err));
    IS(IDGATE_MISUSE, idgate_verify_presentation(trust, "{}", 2, "x", 1, NOW, &text, &err));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    IS(IDGATE_OK, idgate_trust_free(trust));
}

static void bytes_are_freed_once(void) {
    idgate_trust *trust = NULL;
    idgate_error *err = NULL;
    idgate_bytes text;
    uint8_t own[4] = {0};
    idgate_bytes foreign = {own, sizeof own};
    CHECK(idgate_trust_new(&trust, NULL) == IDGATE_OK);
    CHECK(idgate_trust_add_entry(trust, "[", 1, &err) == IDGATE_CONFIG);
    CHECK(idgate_error_message(err, &text) == IDGATE_OK && text.len > 0);
    CHECK(idgate_bytes_free(text) == IDGATE_OK);
    CHECK(idgate_bytes_free(text) == IDGATE_MISUSE);
    CHECK(idgate_bytes_free(foreign) == IDGATE_MISUSE);
    idgate_error_free(err);
    idgate_trust_free(trust);
}

static void a_verification_is_decided_once(const char *root) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    idgate_step step;
    idgate_verifier *verifier =
        verifier_for(root, "https://issuer.example", IDGATE_JWK, "sd_jwt/key.json");
    struct answer answer = answer_of(root, "sd_jwt");
    IS(IDGATE_OK, idgate_session_restore(answer.session.ptr, answer.session.len, &session, &err));
    IS(IDGATE_BAD_RESPONSE, idgate_verification_begin(verifier, session, NULL, 0, NULL, 0, NOW,
                                                      &verification, &err));
    IS(IDGATE_OK, idgate_verification_begin(verifier, session, (char *)answer.content_type.ptr,
                                            answer.content_type.len, answer.body.ptr,
                                            answer.body.len, NOW, &verification, &err));
    /* What it works with may go. */
    IS(IDGATE_OK, idgate_session_free(session));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    answer_free(answer);
    IS(IDGATE_MISUSE, idgate_verification_supply(verification, 0, true, NULL, 0, NOW, &err));
    /* Nothing is needed yet, so nothing is known and nothing can be fetched. */
    idgate_fetcher *fetcher = NULL;
    bool came = true;
    IS(IDGATE_CONFIG, idgate_fetcher_new("{\"allow\":[\"x\"]}", 15, &fetcher, &err));
    IS(IDGATE_MISUSE, idgate_fetcher_new(NULL, 0, NULL, &err));
    IS(IDGATE_OK, idgate_fetcher_new(NULL, 0, &fetcher, &err));
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
    IS(IDGATE_OK, idgate_verification_step(verification, &step, &err));
    CHECK(step.kind == IDGATE_STEP_DONE && has(step.json, "\"VERIFIED\""));
    transition_free(step.transition);
    idgate_bytes_free(step.json);
    IS(IDGATE_MISUSE, idgate_verification_step(verification, &step, &err));
    IS(IDGATE_MISUSE, idgate_verification_supply(verification, 0, true, NULL, 0, NOW, &err));
    IS(IDGATE_OK, idgate_verification_free(verification));
    IS(IDGATE_MISUSE, idgate_verification_free(verification));
    IS(IDGATE_MISUSE, idgate_verification_step(verification, &step, &err));
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

/* One SD-JWT VC, one with a status list, one mdoc: verified, and refused when changed. */
#include "common.h"

static idgate_verification *begin(idgate_verifier *verifier, struct answer answer) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    IS(IDGATE_OK, idgate_session_restore(answer.session.ptr, answer.session.len, &session, &err));
    IS(IDGATE_OK, idgate_verification_begin(verifier, session, (char *)answer.content_type.ptr,
                                            answer.content_type.len, answer.body.ptr,
                                            answer.body.len, NOW, &verification, &err));
    IS(IDGATE_OK, idgate_session_free(session));
    return verification;
}

static idgate_step step(idgate_verification *verification) {
    idgate_error *err = NULL;
    idgate_step step;
    IS(IDGATE_OK, idgate_verification_step(verification, &step, &err));
    return step;
}

/* Reads a decided step, which must have come to this, and frees it. */
static void decided(idgate_step step, const char *status, const char *claim) {
    idgate_error *err = NULL;
    idgate_bytes text;
    CHECK(step.kind == IDGATE_STEP_DONE);
    CHECK(has(step.json, status));
    IS(IDGATE_OK, idgate_session_info(step.transition.session, NOW, &text, &err));
    CHECK(has(text, status));
    idgate_bytes_free(text);
    if (claim != NULL) {
        IS(IDGATE_OK, idgate_session_result(step.transition.session, NOW, &text, &err));
        CHECK(has(text, claim));
        idgate_bytes_free(text);
        IS(IDGATE_NOTHING,
           idgate_session_result(step.transition.session, NOW + 30000, &text, &err));
    } else {
        IS(IDGATE_NOTHING, idgate_session_result(step.transition.session, NOW, &text, &err));
    }
    transition_free(step.transition);
    idgate_bytes_free(step.json);
}

static void verified_and_refused(idgate_verifier *verifier, struct answer answer,
                                 const char *claim) {
    idgate_verification *verification = begin(verifier, answer);
    decided(step(verification), "\"VERIFIED\"", claim);
    idgate_verification_free(verification);
    /* One bit of the answer, somewhere in the presentation. */
    for (size_t at = 200; at < answer.body.len - 200; at += 251) {
        idgate_error *err = NULL;
        idgate_session *session = NULL;
        uint8_t kept = answer.body.ptr[at];
        answer.body.ptr[at] ^= 1;
        IS(IDGATE_OK,
           idgate_session_restore(answer.session.ptr, answer.session.len, &session, &err));
        idgate_status begun = idgate_verification_begin(
            verifier, session, (char *)answer.content_type.ptr, answer.content_type.len,
            answer.body.ptr, answer.body.len, NOW, &verification, &err);
        CHECK(begun == IDGATE_OK || begun == IDGATE_BAD_RESPONSE);
        if (begun == IDGATE_OK) {
            decided(step(verification), "\"FAILED\"", NULL);
            idgate_verification_free(verification);
        }
        idgate_error_free(err);
        idgate_session_free(session);
        answer.body.ptr[at] = kept;
    }
}

static void status_is_asked_for(const char *root, idgate_verifier *verifier, int available) {
    idgate_error *err = NULL;
    struct answer answer = answer_of(root, "status");
    struct file list = load(root, "status/list.jwt");
    idgate_verification *verification = begin(verifier, answer);
    idgate_step asked = step(verification);
    CHECK(asked.kind == IDGATE_STEP_NEED);
    CHECK(has(asked.json, "https://status.example/1"));
    transition_free(asked.transition);
    idgate_bytes_free(asked.json);
    IS(IDGATE_MISUSE, idgate_verification_supply(verification, 1, true, NULL, 0, NOW, &err));
    IS(IDGATE_OK, idgate_verification_supply(verification, 0, !available, list.ptr, list.len, NOW,
                                             &err));
    if (available) {
        decided(step(verification), "\"VERIFIED\"", "Erika");
    } else {
        decided(step(verification), "revocation_unknown", NULL);
    }
    idgate_verification_free(verification);
    free(list.ptr);
    answer_free(answer);
}

static void sessions_are_made_and_kept(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes snapshot, text;
    idgate_session *again = NULL;
    struct file request = load(root, "sd_jwt/request.json");
    IS(IDGATE_OK, idgate_session_create(verifier, (char *)request.ptr, request.len, "shop", 4, true,
                                        NOW, &made, &err));
    CHECK(made.from == 0);
    CHECK(has(made.effects, "expire_at"));
    IS(IDGATE_OK, idgate_session_snapshot(made.session, &snapshot, &err));
    IS(IDGATE_OK, idgate_session_restore(snapshot.ptr, snapshot.len, &again, &err));
    IS(IDGATE_OK, idgate_session_info(again, NOW, &text, &err));
    CHECK(has(text, "\"PENDING\"") && has(text, "openid4vp://?") && has(text, "haip-vp://?"));
    idgate_bytes_free(text);
    idgate_bytes_free(snapshot);
    transition_free(made);
    IS(IDGATE_NOTHING, idgate_session_due(again, NOW, &made, &err));
    IS(IDGATE_OK, idgate_session_due(again, NOW + 300000, &made, &err));
    CHECK(made.from == 1);
    IS(IDGATE_OK, idgate_session_info(made.session, NOW + 300000, &text, &err));
    CHECK(has(text, "\"EXPIRED\"") && has(text, "session_expired") && !has(text, "openid4vp://"));
    idgate_bytes_free(text);
    transition_free(made);
    idgate_session_free(again);
    free(request.ptr);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(idgate_abi_version() == IDGATE_ABI_VERSION);
    CHECK(strlen(idgate_version()) > 0);
    idgate_verifier *sd_jwt =
        verifier_for(argv[1], "https://issuer.example", IDGATE_JWK, "sd_jwt/key.json");
    idgate_verifier *mdoc =
        verifier_for(argv[1], "https://iaca.example", IDGATE_ROOT, "mdoc/root.der");
    struct answer answer = answer_of(argv[1], "sd_jwt");
    verified_and_refused(sd_jwt, answer, "\"given_name\":\"Erika\"");
    answer_free(answer);
    answer = answer_of(argv[1], "mdoc");
    verified_and_refused(mdoc, answer, "\"family_name\":\"Mustermann\"");
    answer_free(answer);
    status_is_asked_for(argv[1], sd_jwt, 1);
    status_is_asked_for(argv[1], sd_jwt, 0);
    sessions_are_made_and_kept(argv[1], sd_jwt);
    idgate_verifier_free(sd_jwt);
    idgate_verifier_free(mdoc);
    CHECK(idgate_in_use() == 0);
    return 0;
}

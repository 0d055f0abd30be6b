/* One SD-JWT VC, one with a status list, one mdoc: verified, and refused when changed. */
#include "common.h"

static idgate_session *restored(struct answer answer) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    IS(IDGATE_OK, idgate_session_restore(GIVEN(answer.session), &session, &err));
    return session;
}

static idgate_verification *begun(idgate_verifier *verifier, struct answer answer) {
    idgate_error *err = NULL;
    idgate_session *session = restored(answer);
    idgate_verification *verification = NULL;
    IS(IDGATE_OK, begin(verifier, session, NULL, answer, &verification, &err));
    IS(IDGATE_OK, idgate_session_free(session));
    return verification;
}

/* Reads a decided step, which must have this status, and frees it. */
static void decided(idgate_step *step, idgate_session_state status, const char *claim) {
    idgate_error *err = NULL;
    idgate_bytes text;
    CHECK(idgate_step_kind(step) == IDGATE_STEP_DONE);
    idgate_session *session = session_after(step);
    idgate_reply reply = reply_of(step);
    CHECK(idgate_session_status(session, NOW) == status);
    if (claim != NULL) {
        CHECK(reply.status == 200 && contains(reply.body, "{\"status\":\"ok\"}"));
        CHECK(contains(reply.content_type, "application/json") && reply.retry_after_s == 0);
        IS(IDGATE_OK, result_of(session, NOW, &text, &err));
        CHECK(has(text, claim));
        idgate_bytes_free(text);
        CHECK(result_of(session, NOW + 30000, &text, &err) == IDGATE_NOTHING);
        CHECK(contains(idgate_error_code(err), "redacted"));
    } else {
        CHECK(reply.status == 400 && contains(reply.body, "\"invalid_presentation\""));
        CHECK(result_of(session, NOW, &text, &err) == IDGATE_NOTHING);
        CHECK(contains(idgate_error_code(err), "not_verified"));
    }
    idgate_error_free(err);
    idgate_session_free(session);
    step_free(step);
}

static void verified_and_refused(idgate_verifier *verifier, struct answer answer, const char *claim) {
    idgate_verification *verification = begun(verifier, answer);
    decided(step_of(verification), IDGATE_SESSION_VERIFIED, claim);
    idgate_verification_free(verification);
    /* Flip one bit of the answer, somewhere in the presentation. */
    for (size_t at = 200; at < answer.body.len - 200; at += 251) {
        idgate_error *err = NULL;
        uint8_t kept = answer.body.ptr[at];
        answer.body.ptr[at] ^= 1;
        idgate_session *session = restored(answer);
        idgate_status status = begin(verifier, session, NULL, answer, &verification, &err);
        CHECK(status == IDGATE_OK || status == IDGATE_BAD_RESPONSE);
        if (status == IDGATE_OK) {
            decided(step_of(verification), IDGATE_SESSION_FAILED, NULL);
            idgate_verification_free(verification);
        } else {
            idgate_reply reply = {.size = sizeof reply};
            CHECK(idgate_error_reply(err, &reply) == IDGATE_OK);
            CHECK(reply.status >= 400 && reply.status < 500 && contains(reply.body, "{\"error\":\""));
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
    idgate_verification *verification = begun(verifier, answer);
    idgate_step *asked = step_of(verification);
    idgate_reply reply = {.size = sizeof reply};
    CHECK(idgate_step_kind(asked) == IDGATE_STEP_NEED);
    CHECK(contains(idgate_step_json(asked), "https://status.example/1"));
    IS(IDGATE_NOTHING, idgate_step_reply(asked, &reply, &err));
    idgate_session *held = session_after(asked);
    CHECK(idgate_session_status(held, NOW) == IDGATE_SESSION_VERIFYING);
    idgate_session_free(held);
    step_free(asked);
    IS(IDGATE_MISUSE, idgate_verification_supply(verification, 1, NONE, NOW, &err));
    IS(IDGATE_OK, idgate_verification_supply(verification, 0, available ? GIVEN(list) : NONE, NOW, &err));
    if (available) {
        decided(step_of(verification), IDGATE_SESSION_VERIFIED, "Erika");
    } else {
        idgate_step *step = step_of(verification);
        CHECK(contains(idgate_step_json(step), "revocation_unknown"));
        decided(step, IDGATE_SESSION_FAILED, NULL);
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
    IS(IDGATE_OK, create(verifier, request, IDGATE_MODE_LIVE, &made, &err));
    CHECK(made.from == 0);
    CHECK(has(made.effects, "expire_at"));
    IS(IDGATE_OK, idgate_session_snapshot(made.session, &snapshot, &err));
    IS(IDGATE_OK, idgate_session_restore(GIVEN(snapshot), &again, &err));
    IS(IDGATE_OK, idgate_session_info(again, NOW, &text, &err));
    CHECK(has(text, "\"PENDING\"") && has(text, "openid4vp://?") && has(text, "haip-vp://?"));
    CHECK(has(text, "\"tenant\":\"shop\"") && has(text, "\"mode\":\"live\""));
    idgate_bytes_free(text);
    idgate_bytes_free(snapshot);
    transition_free(made);
    CHECK(idgate_session_status(again, NOW) == IDGATE_SESSION_PENDING);
    CHECK(idgate_session_status(again, NOW + 300000) == IDGATE_SESSION_EXPIRED);
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

/* A wrong request names its field. */
static void a_request_that_breaks_a_rule_names_the_field(idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_new_session new_session = {.size = sizeof new_session, .mode = IDGATE_MODE_TEST};
    idgate_str request = IDGATE_STR("{\"credentials\":[{\"format\":\"vc+sd-jwt\",\"issuer_id\":\"https://issuer.example\","
                                    "\"claims\":[\"a b\"]}]}");
    CHECK(idgate_session_create(verifier, request, &new_session, NOW, &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(idgate_error_kind(err) == IDGATE_BAD_REQUEST);
    CHECK(contains(idgate_error_code(err), "invalid_request"));
    CHECK(contains(idgate_error_path(err), "credentials[0].claims[0]"));
    idgate_error_free(err);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(idgate_abi_version() == IDGATE_ABI_VERSION);
    CHECK(strlen(idgate_version()) > 0);
    idgate_verifier *sd_jwt = verifier_for(argv[1], "https://issuer.example", IDGATE_JWK, "sd_jwt/key.json");
    idgate_verifier *mdoc = verifier_for(argv[1], "https://iaca.example", IDGATE_IACA_ROOTS, "mdoc/root.der");
    struct answer answer = answer_of(argv[1], "sd_jwt");
    verified_and_refused(sd_jwt, answer, "\"given_name\":\"Erika\"");
    answer_free(answer);
    answer = answer_of(argv[1], "mdoc");
    verified_and_refused(mdoc, answer, "\"family_name\":\"Mustermann\"");
    answer_free(answer);
    status_is_asked_for(argv[1], sd_jwt, 1);
    status_is_asked_for(argv[1], sd_jwt, 0);
    sessions_are_made_and_kept(argv[1], sd_jwt);
    a_request_that_breaks_a_rule_names_the_field(sd_jwt);
    idgate_verifier_free(sd_jwt);
    idgate_verifier_free(mdoc);
    CHECK(idgate_in_use() == 0);
    return 0;
}

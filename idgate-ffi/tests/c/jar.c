/* The jar profile: signers, Request Objects, published keys, an encrypted answer; webhooks. */
#include "common.h"

static int asked;

/* Replaces an HSM: signs with zeros, or fails without userdata. */
static int32_t sign(void *userdata, const uint8_t *input, size_t input_len, uint8_t *signature) {
    CHECK(input != NULL && input_len > 0);
    asked++;
    if (userdata == NULL) return 17;
    memset(signature, 0, 64);
    return 0;
}

static void keys_are_published(idgate_signer *signer) {
    idgate_error *err = NULL;
    idgate_bytes jwk, document, set;
    char keys[1024];
    IS(IDGATE_OK, idgate_signer_public_key(signer, &jwk, &err));
    int len = snprintf(keys, sizeof keys, "[%.*s]", (int)jwk.len, (const char *)jwk.ptr);
    CHECK(len > 0 && len < (int)sizeof keys);
    IS(IDGATE_OK, idgate_did_document(BASE_URL, (idgate_str){keys, (size_t)len}, &document, &err));
    CHECK(has(document, "\"id\":\"did:web:gateway.example\"") && !has(document, "\"d\""));
    IS(IDGATE_OK, idgate_jwks(BASE_URL, (idgate_str){keys, (size_t)len}, &set, &err));
    CHECK(has(set, "did:web:gateway.example#") && !has(set, "\"d\""));
    IS(IDGATE_CONFIG, idgate_jwks(BASE_URL, IDGATE_STR("{}"), &set, &err));
    idgate_bytes_free(jwk);
    idgate_bytes_free(document);
    idgate_bytes_free(set);
}

static idgate_status fetch(const idgate_verifier *verifier, const idgate_session *session, idgate_str nonce,
                           uint64_t now, idgate_step **step, idgate_error **err) {
    idgate_bytes info;
    CHECK(idgate_session_info(session, now, &info, NULL) == IDGATE_OK);
    idgate_asked asked = {.size = sizeof asked, .to = after(GIVEN(info), "\"handle\":\""), .wallet_nonce = nonce};
    idgate_status status = idgate_request_object(verifier, session, &asked, now, step, err);
    idgate_bytes_free(info);
    return status;
}

/* Makes a session and fetches its request twice. */
static void requests_are_fetched(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made, next, none;
    idgate_step *first = NULL, *again = NULL;
    idgate_bytes info;
    char nonce[257];
    struct file request = load(root, "jar/request.json");
    IS(IDGATE_OK, create(verifier, request, IDGATE_MODE_TEST, &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"CREATED\"") && has(info, "request_uri=") && !has(info, "nonce"));
    idgate_bytes_free(info);
    IS(IDGATE_OK, fetch(verifier, made.session, NONE, NOW, &first, &err));
    IS(IDGATE_OK, idgate_step_transition(first, &next, &err));
    CHECK(next.from == 1 && next.session != NULL);
    /* A fetch leaks nothing if there is no output for its result. */
    size_t before = idgate_in_use();
    IS(IDGATE_MISUSE, fetch(verifier, made.session, NONE, NOW, NULL, &err));
    IS(IDGATE_MISUSE, idgate_step_transition(first, NULL, &err));
    CHECK(idgate_in_use() == before);
    IS(IDGATE_OK, fetch(verifier, next.session, IDGATE_STR("wallet's"), NOW, &again, &err));
    IS(IDGATE_OK, idgate_step_transition(again, &none, &err));
    CHECK(none.session == NULL && none.effects.len == 0 && none.from == 0);
    CHECK(reply_of(again).body.len > reply_of(first).body.len && idgate_step_json(again).len == 0);
    step_free(again);
    memset(nonce, 'n', sizeof nonce);
    IS(IDGATE_BAD_RESPONSE, fetch(verifier, next.session, (idgate_str){nonce, sizeof nonce}, NOW, &again, &err));
    IS(IDGATE_BAD_RESPONSE, fetch(verifier, next.session, NONE, NOW + 300000, &again, &err));
    step_free(first);
    transition_free(made);
    transition_free(next);
    free(request.ptr);
}

/* The stored session has its own profile, so any verifier accepts its answer. */
static void an_encrypted_answer_is_verified(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    idgate_bytes result;
    struct answer answer = answer_of(root, "jar");
    IS(IDGATE_OK, idgate_session_restore(GIVEN(answer.session), &session, &err));
    IS(IDGATE_OK, begin(verifier, session, NULL, answer, &verification, &err));
    idgate_step *step = step_of(verification);
    CHECK(contains(reply_of(step).body, "{\"status\":\"ok\"}"));
    idgate_session *settled = session_after(step);
    IS(IDGATE_OK, result_of(settled, NOW, &result, &err));
    CHECK(has(result, "Erika") && has(result, "Mustermann"));
    CHECK(has(result, "\"request_mode\":\"jar\"") && has(result, "\"device_mac\""));
    idgate_bytes_free(result);
    idgate_session_free(settled);
    step_free(step);
    idgate_verification_free(verification);
    answer.body.ptr[answer.body.len - 1] ^= 1;
    IS(IDGATE_BAD_RESPONSE, begin(verifier, session, NULL, answer, &verification, &err));
    idgate_session_free(session);
    answer_free(answer);
}

/* A verifier of drafts whose requests are signed. */
static idgate_verifier *signed_by(const idgate_signer *signer, const idgate_trust *trust) {
    idgate_verifier_options *options = OPTIONS(IDGATE_PROFILE_DRAFT);
    CHECK(idgate_verifier_options_signer(options, signer) == IDGATE_OK);
    return verifier_of_options(options, trust);
}

/* A session of a replaced signer continues with that signer. */
static void a_replaced_signer_signs_for_its_own_sessions(const char *root, const idgate_signer *first,
                                                         idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_signer *second = NULL;
    idgate_transition made;
    idgate_step *step = NULL, *then = NULL;
    idgate_bytes key;
    struct file request = load(root, "jar/request.json");
    IS(IDGATE_OK, idgate_signing_key_generate(&key, &err));
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, GIVEN(key), &second, &err));
    idgate_bytes_free(key);
    idgate_verifier_options *options = OPTIONS(IDGATE_PROFILE_DRAFT);
    CHECK(idgate_verifier_options_signer(options, second) == IDGATE_OK);
    CHECK(idgate_verifier_options_former_signer(options, first) == IDGATE_OK);
    idgate_verifier *before = signed_by(first, trust), *after_it = verifier_of_options(options, trust);
    IS(IDGATE_OK, create(before, request, IDGATE_MODE_TEST, &made, &err));
    IS(IDGATE_OK, fetch(before, made.session, NONE, NOW, &step, &err));
    IS(IDGATE_OK, fetch(after_it, made.session, NONE, NOW, &then, &err));
    /* The header names the key. */
    const char *header = reply_of(step).body.ptr;
    CHECK(memcmp(header, reply_of(then).body.ptr, strcspn(header, ".")) == 0);
    step_free(step);
    step_free(then);
    transition_free(made);
    idgate_verifier_free(before);
    idgate_verifier_free(after_it);
    idgate_signer_free(second);
    free(request.ptr);
}

static void signers(const char *root, idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_signer *software = NULL, *hsm = NULL, *broken = NULL;
    idgate_transition made;
    idgate_step *step = NULL;
    idgate_bytes key, jwk;
    const uint8_t zeros[32] = {0};
    struct file request = load(root, "jar/request.json");
    IS(IDGATE_CONFIG, idgate_signer_new(BASE_URL, (idgate_str){zeros, 32}, &software, &err));
    IS(IDGATE_CONFIG, idgate_signer_new(BASE_URL, (idgate_str){zeros, 31}, &software, &err));
    IS(IDGATE_OK, idgate_signing_key_generate(&key, &err));
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, GIVEN(key), &software, &err));
    idgate_bytes_free(key);
    keys_are_published(software);
    a_replaced_signer_signs_for_its_own_sessions(root, software, trust);
    idgate_verifier *verifier = signed_by(software, trust);
    requests_are_fetched(root, verifier);
    an_encrypted_answer_is_verified(root, verifier);
    idgate_verifier_free(verifier);
    IS(IDGATE_OK, idgate_signer_public_key(software, &jwk, &err));
    IS(IDGATE_MISUSE, idgate_signer_new_external(BASE_URL, GIVEN(jwk), NULL, NULL, &hsm, &err));
    IS(IDGATE_OK, idgate_signer_new_external(BASE_URL, GIVEN(jwk), sign, &asked, &hsm, &err));
    IS(IDGATE_OK, idgate_signer_new_external(BASE_URL, GIVEN(jwk), sign, NULL, &broken, &err));
    idgate_bytes_free(jwk);
    verifier = signed_by(hsm, trust);
    requests_are_fetched(root, verifier);
    CHECK(asked >= 2);
    idgate_verifier_free(verifier);
    verifier = signed_by(broken, trust);
    IS(IDGATE_OK, create(verifier, request, IDGATE_MODE_TEST, &made, &err));
    CHECK(fetch(verifier, made.session, NONE, NOW, &step, &err) == IDGATE_UNAVAILABLE);
    CHECK(contains(idgate_error_message(err), "17"));
    idgate_reply reply = {.size = sizeof reply};
    CHECK(idgate_error_reply(err, &reply) == IDGATE_OK);
    CHECK(reply.status == 503 && reply.retry_after_s == 1 && !contains(reply.body, "17"));
    idgate_error_free(err);
    err = NULL;
    transition_free(made);
    idgate_verifier_free(verifier);
    IS(IDGATE_OK, idgate_signer_free(software));
    IS(IDGATE_MISUSE, idgate_signer_free(software));
    IS(IDGATE_OK, idgate_signer_free(hsm));
    IS(IDGATE_OK, idgate_signer_free(broken));
    free(request.ptr);
}

/* The value of a header in a JSON object without escapes. */
static idgate_str header(idgate_bytes headers, const char *name) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", name);
    return after(GIVEN(headers), quoted);
}

static void webhooks(void) {
    idgate_error *err = NULL;
    idgate_bytes headers;
    const idgate_str secret = IDGATE_STR("whsec_c2VjcmV0IG9mIDMyIGJ5dGVzIGZvciBhIHRlc3QhISE=");
    const idgate_str old = IDGATE_STR("an old secret of some length");
    const idgate_str body = IDGATE_STR("{\"sessionId\":\"ses_1\"}");
    idgate_webhook_attempt attempt = {.size = sizeof attempt, .id = IDGATE_STR("whf_1"), .number = 1, .body = body};
    IS(IDGATE_CONFIG, idgate_webhook_headers(IDGATE_STR("short"), &attempt, NOW, &headers, &err));
    attempt.previous_secret = old;
    IS(IDGATE_OK, idgate_webhook_headers(secret, &attempt, NOW, &headers, &err));
    idgate_webhook own = {.size = sizeof own, .scheme = IDGATE_WEBHOOK_GATEWAY, .body = body,
                          .timestamp = header(headers, "X-Timestamp"), .signature = header(headers, "X-Signature")};
    idgate_webhook standard = {.size = sizeof standard, .scheme = IDGATE_WEBHOOK_STANDARD, .body = body,
                               .id = IDGATE_STR("whf_1"), .timestamp = header(headers, "webhook-timestamp"),
                               .signature = header(headers, "webhook-signature")};
    for (unsigned late = 0; late <= 1; late++) {
        idgate_status expected = late ? IDGATE_REFUSED : IDGATE_OK;
        uint64_t now = NOW + IDGATE_WEBHOOK_TOLERANCE_MS + 1000u * late;
        IS(expected, idgate_webhook_verify(secret, &own, now, &err));
        IS(expected, idgate_webhook_verify(old, &standard, now, &err));
        own.tolerance_ms = standard.tolerance_ms = 1000;
        IS(IDGATE_REFUSED, idgate_webhook_verify(secret, &own, now, &err));
        IS(IDGATE_OK, idgate_webhook_verify(secret, &own, NOW + 1000, &err));
        own.tolerance_ms = standard.tolerance_ms = 0;
    }
    IS(IDGATE_REFUSED, idgate_webhook_verify(old, &own, NOW, &err));
    own.body.len--;
    IS(IDGATE_REFUSED, idgate_webhook_verify(secret, &own, NOW, &err));
    own.scheme = 0;
    IS(IDGATE_MISUSE, idgate_webhook_verify(secret, &own, NOW, &err));
    idgate_bytes_free(headers);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    CHECK(argc == 2);
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    trust_issuer(trust, argv[1], "https://issuer.example", IDGATE_JWK, "jar/key.json");
    trust_issuer(trust, argv[1], "https://iaca.example", IDGATE_IACA_ROOTS, "jar/root.der");
    signers(argv[1], trust);
    webhooks();
    IS(IDGATE_OK, idgate_trust_free(trust));
    CHECK(idgate_in_use() == 0);
    return 0;
}

/* The jar profile: signers, Request Objects, published keys, an encrypted answer; webhooks. */
#include "common.h"

static int asked;

/* Stands for an HSM: signs with zeros, or not at all when there is no userdata. */
static int32_t sign(void *userdata, const uint8_t *input, size_t input_len, uint8_t *signature) {
    CHECK(input != NULL && input_len > 0);
    asked++;
    if (userdata == NULL) return 17;
    memset(signature, 0, 64);
    return 0;
}

static idgate_bytes text_of_error(idgate_error *err) {
    idgate_bytes text;
    CHECK(idgate_error_message(err, &text) == IDGATE_OK);
    return text;
}

static void keys_are_published(idgate_signer *signer) {
    idgate_error *err = NULL;
    idgate_bytes jwk, document, set;
    char keys[1024];
    IS(IDGATE_OK, idgate_signer_public_key(signer, &jwk, &err));
    int len = snprintf(keys, sizeof keys, "[%.*s]", (int)jwk.len, (const char *)jwk.ptr);
    CHECK(len > 0 && len < (int)sizeof keys);
    IS(IDGATE_OK, idgate_did_document(BASE_URL, strlen(BASE_URL), keys, (size_t)len, &document, &err));
    CHECK(has(document, "\"id\":\"did:web:gateway.example\"") && !has(document, "\"d\""));
    IS(IDGATE_OK, idgate_jwks(BASE_URL, strlen(BASE_URL), keys, (size_t)len, &set, &err));
    CHECK(has(set, "did:web:gateway.example#") && !has(set, "\"d\""));
    IS(IDGATE_CONFIG, idgate_jwks(BASE_URL, strlen(BASE_URL), "{}", 2, &set, &err));
    idgate_bytes_free(jwk);
    idgate_bytes_free(document);
    idgate_bytes_free(set);
}

/* Makes a session, fetches its request twice, and gives what was fetched first. */
static void requests_are_fetched(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_transition made, next, none;
    idgate_bytes jwt, again, info;
    char nonce[257];
    struct file request = load(root, "jar/request.json");
    IS(IDGATE_OK, idgate_session_create(verifier, (char *)request.ptr, request.len, "shop", 4,
                                        false, NOW, &made, &err));
    IS(IDGATE_OK, idgate_session_info(made.session, NOW, &info, &err));
    CHECK(has(info, "\"CREATED\"") && has(info, "request_uri=") && !has(info, "nonce"));
    idgate_bytes_free(info);
    IS(IDGATE_OK, idgate_session_request_object(verifier, made.session, NULL, 0, NOW, &next, &jwt,
                                                &err));
    CHECK(next.from == 1 && next.session != NULL);
    /* Nothing of a first fetch is left behind when there is no room for one of its outputs. */
    size_t before = idgate_in_use();
    IS(IDGATE_MISUSE, idgate_session_request_object(verifier, made.session, NULL, 0, NOW, NULL,
                                                    &again, &err));
    IS(IDGATE_MISUSE, idgate_session_request_object(verifier, made.session, NULL, 0, NOW, &none,
                                                    NULL, &err));
    CHECK(idgate_in_use() == before);
    IS(IDGATE_OK, idgate_session_request_object(verifier, next.session, "wallet's", 8, NOW, &none,
                                                &again, &err));
    CHECK(none.session == NULL && again.len > jwt.len);
    memset(nonce, 'n', sizeof nonce);
    IS(IDGATE_BAD_RESPONSE,
       idgate_session_request_object(verifier, next.session, nonce, sizeof nonce, NOW, &none,
                                     &again, &err));
    IS(IDGATE_MISUSE, idgate_session_request_object(verifier, next.session, NULL, 0, NOW, NULL,
                                                    &again, &err));
    IS(IDGATE_MISUSE, idgate_session_request_object(verifier, next.session, NULL, 0, NOW, &none,
                                                    NULL, &err));
    IS(IDGATE_BAD_RESPONSE, idgate_session_request_object(verifier, next.session, NULL, 0,
                                                          NOW + 300000, &none, &again, &err));
    idgate_bytes_free(jwt);
    idgate_bytes_free(again);
    transition_free(made);
    transition_free(next);
    free(request.ptr);
}

/* The profile is the stored session's: an inline verifier takes its answer as well. */
static void an_encrypted_answer_is_verified(const char *root, idgate_verifier *verifier) {
    idgate_error *err = NULL;
    idgate_session *session = NULL;
    idgate_verification *verification = NULL;
    idgate_step step;
    idgate_bytes result;
    struct answer answer = answer_of(root, "jar");
    IS(IDGATE_OK, idgate_session_restore(answer.session.ptr, answer.session.len, &session, &err));
    IS(IDGATE_OK, idgate_verification_begin(verifier, session, (char *)answer.content_type.ptr,
                                            answer.content_type.len, answer.body.ptr,
                                            answer.body.len, NOW, &verification, &err));
    IS(IDGATE_OK, idgate_verification_step(verification, &step, &err));
    CHECK(has(step.json, "\"body\":{\"status\":\"ok\"}"));
    IS(IDGATE_OK, idgate_session_result(step.transition.session, NOW, &result, &err));
    CHECK(has(result, "Erika") && has(result, "Mustermann"));
    CHECK(has(result, "\"request_mode\":\"jar\"") && has(result, "\"device_mac\""));
    idgate_bytes_free(result);
    idgate_bytes_free(step.json);
    transition_free(step.transition);
    idgate_verification_free(verification);
    answer.body.ptr[answer.body.len - 1] ^= 1;
    IS(IDGATE_BAD_RESPONSE,
       idgate_verification_begin(verifier, session, (char *)answer.content_type.ptr,
                                 answer.content_type.len, answer.body.ptr, answer.body.len, NOW,
                                 &verification, &err));
    idgate_session_free(session);
    answer_free(answer);
}

static void signers(const char *root, idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_signer *software = NULL, *hsm = NULL, *broken = NULL;
    idgate_verifier *verifier = NULL;
    idgate_transition made, next;
    idgate_bytes key, jwk, jwt;
    const uint8_t zeros[32] = {0};
    struct file request = load(root, "jar/request.json");
    IS(IDGATE_CONFIG, idgate_signer_new(BASE_URL, strlen(BASE_URL), zeros, 32, &software, &err));
    IS(IDGATE_CONFIG, idgate_signer_new(BASE_URL, strlen(BASE_URL), zeros, 31, &software, &err));
    IS(IDGATE_OK, idgate_signing_key_generate(&key, &err));
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, strlen(BASE_URL), key.ptr, key.len, &software, &err));
    idgate_bytes_free(key);
    keys_are_published(software);
    IS(IDGATE_OK, idgate_verifier_new_jar(BASE_URL, strlen(BASE_URL), software, trust, 1, &verifier,
                                          &err));
    requests_are_fetched(root, verifier);
    an_encrypted_answer_is_verified(root, verifier);
    idgate_verifier_free(verifier);
    IS(IDGATE_OK, idgate_signer_public_key(software, &jwk, &err));
    IS(IDGATE_MISUSE, idgate_signer_new_external(BASE_URL, strlen(BASE_URL), (char *)jwk.ptr,
                                                 jwk.len, NULL, NULL, &hsm, &err));
    IS(IDGATE_OK, idgate_signer_new_external(BASE_URL, strlen(BASE_URL), (char *)jwk.ptr, jwk.len,
                                             sign, &asked, &hsm, &err));
    IS(IDGATE_OK, idgate_signer_new_external(BASE_URL, strlen(BASE_URL), (char *)jwk.ptr, jwk.len,
                                             sign, NULL, &broken, &err));
    idgate_bytes_free(jwk);
    IS(IDGATE_OK, idgate_verifier_new_jar(BASE_URL, strlen(BASE_URL), hsm, trust, 1, &verifier,
                                          &err));
    requests_are_fetched(root, verifier);
    CHECK(asked >= 2);
    idgate_verifier_free(verifier);
    IS(IDGATE_OK, idgate_verifier_new_jar(BASE_URL, strlen(BASE_URL), broken, trust, 1, &verifier,
                                          &err));
    IS(IDGATE_OK, idgate_session_create(verifier, (char *)request.ptr, request.len, "shop", 4,
                                        false, NOW, &made, &err));
    CHECK(idgate_session_request_object(verifier, made.session, NULL, 0, NOW, &next, &jwt, &err) ==
          IDGATE_UNAVAILABLE);
    idgate_bytes why = text_of_error(err);
    CHECK(has(why, "17"));
    idgate_bytes_free(why);
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
static void header(idgate_bytes headers, const char *name, char *value, size_t room) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", name);
    char *text = malloc(headers.len + 1);
    CHECK(text != NULL);
    memcpy(text, headers.ptr, headers.len);
    text[headers.len] = 0;
    char *at = strstr(text, quoted);
    CHECK(at != NULL);
    at += strlen(quoted);
    size_t len = strcspn(at, "\"");
    CHECK(len < room);
    memcpy(value, at, len);
    value[len] = 0;
    free(text);
}

static void webhooks(void) {
    idgate_error *err = NULL;
    idgate_bytes headers;
    const char *secret = "whsec_c2VjcmV0IG9mIDMyIGJ5dGVzIGZvciBhIHRlc3QhISE=";
    const char *old = "an old secret of some length";
    const uint8_t body[] = "{\"sessionId\":\"ses_1\"}";
    char timestamp[64], signature[128], seconds[64], signatures[256];
    IS(IDGATE_CONFIG, idgate_webhook_headers("short", 5, NULL, 0, "whf_1", 5, 1, body, sizeof body,
                                             NOW, &headers, &err));
    IS(IDGATE_OK, idgate_webhook_headers(secret, strlen(secret), old, strlen(old), "whf_1", 5, 1,
                                         body, sizeof body, NOW, &headers, &err));
    header(headers, "X-Timestamp", timestamp, sizeof timestamp);
    header(headers, "X-Signature", signature, sizeof signature);
    header(headers, "webhook-timestamp", seconds, sizeof seconds);
    header(headers, "webhook-signature", signatures, sizeof signatures);
    idgate_bytes_free(headers);
    for (int late = 0; late <= 1; late++) {
        idgate_status expected = late ? IDGATE_REFUSED : IDGATE_OK;
        uint64_t now = NOW + IDGATE_WEBHOOK_TOLERANCE_MS + 1000u * (unsigned)late;
        IS(expected, idgate_webhook_verify(secret, strlen(secret), timestamp, strlen(timestamp),
                                           signature, strlen(signature), body, sizeof body, now,
                                           IDGATE_WEBHOOK_TOLERANCE_MS, &err));
        IS(expected, idgate_webhook_verify_standard(
                         old, strlen(old), "whf_1", 5, seconds, strlen(seconds), signatures,
                         strlen(signatures), body, sizeof body, now, IDGATE_WEBHOOK_TOLERANCE_MS,
                         &err));
    }
    IS(IDGATE_REFUSED,
       idgate_webhook_verify(old, strlen(old), timestamp, strlen(timestamp), signature,
                             strlen(signature), body, sizeof body, NOW,
                             IDGATE_WEBHOOK_TOLERANCE_MS, &err));
    IS(IDGATE_REFUSED,
       idgate_webhook_verify(secret, strlen(secret), timestamp, strlen(timestamp), signature,
                             strlen(signature), body, sizeof body - 1, NOW,
                             IDGATE_WEBHOOK_TOLERANCE_MS, &err));
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    CHECK(argc == 2);
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    trust_issuer(trust, argv[1], "https://issuer.example", IDGATE_JWK, "jar/key.json");
    trust_issuer(trust, argv[1], "https://iaca.example", IDGATE_ROOT, "jar/root.der");
    signers(argv[1], trust);
    webhooks();
    IS(IDGATE_OK, idgate_trust_free(trust));
    CHECK(idgate_in_use() == 0);
    return 0;
}

/* A registration certificate: checked, compared with requests, shown to wallets. */
#include "common.h"

static const char *const OPTIONS = "{\"profiles\":[\"haip\",\"draft\"]}";

static idgate_status check(const idgate_signer *signer, struct file jwt, uint64_t now,
                           idgate_bytes *told, idgate_error **err) {
    return idgate_registration_check(signer, (char *)jwt.ptr, jwt.len, now, told, err);
}

/* It is the party's of the certificate, and in force. */
static void it_is_checked_before_it_is_put_to_use(const idgate_signer *bare,
                                                  const idgate_signer *certified, struct file jwt) {
    idgate_error *err = NULL;
    idgate_bytes told;
    IS(IDGATE_OK, check(certified, jwt, NOW, &told, &err));
    CHECK(has(told, "\"subject\":\"VATUT-123\"") && has(told, "\"compared\":true"));
    CHECK(has(told, "\"issued_at_ms\":1795262400000"));
    CHECK(has(told, "\"expires_at_ms\":1795262460000"));
    idgate_bytes_free(told);
    IS(IDGATE_CONFIG, check(bare, jwt, NOW, &told, &err));
    IS(IDGATE_CONFIG, check(certified, jwt, NOW - 1000, &told, &err));
    IS(IDGATE_CONFIG, check(certified, jwt, NOW + 60000, &told, &err));
    struct file half = {jwt.ptr, jwt.len / 2};
    IS(IDGATE_CONFIG, check(certified, half, NOW, &told, &err));
}

static idgate_bytes compared(const idgate_verifier *verifier, struct file jwt, struct file request,
                             uint64_t now) {
    idgate_error *err = NULL;
    idgate_bytes told;
    IS(IDGATE_OK, idgate_registration_compare(verifier, (char *)jwt.ptr, jwt.len,
                                              (char *)request.ptr, request.len, true, now, &told,
                                              &err));
    return told;
}

/* What is asked for beyond it is told. */
static void it_is_compared_with_requests(const idgate_verifier *verifier, struct file jwt,
                                         struct file another, struct file request) {
    idgate_bytes told = compared(verifier, jwt, request, NOW);
    CHECK(has(told, "\"sent\":true") && has(told, "\"beyond\":[]"));
    idgate_bytes_free(told);
    told = compared(verifier, another, request, NOW);
    CHECK(has(told, "\"sent\":true") && has(told, "[\"given_name of urn:eudi:pid:1\"]"));
    idgate_bytes_free(told);
    told = compared(verifier, jwt, request, NOW + 60000);
    CHECK(has(told, "\"sent\":false") && has(told, "\"expired\":true"));
    idgate_bytes_free(told);
}

static idgate_status create(const idgate_verifier *verifier, struct file request, struct file jwt,
                            bool strict, uint64_t now, idgate_transition *made, idgate_error **err) {
    return idgate_session_create_registered(verifier, (char *)request.ptr, request.len, "shop", 4,
                                            true, (char *)jwt.ptr, jwt.len, strict, now, made, err);
}

/* The claims of the Request Object of a session, as they stand in the JWT: base64url. */
static int goes_with(const idgate_verifier *verifier, idgate_transition made, struct file jwt,
                     uint64_t now) {
    idgate_error *err = NULL;
    idgate_transition next;
    idgate_bytes object;
    IS(IDGATE_OK, idgate_session_request_object(verifier, made.session, NULL, 0, now, &next, &object,
                                                &err));
    char *claims = memchr(object.ptr, '.', object.len);
    CHECK(claims != NULL);
    size_t room = object.len - (size_t)((uint8_t *)++claims - object.ptr), len = 0;
    char *text = calloc(1, room);
    CHECK(text != NULL);
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    for (size_t at = 0; at < room && claims[at] != '.'; at++) {
        const char *digit = strchr(digits, claims[at]);
        CHECK(digit != NULL);
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (at % 4 != 0) text[len++] = (char)(bits >> (6 - 2 * (at % 4)));
    }
    int found = strstr(text, (char *)jwt.ptr) != NULL && strstr(text, "\"verifier_info\":[{") != NULL;
    free(text);
    idgate_bytes_free(object);
    transition_free(next);
    return found;
}

/* It goes to wallets while it is in force; a strict party is refused what wallets would refuse. */
static void it_goes_to_wallets(const idgate_verifier *verifier, struct file jwt, struct file another,
                               struct file request) {
    idgate_error *err = NULL;
    idgate_transition made;
    idgate_bytes code, message;
    struct file half = {jwt.ptr, jwt.len / 2};
    for (int strict = 0; strict < 2; strict++) {
        IS(IDGATE_OK, create(verifier, request, jwt, strict, NOW, &made, &err));
        CHECK(goes_with(verifier, made, jwt, NOW));
        transition_free(made);
        IS(IDGATE_CONFIG, create(verifier, request, half, strict, NOW, &made, &err));
    }
    IS(IDGATE_OK, create(verifier, request, another, false, NOW, &made, &err));
    CHECK(goes_with(verifier, made, another, NOW));
    transition_free(made);
    CHECK(create(verifier, request, another, true, NOW, &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(idgate_error_code(err, &code) == IDGATE_OK && has(code, "invalid_request"));
    CHECK(idgate_error_message(err, &message) == IDGATE_OK && has(message, "given_name of urn:"));
    idgate_bytes_free(code);
    idgate_bytes_free(message);
    idgate_error_free(err);
    err = NULL;
    IS(IDGATE_OK, create(verifier, request, jwt, false, NOW + 60000, &made, &err));
    CHECK(!goes_with(verifier, made, jwt, NOW + 60000));
    transition_free(made);
    CHECK(create(verifier, request, jwt, true, NOW + 60000, &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(idgate_error_code(err, &code) == IDGATE_OK && has(code, "unsupported_profile"));
    idgate_bytes_free(code);
    idgate_error_free(err);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_signer *signer = NULL, *certified = NULL;
    idgate_verifier *verifier = NULL;
    CHECK(argc == 2);
    struct file scalar = load(argv[1], "offers/scalar"), chain = load(argv[1], "offers/chain.der");
    struct file jwt = load(argv[1], "offers/registration.jwt");
    struct file another = load(argv[1], "offers/another.jwt");
    struct file request = load(argv[1], "offers/request.json");
    idgate_trust *trust = trust_of_offers(argv[1]);
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, strlen(BASE_URL), scalar.ptr, scalar.len, &signer,
                                    &err));
    IS(IDGATE_OK, idgate_signer_certified(signer, chain.ptr, chain.len, NOW, &certified, &err));
    const idgate_signer *const signers[] = {certified};
    IS(IDGATE_OK, idgate_verifier_new(BASE_URL, strlen(BASE_URL), OPTIONS, strlen(OPTIONS), signers,
                                      1, NULL, 0, trust, 1, &verifier, &err));
    it_is_checked_before_it_is_put_to_use(signer, certified, jwt);
    it_is_compared_with_requests(verifier, jwt, another, request);
    it_goes_to_wallets(verifier, jwt, another, request);
    IS(IDGATE_OK, idgate_trust_free(trust));
    IS(IDGATE_OK, idgate_signer_free(signer));
    IS(IDGATE_OK, idgate_signer_free(certified));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    struct file files[] = {scalar, chain, jwt, another, request};
    for (size_t at = 0; at < sizeof files / sizeof *files; at++) free(files[at].ptr);
    CHECK(idgate_in_use() == 0);
    return 0;
}

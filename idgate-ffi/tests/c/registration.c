/* A registration certificate: checked, compared with requests, shown to wallets. */
#include "common.h"

static idgate_status check(const idgate_signer *signer, struct file jwt, uint64_t now,
                           idgate_bytes *told, idgate_error **err) {
    return idgate_registration_check(signer, GIVEN(jwt), now, told, err);
}

/* It names the same relying party as the certificate, and is valid. */
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

/* A tenant with a registration certificate. */
static idgate_new_session party(struct file jwt, uint32_t strict) {
    return (idgate_new_session){.size = sizeof(idgate_new_session), .mode = IDGATE_MODE_LIVE, .strict = strict,
                                .tenant = IDGATE_STR("shop"), .registration = GIVEN(jwt)};
}

static idgate_bytes compared(const idgate_verifier *verifier, struct file jwt, struct file request,
                             uint64_t now) {
    idgate_error *err = NULL;
    idgate_bytes told;
    idgate_new_session shop = party(jwt, 0);
    IS(IDGATE_OK, idgate_registration_compare(verifier, GIVEN(request), &shop, now, &told, &err));
    return told;
}

/* Claims beyond the registration are reported. */
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

static idgate_status registered(const idgate_verifier *verifier, struct file request, struct file jwt,
                                uint32_t strict, uint64_t now, idgate_transition *made, idgate_error **err) {
    idgate_new_session shop = party(jwt, strict);
    return idgate_session_create(verifier, GIVEN(request), &shop, now, made, err);
}

/* The claims of the Request Object of a session, as in the JWT: base64url. */
static int goes_with(const idgate_verifier *verifier, idgate_transition made, struct file jwt,
                     uint64_t now) {
    idgate_error *err = NULL;
    idgate_bytes info;
    idgate_step *step = NULL;
    IS(IDGATE_OK, idgate_session_info(made.session, now, &info, &err));
    idgate_asked asked = {.size = sizeof asked, .to = after(GIVEN(info), "\"handle\":\"")};
    IS(IDGATE_OK, idgate_request_object(verifier, made.session, &asked, now, &step, &err));
    idgate_str object = reply_of(step).body;
    const char *claims = memchr(object.ptr, '.', object.len);
    CHECK(claims != NULL);
    size_t room = object.len - (size_t)(++claims - (const char *)object.ptr), len = 0;
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
    idgate_bytes_free(info);
    step_free(step);
    return found;
}

/* It goes to wallets while it is valid. With `strict`, requests that wallets would refuse are refused. */
static void it_goes_to_wallets(const idgate_verifier *verifier, struct file jwt, struct file another,
                               struct file request) {
    idgate_error *err = NULL;
    idgate_transition made;
    struct file half = {jwt.ptr, jwt.len / 2};
    for (uint32_t strict = 0; strict < 2; strict++) {
        IS(IDGATE_OK, registered(verifier, request, jwt, strict, NOW, &made, &err));
        CHECK(goes_with(verifier, made, jwt, NOW));
        transition_free(made);
        IS(IDGATE_CONFIG, registered(verifier, request, half, strict, NOW, &made, &err));
    }
    IS(IDGATE_OK, registered(verifier, request, another, 0, NOW, &made, &err));
    CHECK(goes_with(verifier, made, another, NOW));
    transition_free(made);
    CHECK(registered(verifier, request, another, 1, NOW, &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(contains(idgate_error_code(err), "invalid_request"));
    CHECK(contains(idgate_error_message(err), "given_name of urn:"));
    idgate_error_free(err);
    err = NULL;
    IS(IDGATE_OK, registered(verifier, request, jwt, 0, NOW + 60000, &made, &err));
    CHECK(!goes_with(verifier, made, jwt, NOW + 60000));
    transition_free(made);
    CHECK(registered(verifier, request, jwt, 1, NOW + 60000, &made, &err) == IDGATE_BAD_REQUEST);
    CHECK(contains(idgate_error_code(err), "unsupported_profile"));
    idgate_error_free(err);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    idgate_signer *signer = NULL, *certified = NULL;
    CHECK(argc == 2);
    struct file scalar = load(argv[1], "offers/scalar"), chain = load(argv[1], "offers/chain.der");
    struct file jwt = load(argv[1], "offers/registration.jwt");
    struct file another = load(argv[1], "offers/another.jwt");
    struct file request = load(argv[1], "offers/request.json");
    idgate_trust *trust = trust_of_offers(argv[1]);
    IS(IDGATE_OK, idgate_signer_new(BASE_URL, GIVEN(scalar), &signer, &err));
    IS(IDGATE_OK, idgate_signer_certified(signer, GIVEN(chain), NOW, &certified, &err));
    idgate_verifier_options *options = OPTIONS(IDGATE_PROFILE_HAIP, IDGATE_PROFILE_DRAFT);
    CHECK(idgate_verifier_options_request_mode(options, IDGATE_REQUEST_INLINE) == IDGATE_OK);
    CHECK(idgate_verifier_options_signer(options, certified) == IDGATE_OK);
    idgate_verifier *verifier = verifier_of_options(options, trust);
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

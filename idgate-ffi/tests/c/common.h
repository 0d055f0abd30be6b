/* Shared by the programs: files, and checks that say where they failed. */
#ifndef COMMON_H
#define COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "idgate.h"

/* The instant at which the material was made. */
#define NOW 1795262400000u

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

/* Checks that the call is refused with this status. Shows its error if the status is another. */
#define IS(expected, call)                                                      \
    do {                                                                        \
        idgate_status got = (call);                                             \
        if (got != (expected)) {                                                \
            fprintf(stderr, "%s:%d: status %d\n", __FILE__, __LINE__, (int)got); \
            show(err);                                                          \
            exit(1);                                                            \
        }                                                                       \
        idgate_error_free(err);                                                 \
        err = NULL;                                                             \
    } while (0)

struct file {
    uint8_t *ptr;
    size_t len;
};

/* A text that is not a literal. */
static inline idgate_str text_of(const char *text) {
    return (idgate_str){text, strlen(text)};
}

/* The contents of a file or of bytes of the library, passed to a function. */
#define GIVEN(bytes) ((idgate_str){(bytes).ptr, (bytes).len})

static const idgate_str NONE = {NULL, 0};

static inline void show(idgate_error *err) {
    idgate_str message = idgate_error_message(err);
    fprintf(stderr, "  %.*s\n", (int)message.len, (const char *)message.ptr);
}

static inline struct file load(const char *root, const char *name) {
    char path[4096];
    CHECK(snprintf(path, sizeof path, "%s/%s", root, name) < (int)sizeof path);
    FILE *in = fopen(path, "rb");
    CHECK(in != NULL);
    CHECK(fseek(in, 0, SEEK_END) == 0);
    long len = ftell(in);
    CHECK(len >= 0);
    rewind(in);
    struct file file = {malloc((size_t)len + 1), (size_t)len};
    CHECK(file.ptr != NULL);
    CHECK(fread(file.ptr, 1, file.len, in) == file.len);
    file.ptr[file.len] = 0;
    fclose(in);
    return file;
}

static inline int contains(idgate_str text, const char *part) {
    size_t len = strlen(part);
    for (size_t at = 0; at + len <= text.len; at++) {
        if (memcmp((const char *)text.ptr + at, part, len) == 0) return 1;
    }
    return 0;
}

/* The same for bytes of the library. */
#define has(bytes, part) contains(GIVEN(bytes), part)

/* The text between this mark and the next quotation mark. */
static inline idgate_str after(idgate_str text, const char *mark) {
    size_t skip = strlen(mark);
    for (size_t at = 0; at + skip <= text.len; at++) {
        const char *from = (const char *)text.ptr + at + skip;
        if (memcmp((const char *)text.ptr + at, mark, skip) != 0) continue;
        const char *end = memchr(from, '"', text.len - at - skip);
        CHECK(end != NULL);
        return (idgate_str){from, (size_t)(end - from)};
    }
    CHECK(!"the mark is there");
    return NONE;
}

static inline void transition_free(idgate_transition transition) {
    CHECK(idgate_session_free(transition.session) == IDGATE_OK);
    CHECK(idgate_bytes_free(transition.effects) == IDGATE_OK);
}

static inline void step_free(idgate_step *step) {
    CHECK(idgate_step_free(step) == IDGATE_OK);
}

/* The session after a step; free it. */
static inline idgate_session *session_after(const idgate_step *step) {
    idgate_error *err = NULL;
    idgate_transition next;
    IS(IDGATE_OK, idgate_step_transition(step, &next, &err));
    CHECK(idgate_bytes_free(next.effects) == IDGATE_OK);
    return next.session;
}

static inline idgate_reply reply_of(const idgate_step *step) {
    idgate_error *err = NULL;
    idgate_reply reply = {.size = sizeof reply};
    IS(IDGATE_OK, idgate_step_reply(step, &reply, &err));
    return reply;
}

/* The first step of a verification. */
static inline idgate_step *step_of(idgate_verification *verification) {
    idgate_error *err = NULL;
    idgate_step *step = NULL;
    IS(IDGATE_OK, idgate_verification_step(verification, &step, &err));
    return step;
}

static inline idgate_status result_of(const idgate_session *session, uint64_t now, idgate_bytes *out,
                                      idgate_error **err) {
    return idgate_session_result(session, IDGATE_READER_BACKEND, NONE, now, out, err);
}

#define BASE_URL IDGATE_STR("https://gateway.example")

/* Makes a session for a tenant. */
static inline idgate_status create(const idgate_verifier *verifier, struct file request, int32_t mode,
                                   idgate_transition *made, idgate_error **err) {
    idgate_new_session new_session = {.size = sizeof new_session, .mode = mode, .tenant = IDGATE_STR("shop")};
    return idgate_session_create(verifier, GIVEN(request), &new_session, NOW, made, err);
}

/* Options with these profiles, which end with 0. */
static inline idgate_verifier_options *options_of(const int32_t *profiles) {
    idgate_error *err = NULL;
    idgate_verifier_options *options = NULL;
    IS(IDGATE_OK, idgate_verifier_options_new(BASE_URL, &options, &err));
    for (; *profiles != 0; profiles++) {
        CHECK(idgate_verifier_options_profile(options, *profiles) == IDGATE_OK);
    }
    return options;
}

#define OPTIONS(...) options_of((const int32_t[]){__VA_ARGS__, 0})

/* Makes a verifier, and frees the options. */
static inline idgate_verifier *verifier_of_options(idgate_verifier_options *options, const idgate_trust *trust) {
    idgate_error *err = NULL;
    idgate_verifier *verifier = NULL;
    IS(IDGATE_OK, idgate_verifier_new(options, trust, &verifier, &err));
    CHECK(idgate_verifier_options_free(options) == IDGATE_OK);
    return verifier;
}

/* Adds an issuer with the material in a file of a case. */
static inline void trust_issuer(idgate_trust *trust, const char *root, const char *issuer, int32_t kind,
                                const char *material) {
    idgate_error *err = NULL;
    char described[512];
    snprintf(described, sizeof described, "{\"issuer_id\":\"%s\"}", issuer);
    struct file file = load(root, material);
    IS(IDGATE_OK, idgate_trust_add_issuer(trust, text_of(described), &err));
    IS(IDGATE_OK, idgate_trust_add_material(trust, text_of(issuer), kind, GIVEN(file), NULL, &err));
    free(file.ptr);
}

/* A verifier of drafts that trusts the issuer of a case, and no other. */
static inline idgate_verifier *verifier_for(const char *root, const char *issuer, int32_t kind,
                                            const char *material) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    trust_issuer(trust, root, issuer, kind, material);
    idgate_verifier *verifier = verifier_of_options(OPTIONS(IDGATE_PROFILE_DRAFT), trust);
    IS(IDGATE_OK, idgate_trust_free(trust));
    return verifier;
}

/* The issuer of the case of offers. */
static inline idgate_trust *trust_of_offers(const char *root) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    struct file entry = load(root, "offers/entry.json"), key = load(root, "offers/key.json");
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    IS(IDGATE_OK, idgate_trust_add_issuer(trust, GIVEN(entry), &err));
    IS(IDGATE_OK, idgate_trust_add_material(trust, IDGATE_STR("https://issuer.example"), IDGATE_JWK, GIVEN(key),
                                            NULL, &err));
    free(entry.ptr);
    free(key.ptr);
    return trust;
}

struct answer {
    struct file session, content_type, body;
};

/* Takes an answer that was posted to this path; NULL: to the session's own path. */
static inline idgate_status begin(const idgate_verifier *verifier, const idgate_session *session, const char *to,
                                  struct answer given, idgate_verification **verification, idgate_error **err) {
    idgate_bytes info = {NULL, 0};
    idgate_answer answer = {.size = sizeof answer, .content_type = GIVEN(given.content_type), .body = GIVEN(given.body)};
    if (to == NULL) {
        CHECK(idgate_session_info(session, NOW, &info, NULL) == IDGATE_OK);
        answer.to = after(GIVEN(info), "\"handle\":\"");
    } else {
        answer.to = text_of(to);
    }
    idgate_status status = idgate_verification_begin(verifier, session, &answer, NOW, verification, err);
    idgate_bytes_free(info);
    return status;
}

static inline struct answer answer_of(const char *root, const char *name) {
    char dir[4096];
    CHECK(snprintf(dir, sizeof dir, "%s/%s", root, name) < (int)sizeof dir);
    struct answer answer = {load(dir, "session"), load(dir, "content_type"), load(dir, "body")};
    return answer;
}

static inline void answer_free(struct answer answer) {
    free(answer.session.ptr);
    free(answer.content_type.ptr);
    free(answer.body.ptr);
}

#endif

/* What the programs share: files, and checks that say where they failed. */
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

/* The call is refused with this status; its error is shown when it is another. */
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

static inline void show(idgate_error *err) {
    idgate_bytes text;
    if (idgate_error_message(err, &text) == IDGATE_OK) {
        fprintf(stderr, "  %.*s\n", (int)text.len, (const char *)text.ptr);
        idgate_bytes_free(text);
    }
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

static inline int has(idgate_bytes bytes, const char *part) {
    size_t len = strlen(part);
    for (size_t at = 0; at + len <= bytes.len; at++) {
        if (memcmp(bytes.ptr + at, part, len) == 0) return 1;
    }
    return 0;
}

/* What stands between this mark and the next quotation mark. */
static inline const char *after(idgate_bytes bytes, const char *mark, size_t *len) {
    size_t skip = strlen(mark);
    for (size_t at = 0; at + skip <= bytes.len; at++) {
        const char *from = (const char *)bytes.ptr + at + skip;
        if (memcmp(bytes.ptr + at, mark, skip) != 0) continue;
        const char *end = memchr(from, '"', bytes.len - at - skip);
        CHECK(end != NULL);
        *len = (size_t)(end - from);
        return from;
    }
    CHECK(!"the mark is there");
    return NULL;
}

static inline void transition_free(idgate_transition transition) {
    CHECK(idgate_session_free(transition.session) == IDGATE_OK);
    CHECK(idgate_bytes_free(transition.effects) == IDGATE_OK);
}

/* Takes what a page got from its browser. */
static inline idgate_status begin_dc_api(idgate_verifier *verifier, const idgate_session *session,
                           struct file answer, idgate_verification **verification,
                           idgate_error **err) {
    return idgate_dc_api_verification_begin(verifier, session, answer.ptr, answer.len, NOW,
                                            verification, err);
}

/* What becomes of what a page got: the first step of its verification. */
static inline idgate_step step_dc_api(idgate_verifier *verifier, const idgate_session *session,
                                      struct file answer) {
    idgate_error *err = NULL;
    idgate_verification *verification = NULL;
    idgate_step step;
    IS(IDGATE_OK, begin_dc_api(verifier, session, answer, &verification, &err));
    IS(IDGATE_OK, idgate_verification_step(verification, &step, &err));
    IS(IDGATE_OK, idgate_verification_free(verification));
    return step;
}

static inline void step_free(idgate_step step) {
    idgate_bytes_free(step.json);
    transition_free(step.transition);
}

static const char *const BASE_URL = "https://gateway.example";

/* Adds an issuer with the material in a file of a case. */
static inline void trust_issuer(idgate_trust *trust, const char *root, const char *issuer, int32_t kind,
                         const char *material) {
    idgate_error *err = NULL;
    char entry[512];
    int len = snprintf(entry, sizeof entry, "{\"issuer_id\":\"%s\"}", issuer);
    struct file file = load(root, material);
    IS(IDGATE_OK, idgate_trust_add_entry(trust, entry, (size_t)len, &err));
    IS(IDGATE_OK, idgate_trust_add(trust, issuer, strlen(issuer), kind, file.ptr, file.len, NULL, 0,
                                   0, NOW, NULL, &err));
    free(file.ptr);
}

/* A verifier that trusts the issuer of a case, and nobody else. */
static inline idgate_verifier *verifier_for(const char *root, const char *issuer, int32_t kind,
                                            const char *material) {
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    idgate_verifier *verifier = NULL;
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    trust_issuer(trust, root, issuer, kind, material);
    IS(IDGATE_OK,
       idgate_verifier_new_inline(BASE_URL, strlen(BASE_URL), trust, 1, &verifier, &err));
    IS(IDGATE_OK, idgate_trust_free(trust));
    return verifier;
}

/* Who is trusted in the case of offers. */
static inline idgate_trust *trust_of_offers(const char *root) {
    const char *issuer = "https://issuer.example";
    idgate_error *err = NULL;
    idgate_trust *trust = NULL;
    struct file entry = load(root, "offers/entry.json"), key = load(root, "offers/key.json");
    IS(IDGATE_OK, idgate_trust_new(&trust, &err));
    IS(IDGATE_OK, idgate_trust_add_entry(trust, (char *)entry.ptr, entry.len, &err));
    IS(IDGATE_OK, idgate_trust_add(trust, issuer, strlen(issuer), IDGATE_JWK, key.ptr, key.len, NULL,
                                   0, 0, NOW, NULL, &err));
    free(entry.ptr);
    free(key.ptr);
    return trust;
}

struct answer {
    struct file session, content_type, body;
};

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

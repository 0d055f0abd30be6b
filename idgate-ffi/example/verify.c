/* Verifies one SD-JWT VC of a vp_token, fetches its status list, and prints its claims.
 *
 *     cc verify.c $(pkg-config --cflags --libs idgate) -o verify      or with the CMakeLists.txt here
 *     ./verify issuer.jwk.json https://issuer.example CLIENT_ID NONCE presentation.txt given_name
 *
 * Exit code 0: verified; 3: refused; 1: a file or an argument cannot be used. */
#include <idgate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now(void) { return (uint64_t)time(NULL) * 1000; }

static idgate_str text(const char *given) { return (idgate_str){given, strlen(given)}; }

static void print(FILE *out, const char *before, idgate_str text) {
    if (text.len > 0) fprintf(out, "%s%.*s\n", before, (int)text.len, (const char *)text.ptr);
}

/* Ends the program if a call failed, and says why. */
static void must(idgate_status status, idgate_error **error) {
    if (status == IDGATE_OK) return;
    print(stderr, "", idgate_error_message(*error));
    print(stderr, "see ", idgate_error_clause(*error));
    exit(status == IDGATE_REFUSED ? 3 : 1);
}

static idgate_str read_file(const char *name) {
    FILE *in = fopen(name, "rb");
    long len = -1;
    char *at = NULL;
    if (in != NULL && fseek(in, 0, SEEK_END) == 0) len = ftell(in);
    if (len >= 0) at = malloc((size_t)len + 1);
    if (at != NULL) rewind(in);
    if (at == NULL || fread(at, 1, (size_t)len, in) != (size_t)len) {
        fprintf(stderr, "%s cannot be read\n", name);
        exit(1);
    }
    fclose(in);
    /* Ignore line breaks that an editor added at the end. */
    while (len > 0 && strchr("\r\n", at[len - 1]) != NULL) len--;
    return (idgate_str){at, (size_t)len};
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: verify ISSUER_JWK ISSUER_ID CLIENT_ID NONCE PRESENTATION [CLAIM ...]\n");
        return 1;
    }
    char issuer[1024];
    idgate_str jwk = read_file(argv[1]), presentation = read_file(argv[5]), claims[64];
    size_t count = 0;
    for (int at = 6; at < argc && count < 64; at++) claims[count++] = text(argv[at]);
    snprintf(issuer, sizeof issuer, "{\"issuer_id\": \"%s\"}", argv[2]);

    idgate_error *error = NULL;
    idgate_trust *trust = NULL;
    idgate_fetcher *fetcher = NULL;
    must(idgate_trust_new(&trust, &error), &error);
    must(idgate_trust_add_issuer(trust, text(issuer), &error), &error);
    must(idgate_trust_add_material(trust, text(argv[2]), IDGATE_JWK, jwk, NULL, &error), &error);
    must(idgate_fetcher_new(NULL, &fetcher, &error), &error); /* one for the whole program */

    idgate_expected expected = {
        .size = sizeof expected,
        .format = IDGATE_FORMAT_SD_JWT_VC,
        .issuer_id = text(argv[2]),
        .client_id = text(argv[3]),
        .nonce = text(argv[4]),
        .claims = claims,
        .claims_len = count,
    };
    idgate_verification *verification = NULL;
    idgate_step *step = NULL;
    must(idgate_presentation_begin(trust, presentation, &expected, now(), &verification, &error), &error);
    must(idgate_verification_step(verification, &step, &error), &error);
    while (idgate_step_kind(step) == IDGATE_STEP_NEED) {
        bool known = false, came = false;
        idgate_step_free(step);
        must(idgate_verification_recall(verification, fetcher, now(), &known, &error), &error);
        if (!known) {
            must(idgate_verification_fetch(verification, fetcher, &error), &error);
            while (!came) must(idgate_verification_wait(verification, 1000, &came, &error), &error);
            must(idgate_verification_settle(verification, now(), &error), &error);
        }
        must(idgate_verification_step(verification, &step, &error), &error);
    }
    print(stdout, "", idgate_step_json(step));

    idgate_step_free(step);
    idgate_verification_free(verification);
    idgate_fetcher_free(fetcher);
    idgate_trust_free(trust);
    free((void *)presentation.ptr);
    free((void *)jwk.ptr);
    return 0;
}

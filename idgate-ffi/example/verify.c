/* Verifies one SD-JWT VC as a wallet put it into vp_token, and prints its claims.
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

struct text {
    char *at;
    size_t len;
};

static struct text read_file(const char *name) {
    struct text read = {NULL, 0};
    FILE *in = fopen(name, "rb");
    long len = -1;
    if (in != NULL && fseek(in, 0, SEEK_END) == 0) len = ftell(in);
    if (len >= 0 && (read.at = malloc((size_t)len + 1)) != NULL) {
        rewind(in);
        read.len = fread(read.at, 1, (size_t)len, in);
    }
    if (in != NULL) fclose(in);
    if (read.at == NULL || read.len != (size_t)len) {
        fprintf(stderr, "%s cannot be read\n", name);
        exit(1);
    }
    /* A line break at the end is the editor's. */
    while (read.len > 0 && strchr("\r\n", read.at[read.len - 1]) != NULL) read.len--;
    return read;
}

/* Appends `value` as a JSON string. What has to be escaped is refused: no name here needs it. */
static void append(char *json, size_t room, const char *before, const char *value) {
    size_t used = strlen(json);
    for (const char *at = value; *at != 0; at++) {
        if (*at == '"' || *at == '\\' || (unsigned char)*at < 0x20) {
            fprintf(stderr, "an argument has a quotation mark, a backslash or a control character\n");
            exit(1);
        }
    }
    if (snprintf(json + used, room - used, "%s\"%s\"", before, value) >= (int)(room - used)) {
        fprintf(stderr, "the arguments are too long\n");
        exit(1);
    }
}

/* Says what is wrong, and gives the exit code for it. */
static int told(idgate_status status, idgate_error *error) {
    idgate_bytes message, clause;
    if (idgate_error_message(error, &message) == IDGATE_OK) {
        fprintf(stderr, "%.*s\n", (int)message.len, (const char *)message.ptr);
        idgate_bytes_free(message);
    }
    if (idgate_error_clause(error, &clause) == IDGATE_OK) {
        if (clause.len > 0) fprintf(stderr, "see %.*s\n", (int)clause.len, (const char *)clause.ptr);
        idgate_bytes_free(clause);
    }
    idgate_error_free(error);
    return status == IDGATE_REFUSED ? 3 : 1;
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: verify ISSUER_JWK ISSUER_ID CLIENT_ID NONCE PRESENTATION [CLAIM ...]\n");
        return 1;
    }
    struct text jwk = read_file(argv[1]), presentation = read_file(argv[5]);
    uint64_t now = (uint64_t)time(NULL) * 1000;
    char entry[4096] = "{", expected[8192] = "{\"format\":\"vc+sd-jwt\",";
    append(entry, sizeof entry - 1, "\"issuer_id\":", argv[2]);
    strcat(entry, "}");
    append(expected, sizeof expected - 2, "\"issuer_id\":", argv[2]);
    append(expected, sizeof expected - 2, ",\"client_id\":", argv[3]);
    append(expected, sizeof expected - 2, ",\"nonce\":", argv[4]);
    for (int at = 6; at < argc; at++) {
        append(expected, sizeof expected - 2, at == 6 ? ",\"claims\":[" : ",", argv[at]);
    }
    strcat(expected, argc > 6 ? "]}" : "}");

    idgate_trust *trust = NULL;
    idgate_error *error = NULL;
    idgate_bytes result;
    idgate_status status = idgate_trust_new(&trust, &error);
    if (status == IDGATE_OK) {
        status = idgate_trust_add_entry(trust, entry, strlen(entry), &error);
    }
    if (status == IDGATE_OK) {
        status = idgate_trust_add(trust, argv[2], strlen(argv[2]), IDGATE_JWK, (const uint8_t *)jwk.at,
                                  jwk.len, NULL, 0, 0, now, NULL, &error);
    }
    if (status == IDGATE_OK) {
        status = idgate_verify_presentation(trust, expected, strlen(expected), presentation.at,
                                            presentation.len, now, &result, &error);
    }
    int code = 0;
    if (status == IDGATE_OK) {
        printf("%.*s\n", (int)result.len, (const char *)result.ptr);
        idgate_bytes_free(result);
    } else {
        code = told(status, error);
    }
    idgate_trust_free(trust);
    free(presentation.at);
    free(jwk.at);
    return code;
}

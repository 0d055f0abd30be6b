/* Threads share a verifier, a session and a verification, and free them while others use them. */
#include <pthread.h>

#include "common.h"

#define THREADS 8
#define ROUNDS 50

static idgate_verifier *verifier;
static idgate_session *session;
static idgate_verification *shared;
static struct answer answer;
static int decided;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *verify(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        idgate_error *err = NULL;
        idgate_verification *own = NULL;
        IS(IDGATE_OK, begin(verifier, session, NULL, answer, &own, &err));
        idgate_step *step = step_of(own);
        CHECK(contains(idgate_step_json(step), "\"VERIFIED\""));
        step_free(step);
        IS(IDGATE_OK, idgate_verification_free(own));
    }
    return NULL;
}

/* Exactly one thread gets the decision of the shared verification. */
static void *race(void *unused) {
    (void)unused;
    idgate_step *step = NULL;
    idgate_status status = idgate_verification_step(shared, &step, NULL);
    CHECK(status == IDGATE_OK || status == IDGATE_MISUSE);
    if (status == IDGATE_OK) {
        idgate_session_free(session_after(step));
        step_free(step);
        pthread_mutex_lock(&lock);
        decided++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *release(void *unused) {
    (void)unused;
    idgate_status status = idgate_verification_free(shared);
    CHECK(status == IDGATE_OK || status == IDGATE_MISUSE);
    return NULL;
}

static void together(void *(*work)(void *)) {
    pthread_t threads[THREADS];
    for (int n = 0; n < THREADS; n++) CHECK(pthread_create(&threads[n], NULL, work, NULL) == 0);
    for (int n = 0; n < THREADS; n++) CHECK(pthread_join(threads[n], NULL) == 0);
}

int main(int argc, char **argv) {
    idgate_error *err = NULL;
    CHECK(argc == 2);
    verifier = verifier_for(argv[1], "https://issuer.example", IDGATE_JWK, "sd_jwt/key.json");
    answer = answer_of(argv[1], "sd_jwt");
    IS(IDGATE_OK, idgate_session_restore(GIVEN(answer.session), &session, &err));
    together(verify);
    IS(IDGATE_OK, begin(verifier, session, NULL, answer, &shared, &err));
    together(race);
    CHECK(decided == 1);
    together(release);
    IS(IDGATE_OK, idgate_session_free(session));
    IS(IDGATE_OK, idgate_verifier_free(verifier));
    answer_free(answer);
    CHECK(idgate_in_use() == 0);
    return 0;
}

/* Shared by the programs about pages. */
#ifndef PAGE_H
#define PAGE_H

#include "common.h"

/* Takes an answer that a page got from its browser. */
static inline idgate_status begin_dc_api(idgate_verifier *verifier, const idgate_session *session,
                                         struct file credential, idgate_verification **verification,
                                         idgate_error **err) {
    idgate_answer answer = {.size = sizeof answer, .body = GIVEN(credential), .from_page = 1};
    return idgate_verification_begin(verifier, session, &answer, NOW, verification, err);
}

/* The first step of the verification of a page's answer. */
static inline idgate_step *step_dc_api(idgate_verifier *verifier, const idgate_session *session,
                                       struct file credential) {
    idgate_error *err = NULL;
    idgate_verification *verification = NULL;
    IS(IDGATE_OK, begin_dc_api(verifier, session, credential, &verification, &err));
    idgate_step *step = step_of(verification);
    IS(IDGATE_OK, idgate_verification_free(verification));
    return step;
}

#endif

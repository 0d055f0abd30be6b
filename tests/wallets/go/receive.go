package main

import (
	"errors"

	"github.com/privacybydesign/irmago/common/clientmodels"
	"github.com/privacybydesign/irmago/eudi/openid4vci"
)

// receive accepts an offer, and types these codes.
func (w *wallet) receive(offer string, codes []string) (outcome, error) {
	user := &receiving{codes: codes, ended: make(chan error, 1)}
	w.receiver.NewSession(1, offer, "https://wallet.example/redirect", user)
	if err := <-user.ended; err != nil {
		return user.went, err
	}
	batches, err := w.credentials.GetCredentialBatchList()
	if err != nil {
		return user.went, err
	}
	for _, batch := range batches {
		user.went.Credentials += int(batch.RemainingCount)
	}
	return user.went, nil
}

// receiving is the user during an issuance, who agrees to everything.
type receiving struct {
	codes []string
	went  outcome
	ended chan error
}

func (user *receiving) Success(string, []*clientmodels.Credential) { user.ended <- nil }

func (user *receiving) Cancelled() { user.ended <- errors.New("cancelled") }

func (user *receiving) Failure(err *clientmodels.SessionError) {
	user.ended <- errors.New(err.WrappedError)
}

func (user *receiving) RequestPreAuthorizedCodeFlowPermission(
	request *clientmodels.PreAuthorizedCodeFlowPermissionRequest,
	_ *clientmodels.TrustedParty,
	proceed openid4vci.TokenPermissionHandler,
) {
	if request.RemainingAttempts != nil {
		user.went.AskedAgain++
	}
	if request.TransactionCodeParameters == nil {
		proceed(true, nil)
	} else if len(user.codes) == 0 {
		proceed(false, nil)
	} else {
		code := user.codes[0]
		user.codes = user.codes[1:]
		proceed(true, &code)
	}
}

func (user *receiving) RequestAuthorizationCodeFlowPermission(
	_ *clientmodels.AuthorizationCodeFlowRequest,
	_ *clientmodels.TrustedParty,
	proceed openid4vci.AuthCodeHandler,
) {
	proceed(false, nil)
}

func (user *receiving) RequestPermission(
	_ []*clientmodels.Credential,
	_ *clientmodels.TrustedParty,
	proceed openid4vci.PermissionHandler,
) {
	proceed(true)
}

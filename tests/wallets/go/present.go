package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/privacybydesign/irmago/common/clientmodels"
	eudi_jwt "github.com/privacybydesign/irmago/eudi/jwt"
	"github.com/privacybydesign/irmago/eudi/openid4vp"
	"github.com/privacybydesign/irmago/eudi/openid4vp/dcql"
	"github.com/privacybydesign/irmago/eudi/scheme"
)

// present answers the request behind a link.
func (w *wallet) present(link string) error {
	user := &presenting{ended: make(chan error, 1)}
	w.presenter.NewSession(link, user)
	return <-user.ended
}

// presenting is the user during a presentation, who agrees to the first credential that fits.
type presenting struct {
	ended chan error
}

func (user *presenting) Success(string, []clientmodels.LogCredential) { user.ended <- nil }

func (user *presenting) Cancelled() { user.ended <- errors.New("cancelled") }

func (user *presenting) Failure(err *clientmodels.SessionError) {
	user.ended <- errors.New(err.WrappedError)
}

func (user *presenting) DeliverDcApiResponse(string) {}

func (user *presenting) RequestVerificationPermission(
	plan *clientmodels.DisclosurePlan,
	_ *clientmodels.TrustedParty,
	queries map[string]string,
	proceed openid4vp.PermissionHandler,
) {
	var selections []dcql.DisclosureSelection
	for _, choice := range plan.DisclosureChoicesOverview {
		if len(choice.OwnedOptions) == 0 {
			continue
		}
		for _, credential := range choice.OwnedOptions[0].Credentials {
			selection := dcql.DisclosureSelection{
				QueryId:        queries[credential.Hash],
				CredentialHash: credential.Hash,
			}
			for _, attribute := range credential.Attributes {
				selection.ClaimPaths = append(selection.ClaimPaths, attribute.ClaimPath)
			}
			selections = append(selections, selection)
		}
	}
	proceed(len(selections) > 0, selections)
}

// anyVerifier trusts every verifier's certificate. The library checks the rest of the request.
type anyVerifier struct{}

func (anyVerifier) ParseAndVerifyAuthorizationRequest(request string) (
	*openid4vp.AuthorizationRequest,
	*x509.Certificate,
	*scheme.RelyingPartyRequestor,
	error,
) {
	own, err := signer(request)
	if err != nil {
		return nil, nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(own)
	trusted := &eudi_jwt.StaticVerificationContext{
		VerifyOpts: x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}},
	}
	library := openid4vp.NewRequestorCertificateStoreVerifierValidator(
		trusted, &openid4vp.DefaultQueryValidatorFactory{},
	)
	return library.ParseAndVerifyAuthorizationRequest(request)
}

// signer is the first certificate of a request.
func signer(request string) (*x509.Certificate, error) {
	encoded, _, _ := strings.Cut(request, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, err
	}
	var header struct {
		Chain [][]byte `json:"x5c"`
	}
	if err := json.Unmarshal(decoded, &header); err != nil {
		return nil, err
	}
	if len(header.Chain) == 0 {
		return nil, errors.New("the request has no x5c")
	}
	return x509.ParseCertificate(header.Chain[0])
}

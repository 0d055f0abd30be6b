package main

import (
	"net/http"
	"os"

	"github.com/glebarez/sqlite"
	"github.com/privacybydesign/irmago/common/clientmodels"
	"github.com/privacybydesign/irmago/eudi"
	"github.com/privacybydesign/irmago/eudi/credentials/sdjwtvc"
	"github.com/privacybydesign/irmago/eudi/credentials/statuslist"
	eudi_jwt "github.com/privacybydesign/irmago/eudi/jwt"
	"github.com/privacybydesign/irmago/eudi/openid4vci"
	"github.com/privacybydesign/irmago/eudi/openid4vp"
	"github.com/privacybydesign/irmago/eudi/openid4vp/dcql"
	"github.com/privacybydesign/irmago/eudi/openid4vp/eudi_sdjwt_dcql"
	"github.com/privacybydesign/irmago/eudi/sdjwt"
	"github.com/privacybydesign/irmago/eudi/services"
	"github.com/privacybydesign/irmago/eudi/storage"
	"github.com/privacybydesign/irmago/eudi/storage/db"
	"github.com/privacybydesign/irmago/eudi/storage/filesystem"
)

// wallet is built like irmago's own client, in developer mode and without IRMA's credentials. Its database is
// not encrypted, because that needs a library that is missing on some machines.
type wallet struct {
	credentials db.CredentialStore
	receiver    *openid4vci.Client
	presenter   *openid4vp.Client
}

// newWallet makes an empty wallet that trusts issuers under a root, with a separate folder below this one.
func newWallet(below, trustedRoot string) (*wallet, error) {
	folder, err := os.MkdirTemp(below, "wallet-")
	if err != nil {
		return nil, err
	}
	files := filesystem.NewFileSystemStorage([32]byte{}, folder+"/files")
	store, err := storage.NewStorageWithDialector(sqlite.Open(folder+"/wallet.db"), files)
	if err != nil {
		return nil, err
	}
	trusted, err := trust(store, trustedRoot)
	if err != nil {
		return nil, err
	}
	locale := clientmodels.NewCurrentLocale("en")
	credentials, keys := db.NewCredentialStore(store.Db()), services.NewHolderBindingKeyService(store.Db())
	checker := statuslist.NewChecker(
		statuslist.VerificationContext{X509Context: &trusted.Issuers, Clock: eudi_jwt.NewSystemClock()},
		db.NewStatusListCacheStore(store.Db()),
	)
	revocation := services.NewRevocationService(checker, credentials)
	verifier := sdjwtvc.NewHolderVerificationProcessor(sdjwtvc.SdJwtVcVerificationContext{
		X509VerificationContext: &trusted.Issuers,
		Clock:                   eudi_jwt.NewSystemClock(),
		JwtVerifier:             sdjwt.NewJwxJwtVerifier(),
		StatusChecker:           checker,
	})
	service := services.NewCredentialService(
		credentials, db.NewHolderBindingKeyStore(store.Db()), store.FileSystem(), revocation, locale,
	)
	receiver, err := openid4vci.NewClient(&http.Client{}, trusted, verifier, service, keys, locale)
	if err != nil {
		return nil, err
	}
	receiver.SetAllowInsecureHttp(true)
	handler := eudi_sdjwt_dcql.NewSdJwtVcDcqlHandler(
		store, credentials, nil, nil, sdjwt.NewDefaultKeyBinder(keys), locale, revocation,
	)
	handlers := []dcql.DcqlCredentialQueryHandler{handler}
	presenter, err := openid4vp.NewClient(trusted, handlers, anyVerifier{}, locale)
	if err != nil {
		return nil, err
	}
	return &wallet{credentials, receiver, presenter}, nil
}

// trust has the trusted issuers: those under this root, and those built into the library.
func trust(store storage.Storage, root string) (*eudi.Configuration, error) {
	trusted, err := eudi.NewConfiguration(store)
	if err != nil {
		return nil, err
	}
	trusted.SetCertificateVerificationMode(eudi.DeveloperModeCertificateVerification)
	if err := trusted.Issuers.InstallCertificate([]byte(root)); err != nil {
		return nil, err
	}
	return trusted, trusted.Reload()
}

// The flow with the Go client of openapi-generator.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	openapi "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must[T any](value T, _ any, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	configuration := openapi.NewConfiguration()
	configuration.Servers[0].URL = os.Getenv("IDGATE_URL")
	sessions := openapi.NewAPIClient(configuration).SessionsAPI
	key := context.WithValue(context.Background(), openapi.ContextAccessToken, os.Getenv("IDGATE_API_KEY"))

	asked := openapi.NewCredentialRequest(openapi.VCSD_JWT, os.Getenv("ISSUER_ID"), []string{"given_name"})
	asked.SetId("pid")
	credential := openapi.CredentialRequestAsCreateSessionByCredentialCredentialsInner(asked)
	form := openapi.NewCreateSessionByCredential([]openapi.CreateSessionByCredentialCredentialsInner{credential})
	request := openapi.CreateSessionByCredentialAsSessionRequest(form)
	made := must(sessions.CreateSession(key).SessionRequest(request).Execute())
	fmt.Println(made.QrCodeUrl)
	bufio.NewReader(os.Stdin).ReadString('\n') // the wallet has answered

	session := must(sessions.ReadSession(key, made.SessionId).Execute())
	details := session.VerificationDetails
	if session.Status != openapi.VERIFIED || !details.VerifiedAt.Before(made.ExpiresAt) {
		panic(session.Status)
	}
	if _, err := sessions.DeleteSession(key, made.SessionId).Execute(); err != nil {
		panic(err)
	}
	_, _, err := sessions.ReadSession(key, made.SessionId).Execute()
	var refused *openapi.GenericOpenAPIError
	var gone openapi.ErrorBody
	if !errors.As(err, &refused) || json.Unmarshal(refused.Body(), &gone) != nil {
		panic(err)
	}
	fmt.Println(session.Claims["pid"].(map[string]any)["given_name"], gone.Error)
}

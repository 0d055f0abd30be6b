// The flow with the client of ogen.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"flow/client"
)

// key proves who calls: for a tenant's requests the API key, and nothing for others.
type key struct{}

func (key) TenantKey(context.Context, client.OperationName) (client.TenantKey, error) {
	return client.TenantKey{Token: os.Getenv("IDGATE_API_KEY")}, nil
}

func (key) AdminToken(context.Context, client.OperationName) (client.AdminToken, error) {
	return client.AdminToken{}, nil
}

func (key) WebSocketKey(context.Context, client.OperationName) (client.WebSocketKey, error) {
	return client.WebSocketKey{}, nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	gateway := must(client.NewClient(os.Getenv("IDGATE_URL"), key{}))

	asked := client.CredentialRequest{
		ID: client.NewOptString("pid"), Format: client.RequestedFormatVcSdJwt,
		IssuerID: os.Getenv("ISSUER_ID"), Claims: []string{"given_name"},
	}
	credential := client.NewCredentialRequestCreateSessionByCredentialCredentialsItem(asked)
	form := client.CreateSessionByCredential{Credentials: []client.CreateSessionByCredentialCredentialsItem{credential}}
	request := client.NewCreateSessionByCredentialSessionRequest(form)
	made := must(gateway.CreateSession(ctx, request, client.CreateSessionParams{})).(*client.SessionCreatedHeaders).Response
	fmt.Println(made.QrCodeURL)
	bufio.NewReader(os.Stdin).ReadString('\n') // the wallet has answered

	read := client.ReadSessionParams{SessionId: string(made.SessionID)}
	session := must(gateway.ReadSession(ctx, read)).(*client.SessionStatusHeaders).Response
	verifiedAt := time.Time(session.VerificationDetails.Value.VerifiedAt)
	if session.Status != client.StatusVERIFIED || !verifiedAt.Before(time.Time(made.ExpiresAt)) {
		panic(session.Status)
	}
	deleted := must(gateway.DeleteSession(ctx, client.DeleteSessionParams{SessionId: read.SessionId}))
	_ = deleted.(*client.NoContentResponse)
	gone := must(gateway.ReadSession(ctx, read)).(*client.NotFoundResponseHeaders).Response
	var claims struct {
		GivenName string `json:"given_name"`
	}
	if err := json.Unmarshal(session.Claims.Value["pid"], &claims); err != nil {
		panic(err)
	}
	fmt.Println(claims.GivenName, gone.Error)
}

// The flow with the client of oapi-codegen.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"

	"flow/client"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	withKey := client.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("IDGATE_API_KEY"))
		return nil
	})
	gateway := must(client.NewClientWithResponses(os.Getenv("IDGATE_URL"), withKey))

	id := "pid"
	asked := client.CredentialRequest{
		Id: &id, Format: client.RequestedFormatVcSdJwt, IssuerId: os.Getenv("ISSUER_ID"), Claims: []string{"given_name"},
	}
	var request client.SessionRequest
	form := client.CreateSessionByCredential{Credentials: []client.CredentialRequest{asked}}
	if err := request.FromCreateSessionByCredential(form); err != nil {
		panic(err)
	}
	made := must(gateway.CreateSessionWithResponse(ctx, nil, request)).JSON201
	fmt.Println(made.QrCodeUrl)
	bufio.NewReader(os.Stdin).ReadString('\n') // the wallet has answered

	session := must(gateway.ReadSessionWithResponse(ctx, made.SessionId, nil)).JSON200
	if session.Status != client.StatusVERIFIED || !session.VerificationDetails.VerifiedAt.Before(made.ExpiresAt) {
		panic(session.Status)
	}
	if deleted := must(gateway.DeleteSessionWithResponse(ctx, made.SessionId)); deleted.StatusCode() != 204 {
		panic(deleted.Status())
	}
	gone := must(gateway.ReadSessionWithResponse(ctx, made.SessionId, nil)).JSON404
	fmt.Println((*session.Claims)["pid"].(map[string]any)["given_name"], gone.Error)
}

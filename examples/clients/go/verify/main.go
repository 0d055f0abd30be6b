// Verify asks a wallet for a given name and prints the verified answer.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"verification/client"
)

func main() {
	if err := verify(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func verify(ctx context.Context) error {
	gateway, err := client.NewClientWithResponses(
		os.Getenv("GATEWAY_URL"),
		client.WithHTTPClient(&http.Client{Timeout: 30 * time.Second}),
		client.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
			return nil
		}),
	)
	if err != nil {
		return err
	}

	created, err := create(ctx, gateway)
	if err != nil {
		return err
	}
	// Show the link as a QR code, or open it on the person's phone.
	fmt.Println(created.QrCodeUrl)

	session, err := settled(ctx, gateway, created.SessionId)
	if err != nil {
		return err
	}
	switch {
	case session.Status != client.StatusVERIFIED:
		return fmt.Errorf("%s: %s", session.Status, *session.Reason)
	case session.Claims == nil:
		return fmt.Errorf("%s, without claims: %s", session.Status, *session.ClaimsWithheld)
	}
	claims, _ := (*session.Claims)["pid"].(map[string]any)
	fmt.Println(session.Status, session.VerificationDetails.VerifiedAt.Format(time.RFC3339))
	fmt.Println("given_name:", claims["given_name"])

	// The gateway keeps only the audit entries of the session.
	deleted, err := gateway.DeleteSessionWithResponse(ctx, created.SessionId)
	if err == nil && deleted.StatusCode() != http.StatusNoContent {
		err = refused(deleted.HTTPResponse, deleted.Body)
	}
	return err
}

func create(ctx context.Context, gateway *client.ClientWithResponses) (*client.SessionCreated, error) {
	id := "pid"
	credential := client.CredentialRequest{
		Id:       &id,
		Format:   client.RequestedFormatVcSdJwt,
		IssuerId: os.Getenv("ISSUER_ID"),
		Claims:   []string{"given_name"},
	}
	var asked client.CreateSessionByCredential_Credentials_Item
	if err := asked.FromCredentialRequest(credential); err != nil {
		return nil, err
	}
	var request client.SessionRequest
	err := request.FromCreateSessionByCredential(client.CreateSessionByCredential{
		Profiles:    &client.Profiles{client.ProfileN10},
		Credentials: []client.CreateSessionByCredential_Credentials_Item{asked},
	})
	if err != nil {
		return nil, err
	}
	created, err := gateway.CreateSessionWithResponse(ctx, nil, request)
	if err != nil {
		return nil, err
	}
	if created.JSON201 == nil {
		return nil, refused(created.HTTPResponse, created.Body)
	}
	return created.JSON201, nil
}

// settled asks once a second until the session is VERIFIED, FAILED or EXPIRED. Each session expires, so it ends.
func settled(ctx context.Context, gateway *client.ClientWithResponses, id string) (*client.SessionStatus, error) {
	for {
		read, err := gateway.ReadSessionWithResponse(ctx, id, nil)
		if err != nil {
			return nil, err
		}
		if read.JSON200 == nil {
			return nil, refused(read.HTTPResponse, read.Body)
		}
		switch read.JSON200.Status {
		case client.StatusVERIFIED, client.StatusFAILED, client.StatusEXPIRED:
			return read.JSON200, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// refused is the error in the gateway's answer.
func refused(response *http.Response, body []byte) error {
	var answer client.ErrorBody
	if json.Unmarshal(body, &answer) != nil || answer.Error == "" {
		return fmt.Errorf("the gateway answered %s", response.Status)
	}
	return fmt.Errorf("%s: %s", answer.Error, answer.Message)
}

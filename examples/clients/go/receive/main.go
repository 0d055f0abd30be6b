// Receive verifies each webhook's signature, and prints the session that it reports.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	svix "github.com/svix/svix-webhooks/go"

	"verification/client"
)

func main() {
	if err := receive(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func receive() error {
	secret := os.Getenv("SIGNING_SECRET")
	if secret == "" {
		return fmt.Errorf("SIGNING_SECRET is not set")
	}
	webhook, err := svix.NewWebhook(secret)
	if err != nil {
		return fmt.Errorf("SIGNING_SECRET is not base64 after whsec_: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"))
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/hooks/idgate\n", listener.Addr())
	http.Handle("POST /hooks/idgate", &receiver{webhook: webhook})
	return http.Serve(listener, nil)
}

type receiver struct {
	webhook *svix.Webhook
	// The received notifications. Keep them in your database, so that they survive a restart.
	seen sync.Map
}

func (r *receiver) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	// The signature covers the raw bytes, so read them before you parse them.
	body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, 64<<10))
	if err == nil {
		err = r.webhook.Verify(body, request.Header)
	}
	var notification client.WebhookPayload
	if err == nil {
		err = json.Unmarshal(body, &notification)
	}
	if err != nil {
		http.Error(writer, "refused", http.StatusBadRequest)
		return
	}
	// A notification may arrive twice.
	if _, again := r.seen.LoadOrStore(request.Header.Get("webhook-id"), true); !again {
		fmt.Println(notification.Status, notification.SessionId)
	}
	writer.WriteHeader(http.StatusNoContent)
}

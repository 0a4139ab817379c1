// A webhook receiver for Go 1.21 or newer, without modules. It speaks plain HTTP on 127.0.0.1 and
// belongs behind whatever ends TLS for you (nginx, a load balancer): the service sends to https:// only.
//
//	WEBHOOK_SECRET=... PORT=8080 INBOX=inbox.jsonl go run webhook_receiver.go
//
// The order is the point: verify, store, answer. Work on what is stored afterwards, at your own pace.
package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	tolerance    = 5 * time.Minute
	bodyMaxBytes = 1 << 20
)

// While a secret is rotated a delivery carries two signatures: one of them is made with ours.
var signatureHeaders = []string{"X-Webhook-Signature-256", "X-Webhook-Signature-256-Previous"}

// isAuthentic judges the raw bytes, before any parsing: JSON that was parsed and written again may differ.
func isAuthentic(header http.Header, rawBody []byte, secret string) bool {
	timestamp := header.Get("X-Webhook-Timestamp")
	signedAt, err := time.Parse(time.RFC3339, timestamp)
	if err != nil || time.Since(signedAt).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(rawBody)
	expected := []byte("sha256=" + hex.EncodeToString(mac.Sum(nil)))
	for _, name := range signatureHeaders {
		if hmac.Equal([]byte(header.Get(name)), expected) {
			return true
		}
	}
	return false
}

// inbox holds the events that were accepted, each once. Yours is a table with a unique key on the id.
type inbox struct {
	sync.Mutex
	file  *os.File
	known map[string]bool
}

type envelope struct {
	ID string `json:"id"`
}

func openInbox(path string) (*inbox, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 2*bodyMaxBytes)
	for lines.Scan() {
		var event envelope
		if json.Unmarshal(lines.Bytes(), &event) == nil {
			known[event.ID] = true
		}
	}
	return &inbox{file: file, known: known}, lines.Err()
}

func (in *inbox) store(rawBody []byte) error {
	var event envelope
	if err := json.Unmarshal(rawBody, &event); err != nil {
		return err
	}
	in.Lock()
	defer in.Unlock()
	if in.known[event.ID] {
		return nil
	}
	if _, err := in.file.Write(append(rawBody, '\n')); err != nil {
		return err
	}
	if err := in.file.Sync(); err != nil {
		return err
	}
	in.known[event.ID] = true
	return nil
}

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("WEBHOOK_SECRET is the `secret` that creating the webhook returned")
	}
	in, err := openInbox(or(os.Getenv("INBOX"), "inbox.jsonl"))
	if err != nil {
		log.Fatal(err)
	}
	receive := func(response http.ResponseWriter, request *http.Request) {
		rawBody, err := io.ReadAll(http.MaxBytesReader(response, request.Body, bodyMaxBytes))
		switch {
		case request.Method != http.MethodPost:
			response.WriteHeader(http.StatusMethodNotAllowed)
		case err != nil:
			response.WriteHeader(http.StatusRequestEntityTooLarge)
		case !isAuthentic(request.Header, rawBody, secret):
			response.WriteHeader(http.StatusUnauthorized)
		case in.store(rawBody) != nil:
			// Ours to repair: a 5xx makes the service try again later.
			response.WriteHeader(http.StatusInternalServerError)
		default:
			// Also when it was delivered before: say thank you again, or it comes again.
			response.WriteHeader(http.StatusNoContent)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+or(os.Getenv("PORT"), "8080"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s/\n", listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(receive), ReadTimeout: 30 * time.Second}
	log.Fatal(server.Serve(listener))
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

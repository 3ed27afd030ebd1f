// Writes into a log that many processes share, one at a time. Usage: worker NAME LOG ROUNDS
//
// The lock is renewed until it is released. Needs nothing but Go.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

const ttl = 9 * time.Second

type Lease struct {
	Lease        string
	Token        uint64
	FromSendMs   int64  `json:"valid_from_send_ms"`
	Code, Detail string // of a failure
	sent         time.Time
}

func (lease *Lease) validUntil() time.Time {
	return lease.sent.Add(time.Duration(lease.FromSendMs) * time.Millisecond)
}

// post answers the status, or 0 if no answer came.
func post(path string, fields any, key string, timeout time.Duration) (int, Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	body, _ := json.Marshal(fields)
	daemon := os.Getenv("HOLDFAST_HTTP")
	if daemon == "" {
		daemon = "http://127.0.0.1:7272"
	}
	request, err := http.NewRequestWithContext(ctx, "POST", daemon+path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	lease := Lease{sent: time.Now()} // before the request: all that the daemon says is left counts from here
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, lease
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || json.Unmarshal(text, &lease) != nil {
		return 0, lease
	}
	return response.StatusCode, lease
}

func newKey() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", bytes)
}

// withLock runs work while the lock is held. Its context is done when the lock is lost.
func withLock(name string, work func(ctx context.Context, token uint64) error) error {
	claim := map[string]any{"ttl_ms": ttl.Milliseconds(), "wait_ms": 30000}
	key := newKey() // one for all repetitions: the lock is not taken twice, whichever answer was lost
	var lease Lease
	for {
		var status int
		status, lease = post("/v1/locks/"+url.PathEscape(name), claim, key, 60*time.Second)
		if status == 200 {
			break
		}
		if status == 410 { // it was ours, and ended before we heard of it
			key = newKey()
		} else if status != 0 && status != 409 && status < 500 {
			return fmt.Errorf("%s", lease.Detail)
		}
		time.Sleep(time.Second)
	}
	token, named := lease.Token, map[string]string{"lease": lease.Lease}
	defer post("/v1/release", named, "", 10*time.Second)
	ctx, lost := context.WithCancel(context.Background())
	defer lost()
	go func() {
		end := time.NewTimer(time.Until(lease.validUntil()))
		for {
			select {
			case <-ctx.Done():
				return
			case <-end.C:
				lost()
				return
			case <-time.After(ttl / 3):
			}
			status, renewed := post("/v1/renew", named, "", time.Until(lease.validUntil()))
			if status == 410 {
				lost()
			} else if status == 200 {
				lease = renewed
				end.Reset(time.Until(lease.validUntil()))
			}
		}
	}()
	return work(ctx, token)
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[3])
	for i := 0; i < rounds; i++ {
		err := withLock(os.Args[1], func(ctx context.Context, token uint64) error {
			log, err := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			defer log.Close()
			fmt.Fprintf(log, "begin %d %d\n", os.Getpid(), token)
			select {
			case <-ctx.Done():
				return fmt.Errorf("the lock was lost")
			case <-time.After(50 * time.Millisecond): // work
			}
			fmt.Fprintf(log, "end %d %d\n", os.Getpid(), token)
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

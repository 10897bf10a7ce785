// Package pleachtest gives every Go test an API server of its own.
//
//	func TestController(t *testing.T) {
//		world := pleachtest.Start(t).Fork(t)
//		config := &rest.Config{Host: world.URL, BearerToken: world.Token}
//		…
//	}
//
// One process serves all worlds; a fork takes milliseconds. The binary is PLEACH_BINARY, or pleach in PATH.
package pleachtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const token = "pleachtest"

var worlds atomic.Int64

// World is an API server. URL and Token are what a client needs.
type World struct {
	Name, URL, Token string
	process          string
}

// Request is a request that a world has answered.
type Request struct {
	Number                           int64
	User, UserAgent                  string
	Verb, Method, URI                string
	Group, Resource, Namespace, Name string
	Body                             string
	Code                             int
	Fault                            string
}

// Start starts a process with one empty world; it ends with the test.
func Start(t testing.TB) *World {
	t.Helper()
	binary := os.Getenv("PLEACH_BINARY")
	if binary == "" {
		binary = "pleach"
	}
	command := exec.Command(binary, "serve", "--in-memory", "--test-endpoints", "--port", "0", "--log-level", "warn")
	command.Env = append(os.Environ(), "PLEACH_TOKEN="+token)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("pleach does not start: %v", err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_ = command.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), " serves at "); found {
			return &World{Name: "default", URL: url + "/worlds/default", Token: token, process: url}
		}
	}
	t.Fatal("pleach ended before it listened")
	return nil
}

// Fork makes another world with everything that is in this one; it is removed after the test.
func (w *World) Fork(t testing.TB) *World {
	t.Helper()
	name := fmt.Sprintf("world-%d", worlds.Add(1))
	fork := &World{Name: name, URL: w.process + "/worlds/" + name, Token: w.Token, process: w.process}
	fork.do(t, http.MethodPut, "", fmt.Sprintf(`{"from": %q}`, w.Name), nil)
	t.Cleanup(func() { fork.do(t, http.MethodDelete, "", "", nil) })
	return fork
}

// Reset makes this world anew from another one. Watches end, and clients list again.
func (w *World) Reset(t testing.TB, from *World) {
	t.Helper()
	w.do(t, http.MethodPut, "", fmt.Sprintf(`{"from": %q}`, from.Name), nil)
}

// Advance moves the world's clock, which stands still otherwise.
func (w *World) Advance(t testing.TB, by time.Duration) {
	t.Helper()
	w.do(t, http.MethodPost, "/clock", fmt.Sprintf(`{"advance": %q}`, by), nil)
}

// AddFaults adds fault rules, a list in YAML.
func (w *World) AddFaults(t testing.TB, rules string) {
	t.Helper()
	w.do(t, http.MethodPost, "/faults", rules, nil)
}

// ClearFaults removes all fault rules.
func (w *World) ClearFaults(t testing.TB) {
	t.Helper()
	w.do(t, http.MethodDelete, "/faults", "", nil)
}

// Requests are all requests that have been answered so far.
func (w *World) Requests(t testing.TB) []Request {
	t.Helper()
	var requests []Request
	w.do(t, http.MethodGet, "/requests", "", &requests)
	return requests
}

func (w *World) do(t testing.TB, method, path, body string, answer any) {
	t.Helper()
	request, err := http.NewRequest(method, w.process+"/pleach/worlds/"+w.Name+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, path, text)
	}
	if answer == nil {
		return
	}
	if err := json.Unmarshal(text, answer); err != nil {
		t.Fatal(err)
	}
}

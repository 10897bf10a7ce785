// Package pleachtest gives every Go test an API server of its own.
//
//	func TestController(t *testing.T) {
//		world := pleachtest.Start(t).Fork(t)
//		config := &rest.Config{Host: world.URL, BearerToken: world.Token}
//		…
//	}
//
// A test that fails shows the requests of its worlds. One process serves all worlds; a fork takes milliseconds. The binary is PLEACH_BINARY, or pleach in PATH. Attach gives
// the same for `pleach chaos`, in front of any other API server: its faults, requests and assertions.
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
	"slices"
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
	// Events of a watch that were sent, bookmarks aside: for each, the number of the last request before it.
	Events []int64
	// Answer is there in Requests with answers.
	Answer string
}

// IsWrite is whether the request asks for a change.
func (r Request) IsWrite() bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// String is a line of the transcript.
func (r Request) String() string {
	line := fmt.Sprintf("%4d %3d %-7s %s (%s)", r.Number, r.Code, r.Method, r.URI, r.User)
	if r.Fault != "" {
		line += "  [" + r.Fault + "]"
	}
	return line
}

// isHousekeeping is whether a request belongs to leader election or reports an event.
func (r Request) isHousekeeping() bool { return r.Resource == "leases" || r.Resource == "events" }

// Attach is for a server that runs already: what `pleach serve --test-endpoints` or `pleach chaos` prints, and its token.
func Attach(url, token string) *World {
	return &World{Name: "default", URL: url, Token: token, process: url}
}

// Start starts a process with one empty world; it ends with the test, also if the test is killed.
func Start(t testing.TB) *World {
	t.Helper()
	binary := os.Getenv("PLEACH_BINARY")
	if binary == "" {
		binary = "pleach"
	}
	command := exec.Command(binary, "serve", "--in-memory", "--test-endpoints", "--end-with-parent",
		"--port", "0", "--log-level", "warn")
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
			world := &World{Name: "default", URL: url + "/worlds/default", Token: token, process: url}
			t.Cleanup(func() { world.showOnFailure(t) })
			return world
		}
	}
	t.Fatal("pleach ended before it listened")
	return nil
}

// Fork makes another world with everything that is in this one; it is removed after the test.
func (w *World) Fork(t testing.TB) *World {
	t.Helper()
	return w.fork(t, fmt.Sprintf(`{"from": %q}`, w.Name))
}

// ForkWithSeed is Fork with uids, generated names and probabilities of another seed. That of the first world is
// PLEACH_SEED, or 1.
func (w *World) ForkWithSeed(t testing.TB, seed uint32) *World {
	t.Helper()
	return w.fork(t, fmt.Sprintf(`{"from": %q, "seed": %d}`, w.Name, seed))
}

func (w *World) fork(t testing.TB, options string) *World {
	t.Helper()
	name := fmt.Sprintf("world-%d", worlds.Add(1))
	fork := &World{Name: name, URL: w.process + "/worlds/" + name, Token: w.Token, process: w.process}
	fork.do(t, http.MethodPut, "", options, nil)
	t.Cleanup(func() {
		fork.showOnFailure(t)
		fork.do(t, http.MethodDelete, "", "", nil)
	})
	return fork
}

// showOnFailure logs the requests of a world whose test has failed, if there were any.
func (w *World) showOnFailure(t testing.TB) {
	t.Helper()
	if !t.Failed() {
		return
	}
	if transcript := w.Transcript(t); transcript != "" {
		t.Logf("requests of %s:\n%s", w.Name, transcript)
	}
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

// AddUser adds a user to this world; returns the user's bearer token.
func (w *World) AddUser(t testing.TB, name string, groups ...string) string {
	t.Helper()
	body, err := json.Marshal(map[string][]string{"groups": groups})
	if err != nil {
		t.Fatal(err)
	}
	var user struct{ Token string }
	w.do(t, http.MethodPut, "/users/"+name, string(body), &user)
	return user.Token
}

// Restart restarts the server of the world: watches are cut, and requests while it is away.
func (w *World) Restart(t testing.TB, away time.Duration) {
	t.Helper()
	w.do(t, http.MethodPost, "/restart", fmt.Sprintf(`{"away": %q}`, away), nil)
}

// Recording is the requests so far as a conversation that Replay plays again, in JSON.
func (w *World) Recording(t testing.TB, name string) string {
	t.Helper()
	var recording json.RawMessage
	w.do(t, http.MethodGet, "/recording?name="+name, "", &recording)
	return string(recording)
}

// Replay plays a recording to this world; returns a line for each answer that differs.
func (w *World) Replay(t testing.TB, recording string) []string {
	t.Helper()
	var differences []string
	w.do(t, http.MethodPost, "/replay", recording, &differences)
	return differences
}

// Transcript is the requests so far, a line each.
func (w *World) Transcript(t testing.TB) string {
	t.Helper()
	var lines strings.Builder
	for _, request := range w.Requests(t) {
		fmt.Fprintln(&lines, request)
	}
	return lines.String()
}

// Timeout is how long Eventually, AssertNoHotLoop and AssertConvergesUnder wait.
const Timeout = 10 * time.Second

const poll = 10 * time.Millisecond

// Eventually waits until check returns nil; else the test fails with its last error and all requests.
func (w *World) Eventually(t testing.TB, check func() error) {
	t.Helper()
	end := time.Now().Add(Timeout)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %v\nrequests:\n%s", Timeout, err, w.Transcript(t))
		}
		time.Sleep(poll)
	}
}

// Never watches for a while that no request is one that must not be.
func (w *World) Never(t testing.TB, period time.Duration, isWrong func(Request) bool) {
	t.Helper()
	for end := time.Now().Add(period); ; time.Sleep(poll) {
		for _, request := range w.Requests(t) {
			if isWrong(request) {
				t.Fatalf("%v\nrequests:\n%s", request, w.Transcript(t))
			}
		}
		if time.Now().After(end) {
			return
		}
	}
}

// AssertWritesAtMost fails if there are more writes of a resource ("deployments", "crontabs/status").
func (w *World) AssertWritesAtMost(t testing.TB, resource string, most int) {
	t.Helper()
	count := 0
	for _, request := range w.Requests(t) {
		if request.IsWrite() && request.Resource == resource {
			count++
		}
	}
	if count > most {
		t.Fatalf("%d writes of %s, at most %d expected\nrequests:\n%s", count, resource, most, w.Transcript(t))
	}
}

// AssertWritesPerReconcile fails if a controller writes more often between two writes of others, which are what it
// reacts to. Leases and events do not count.
func (w *World) AssertWritesPerReconcile(t testing.TB, isController func(Request) bool, most int) {
	t.Helper()
	writes, trigger := 0, "the start"
	for _, request := range w.Requests(t) {
		switch {
		case !request.IsWrite() || request.isHousekeeping():
		case !isController(request):
			writes, trigger = 0, request.String()
		default:
			if writes++; writes > most {
				t.Fatalf("more than %d writes after %s\nrequests:\n%s", most, trigger, w.Transcript(t))
			}
		}
	}
}

// AssertNoWriteAfterEvent fails if a controller has written anything since its watches were sent so many events,
// bookmarks aside, or if they were sent fewer. Leases and events do not count.
func (w *World) AssertNoWriteAfterEvent(t testing.TB, isController func(Request) bool, event int) {
	t.Helper()
	requests := w.Requests(t)
	var events []int64
	for _, request := range requests {
		if request.Verb == "watch" && isController(request) {
			events = append(events, request.Events...)
		}
	}
	if event < 1 || event > len(events) {
		t.Fatalf("there is no event %d: %d were sent\nrequests:\n%s", event, len(events), w.Transcript(t))
	}
	slices.Sort(events)
	for _, request := range requests {
		isWrite := request.IsWrite() && !request.isHousekeeping() && isController(request)
		if isWrite && request.Number > events[event-1] {
			t.Fatalf("after event %d: %v\nrequests:\n%s", event, request, w.Transcript(t))
		}
	}
}

// AssertNoHotLoop waits until a controller has been quiet for a while, but for watches, leases and events. It fails if
// the controller is still busy after Timeout.
func (w *World) AssertNoHotLoop(t testing.TB, isController func(Request) bool, quiet time.Duration) {
	t.Helper()
	seen, since := -1, time.Now()
	for end := time.Now().Add(Timeout + quiet); time.Since(since) < quiet; time.Sleep(poll) {
		count := 0
		for _, request := range w.Requests(t) {
			if request.Verb != "watch" && !request.isHousekeeping() && isController(request) {
				count++
			}
		}
		if count != seen {
			seen, since = count, time.Now()
		}
		if time.Now().After(end) {
			t.Fatalf("%d requests, and no end\nrequests:\n%s", count, w.Transcript(t))
		}
	}
}

// AssertConvergesUnder runs a scenario in a fork of this world without faults, and in a fork for each list of rules, and
// fails if it does not end in the same state: all objects but events and leases. The scenario starts the controller and
// does what a user does; what it returns stops the controller.
func (w *World) AssertConvergesUnder(t testing.TB, faults []string, scenario func(*World) (stop func())) {
	t.Helper()
	calm := w.Fork(t)
	stop := scenario(calm)
	calm.AssertNoHotLoop(t, func(Request) bool { return true }, 200*time.Millisecond)
	expected := calm.objects(t)
	stop()
	for _, rules := range faults {
		world := w.Fork(t)
		world.AddFaults(t, rules)
		stop := scenario(world)
		world.Eventually(t, func() error {
			if found := world.objects(t); found != expected {
				return fmt.Errorf("under %s:\n%s\ninstead of\n%s", rules, found, expected)
			}
			return nil
		})
		stop()
	}
}

// objects are all objects, without uids, times and resource versions.
func (w *World) objects(t testing.TB) string {
	t.Helper()
	var objects []json.RawMessage
	w.do(t, http.MethodGet, "/objects", "", &objects)
	var lines strings.Builder
	for _, object := range objects {
		fmt.Fprintf(&lines, "%s\n", object)
	}
	return lines.String()
}

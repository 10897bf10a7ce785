package pleachtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func send(t *testing.T, world *World, method, path, body string) int {
	t.Helper()
	request, err := http.NewRequest(method, world.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+world.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func TestWorldsAreApart(t *testing.T) {
	const maps, a = "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"}}`
	first := Start(t)
	for range 3 {
		fork := first.Fork(t)
		fork.Advance(t, time.Hour)
		fork.AddFaults(t, "[{match: {verbs: [create]}, error: 503, times: 1}]")
		for i, expected := range []int{503, 201, 409} {
			if code := send(t, fork, http.MethodPost, maps, a); code != expected {
				t.Fatalf("request %d: %d, not %d", i, code, expected)
			}
		}
		fork.ClearFaults(t)
		if requests := fork.Requests(t); len(requests) != 3 || requests[0].Fault == "" || requests[1].Code != 201 {
			t.Fatalf("%+v", requests)
		}
		fork.Reset(t, first)
		if code := send(t, fork, http.MethodGet, maps+"/a", ""); code != 404 {
			t.Fatalf("after the reset: %d", code)
		}
	}
	if code := send(t, first, http.MethodGet, maps+"/a", ""); code != 404 {
		t.Fatalf("the first world: %d", code)
	}
}

// helperVariable makes TestHelperProcess start a server and wait.
const helperVariable = "PLEACHTEST_HELPER"

func TestHelperProcess(t *testing.T) {
	if os.Getenv(helperVariable) == "" {
		return
	}
	fmt.Println("server", Start(t).process)
	select {}
}

// failureVariable makes TestFailure fail.
const failureVariable = "PLEACHTEST_FAILURE"

func TestFailure(t *testing.T) {
	if os.Getenv(failureVariable) == "" {
		return
	}
	first := Start(t)
	for range 2 {
		send(t, first.Fork(t), http.MethodGet, "/api/v1/namespaces/shown", "")
	}
	t.Fatal("as it must")
}

func TestAFailedTestShowsItsRequests(t *testing.T) {
	helper := exec.Command(os.Args[0], "-test.run=^TestFailure$")
	helper.Env = append(os.Environ(), failureVariable+"=1")
	out, err := helper.Output()
	if err == nil {
		t.Fatalf("it has not failed:\n%s", out)
	}
	if count := strings.Count(string(out), "/api/v1/namespaces/shown (admin)"); count != 2 {
		t.Fatalf("%d requests, not 2:\n%s", count, out)
	}
}

func TestNoServerOutlivesAKilledTest(t *testing.T) {
	helper := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$")
	helper.Env = append(os.Environ(), helperVariable+"=1")
	helper.Stderr = os.Stderr
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "server http://")
	}
	isListening := func() bool {
		connection, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			connection.Close()
		}
		return err == nil
	}
	listened := isListening()
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()
	if !listened {
		t.Fatalf("the helper has no server at %q", address)
	}
	for end := time.Now().Add(20 * time.Second); isListening(); time.Sleep(poll) {
		if time.Now().After(end) {
			t.Fatalf("the server at %s outlives the test that started it", address)
		}
	}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

func TestUsersAndRestarts(t *testing.T) {
	world := Start(t).Fork(t)
	ann := *world
	ann.Token = world.AddUser(t, "ann", "system:masters")
	if code := send(t, &ann, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`); code != 201 {
		t.Fatal(code)
	}
	world.Restart(t, 0)
	if code := send(t, &ann, http.MethodGet, configMaps+"/a", ""); code != 200 {
		t.Fatalf("after the restart: %d", code)
	}
	if requests := world.Requests(t); requests[0].User != "ann" {
		t.Fatalf("%+v", requests)
	}
}

func TestRecordingsArePlayedAgain(t *testing.T) {
	first := Start(t)
	world := first.Fork(t)
	send(t, world, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	send(t, world, http.MethodDelete, configMaps+"/a", "")
	recording := world.Recording(t, "helpers/go")
	if differences := first.Fork(t).Replay(t, recording); len(differences) > 0 {
		t.Fatal(differences)
	}
	other := first.Fork(t)
	send(t, other, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	if differences := other.Replay(t, recording); len(differences) == 0 {
		t.Fatal("a world in which the object is there already answers the same")
	}
}

// mirror is a controller: it writes a ConfigMap for each whose name does not end in "-mirror", and tries again.
func mirror(world *World, stop <-chan struct{}) {
	client := &http.Client{Timeout: time.Second}
	call := func(method, path, body string) string {
		request, _ := http.NewRequest(method, world.URL+path, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+world.Token)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("User-Agent", "mirror")
		response, err := client.Do(request)
		if err != nil {
			return ""
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return string(text)
	}
	for done := map[string]bool{}; ; {
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
		for _, name := range []string{"a", "b"} {
			if done[name] || !strings.Contains(call(http.MethodGet, configMaps+"/"+name, ""), `"uid"`) {
				continue
			}
			answer := call(http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q}}`, name+"-mirror"))
			done[name] = strings.Contains(answer, `"uid"`) || strings.Contains(answer, "AlreadyExists")
		}
		if done["a"] && done["b"] {
			return
		}
	}
}

func TestAControllerConvergesUnderFaults(t *testing.T) {
	isMirror := func(request Request) bool { return request.UserAgent == "mirror" }
	Start(t).AssertConvergesUnder(t, []string{
		"[{match: {userAgent: mirror, verbs: [create]}, error: 503, times: 2}]",
		"[{match: {userAgent: mirror, verbs: [create]}, errorAfterCommit: 504, times: 1}]",
		"[{match: {userAgent: mirror}, reset: before, probability: 0.3, times: 5}]",
	}, func(world *World) func() {
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() { mirror(world, stop); close(ended) }()
		for _, name := range []string{"a", "b"} {
			send(t, world, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
		}
		world.Eventually(t, func() error {
			if code := send(t, world, http.MethodGet, configMaps+"/b-mirror", ""); code != 200 {
				return fmt.Errorf("b-mirror: %d", code)
			}
			return nil
		})
		world.AssertNoHotLoop(t, isMirror, 50*time.Millisecond)
		world.Never(t, 20*time.Millisecond, func(request Request) bool { return request.Verb == "delete" })
		world.AssertWritesPerReconcile(t, isMirror, 8)
		return func() { close(stop); <-ended }
	})
}

// watch opens a watch of ConfigMaps and returns what waits for so many events of it.
func watch(t *testing.T, world *World, agent string) (wait func(events int)) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, world.URL+configMaps+"?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+world.Token)
	request.Header.Set("User-Agent", agent)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	return func(events int) {
		t.Helper()
		for range events {
			if !lines.Scan() {
				t.Fatalf("the watch has ended: %v", lines.Err())
			}
		}
	}
}

// failing keeps what an assertion says when it fails.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, arguments ...any) {
	f.said = fmt.Sprintf(format, arguments...)
	runtime.Goexit()
}

// failure is what an assertion says when it fails; empty if it holds.
func failure(t *testing.T, assert func(testing.TB)) string {
	recorder, done := &failing{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		assert(recorder)
	}()
	<-done
	return recorder.said
}

func TestNoWriteAfterAnEvent(t *testing.T) {
	world := Start(t).Fork(t)
	wait := watch(t, world, "Go-http-client/1.1")
	wait(initialConfigMaps(t, world))
	before := len(world.events(t))
	for i := range 3 {
		send(t, world, http.MethodPost, configMaps, fmt.Sprintf(`{"metadata":{"name":"n%d"}}`, i))
		wait(1)
	}
	all := func(Request) bool { return true }
	world.AssertNoWriteAfterEvent(t, all, before+3)
	said := failure(t, func(t testing.TB) { world.AssertNoWriteAfterEvent(t, all, before+2) })
	if !strings.HasPrefix(said, fmt.Sprintf("after event %d:    ", before+2)) || !strings.Contains(said, "requests:\n") {
		t.Fatal(said)
	}
	said = failure(t, func(t testing.TB) { world.AssertNoWriteAfterEvent(t, all, before+4) })
	if !strings.HasPrefix(said, fmt.Sprintf("there is no event %d: %d were sent", before+4, before+3)) {
		t.Fatal(said)
	}
}

// initialConfigMaps is how many ConfigMaps there are: the CA that each namespace has.
func initialConfigMaps(t *testing.T, world *World) int {
	t.Helper()
	var list struct{ Items []struct{} }
	request, err := http.NewRequest(http.MethodGet, world.URL+configMaps, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+world.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// events are the events that were sent to watches.
func (w *World) events(t *testing.T) []int64 {
	t.Helper()
	var events []int64
	for _, request := range w.Requests(t) {
		events = append(events, request.Events...)
	}
	return events
}

func TestSeedsGiveOtherUIDs(t *testing.T) {
	first := Start(t)
	uid := func(world *World) string {
		t.Helper()
		send(t, world, http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
		var created struct{ Metadata struct{ UID string } }
		requests := []Request{}
		world.do(t, http.MethodGet, "/requests?answers=true", "", &requests)
		if err := json.Unmarshal([]byte(requests[0].Answer), &created); err != nil {
			t.Fatal(err)
		}
		return created.Metadata.UID
	}
	one, again, other := uid(first.ForkWithSeed(t, 7)), uid(first.ForkWithSeed(t, 7)), uid(first.ForkWithSeed(t, 8))
	if one == "" || one != again || one == other {
		t.Fatal(one, again, other)
	}
}

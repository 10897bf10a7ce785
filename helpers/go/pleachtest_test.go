package pleachtest

import (
	"net/http"
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

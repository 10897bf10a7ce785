package pleach

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// control sends a request to the endpoints of the world of a configuration, and returns the answer.
func control(t *testing.T, config *rest.Config, method, path, body string) string {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server := strings.TrimSuffix(config.Host, "/worlds/default")
	request, err := http.NewRequest(method, server+"/pleach/worlds/default"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, response.StatusCode, text, err)
	}
	return string(text)
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// client-go tries again by itself after a 429, and after 5xx that say when; other errors reach its caller as what they
// are.
func TestClientGoMeetsFaults(t *testing.T) {
	config := start(t, "--test-endpoints")
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := set.CoreV1().ConfigMaps("default")
	ctx := context.Background()
	for _, fault := range []struct {
		rule      string
		is        func(error) bool
		committed bool
	}{
		{"error: 409", apierrors.IsConflict, false},
		{"error: 410", apierrors.IsResourceExpired, false},
		{"error: 429", nil, true},
		{"error: 500", apierrors.IsInternalError, false},
		{"error: 503", apierrors.IsServiceUnavailable, false},
		{"error: 504", apierrors.IsTimeout, false},
		{"errorAfterCommit: 500", apierrors.IsInternalError, true},
		{"errorAfterCommit: 429", apierrors.IsAlreadyExists, true},
		{"reset: before", isConnectionError, false},
		{"reset: after", isConnectionError, true},
	} {
		t.Run(fault.rule, func(t *testing.T) {
			control(t, config, http.MethodDelete, "/faults", "")
			control(t, config, http.MethodPost, "/faults", "[{match: {verbs: [create]}, times: 1, "+fault.rule+"}]")
			name := strings.ToLower(strings.ReplaceAll(fault.rule, ": ", "-"))
			_, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{})
			if fault.is == nil && err != nil || fault.is != nil && !fault.is(err) {
				t.Errorf("the client got %v", err)
			}
			_, err = maps.Get(ctx, name, metav1.GetOptions{})
			if fault.committed && err != nil || !fault.committed && !apierrors.IsNotFound(err) {
				t.Errorf("afterwards: %v", err)
			}
			if rules := control(t, config, http.MethodGet, "/faults", ""); !strings.Contains(rules, `"happened":1`) {
				t.Error(rules)
			}
		})
	}
}

// isConnectionError is whether there was no answer.
func isConnectionError(err error) bool {
	return err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
}

// Informers of client-go have all objects in the end, whatever happens to their lists and watches.
func TestInformersGetOverFaults(t *testing.T) {
	config := start(t, "--test-endpoints")
	for number, rule := range []string{
		"{match: {verbs: [watch, list], resources: [configmaps]}, error: 410, times: 2}",
		"{match: {verbs: [watch], resources: [configmaps]}, error: 429, times: 1}",
		"{match: {verbs: [watch], resources: [configmaps]}, reset: before, times: 1}",
		"{match: {verbs: [watch], resources: [configmaps]}, cutEvents: 1, times: 2}",
		"{match: {verbs: [watch], resources: [configmaps]}, delayEvents: 20ms, times: 1}",
	} {
		t.Run(rule, func(t *testing.T) {
			control(t, config, http.MethodDelete, "/faults", "")
			control(t, config, http.MethodPost, "/faults", "["+rule+"]")
			set, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			factory := informers.NewSharedInformerFactoryWithOptions(set, 0, informers.WithNamespace("default"))
			lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("default")
			factory.Start(ctx.Done())
			name := fmt.Sprintf("n%d", number)
			if _, err := set.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the informer has the object", func() error {
				_, err := lister.Get(name)
				return err
			})
			rules := control(t, config, http.MethodGet, "/faults", "")
			if strings.Contains(rules, `"happened":0`) {
				t.Error(rules)
			}
		})
	}
}

// A watch whose events are held back gets them when the rule is removed.
func TestEventsAreHeldFromClientGo(t *testing.T) {
	config := start(t, "--test-endpoints")
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	control(t, config, http.MethodPost, "/faults", "[{match: {verbs: [watch]}, holdEvents: true}]")
	made, err := set.CoreV1().ConfigMaps("default").Create(ctx, configMap("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := set.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := set.CoreV1().ConfigMaps("default").Create(ctx, configMap("b"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-watch.ResultChan():
		t.Fatalf("the event was not held: %v", event)
	case <-time.After(100 * time.Millisecond):
	}
	control(t, config, http.MethodDelete, "/faults", "")
	select {
	case event := <-watch.ResultChan():
		if event.Object.(*corev1.ConfigMap).Name != "b" {
			t.Fatalf("another event: %v", event)
		}
	case <-time.After(soon):
		t.Fatal("the event is still held")
	}
}

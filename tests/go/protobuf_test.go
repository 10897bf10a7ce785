package pleach

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// contentTypes records the content types of requests and responses.
type contentTypes struct {
	sync.Mutex
	next           http.RoundTripper
	sent, answered int
	otherwise      []string
}

func (s *contentTypes) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	s.Lock()
	defer s.Unlock()
	if request.Body != nil && strings.HasPrefix(request.Header.Get("Content-Type"), protobuf) {
		s.sent++
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), protobuf) {
		s.answered++
	} else {
		s.otherwise = append(s.otherwise, request.Method+" "+request.URL.Path)
	}
	return response, nil
}

// recordContentTypes records what clients of the configuration send and receive.
func recordContentTypes(config *rest.Config) *contentTypes {
	recorded := &contentTypes{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		recorded.next = next
		return recorded
	})
	return recorded
}

func (s *contentTypes) check(t *testing.T) {
	t.Helper()
	s.Lock()
	defer s.Unlock()
	if s.sent == 0 || s.answered == 0 || len(s.otherwise) > 0 {
		t.Fatalf("%d sent and %d answered in protobuf, otherwise: %v", s.sent, s.answered, s.otherwise)
	}
}

// next waits for an event of a watch.
func next(t *testing.T, events watch.Interface, want watch.EventType) watch.Event {
	t.Helper()
	for event := range events.ResultChan() {
		if event.Type == want {
			return event
		}
	}
	t.Fatalf("the watch ended before %s", want)
	return watch.Event{}
}

// The clientset for CRDs with its defaults: no content type is set.
func TestDefinitionsWithTheirClientset(t *testing.T) {
	config := start(t)
	recorded := recordContentTypes(config)
	clients, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	crds := clients.ApiextensionsV1().CustomResourceDefinitions()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()

	events, err := crds.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	one, yes := float64(1), true
	crd := orchards()
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	schema.Properties["spec"].Properties["trees"] = apiextensionsv1.JSONSchemaProps{
		Type: "integer", Minimum: &one, Default: &apiextensionsv1.JSON{Raw: []byte("1")},
		XValidations: apiextensionsv1.ValidationRules{{Rule: "self < 1000", Message: "too many"}},
	}
	schema.Properties["spec"].Properties["free"] = apiextensionsv1.JSONSchemaProps{
		Type: "object", XPreserveUnknownFields: &yes,
	}
	made, err := crds.Create(ctx, crd, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	added := next(t, events, watch.Added).Object.(*apiextensionsv1.CustomResourceDefinition)
	if added.UID != made.UID {
		t.Fatalf("%s was watched, %s was made", added.UID, made.UID)
	}
	eventually(t, "the CRD is established", func() error {
		made, err = crds.Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range made.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		return apierrors.NewServiceUnavailable("not established")
	})
	trees := made.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["trees"]
	if string(trees.Default.Raw) != "1" || *trees.Minimum != 1 || trees.XValidations[0].Rule != "self < 1000" {
		t.Fatalf("the schema came back as %v", trees)
	}
	made.Labels = map[string]string{"a": "b"}
	updated, err := crds.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Fatalf("an old version was written: %v", err)
	}
	updated.Status.Conditions = append(updated.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: "Mine", Status: apiextensionsv1.ConditionTrue, Reason: "Because",
	})
	if _, err := crds.UpdateStatus(ctx, updated, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := crds.List(ctx, metav1.ListOptions{LabelSelector: "a=b"})
	if err != nil || len(list.Items) != 1 || list.Items[0].UID != made.UID {
		t.Fatalf("%v was listed: %v", list, err)
	}
	if err := crds.Delete(ctx, crd.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	next(t, events, watch.Deleted)
	eventually(t, "the CRD is gone", func() error {
		if _, err := crds.Get(ctx, crd.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return apierrors.NewServiceUnavailable("still there")
		}
		return nil
	})
	recorded.check(t)
}

// The clientset for built-in kinds with its defaults.
func TestBuiltInKindsWithTheirClientset(t *testing.T) {
	config := start(t)
	recorded := recordContentTypes(config)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	maps := clients.CoreV1().ConfigMaps("default")
	// Every namespace also has the ConfigMap kube-root-ca.crt.
	labelled := metav1.ListOptions{LabelSelector: "test=protobuf"}
	events, err := maps.Watch(ctx, labelled)
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	made, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"test": "protobuf"}, Annotations: map[string]string{"k": "line\nbreak"}},
		Data:       map[string]string{"text": "é", "empty": ""},
		BinaryData: map[string][]byte{"bytes": {0, 255}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if made.Data["text"] != "é" || string(made.BinaryData["bytes"]) != "\x00\xff" || made.CreationTimestamp.IsZero() {
		t.Fatalf("it came back as %v", made)
	}
	if added := next(t, events, watch.Added).Object.(*corev1.ConfigMap); added.UID != made.UID {
		t.Fatalf("%v was watched", added)
	}
	if _, err := maps.Get(ctx, "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("what is not there was found: %v", err)
	}
	list, err := maps.List(ctx, labelled)
	if err != nil || len(list.Items) != 1 || list.Items[0].Data["text"] != "é" {
		t.Fatalf("%v was listed: %v", list, err)
	}
	if err := maps.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")}); !apierrors.IsConflict(err) {
		t.Fatalf("a precondition did not count: %v", err)
	}
	if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	next(t, events, watch.Deleted)
	recorded.check(t)
}

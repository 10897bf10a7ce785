package pleach

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// TestCBOR runs the client in a process of its own: client-go reads its features once, from the environment.
func TestCBOR(t *testing.T) {
	self := exec.Command(os.Args[0], "-test.run=^TestCBORClient$", "-test.v")
	self.Env = append(os.Environ(), "PLEACH_CBOR=1",
		"KUBE_FEATURE_ClientsAllowCBOR=true", "KUBE_FEATURE_ClientsPreferCBOR=true")
	out, err := self.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestCBORClient") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// media notes the content types of requests and responses.
type media struct {
	sync.Mutex
	seen map[string]int
	next http.RoundTripper
}

func (m *media) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.next.RoundTrip(request)
	m.Lock()
	defer m.Unlock()
	m.seen[request.Method+" "+request.Header.Get("Content-Type")]++
	if err == nil {
		m.seen[request.Method+" -> "+response.Header.Get("Content-Type")]++
	}
	return response, err
}

func TestCBORClient(t *testing.T) {
	if os.Getenv("PLEACH_CBOR") == "" {
		t.Skip("run by TestCBOR")
	}
	config := start(t, "--feature-gates", "CBORServingAndStorage=true")
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	seen := &media{seen: map[string]int{}}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { seen.next = next; return seen })
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	crd := orchards()
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	definition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		t.Fatal(err)
	}
	definitions := objects.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, &unstructured.Unstructured{Object: definition}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	version := crd.Spec.Versions[0].Name
	resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}
	in := objects.Resource(resource).Namespace("default")
	eventually(t, "the kind is served", func() error {
		_, err := in.List(ctx, metav1.ListOptions{})
		return err
	})

	object := func(name string, trees int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": resource.GroupVersion().String(), "kind": crd.Spec.Names.Kind,
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"trees": trees},
		}}
	}
	made, err := in.Create(ctx, object("a", 3), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if trees, _, err := unstructured.NestedInt64(made.Object, "spec", "trees"); err != nil || trees != 3 {
		t.Fatalf("%v %v", made.Object, err)
	}
	watching, err := in.Watch(ctx, metav1.ListOptions{ResourceVersion: made.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0)
	informer := factory.ForResource(resource).Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer is not in step")
	}

	_ = unstructured.SetNestedField(made.Object, int64(4), "spec", "trees")
	if _, err := in.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if event := <-watching.ResultChan(); event.Type != watch.Modified {
		t.Fatalf("%v", event)
	}
	if _, err := in.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"trees":5}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	applied, err := in.Apply(ctx, "b", object("b", 7), metav1.ApplyOptions{FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if managers := applied.GetManagedFields(); len(managers) != 1 || managers[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Fatalf("%v", managers)
	}
	list, err := in.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("%v %v", list, err)
	}
	if err := in.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the informer has one object", func() error {
		if count := len(informer.GetStore().List()); count != 1 {
			return &countError{count}
		}
		return nil
	})
	if _, err := in.Get(ctx, "a", metav1.GetOptions{}); err == nil || !strings.Contains(err.Error(), `"a" not found`) {
		t.Fatalf("%v", err)
	}

	time.Sleep(50 * time.Millisecond)
	seen.Lock()
	defer seen.Unlock()
	for _, want := range []string{
		"POST application/cbor", "POST -> application/cbor", "PUT application/cbor", "GET -> application/cbor",
		"GET -> application/cbor-seq", "PATCH application/apply-patch+cbor", "PATCH -> application/cbor",
		"DELETE application/cbor",
	} {
		if seen.seen[want] == 0 {
			t.Errorf("no %s in %v", want, seen.seen)
		}
	}
}

type countError struct{ count int }

func (e *countError) Error() string { return "another number of objects" }

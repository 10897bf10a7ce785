package pleach

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Typed informers follow a built-in kind, with their default content type and in protobuf.
func TestTypedInformers(t *testing.T) {
	config := start(t)
	for _, contentType := range []string{"", "application/vnd.kubernetes.protobuf"} {
		t.Run("content type "+contentType, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			config := rest.CopyConfig(config)
			config.ContentType = contentType
			set, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			maps := set.CoreV1().ConfigMaps("default")
			factory := informers.NewSharedInformerFactoryWithOptions(set, 0, informers.WithNamespace("default"))
			lister := factory.Core().V1().ConfigMaps().Lister()
			seen := make(chan string, 100)
			_, err = factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
				DeleteFunc: func(object any) { seen <- object.(*corev1.ConfigMap).Name },
			})
			if err != nil {
				t.Fatal(err)
			}
			made, err := maps.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "before", Labels: map[string]string{"a": "b"}},
				Data:       map[string]string{"k": "v"},
				BinaryData: map[string][]byte{"b": {0, 1, 2}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if made.UID == "" || made.Data["k"] != "v" || len(made.BinaryData["b"]) != 3 || made.Labels["a"] != "b" {
				t.Fatalf("not what was created: %v", made)
			}
			factory.Start(ctx.Done())
			for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
				if !synced {
					t.Fatalf("%v is not synced", kind)
				}
			}
			if found, err := lister.ConfigMaps("default").Get("before"); err != nil || found.UID != made.UID {
				t.Fatalf("%v %v", found, err)
			}
			made.Data["k"] = "changed"
			if _, err := maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the change is in the cache", func() error {
				found, err := lister.ConfigMaps("default").Get("before")
				if err == nil && found.Data["k"] != "changed" {
					err = fmt.Errorf("still %q", found.Data["k"])
				}
				return err
			})
			if _, err := maps.Update(ctx, made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				t.Fatalf("an old version is a conflict, not %v", err)
			}
			policy := metav1.DeletePropagationBackground
			options := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &made.UID}}
			if err := maps.Delete(ctx, "before", options); err != nil {
				t.Fatal(err)
			}
			if name := <-seen; name != "before" {
				t.Fatalf("%s was deleted", name)
			}
			if _, err := maps.Get(ctx, "before", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Fatalf("it is gone, not %v", err)
			}
		})
	}
}

// Dynamic informers and the metadata client follow a custom kind.
func TestDynamicInformers(t *testing.T) {
	config := start(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := client.New(config, client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	plant(t, c)
	set, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resource := orchardVersion.WithResource("orchards")
	orchard := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "go.example.com/v1", "kind": "Orchard",
			"metadata": map[string]any{"name": name, "labels": map[string]any{"n": name}},
			"spec":     map[string]any{"trees": int64(3)},
		}}
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := set.Resource(resource).Namespace("default").Create(ctx, orchard(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(set, 0, "default", func(options *metav1.ListOptions) {
		options.LabelSelector = "n!=b"
	})
	lister := factory.ForResource(resource).Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	count := func(want int) func() error {
		return func() error {
			found, err := lister.List(labels.Everything())
			if err == nil && len(found) != want {
				err = fmt.Errorf("%d objects, not %d", len(found), want)
			}
			return err
		}
	}
	if err := count(2)(); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Resource(resource).Namespace("default").Apply(ctx, "d", orchard("d"), metav1.ApplyOptions{FieldManager: "go"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the applied one is seen", count(3))

	bare, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	list, err := bare.Resource(resource).Namespace("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The client asks for protobuf first, in which items of lists carry no type.
	if len(list.Items) != 4 || list.Items[0].Name == "" || list.Items[0].UID == "" {
		t.Fatalf("%d items, the first is %v", len(list.Items), list.Items[0])
	}
}

var _ runtime.Object = &Orchard{}

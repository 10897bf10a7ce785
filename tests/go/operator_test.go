package pleach

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "go.example.com/felled"

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	addOrchards(scheme)
	return scheme
}

// operator writes a config map for each orchard, and a status, and cleans up after it.
type operator struct {
	client.Client
	recorder events.EventRecorder
	cleaned  atomic.Int32
}

func (o *operator) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var orchard Orchard
	if err := o.Get(ctx, request.NamespacedName, &orchard); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !orchard.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&orchard, finalizer) {
			o.cleaned.Add(1)
			return ctrl.Result{}, o.Update(ctx, &orchard)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&orchard, finalizer) {
		if err := o.Update(ctx, &orchard); err != nil {
			return ctrl.Result{}, err
		}
	}
	inventory := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: orchard.Name, Namespace: orchard.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, o.Client, inventory, func() error {
		inventory.Data = map[string]string{"trees": strconv.Itoa(orchard.Spec.Trees)}
		return controllerutil.SetControllerReference(&orchard, inventory, o.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if orchard.Status.ObservedGeneration == orchard.Generation {
		return ctrl.Result{}, nil
	}
	orchard.Status = OrchardStatus{Trees: orchard.Spec.Trees, ObservedGeneration: orchard.Generation}
	o.recorder.Eventf(&orchard, nil, corev1.EventTypeNormal, "Planted", "Plant", "%d trees", orchard.Spec.Trees)
	return ctrl.Result{}, o.Status().Update(ctx, &orchard)
}

// An operator with everything: manager, leader election, finalizer, status, owned objects, events.
func TestOperator(t *testing.T) {
	log.SetLogger(logr.Discard())
	config := start(t)
	scheme := newScheme(t)
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	plant(t, c)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "orchards",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{Client: manager.GetClient(), recorder: manager.GetEventRecorder("orchards")}
	err = ctrl.NewControllerManagedBy(manager).For(&Orchard{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{}).Complete(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	defer cancel()

	orchard := &Orchard{ObjectMeta: metav1.ObjectMeta{Name: "o", Namespace: "default"}, Spec: OrchardSpec{Trees: 3}}
	if err := c.Create(ctx, orchard); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(orchard)
	planted := func(trees int) func() error {
		return func() error {
			if err := c.Get(ctx, key, orchard); err != nil {
				return err
			}
			if orchard.Status.Trees != trees || orchard.Status.ObservedGeneration != orchard.Generation {
				return fmt.Errorf("%+v", orchard)
			}
			return nil
		}
	}
	eventually(t, "3 trees are planted", planted(3))
	inventory := &corev1.ConfigMap{}
	if err := c.Get(ctx, key, inventory); err != nil {
		t.Fatal(err)
	}
	if inventory.Data["trees"] != "3" || !metav1.IsControlledBy(inventory, orchard) {
		t.Fatalf("%+v", inventory)
	}
	before := orchard.Generation
	if err := c.Patch(ctx, orchard, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"trees":5}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "5 trees are planted", planted(5))
	if orchard.Generation != before+1 {
		t.Fatalf("generation %d after %d", orchard.Generation, before)
	}
	if err := c.Delete(ctx, inventory); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the inventory is written anew", func() error { return c.Get(ctx, key, &corev1.ConfigMap{}) })

	var list eventsv1.EventList
	eventually(t, "the events are there", func() error {
		if err := c.List(ctx, &list, client.InNamespace("default")); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Reason == "Planted" && event.Regarding.UID == orchard.UID && event.Note == "5 trees" {
				return nil
			}
		}
		return fmt.Errorf("%d events", len(list.Items))
	})
	var lease coordinationv1.Lease
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "orchards"}, &lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		t.Fatalf("nobody leads: %+v", lease.Spec)
	}

	if err := c.Delete(ctx, orchard); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orchard and its inventory are gone", func() error {
		for _, object := range []client.Object{&Orchard{}, &corev1.ConfigMap{}} {
			if err := c.Get(ctx, key, object); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T: %w", object, errors.Join(err, errors.New("still there")))
			}
		}
		return nil
	})
	if o.cleaned.Load() == 0 {
		t.Fatal("the finalizer did not run")
	}
	cancel()
	select {
	case err := <-stopped:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(soon):
		t.Fatal("the manager does not stop")
	}
	// The lease was released.
	if err := c.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "orchards"}, &lease); err != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
		t.Fatalf("%s still leads", *lease.Spec.HolderIdentity)
	}
}

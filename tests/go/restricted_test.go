package pleach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// refusals are the requests of a client that were forbidden.
type refusals struct {
	mutex sync.Mutex
	seen  []string
}

// roundTripper notes what is forbidden.
type roundTripper struct {
	next http.RoundTripper
	*refusals
}

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusForbidden {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.seen = append(r.seen, request.Method+" "+request.URL.Path)
	}
	return response, err
}

func (r *refusals) all() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]string{}, r.seen...)
}

// asServiceAccount is the configuration of a client with a token of an account in the namespace default.
func asServiceAccount(t *testing.T, c client.Client, admin *rest.Config, name string) *rest.Config {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(context.Background(), account, request); err != nil {
		t.Fatal(err)
	}
	restricted := rest.AnonymousClientConfig(admin)
	restricted.QPS, restricted.Burst = admin.QPS, admin.Burst
	restricted.BearerToken = request.Status.Token
	return restricted
}

// recordingOperator keeps the errors of its reconciles.
type recordingOperator struct {
	operator
	mutex  sync.Mutex
	errors []error
}

func (o *recordingOperator) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	result, err := o.operator.Reconcile(ctx, request)
	if err != nil {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.errors = append(o.errors, err)
	}
	return result, err
}

func (o *recordingOperator) failed(is func(error) bool) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, err := range o.errors {
		if is(err) {
			return err
		}
	}
	return nil
}

// manage runs the operator with leader election and a cache of one namespace until the function that it returns is
// called.
func manage(t *testing.T, restricted *rest.Config, scheme *runtime.Scheme) (*recordingOperator, *refusals, func()) {
	t.Helper()
	forbidden := &refusals{}
	restricted = rest.CopyConfig(restricted)
	restricted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper{next, forbidden}
	})
	again := true
	manager, err := ctrl.NewManager(restricted, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}}},
		Controller:                    config.Controller{SkipNameValidation: &again},
		LeaderElection:                true,
		LeaderElectionID:              "orchards",
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &recordingOperator{operator: operator{Client: manager.GetClient(), recorder: manager.GetEventRecorder("orchards")}}
	err = ctrl.NewControllerManagedBy(manager).For(&Orchard{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{}).Complete(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	return o, forbidden, func() {
		t.Helper()
		cancel()
		select {
		case err := <-stopped:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(soon):
			t.Fatal("the manager does not stop")
		}
	}
}

// live plants an orchard, changes it, deletes its inventory and fells it.
func live(t *testing.T, c client.Client, o *recordingOperator) {
	t.Helper()
	ctx := context.Background()
	orchard := &Orchard{ObjectMeta: metav1.ObjectMeta{Name: "o", Namespace: "default"}, Spec: OrchardSpec{Trees: 3}}
	if err := c.Create(ctx, orchard); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(orchard)
	inventory := &corev1.ConfigMap{}
	planted := func(trees int) func() error {
		return func() error {
			if err := errors.Join(c.Get(ctx, key, orchard), c.Get(ctx, key, inventory)); err != nil {
				return err
			}
			if orchard.Status.Trees != trees || inventory.Data["trees"] != fmt.Sprint(trees) {
				return fmt.Errorf("%+v, %v", orchard, o.failed(func(error) bool { return true }))
			}
			return nil
		}
	}
	eventually(t, "3 trees are planted", planted(3))
	change := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"trees":5}}`))
	if err := c.Patch(ctx, orchard, change); err != nil {
		t.Fatal(err)
	}
	eventually(t, "5 trees are planted", planted(5))
	if err := c.Delete(ctx, inventory); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the inventory is written anew", planted(5))
	if err := c.Delete(ctx, orchard); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the orchard is gone", func() error {
		if err := c.Get(ctx, key, orchard); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %w", err)
		}
		return nil
	})
	eventually(t, "the inventory is gone", func() error {
		if err := c.Get(ctx, key, inventory); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %w", err)
		}
		return nil
	})
}

// learned are the roles and bindings that `pleach rbac learn` makes of a record.
func learned(t *testing.T, record, account string) []*unstructured.Unstructured {
	t.Helper()
	out, err := exec.Command(binary(), "rbac", "learn", "--from-audit", record, "--service-account", account).Output()
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(out)), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		objects = append(objects, object)
	}
}

// A manager as a service account works with exactly the rules that were learned from it, and not without one of them.
func TestManagerWithLearnedRoles(t *testing.T) {
	log.SetLogger(logr.Discard())
	record := filepath.Join(t.TempDir(), "access.jsonl")
	admin := start(t, "--record-access", record)
	scheme := newScheme(t)
	c, err := client.New(admin, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	plant(t, c)
	ctx := context.Background()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "manager", Namespace: "default"}}
	everything := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everything"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "manager", Namespace: "default"}},
	}
	if err := errors.Join(c.Create(ctx, account), c.Create(ctx, everything)); err != nil {
		t.Fatal(err)
	}
	restricted := asServiceAccount(t, c, admin, "manager")

	// What it does with all rights is recorded.
	o, _, stop := manage(t, restricted, scheme)
	live(t, c, o)
	stop()
	roles := learned(t, record, "default/manager")
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "orchards", Namespace: "default"}}
	if err := errors.Join(c.Delete(ctx, everything), c.Delete(ctx, lease)); err != nil {
		t.Fatal(err)
	}
	other, err := client.New(restricted, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("default")); !apierrors.IsForbidden(err) {
		t.Fatalf("without roles: %v", err)
	}

	// The learned rules are enough, and none of them is about everything.
	for _, role := range roles {
		text := fmt.Sprint(role.Object)
		if strings.Contains(text, "*") || strings.Contains(text, "secrets") {
			t.Fatalf("more than was done: %s", text)
		}
		if err := c.Create(ctx, role); err != nil {
			t.Fatal(err)
		}
	}
	o, forbidden, stop := manage(t, restricted, scheme)
	live(t, c, o)
	stop()
	for _, request := range forbidden.all() {
		// Whether an event is a new one or one more of a series depends on time.
		if !strings.Contains(request, "/events") {
			t.Errorf("forbidden: %s", request)
		}
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil {
		t.Fatal(err)
	}
	if err := other.List(ctx, &corev1.SecretList{}, client.InNamespace("default")); !apierrors.IsForbidden(err) {
		t.Fatalf("Secrets: %v", err)
	}

	// Without one of the rules the reconcile says which one is missing.
	var list rbacv1.RoleList
	if err := c.List(ctx, &list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	removed := 0
	for i := range list.Items {
		role := &list.Items[i]
		for j := range role.Rules {
			rule := &role.Rules[j]
			if len(rule.Resources) != 1 || rule.Resources[0] != "configmaps" {
				continue
			}
			var verbs []string
			for _, verb := range rule.Verbs {
				if verb == "create" {
					removed++
				} else {
					verbs = append(verbs, verb)
				}
			}
			rule.Verbs = verbs
		}
		var rules []rbacv1.PolicyRule
		for _, rule := range role.Rules {
			if len(rule.Verbs) > 0 {
				rules = append(rules, rule)
			}
		}
		role.Rules = rules
		if err := c.Update(ctx, role); err != nil {
			t.Fatal(err)
		}
	}
	if removed != 1 {
		t.Fatalf("%d rules to create ConfigMaps in %+v", removed, list.Items)
	}
	o, _, stop = manage(t, restricted, scheme)
	defer stop()
	orchard := &Orchard{ObjectMeta: metav1.ObjectMeta{Name: "o", Namespace: "default"}, Spec: OrchardSpec{Trees: 1}}
	if err := c.Create(ctx, orchard); err != nil {
		t.Fatal(err)
	}
	const message = `configmaps is forbidden: User "system:serviceaccount:default:manager" cannot create resource "configmaps" in API group "" in the namespace "default"`
	eventually(t, "the reconcile is forbidden", func() error {
		err := o.failed(apierrors.IsForbidden)
		if err == nil {
			return errors.New("no error of a reconcile")
		}
		if err.Error() != message {
			t.Fatalf("%v", err)
		}
		return nil
	})
}

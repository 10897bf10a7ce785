package pleach

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

// A deployment of one container, with the defaults left to the server.
func webDeployment() *appsv1.Deployment {
	app := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: app},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "nginx:1.27", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
				}}},
			},
		},
	}
}

// A typed clientset and its informers do with Deployments and Pods what a controller does.
func TestWorkloadsWithTypedInformers(t *testing.T) {
	config := start(t)
	recorded := recordContentTypes(config)
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(set, 0, informers.WithNamespace("default"))
	deployments, pods := factory.Apps().V1().Deployments(), factory.Core().V1().Pods()
	gone := make(chan string, 10)
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) { gone <- object.(*corev1.Pod).Name },
	}); err != nil {
		t.Fatal(err)
	}
	_ = deployments.Informer()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("%v is not synced", kind)
		}
	}

	client := set.AppsV1().Deployments("default")
	made, err := client.Create(ctx, webDeployment(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	quarter := intstr.FromString("25%")
	if *made.Spec.Replicas != 1 || *made.Spec.Strategy.RollingUpdate.MaxSurge != quarter || made.Generation != 1 ||
		made.Spec.Template.Spec.Containers[0].Ports[0].Protocol != corev1.ProtocolTCP {
		t.Fatalf("without defaults: %v", made.Spec)
	}
	eventually(t, "the deployment is in the cache", func() error {
		_, err := deployments.Lister().Deployments("default").Get("web")
		return err
	})

	scale, err := client.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil || scale.Status.Selector != "app=web" {
		t.Fatalf("%v %v", scale, err)
	}
	scale.Spec.Replicas = 3
	if _, err := client.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current, err := client.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Status = appsv1.DeploymentStatus{ObservedGeneration: current.Generation, Replicas: 3, ReadyReplicas: 2}
		_, err = client.UpdateStatus(ctx, current, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "replicas and status are in the cache", func() error {
		found, err := deployments.Lister().Deployments("default").Get("web")
		if err == nil && (*found.Spec.Replicas != 3 || found.Status.ReadyReplicas != 2 || found.Generation != 2) {
			err = fmt.Errorf("%v %v", found.Spec.Replicas, found.Status)
		}
		return err
	})
	paused := appsapply.Deployment("web", "default").WithSpec(appsapply.DeploymentSpec().WithPaused(true))
	applied, err := client.Apply(ctx, paused, metav1.ApplyOptions{FieldManager: "go"})
	if err != nil || !applied.Spec.Paused || *applied.Spec.Replicas != 3 {
		t.Fatalf("%v %v", applied, err)
	}
	wrong := webDeployment()
	wrong.Name, wrong.Spec.Selector.MatchLabels = "wrong", map[string]string{"app": "other"}
	if _, err := client.Create(ctx, wrong, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Fatalf("a selector that selects nothing of the template: %v", err)
	}

	pod := &corev1.Pod{ObjectMeta: applied.Spec.Template.ObjectMeta, Spec: applied.Spec.Template.Spec}
	pod.GenerateName = "web-"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(applied, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	first, err := set.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if first.Status.Phase != corev1.PodPending || first.Status.QOSClass != corev1.PodQOSBestEffort || len(first.Spec.Tolerations) != 2 {
		t.Fatalf("without status or tolerations: %v %v", first.Status, first.Spec.Tolerations)
	}
	eventually(t, "the pod is in the cache", func() error {
		found, err := pods.Lister().List(labels.SelectorFromSet(labels.Set{"app": "web"}))
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("%d pods", len(found))
		}
		return err
	})
	// The pod goes with its owner.
	foreground := metav1.DeletePropagationForeground
	if err := client.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-gone:
		if name != first.Name {
			t.Fatalf("%s was deleted", name)
		}
	case <-time.After(soon):
		t.Fatal("the pod is still there")
	}
	eventually(t, "the deployment is gone", func() error {
		if _, err := client.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("not gone: %v", err)
		}
		return nil
	})
	recorded.check(t)
}

// Two candidates elect a leader with a Lease; when the first gives up, the second leads.
func TestLeaderElection(t *testing.T) {
	config := start(t)
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	leads := make(chan string, 4)
	run := func(ctx context.Context, identity string) error {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "default", "leader",
			set.CoreV1(), set.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
		if err != nil {
			return err
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 100 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- identity },
				OnStoppedLeading: func() {},
			},
		})
		if err == nil {
			go elector.Run(ctx)
		}
		return err
	}
	wait := func(want string) {
		t.Helper()
		select {
		case identity := <-leads:
			if identity != want {
				t.Fatalf("%s leads, not %s", identity, want)
			}
		case <-time.After(soon):
			t.Fatalf("%s does not lead", want)
		}
	}
	first, stopFirst := context.WithCancel(context.Background())
	defer stopFirst()
	second, stopSecond := context.WithCancel(context.Background())
	defer stopSecond()
	if err := run(first, "a"); err != nil {
		t.Fatal(err)
	}
	wait("a")
	if err := run(second, "b"); err != nil {
		t.Fatal(err)
	}
	lease := func() error {
		lease, err := set.CoordinationV1().Leases("default").Get(first, "leader", metav1.GetOptions{})
		if err == nil && (lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "a") {
			err = errors.New("a does not hold the lease")
		}
		return err
	}
	eventually(t, "the lease names its holder", lease)
	stopFirst()
	wait("b")
}

package deploy

import (
	"context"
	"testing"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// helm installs, upgrades, rolls back and uninstalls a chart with a CRD, an object of it and a hook, and waits for what
// the test plays the controllers of: with server-side apply, and without.
func TestHelm(t *testing.T) {
	for _, serverSide := range []string{"true", "false"} {
		t.Run("server-side apply "+serverSide, func(t *testing.T) { helm(t, serverSide) })
	}
}

func helm(t *testing.T, serverSide string) {
	kubeconfig := start(t)
	set := clientset(t, kubeconfig)
	pretend(t, set)
	namespace := "default"
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace = &kubeconfig, &namespace
	cfg := action.NewConfiguration()
	if err := cfg.Init(flags, namespace, "secret"); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.Load("chart")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	expect := func(what string, replicas int32, trees string) {
		t.Helper()
		deployment, err := set.AppsV1().Deployments(namespace).Get(ctx, "fruit", metav1.GetOptions{})
		if err != nil || *deployment.Spec.Replicas != replicas {
			t.Fatalf("%s: %v %v", what, deployment.Spec.Replicas, err)
		}
		config, err := set.CoreV1().ConfigMaps(namespace).Get(ctx, "fruit", metav1.GetOptions{})
		if err != nil || config.Data["trees"] != trees {
			t.Fatalf("%s: %v %v", what, config.Data, err)
		}
	}

	install := action.NewInstall(cfg)
	install.ReleaseName, install.Namespace, install.Timeout = "fruit", namespace, soon
	install.WaitStrategy, install.WaitForJobs, install.ServerSideApply = kube.StatusWatcherStrategy, true, serverSide == "true"
	if _, err := install.Run(chart, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	expect("installed", 1, "3")
	service, err := set.CoreV1().Services(namespace).Get(ctx, "fruit", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP == "" {
		t.Fatalf("%v %v", service, err)
	}

	upgrade := action.NewUpgrade(cfg)
	upgrade.Namespace, upgrade.Timeout, upgrade.ServerSideApply = namespace, soon, serverSide
	upgrade.WaitStrategy, upgrade.WaitForJobs = kube.StatusWatcherStrategy, true
	if _, err := upgrade.Run("fruit", chart, map[string]any{"replicas": 2, "trees": 5, "image": "nginx:1.28"}); err != nil {
		t.Fatal(err)
	}
	expect("upgraded", 2, "5")

	rollback := action.NewRollback(cfg)
	rollback.Version, rollback.Timeout, rollback.ServerSideApply = 1, soon, serverSide
	rollback.WaitStrategy = kube.StatusWatcherStrategy
	if err := rollback.Run("fruit"); err != nil {
		t.Fatal(err)
	}
	expect("rolled back", 1, "3")

	uninstall := action.NewUninstall(cfg)
	uninstall.Timeout, uninstall.WaitStrategy = soon, kube.StatusWatcherStrategy
	if _, err := uninstall.Run("fruit"); err != nil {
		t.Fatal(err)
	}
	if _, err := set.AppsV1().Deployments(namespace).Get(ctx, "fruit", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the deployment is still there: %v", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	orchards := schema.GroupVersionResource{Group: "deploy.example.com", Version: "v1", Resource: "orchards"}
	list, err := objects.Resource(orchards).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Fatalf("%v %v", list, err)
	}
}

package deploy

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build builds the overlay with kustomize.
func build(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "kustomize/overlay")
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := utils.ReadObjects(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// Flux's library applies what kustomize built, in stages; a second time nothing changes, a drift is corrected, and what
// is deleted is waited for.
func TestFluxAppliesWhatKustomizeBuilt(t *testing.T) {
	kubeconfig := start(t)
	set := clientset(t, kubeconfig)
	pretend(t, set)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	poller := polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{})
	manager := ssa.NewResourceManager(c, poller, ssa.Owner{Field: "deploy", Group: "deploy.example.com"})
	ctx, cancel := context.WithTimeout(context.Background(), 2*soon)
	defer cancel()
	wait := ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: soon}

	changes, err := manager.ApplyAllStaged(ctx, build(t), ssa.DefaultApplyOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range changes.Entries {
		if entry.Action != ssa.CreatedAction {
			t.Errorf("at first: %v", entry)
		}
	}
	if err := manager.Wait(build(t), wait); err != nil {
		t.Fatal(err)
	}
	changes, err = manager.ApplyAllStaged(ctx, build(t), ssa.DefaultApplyOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range changes.Entries {
		if entry.Action != ssa.UnchangedAction {
			t.Errorf("again: %v", entry)
		}
	}
	deployment, err := set.AppsV1().Deployments("default").Get(ctx, "test-web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	deployment.Spec.Template.Spec.Containers[0].Image = "drifted:1"
	if _, err := set.AppsV1().Deployments("default").Update(ctx, deployment, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	changes, err = manager.ApplyAllStaged(ctx, build(t), ssa.DefaultApplyOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range changes.Entries {
		drifted := entry.ObjMetadata.Name == "test-web" && entry.ObjMetadata.GroupKind.Kind == "Deployment"
		if (entry.Action == ssa.ConfiguredAction) != drifted {
			t.Errorf("after a drift: %v", entry)
		}
	}
	objects := build(t)
	if _, err := manager.DeleteAll(ctx, objects, ssa.DefaultDeleteOptions()); err != nil {
		t.Fatal(err)
	}
	if err := manager.WaitForTermination(objects, wait); err != nil {
		t.Fatal(err)
	}
}

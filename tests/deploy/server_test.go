// Package deploy is helm, kustomize and Flux's library against Pleach.
package deploy

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const soon = 60 * time.Second

// start runs a server during a test and returns the path of its kubeconfig.
func start(t *testing.T) string {
	t.Helper()
	binary := os.Getenv("PLEACH_BINARY")
	if binary == "" {
		binary = filepath.Join("..", "..", "target", "debug", "pleach")
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	server := exec.Command(binary, "serve", "--in-memory", "--port", "0", "--log-level", "warn", "--kubeconfig", kubeconfig)
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatalf("the server does not start (cargo build -p pleach): %v", err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "export KUBECONFIG=") {
			return kubeconfig
		}
	}
	t.Fatal("the server ended before it listened")
	return ""
}

// clientset is a typed client.
func clientset(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// pretend plays the controllers: Deployments become available and Jobs complete, until the test ends.
func pretend(t *testing.T, set kubernetes.Interface) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = available(ctx, set)
			_ = complete(ctx, set)
			time.Sleep(50 * time.Millisecond)
		}
	}()
}

func available(ctx context.Context, set kubernetes.Interface) error {
	list, err := set.AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, deployment := range list.Items {
		if deployment.Status.ObservedGeneration == deployment.Generation {
			continue
		}
		replicas := *deployment.Spec.Replicas
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation, Replicas: replicas, UpdatedReplicas: replicas,
			ReadyReplicas: replicas, AvailableReplicas: replicas,
			Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
			},
		}
		if _, err := set.AppsV1().Deployments("default").UpdateStatus(ctx, &deployment, metav1.UpdateOptions{}); err != nil {
			return err
		}
		// helm counts the ready Pods of the newest ReplicaSet.
		if err := replicaSet(ctx, set, &deployment); err != nil {
			return err
		}
	}
	return nil
}

func replicaSet(ctx context.Context, set kubernetes.Interface, deployment *appsv1.Deployment) error {
	sets := set.AppsV1().ReplicaSets("default")
	made, err := sets.Create(ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name:            fmt.Sprintf("%s-%d", deployment.Name, deployment.Generation),
			Labels:          deployment.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: deployment.Spec.Replicas, Selector: deployment.Spec.Selector, Template: deployment.Spec.Template},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status = appsv1.ReplicaSetStatus{
		ObservedGeneration: made.Generation, Replicas: *made.Spec.Replicas, ReadyReplicas: *made.Spec.Replicas,
		AvailableReplicas: *made.Spec.Replicas,
	}
	_, err = sets.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

func complete(ctx context.Context, set kubernetes.Interface) error {
	list, err := set.BatchV1().Jobs("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, job := range list.Items {
		if job.Status.CompletionTime != nil {
			continue
		}
		now := metav1.Now()
		job.Status = batchv1.JobStatus{
			StartTime: &now, CompletionTime: &now, Succeeded: 1,
			Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
			},
		}
		if _, err := set.BatchV1().Jobs("default").UpdateStatus(ctx, &job, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

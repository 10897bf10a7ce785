// Package controller has the controller of Greenhouse.
package controller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	farmv1 "github.com/pleach/pleach/tests/envtest/api/v1"
)

// Finalizer keeps a Greenhouse until its plants are taken out.
const Finalizer = "farm.example.com/plants"

// GreenhouseReconciler reconciles a Greenhouse object.
type GreenhouseReconciler struct {
	client.Client
	Scheme *runtime.Scheme
	// CleanUp runs before the finalizer is removed.
	CleanUp func(*farmv1.Greenhouse) error
}

// Reconcile makes a Deployment with a replica for each plant, and reports it as available.
func (r *GreenhouseReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	greenhouse := &farmv1.Greenhouse{}
	if err := r.Get(ctx, req.NamespacedName, greenhouse); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !greenhouse.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(greenhouse, Finalizer) {
			return ctrl.Result{}, nil
		}
		if err := r.CleanUp(greenhouse); err != nil {
			return ctrl.Result{}, err
		}
		controllerutil.RemoveFinalizer(greenhouse, Finalizer)
		return ctrl.Result{}, r.Update(ctx, greenhouse)
	}
	if controllerutil.AddFinalizer(greenhouse, Finalizer) {
		if err := r.Update(ctx, greenhouse); err != nil {
			return ctrl.Result{}, err
		}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: greenhouse.Name, Namespace: greenhouse.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"greenhouse": greenhouse.Name}
		deployment.Spec.Replicas = &greenhouse.Spec.Plants
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "gardener"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = greenhouse.Spec.Image
		return controllerutil.SetControllerReference(greenhouse, deployment, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	changed := meta.SetStatusCondition(&greenhouse.Status.Conditions, metav1.Condition{
		Type: "Available", Status: metav1.ConditionTrue, Reason: "Reconciled", ObservedGeneration: greenhouse.Generation,
	})
	if !changed && greenhouse.Status.ObservedGeneration == greenhouse.Generation {
		return ctrl.Result{}, nil
	}
	greenhouse.Status.ObservedGeneration = greenhouse.Generation
	return ctrl.Result{}, r.Status().Update(ctx, greenhouse)
}

// SetupWithManager sets up the controller with the Manager.
func (r *GreenhouseReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&farmv1.Greenhouse{}).
		Owns(&appsv1.Deployment{}).
		Named("greenhouse").
		Complete(r)
}

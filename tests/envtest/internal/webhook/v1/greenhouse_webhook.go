// Package v1 has the admission webhooks of Greenhouse.
package v1

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	farmv1 "github.com/pleach/pleach/tests/envtest/api/v1"
)

// DefaultImage is the image of a Greenhouse that names none.
const DefaultImage = "gardener:latest"

// SetupGreenhouseWebhookWithManager registers the webhook for Greenhouse in the manager.
func SetupGreenhouseWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &farmv1.Greenhouse{}).
		WithValidator(&GreenhouseCustomValidator{}).
		WithDefaulter(&GreenhouseCustomDefaulter{}).
		Complete()
}

// GreenhouseCustomDefaulter sets the image.
type GreenhouseCustomDefaulter struct{}

// Default implements admission.Defaulter.
func (*GreenhouseCustomDefaulter) Default(_ context.Context, greenhouse *farmv1.Greenhouse) error {
	if greenhouse.Spec.Image == "" {
		greenhouse.Spec.Image = DefaultImage
	}
	return nil
}

// GreenhouseCustomValidator refuses greenhouses that are too full, and ones that lose plants.
type GreenhouseCustomValidator struct{}

// ValidateCreate implements admission.Validator.
func (*GreenhouseCustomValidator) ValidateCreate(_ context.Context, greenhouse *farmv1.Greenhouse) (admission.Warnings, error) {
	if greenhouse.Spec.Plants > 100 {
		return nil, fmt.Errorf("%d plants are too many", greenhouse.Spec.Plants)
	}
	return nil, nil
}

// ValidateUpdate implements admission.Validator.
func (*GreenhouseCustomValidator) ValidateUpdate(_ context.Context, before, after *farmv1.Greenhouse) (admission.Warnings, error) {
	if after.Spec.Plants < before.Spec.Plants {
		return admission.Warnings{"plants are not thrown away"}, fmt.Errorf("%d plants would be lost", before.Spec.Plants-after.Spec.Plants)
	}
	return nil, nil
}

// ValidateDelete implements admission.Validator.
func (*GreenhouseCustomValidator) ValidateDelete(context.Context, *farmv1.Greenhouse) (admission.Warnings, error) {
	return nil, nil
}

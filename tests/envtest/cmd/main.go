// The manager of the Greenhouse operator.
package main

import (
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	farmv1 "github.com/pleach/pleach/tests/envtest/api/v1"
	farmv2 "github.com/pleach/pleach/tests/envtest/api/v2"
	"github.com/pleach/pleach/tests/envtest/internal/controller"
	webhookv1 "github.com/pleach/pleach/tests/envtest/internal/webhook/v1"
)

func run() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, farmv1.AddToScheme, farmv2.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	reconciler := &controller.GreenhouseReconciler{
		Client: mgr.GetClient(), Scheme: mgr.GetScheme(), CleanUp: func(*farmv1.Greenhouse) error { return nil },
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := webhookv1.SetupGreenhouseWebhookWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the manager ended")
		os.Exit(1)
	}
}

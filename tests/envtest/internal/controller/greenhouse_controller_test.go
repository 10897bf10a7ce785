package controller

import (
	"context"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	farmv1 "github.com/pleach/pleach/tests/envtest/api/v1"
)

var _ = Describe("Greenhouse Controller", Ordered, func() {
	const timeout = "30s"
	var cleaned atomic.Int32
	key := client.ObjectKey{Name: "tropical", Namespace: "default"}

	BeforeAll(func() {
		mgr, err := ctrl.NewManager(cfg, ctrl.Options{
			Scheme:                  scheme.Scheme,
			Metrics:                 metricsserver.Options{BindAddress: "0"},
			LeaderElection:          true,
			LeaderElectionID:        "greenhouse.farm.example.com",
			LeaderElectionNamespace: "default",
		})
		Expect(err).NotTo(HaveOccurred())
		reconciler := &GreenhouseReconciler{
			Client: mgr.GetClient(), Scheme: mgr.GetScheme(),
			CleanUp: func(*farmv1.Greenhouse) error { cleaned.Add(1); return nil },
		}
		Expect(reconciler.SetupWithManager(mgr)).To(Succeed())
		go func() {
			defer GinkgoRecover()
			Expect(mgr.Start(ctx)).To(Succeed())
		}()
	})

	It("creates the Deployment and reports it", func() {
		greenhouse := &farmv1.Greenhouse{
			ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace},
			Spec:       farmv1.GreenhouseSpec{Plants: 2, Image: "gardener:1"},
		}
		Expect(k8sClient.Create(ctx, greenhouse)).To(Succeed())
		deployment := &appsv1.Deployment{}
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, key, deployment)).To(Succeed())
			g.Expect(*deployment.Spec.Replicas).To(Equal(int32(2)))
			g.Expect(k8sClient.Get(ctx, key, greenhouse)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(greenhouse.Status.Conditions, "Available")).To(BeTrue())
		}, timeout).Should(Succeed())
		// Defaults of the built-in kind, as kube-apiserver sets them.
		Expect(deployment.Spec.Template.Spec.Containers[0].ImagePullPolicy).To(Equal(corev1.PullIfNotPresent))
		Expect(*deployment.Spec.RevisionHistoryLimit).To(Equal(int32(10)))
		Expect(metav1.IsControlledBy(deployment, greenhouse)).To(BeTrue())
	})

	It("corrects a Deployment that was changed", func() {
		deployment := &appsv1.Deployment{}
		Expect(k8sClient.Get(ctx, key, deployment)).To(Succeed())
		replicas := int32(9)
		deployment.Spec.Replicas = &replicas
		Expect(k8sClient.Update(ctx, deployment)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, key, deployment)).To(Succeed())
			g.Expect(*deployment.Spec.Replicas).To(Equal(int32(2)))
		}, timeout).Should(Succeed())
	})

	It("cleans up before a Greenhouse goes", func() {
		greenhouse := &farmv1.Greenhouse{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}
		Expect(k8sClient.Delete(ctx, greenhouse)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(k8sClient.Get(ctx, key, greenhouse))
		}, timeout).Should(BeTrue())
		Expect(cleaned.Load()).To(BeNumerically(">=", 1))
	})

	It("authorizes other users by RBAC", func() {
		user, err := testEnv.AddUser(envtest.User{Name: "ann", Groups: []string{"visitors"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		visitor, err := client.New(user.Config(), client.Options{Scheme: scheme.Scheme})
		Expect(err).NotTo(HaveOccurred())
		list := func() error { return visitor.List(context.Background(), &farmv1.GreenhouseList{}) }
		Expect(apierrors.IsForbidden(list())).To(BeTrue())
		Expect(k8sClient.Create(ctx, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: "visitor"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"farm.example.com"}, Resources: []string{"greenhouses"}, Verbs: []string{"list"}}},
		})).To(Succeed())
		Expect(k8sClient.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "visitors"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "visitor"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "visitors"}},
		})).To(Succeed())
		Eventually(list, timeout).Should(Succeed())
	})

	It("runs kubectl", func() {
		user, err := testEnv.AddUser(envtest.User{Name: "bob", Groups: []string{"system:masters"}}, nil)
		Expect(err).NotTo(HaveOccurred())
		kubectl, err := user.Kubectl()
		Expect(err).NotTo(HaveOccurred())
		out, _, err := kubectl.Run("get", "namespace", "default", "-o", "name")
		Expect(err).NotTo(HaveOccurred())
		text := make([]byte, 64)
		n, _ := out.Read(text)
		Expect(string(text[:n])).To(Equal("namespace/default\n"))
	})
})

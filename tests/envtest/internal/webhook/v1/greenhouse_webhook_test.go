package v1

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	farmv1 "github.com/pleach/pleach/tests/envtest/api/v1"
	farmv2 "github.com/pleach/pleach/tests/envtest/api/v2"
)

var _ = Describe("Greenhouse Webhook", func() {
	newGreenhouse := func(plants int32) *farmv1.Greenhouse {
		return &farmv1.Greenhouse{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "greenhouse-", Namespace: "default"},
			Spec:       farmv1.GreenhouseSpec{Plants: plants},
		}
	}

	It("applies the default image", func() {
		greenhouse := newGreenhouse(3)
		Expect(k8sClient.Create(ctx, greenhouse)).To(Succeed())
		Expect(greenhouse.Spec.Image).To(Equal(DefaultImage))
	})

	It("denies creation with too many plants", func() {
		err := k8sClient.Create(ctx, newGreenhouse(101))
		Expect(apierrors.IsForbidden(err)).To(BeTrue())
		Expect(err).To(MatchError(`admission webhook "vgreenhouse-v1.kb.io" denied the request: 101 plants are too many`))
	})

	It("denies an update that loses plants", func() {
		greenhouse := newGreenhouse(3)
		Expect(k8sClient.Create(ctx, greenhouse)).To(Succeed())
		greenhouse.Spec.Plants = 1
		Expect(k8sClient.Update(ctx, greenhouse)).To(MatchError(ContainSubstring("2 plants would be lost")))
		greenhouse.Spec.Plants = 5
		Expect(k8sClient.Update(ctx, greenhouse)).To(Succeed())
	})

	It("refuses what the schema does not allow", func() {
		err := k8sClient.Create(ctx, newGreenhouse(0))
		Expect(apierrors.IsInvalid(err)).To(BeTrue())
	})

	It("converts between versions", func() {
		v1 := newGreenhouse(7)
		Expect(k8sClient.Create(ctx, v1)).To(Succeed())
		v2 := &farmv2.Greenhouse{}
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(v1), v2)).To(Succeed())
		Expect(v2.Spec.Bed.Plants).To(Equal(int32(7)))

		// The webhooks are of v1: the API server converts for them.
		v2.Spec.Bed.Plants = 200
		v2.ObjectMeta = metav1.ObjectMeta{GenerateName: "greenhouse-", Namespace: "default"}
		Expect(k8sClient.Create(ctx, v2)).To(MatchError(ContainSubstring("200 plants are too many")))
		v2.Spec = farmv2.GreenhouseSpec{Bed: farmv2.Bed{Plants: 9}}
		Expect(k8sClient.Create(ctx, v2)).To(Succeed())
		Expect(v2.Spec.Image).To(Equal(DefaultImage))
		Expect(k8sClient.Get(ctx, client.ObjectKeyFromObject(v2), v1)).To(Succeed())
		Expect(v1.Spec.Plants).To(Equal(int32(9)))

		list := &farmv2.GreenhouseList{}
		Expect(k8sClient.List(ctx, list, client.InNamespace("default"))).To(Succeed())
		Expect(list.Items).NotTo(BeEmpty())
	})
})

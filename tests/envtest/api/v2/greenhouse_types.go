package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v1 "github.com/pleach/pleach/tests/envtest/api/v1"
)

// Bed is a row of plants.
type Bed struct {
	Plants int32 `json:"plants"`
}

// GreenhouseSpec defines the desired state of Greenhouse.
type GreenhouseSpec struct {
	// Bed is where the plants grow.
	Bed Bed `json:"bed"`
	// Image is what tends them.
	Image string `json:"image,omitempty"`
}

// Greenhouse is the Schema for the greenhouses API.
type Greenhouse struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreenhouseSpec      `json:"spec,omitempty"`
	Status v1.GreenhouseStatus `json:"status,omitempty"`
}

// GreenhouseList contains a list of Greenhouse.
type GreenhouseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Greenhouse `json:"items"`
}

func init() {
	SchemeBuilder.Register(&Greenhouse{}, &GreenhouseList{})
}

// ConvertTo converts this Greenhouse to the Hub version.
func (src *Greenhouse) ConvertTo(hub conversion.Hub) error {
	dst := hub.(*v1.Greenhouse)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = v1.GreenhouseSpec{Plants: src.Spec.Bed.Plants, Image: src.Spec.Image}
	dst.Status = src.Status
	return nil
}

// ConvertFrom converts from the Hub version to this version.
func (dst *Greenhouse) ConvertFrom(hub conversion.Hub) error {
	src := hub.(*v1.Greenhouse)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = GreenhouseSpec{Bed: Bed{Plants: src.Spec.Plants}, Image: src.Spec.Image}
	dst.Status = src.Status
	return nil
}

// DeepCopyObject implements runtime.Object.
func (dst *Greenhouse) DeepCopyObject() runtime.Object {
	out := *dst
	out.ObjectMeta = *dst.ObjectMeta.DeepCopy()
	out.Status.Conditions = append([]metav1.Condition(nil), dst.Status.Conditions...)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (in *GreenhouseList) DeepCopyObject() runtime.Object {
	out := *in
	out.ListMeta = *in.ListMeta.DeepCopy()
	out.Items = make([]Greenhouse, 0, len(in.Items))
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Greenhouse))
	}
	return &out
}

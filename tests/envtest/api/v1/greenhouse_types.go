package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// GreenhouseSpec defines the desired state of Greenhouse.
type GreenhouseSpec struct {
	// Plants is how many plants grow in it.
	Plants int32 `json:"plants"`
	// Image is what tends them.
	Image string `json:"image,omitempty"`
}

// GreenhouseStatus defines the observed state of Greenhouse.
type GreenhouseStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Greenhouse is the Schema for the greenhouses API.
type Greenhouse struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreenhouseSpec   `json:"spec,omitempty"`
	Status GreenhouseStatus `json:"status,omitempty"`
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

// Hub marks this version as the one that others convert to.
func (*Greenhouse) Hub() {}

// DeepCopyObject implements runtime.Object.
func (in *Greenhouse) DeepCopyObject() runtime.Object {
	out := *in
	out.ObjectMeta = *in.ObjectMeta.DeepCopy()
	out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
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

package pleach

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var orchardVersion = schema.GroupVersion{Group: "go.example.com", Version: "v1"}

// Orchard is the kind that the operator of these tests looks after.
type Orchard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              OrchardSpec   `json:"spec"`
	Status            OrchardStatus `json:"status,omitempty"`
}

// OrchardSpec is the desired state.
type OrchardSpec struct {
	Trees int `json:"trees"`
}

// OrchardStatus is the observed state.
type OrchardStatus struct {
	Trees              int   `json:"trees"`
	ObservedGeneration int64 `json:"observedGeneration"`
}

// OrchardList is a list of Orchards.
type OrchardList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Orchard `json:"items"`
}

// DeepCopyObject makes an Orchard an object.
func (o *Orchard) DeepCopyObject() runtime.Object {
	out := *o
	o.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject makes an OrchardList an object.
func (l *OrchardList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = make([]Orchard, 0, len(l.Items))
	for i := range l.Items {
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Orchard))
	}
	return &out
}

func addOrchards(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(orchardVersion, &Orchard{}, &OrchardList{})
	metav1.AddToGroupVersion(scheme, orchardVersion)
}

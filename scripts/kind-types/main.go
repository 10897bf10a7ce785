// kind-types writes the table of the Go types of the built-in kinds: names, types, omission, protobuf numbers (from
// the struct tags of k8s.io/api) and list types, patch strategies, required fields and defaults (from the OpenAPI v3
// documents that kube-apiserver publishes). Descriptions are not taken.
//
//	go run . <kubernetes source>/api/openapi-spec/v3 > ../../crates/pleach-types/src/table.txt
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The kinds and the bodies of subresources. Types that they refer to follow by themselves.
var roots = []any{
	core.Namespace{}, core.ConfigMap{}, core.Secret{}, core.ServiceAccount{}, core.Event{}, events.Event{},
	coordination.Lease{},
	admissionregistration.ValidatingAdmissionPolicy{}, admissionregistration.ValidatingAdmissionPolicyBinding{},
	admissionregistration.MutatingAdmissionPolicy{}, admissionregistration.MutatingAdmissionPolicyBinding{},
	admissionregistration.ValidatingWebhookConfiguration{}, admissionregistration.MutatingWebhookConfiguration{},
	apiextensions.CustomResourceDefinition{}, apiextensionsv1beta1.CustomResourceDefinition{},
	rbac.Role{}, rbac.ClusterRole{}, rbac.RoleBinding{}, rbac.ClusterRoleBinding{},
	authentication.SelfSubjectReview{}, authentication.TokenRequest{}, authentication.TokenReview{},
	authorization.SelfSubjectAccessReview{}, authorization.SubjectAccessReview{},
	authorization.LocalSubjectAccessReview{}, authorization.SelfSubjectRulesReview{},
	core.Pod{}, core.PodTemplate{}, core.ReplicationController{}, core.Service{}, core.Endpoints{}, core.Node{},
	core.PersistentVolume{}, core.PersistentVolumeClaim{}, core.ResourceQuota{}, core.LimitRange{}, core.Binding{},
	apps.Deployment{}, apps.ReplicaSet{}, apps.StatefulSet{}, apps.DaemonSet{}, apps.ControllerRevision{},
	batch.Job{}, batch.CronJob{},
	autoscaling.HorizontalPodAutoscaler{}, autoscaling.Scale{}, autoscalingv2.HorizontalPodAutoscaler{},
	policy.PodDisruptionBudget{}, policy.Eviction{},
	networking.Ingress{}, networking.IngressClass{}, networking.NetworkPolicy{}, networking.IPAddress{},
	networking.ServiceCIDR{},
	discovery.EndpointSlice{},
	storage.StorageClass{}, storage.VolumeAttachment{}, storage.CSIDriver{}, storage.CSINode{},
	storage.CSIStorageCapacity{}, storage.VolumeAttributesClass{},
	scheduling.PriorityClass{}, node.RuntimeClass{}, certificates.CertificateSigningRequest{},
	apiregistration.APIService{},
	flowcontrol.FlowSchema{}, flowcontrol.PriorityLevelConfiguration{},
	resource.ResourceClaim{}, resource.ResourceClaimTemplate{}, resource.ResourceSlice{}, resource.DeviceClass{},
	// Bodies that are no objects.
	meta.Status{}, meta.PartialObjectMetadata{}, meta.DeleteOptions{}, meta.ListMeta{}, meta.APIVersions{},
	meta.APIGroupList{}, meta.APIGroup{}, meta.APIResourceList{}, apidiscovery.APIGroupDiscoveryList{},
}

// Types that are not structs to the table.
var special = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():            "time",
	reflect.TypeFor[meta.MicroTime]():       "microtime",
	reflect.TypeFor[quantity.Quantity]():    "quantity",
	reflect.TypeFor[intstr.IntOrString]():   "intorstring",
	reflect.TypeFor[runtime.RawExtension](): "raw",
	reflect.TypeFor[meta.FieldsV1]():        "raw",
	reflect.TypeFor[meta.Duration]():        "duration",

	reflect.TypeFor[apiextensions.JSON]():                                "raw",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():               "schemaorbool",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():              "schemaorlist",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray]():        "schemaortexts",
	reflect.TypeFor[apiextensionsv1beta1.JSON]():                         "raw",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():        "schemaorbool",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():       "schemaorlist",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): "schemaortexts",
}

type schema struct {
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Default    any                `json:"default"`
	Ref        string             `json:"$ref"`
	AllOf      []schema           `json:"allOf"`
	ListType   string             `json:"x-kubernetes-list-type"`
	MapType    string             `json:"x-kubernetes-map-type"`
	MapKeys    []string           `json:"x-kubernetes-list-map-keys"`
}

var (
	definitions = map[string]*schema{}
	done        = map[reflect.Type]bool{}
	// Embedded structs have no definition: their fields are among those of the type around them.
	outer = map[reflect.Type]*schema{}
	queue []reflect.Type
)

// name is `core/v1.Pod`.
func name(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	return parts[len(parts)-2] + "/" + parts[len(parts)-1] + "." + t.Name()
}

// definition is the name of a type in the OpenAPI document.
func definition(t reflect.Type) *schema {
	// Documents have no types of v1beta1, whose fields are like those of v1.
	path := strings.Replace(strings.TrimSuffix(t.PkgPath(), "beta1"), "k8s.io/", "io.k8s.", 1)
	path = strings.ReplaceAll(path, "/", ".")
	return definitions[path+"."+t.Name()]
}

func expression(t reflect.Type) string {
	if s, ok := special[t]; ok {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + expression(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if t.Name() != "" && t.Elem().Kind() == reflect.String {
			return "texts"
		}
		return "[]" + expression(t.Elem())
	case reflect.Map:
		return "{}" + expression(t.Elem())
	case reflect.Struct:
		queue = append(queue, t)
		return name(t)
	case reflect.String:
		if t.Name() == "string" {
			return "string"
		}
		return "string:" + t.String()
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int64, reflect.Int:
		return "int64"
	case reflect.Float64:
		return "float64"
	}
	log.Fatalf("type %v is not known to this program", t)
	return ""
}

func number(tag string) string {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return "0"
	}
	return parts[1]
}

func write(out *bufio.Writer, t reflect.Type) {
	def := definition(t)
	if def == nil {
		def = outer[t]
	}
	fmt.Fprint(out, name(t))
	if def != nil && def.MapType == "atomic" {
		fmt.Fprint(out, " atomic")
	}
	fmt.Fprintln(out)
	fields(out, t, def)
}

func fields(out *bufio.Writer, t reflect.Type, def *schema) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := strings.Split(field.Tag.Get("json"), ",")
		if tag[0] == "-" || !field.IsExported() {
			continue
		}
		if field.Anonymous && tag[0] == "" {
			// The fields of an embedded struct are among those of the outer one.
			if field.Type == reflect.TypeFor[meta.TypeMeta]() {
				fmt.Fprint(out, "\tkind\tstring\te\t0\n\tapiVersion\tstring\te\t0\n")
				continue
			}
			outer[field.Type] = def
			fmt.Fprintf(out, "\t@%s\t%s\t-\t%s\n", field.Name, expression(field.Type), number(field.Tag.Get("protobuf")))
			continue
		}
		omit := "-"
		for _, option := range tag[1:] {
			if option == "omitempty" && omit == "-" {
				omit = "e"
			}
			if option == "omitzero" {
				omit = "z"
			}
		}
		fmt.Fprintf(out, "\t%s\t%s\t%s\t%s", tag[0], expression(field.Type), omit, number(field.Tag.Get("protobuf")))
		if key := field.Tag.Get("patchMergeKey"); key != "" {
			fmt.Fprintf(out, "\tkey=%s", key)
		}
		if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
			fmt.Fprintf(out, "\tpatch=%s", strategy)
		}
		if def != nil {
			property := def.Properties[tag[0]]
			if property == nil {
				if !strings.HasSuffix(t.PkgPath(), "v1beta1") {
					log.Fatalf("%v.%s is not in the document", t, tag[0])
				}
				property = &schema{}
			}
			if property.ListType == "map" {
				fmt.Fprintf(out, "\tlist=%s", strings.Join(property.MapKeys, ","))
			} else if property.ListType == "set" {
				fmt.Fprint(out, "\tset")
			}
			if property.MapType != "" {
				fmt.Fprintf(out, "\t%s", property.MapType)
			}
			if property.Default != nil {
				text, err := json.Marshal(property.Default)
				if err != nil {
					log.Fatal(err)
				}
				// That a field without omitempty defaults to its zero value follows from its type.
				zero := string(text) == `""` || string(text) == "0" || string(text) == "false"
				if string(text) != "{}" && !(zero && omit == "-" && field.Type.Kind() != reflect.Pointer) {
					fmt.Fprintf(out, "\tdefault=%s", text)
				}
			}
			for _, required := range def.Required {
				if required == tag[0] {
					fmt.Fprint(out, "\trequired")
				}
			}
		}
		fmt.Fprintln(out)
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run . <directory of OpenAPI v3 documents>")
	}
	documents, err := filepath.Glob(filepath.Join(os.Args[1], "*.json"))
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		var document struct {
			Components struct {
				Schemas map[string]*schema `json:"schemas"`
			} `json:"components"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			log.Fatal(err)
		}
		maps.Copy(definitions, document.Components.Schemas)
	}
	for _, root := range roots {
		queue = append(queue, reflect.TypeOf(root))
	}
	out := map[string]reflect.Type{}
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		if done[t] {
			continue
		}
		done[t] = true
		out[name(t)] = t
		// Fills the queue with what the type refers to.
		write(bufio.NewWriterSize(devNull{}, 1<<16), t)
	}
	names := make([]string, 0, len(out))
	for name := range out {
		names = append(names, name)
	}
	sort.Strings(names)
	stdout := bufio.NewWriter(os.Stdout)
	defer stdout.Flush()
	for _, name := range names {
		write(stdout, out[name])
	}
}

type devNull struct{}

func (devNull) Write(p []byte) (int, error) { return len(p), nil }

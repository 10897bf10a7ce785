//! The kinds whose types are in the table of [`crate::types`], a line or two for each.

use crate::kind::Scope;
use crate::kinds::api_kind::{ApiKind, Generation, Rules, cluster, namespaced};
use crate::kinds::{
    admission_policy, api_service, autoscaler, certificate_request, controllers, csi, device,
    disruption_budget, endpoints, flow_control, ingress, jobs, limit_range, network_policy, node,
    persistent_volume, pod, priority_class, quota, runtime_class, service, storage_class,
};
use crate::strategy::SubresourceInfo;

const ALL: &[&str] = &["all"];
const SPEC: Generation = Generation::Of(&["spec"]);
const WRITES: &[&str] = &["get", "patch", "update"];
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];

const fn sub(name: &'static str, kind: &'static str, verbs: &'static [&'static str]) -> SubresourceInfo {
    SubresourceInfo { name, kind, group: "", version: "v1", verbs }
}

/// A kind that configures admission.
const fn admission_policy(
    versions: &'static [(&'static str, &'static str)],
    kind: &'static str,
    plural: &'static str,
    rules: &'static dyn Rules,
) -> ApiKind {
    ApiKind {
        categories: &["api-extensions"],
        generation: SPEC,
        conditional_update: true,
        ..cluster(admission_policy::GROUP, versions, kind, plural, rules)
    }
}

static POD_SUBRESOURCES: &[SubresourceInfo] = &[
    sub("attach", "PodAttachOptions", &["create", "get"]),
    sub("binding", "Binding", &["create"]),
    sub("ephemeralcontainers", "Pod", WRITES),
    SubresourceInfo {
        name: "eviction",
        kind: "Eviction",
        group: "policy",
        version: "v1",
        verbs: &["create"],
    },
    sub("exec", "PodExecOptions", &["create", "get"]),
    sub("log", "Pod", &["get"]),
    sub("portforward", "PodPortForwardOptions", &["create", "get"]),
    sub("proxy", "PodProxyOptions", PROXY),
    sub("resize", "Pod", WRITES),
];

/// Every kind of the table.
pub(crate) static KINDS: &[ApiKind] = &[
    ApiKind {
        status: true,
        ..admission_policy(
            &[("v1", "admissionregistration/v1.ValidatingAdmissionPolicy")],
            "ValidatingAdmissionPolicy",
            admission_policy::VALIDATING_POLICIES,
            &admission_policy::VALIDATING_POLICY,
        )
    },
    admission_policy(
        &[("v1", "admissionregistration/v1.ValidatingAdmissionPolicyBinding")],
        "ValidatingAdmissionPolicyBinding",
        admission_policy::VALIDATING_BINDINGS,
        &admission_policy::VALIDATING_BINDING,
    ),
    admission_policy(
        &[("v1", "admissionregistration/v1.MutatingAdmissionPolicy")],
        "MutatingAdmissionPolicy",
        admission_policy::MUTATING_POLICIES,
        &admission_policy::MUTATING_POLICY,
    ),
    admission_policy(
        &[("v1", "admissionregistration/v1.MutatingAdmissionPolicyBinding")],
        "MutatingAdmissionPolicyBinding",
        admission_policy::MUTATING_BINDINGS,
        &admission_policy::MUTATING_BINDING,
    ),
    ApiKind {
        short_names: &["po"],
        categories: ALL,
        status: true,
        subresources: POD_SUBRESOURCES,
        generation: SPEC,
        returns_deleted: true,
        fields: &[
            ("spec.nodeName", ".spec.nodeName", ""),
            ("spec.restartPolicy", ".spec.restartPolicy", ""),
            ("spec.schedulerName", ".spec.schedulerName", ""),
            ("spec.serviceAccountName", ".spec.serviceAccountName", ""),
            ("spec.hostNetwork", ".spec.hostNetwork", "false"),
            ("status.phase", ".status.phase", ""),
            ("status.podIP", ".status.podIP", ""),
            ("status.nominatedNodeName", ".status.nominatedNodeName", ""),
        ],
        ..namespaced("", &[("v1", "core/v1.Pod")], "Pod", "pods", &pod::Pod)
    },
    ApiKind {
        generation: Generation::Of(&["template"]),
        returns_deleted: true,
        ..namespaced("", &[("v1", "core/v1.PodTemplate")], "PodTemplate", "podtemplates", &pod::PodTemplate)
    },
    ApiKind {
        short_names: &["rc"],
        categories: ALL,
        status: true,
        scale: Some(".status.replicas"),
        generation: SPEC,
        orphans_by_default: true,
        fields: &[("status.replicas", ".status.replicas", "0")],
        etcd_prefix: "controllers",
        ..namespaced(
            "",
            &[("v1", "core/v1.ReplicationController")],
            "ReplicationController",
            "replicationcontrollers",
            &controllers::ReplicationController,
        )
    },
    ApiKind {
        short_names: &["svc"],
        categories: ALL,
        status: true,
        subresources: &[sub("proxy", "ServiceProxyOptions", PROXY)],
        returns_deleted: true,
        creates_on_update: true,
        fields: &[("spec.clusterIP", ".spec.clusterIP", ""), ("spec.type", ".spec.type", "")],
        etcd_prefix: "services/specs",
        ..namespaced("", &[("v1", "core/v1.Service")], "Service", "services", &service::Service)
    },
    ApiKind {
        short_names: &["ep"],
        creates_on_update: true,
        deprecation: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        etcd_prefix: "services/endpoints",
        ..namespaced("", &[("v1", "core/v1.Endpoints")], "Endpoints", "endpoints", &endpoints::Endpoints)
    },
    ApiKind {
        short_names: &["pvc"],
        status: true,
        returns_deleted: true,
        ..namespaced(
            "",
            &[("v1", "core/v1.PersistentVolumeClaim")],
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
            &persistent_volume::Claim,
        )
    },
    ApiKind {
        short_names: &["quota"],
        status: true,
        returns_deleted: true,
        ..namespaced(
            "",
            &[("v1", "core/v1.ResourceQuota")],
            "ResourceQuota",
            "resourcequotas",
            &quota::ResourceQuota,
        )
    },
    ApiKind {
        short_names: &["limits"],
        creates_on_update: true,
        ..namespaced(
            "",
            &[("v1", "core/v1.LimitRange")],
            "LimitRange",
            "limitranges",
            &limit_range::LimitRange,
        )
    },
    ApiKind {
        short_names: &["no"],
        status: true,
        subresources: &[sub("proxy", "NodeProxyOptions", PROXY)],
        fields: &[("spec.unschedulable", ".spec.unschedulable", "false")],
        etcd_prefix: "minions",
        ..cluster("", &[("v1", "core/v1.Node")], "Node", "nodes", &node::Node)
    },
    ApiKind {
        short_names: &["pv"],
        status: true,
        returns_deleted: true,
        ..cluster(
            "",
            &[("v1", "core/v1.PersistentVolume")],
            "PersistentVolume",
            "persistentvolumes",
            &persistent_volume::Volume,
        )
    },
    ApiKind {
        short_names: &["deploy"],
        categories: ALL,
        status: true,
        scale: Some(".status.replicas"),
        generation: Generation::SpecOrAnnotations,
        ..namespaced(
            "apps",
            &[("v1", "apps/v1.Deployment")],
            "Deployment",
            "deployments",
            &controllers::Deployment,
        )
    },
    ApiKind {
        short_names: &["rs"],
        categories: ALL,
        status: true,
        scale: Some(".status.replicas"),
        generation: SPEC,
        ..namespaced(
            "apps",
            &[("v1", "apps/v1.ReplicaSet")],
            "ReplicaSet",
            "replicasets",
            &controllers::ReplicaSet,
        )
    },
    ApiKind {
        short_names: &["sts"],
        categories: ALL,
        status: true,
        scale: Some(".status.replicas"),
        generation: SPEC,
        ..namespaced(
            "apps",
            &[("v1", "apps/v1.StatefulSet")],
            "StatefulSet",
            "statefulsets",
            &controllers::StatefulSet,
        )
    },
    ApiKind {
        short_names: &["ds"],
        categories: ALL,
        status: true,
        generation: SPEC,
        ..namespaced(
            "apps",
            &[("v1", "apps/v1.DaemonSet")],
            "DaemonSet",
            "daemonsets",
            &controllers::DaemonSet,
        )
    },
    namespaced(
        "apps",
        &[("v1", "apps/v1.ControllerRevision")],
        "ControllerRevision",
        "controllerrevisions",
        &controllers::ControllerRevision,
    ),
    ApiKind {
        categories: ALL,
        status: true,
        generation: SPEC,
        orphans_by_default: true,
        fields: &[("status.successful", ".status.succeeded", "0")],
        ..namespaced("batch", &[("v1", "batch/v1.Job")], "Job", "jobs", &jobs::Job)
    },
    ApiKind {
        short_names: &["cj"],
        categories: ALL,
        status: true,
        generation: SPEC,
        ..namespaced("batch", &[("v1", "batch/v1.CronJob")], "CronJob", "cronjobs", &jobs::CronJob)
    },
    ApiKind {
        short_names: &["hpa"],
        categories: ALL,
        status: true,
        ..namespaced(
            "autoscaling",
            &[
                ("v2", "autoscaling/v2.HorizontalPodAutoscaler"),
                ("v1", "autoscaling/v1.HorizontalPodAutoscaler"),
            ],
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            &autoscaler::Autoscaler,
        )
    },
    ApiKind {
        short_names: &["pdb"],
        status: true,
        generation: SPEC,
        conditional_update: true,
        ..namespaced(
            "policy",
            &[("v1", "policy/v1.PodDisruptionBudget")],
            "PodDisruptionBudget",
            "poddisruptionbudgets",
            &disruption_budget::DisruptionBudget,
        )
    },
    ApiKind {
        short_names: &["ing"],
        status: true,
        generation: SPEC,
        etcd_prefix: "ingress",
        ..namespaced(
            "networking.k8s.io",
            &[("v1", "networking/v1.Ingress")],
            "Ingress",
            "ingresses",
            &ingress::Ingress,
        )
    },
    ApiKind {
        generation: SPEC,
        ..cluster(
            "networking.k8s.io",
            &[("v1", "networking/v1.IngressClass")],
            "IngressClass",
            "ingressclasses",
            &ingress::IngressClass,
        )
    },
    ApiKind {
        short_names: &["netpol"],
        generation: SPEC,
        ..namespaced(
            "networking.k8s.io",
            &[("v1", "networking/v1.NetworkPolicy")],
            "NetworkPolicy",
            "networkpolicies",
            &network_policy::NetworkPolicy,
        )
    },
    ApiKind {
        short_names: &["ip"],
        ..cluster(
            "networking.k8s.io",
            &[("v1", "networking/v1.IPAddress")],
            "IPAddress",
            "ipaddresses",
            &network_policy::IpAddress,
        )
    },
    ApiKind {
        status: true,
        ..cluster(
            "networking.k8s.io",
            &[("v1", "networking/v1.ServiceCIDR")],
            "ServiceCIDR",
            "servicecidrs",
            &network_policy::ServiceCidr,
        )
    },
    ApiKind {
        generation: Generation::ContentOrLabels,
        ..namespaced(
            "discovery.k8s.io",
            &[("v1", "discovery/v1.EndpointSlice")],
            "EndpointSlice",
            "endpointslices",
            &endpoints::EndpointSlice,
        )
    },
    ApiKind {
        short_names: &["sc"],
        returns_deleted: true,
        ..cluster(
            "storage.k8s.io",
            &[("v1", "storage/v1.StorageClass")],
            "StorageClass",
            "storageclasses",
            &storage_class::StorageClass,
        )
    },
    ApiKind {
        status: true,
        returns_deleted: true,
        ..cluster(
            "storage.k8s.io",
            &[("v1", "storage/v1.VolumeAttachment")],
            "VolumeAttachment",
            "volumeattachments",
            &csi::VolumeAttachment,
        )
    },
    ApiKind {
        returns_deleted: true,
        ..cluster(
            "storage.k8s.io",
            &[("v1", "storage/v1.CSIDriver")],
            "CSIDriver",
            "csidrivers",
            &storage_class::CsiDriver,
        )
    },
    ApiKind {
        returns_deleted: true,
        ..cluster("storage.k8s.io", &[("v1", "storage/v1.CSINode")], "CSINode", "csinodes", &csi::CsiNode)
    },
    namespaced(
        "storage.k8s.io",
        &[("v1", "storage/v1.CSIStorageCapacity")],
        "CSIStorageCapacity",
        "csistoragecapacities",
        &csi::CsiStorageCapacity,
    ),
    ApiKind {
        short_names: &["vac"],
        ..cluster(
            "storage.k8s.io",
            &[("v1", "storage/v1.VolumeAttributesClass")],
            "VolumeAttributesClass",
            "volumeattributesclasses",
            &csi::VolumeAttributesClass,
        )
    },
    ApiKind {
        status: true,
        generation: SPEC,
        ..cluster(
            flow_control::GROUP,
            &[("v1", "flowcontrol/v1.FlowSchema")],
            "FlowSchema",
            flow_control::FLOW_SCHEMAS,
            &flow_control::FlowSchema,
        )
    },
    ApiKind {
        status: true,
        generation: SPEC,
        ..cluster(
            flow_control::GROUP,
            &[("v1", "flowcontrol/v1.PriorityLevelConfiguration")],
            "PriorityLevelConfiguration",
            flow_control::PRIORITY_LEVELS,
            &flow_control::PriorityLevelConfiguration,
        )
    },
    ApiKind {
        short_names: &["pc"],
        generation: Generation::First,
        ..cluster(
            "scheduling.k8s.io",
            &[("v1", "scheduling/v1.PriorityClass")],
            "PriorityClass",
            "priorityclasses",
            &priority_class::PriorityClass,
        )
    },
    ApiKind {
        creates_on_update: true,
        conditional_update: true,
        ..cluster(
            "node.k8s.io",
            &[("v1", "node/v1.RuntimeClass")],
            "RuntimeClass",
            "runtimeclasses",
            &runtime_class::RuntimeClass,
        )
    },
    ApiKind {
        short_names: &["csr"],
        status: true,
        subresources: &[SubresourceInfo {
            name: "approval",
            kind: "CertificateSigningRequest",
            group: "certificates.k8s.io",
            version: "v1",
            verbs: WRITES,
        }],
        fields: &[("spec.signerName", ".spec.signerName", "")],
        ..cluster(
            "certificates.k8s.io",
            &[("v1", "certificates/v1.CertificateSigningRequest")],
            "CertificateSigningRequest",
            "certificatesigningrequests",
            &certificate_request::CertificateRequest,
        )
    },
    ApiKind {
        categories: &["api-extensions"],
        status: true,
        conditional_update: true,
        ..cluster(
            "apiregistration.k8s.io",
            &[("v1", "apiregistration/v1.APIService")],
            "APIService",
            "apiservices",
            &api_service::ApiService,
        )
    },
    ApiKind {
        status: true,
        generation: SPEC,
        ..namespaced(
            "resource.k8s.io",
            &[("v1", "resource/v1.ResourceClaim")],
            "ResourceClaim",
            "resourceclaims",
            &device::ResourceClaim,
        )
    },
    namespaced(
        "resource.k8s.io",
        &[("v1", "resource/v1.ResourceClaimTemplate")],
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        &device::AgeOnly,
    ),
    ApiKind {
        generation: SPEC,
        fields: &[("spec.driver", ".spec.driver", ""), ("spec.nodeName", ".spec.nodeName", "")],
        ..cluster(
            "resource.k8s.io",
            &[("v1", "resource/v1.ResourceSlice")],
            "ResourceSlice",
            "resourceslices",
            &device::ResourceSlice,
        )
    },
    ApiKind {
        generation: SPEC,
        scope: Scope::Cluster,
        ..cluster(
            "resource.k8s.io",
            &[("v1", "resource/v1.DeviceClass")],
            "DeviceClass",
            "deviceclasses",
            &device::AgeOnly,
        )
    },
];

//! With the types of `kube` and `k8s-openapi`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{CustomResource, CustomResourceExt, KubeSchema};
use pleach_sdk::Definition;
use serde::{Deserialize, Serialize};

/// A machine that paints.
#[derive(CustomResource, KubeSchema, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Painter", namespaced)]
#[x_kube(validation = Rule::new("self.brushes <= 10").message("too many brushes"))]
struct PainterSpec {
    /// How many brushes it has.
    #[x_kube(validation = "self >= oldSelf")]
    brushes: i64,
    #[serde(default = "red")]
    color: String,
}

fn red() -> String {
    "red".to_owned()
}

fn painter(brushes: i64) -> Painter {
    Painter::new("a", PainterSpec { brushes, color: red() })
}

#[test]
fn a_derived_crd_is_sound() {
    let crd: CustomResourceDefinition = Painter::crd();
    let report = Definition::new(&crd).unwrap().check();
    assert!(report.is_valid() && report.is_structural(), "{report:?}");
    assert_eq!(report.unknown_fields, [""; 0]);
}

#[test]
fn objects_are_rust_types() {
    let definition = Definition::new(&Painter::crd()).unwrap();
    let stored: Painter = definition.store(&painter(3)).unwrap().to().unwrap();
    assert_eq!(stored.spec.brushes, 3);
    assert!(definition.validate(&painter(3)).unwrap().is_valid());
    let verdict = definition.validate(&painter(11)).unwrap();
    assert_eq!(
        verdict.message().unwrap(),
        "Painter.example.com \"a\" is invalid: spec: Invalid value: too many brushes"
    );
    let verdict = definition.validate_update(&painter(2), &painter(3)).unwrap();
    assert_eq!(verdict.errors[0].field, "spec.brushes");
    assert_eq!(definition.explain("spec.brushes").unwrap().description, "How many brushes it has.");
}

#[test]
fn defaults_come_from_serde() {
    let definition = Definition::new(&Painter::crd()).unwrap();
    let mut object = serde_json::to_value(painter(1)).unwrap();
    object["spec"].as_object_mut().unwrap().remove("color");
    let stored = definition.store(&object).unwrap();
    assert_eq!(stored.defaulted[0].to_string(), "spec.color: \"red\"");
}

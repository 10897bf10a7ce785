//! Kinds that are requests and never stored: token requests, token reviews, access reviews.
//!
//! They are decoded as objects of built-in kinds are, by the Go types of upstream; they are in no catalog.

use std::sync::Arc;

use pleach_go::json::{Decoder, GoStruct, GoType};
use pleach_json::Value;

use crate::compile;
use crate::kind::{Kind, LazySchema};
use crate::kinds::manifest;
use crate::resource::Resource;
use crate::strategy::Strategy;
use crate::typed::Typed;
use crate::types;

/// A group of such kinds.
#[derive(Debug)]
pub(super) struct UnstoredGroup {
    /// The API group.
    pub group: &'static str,
    /// The Go package of the internal types, which errors name.
    pub package: &'static str,
    /// All kinds of the group in v1.
    pub kinds: &'static [&'static str],
    /// Versions that upstream knows and does not serve.
    pub other_versions: &'static [&'static str],
}

/// The strategy of a kind that is decoded by its Go type and not stored.
#[derive(Debug)]
pub(super) struct Unstored {
    /// The kind's group.
    pub group: &'static UnstoredGroup,
    /// The type of its objects, in the table of types.
    pub type_name: &'static str,
}

impl Unstored {
    fn go_struct(&self) -> &'static GoStruct {
        types::go_struct(self.type_name).expect("a type of the table")
    }

    /// The kind of this strategy.
    pub(super) fn kind(&'static self, plural: &str) -> Kind {
        let (group, kind) = (self.group.group, self.go_struct().name);
        let manifest = format!(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.{group}}}
spec:
  group: {group}
  scope: Cluster
  names: {{plural: {plural}, singular: {}, kind: {kind}, listKind: {kind}List}}
  versions:
  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object}}}}}}
",
            kind.to_lowercase()
        );
        let mut kind = compile::kind(&manifest::crd(&manifest));
        (kind.strategy, kind.crd, kind.established) = (self, None, true);
        for version in Arc::get_mut(&mut kind.versions).into_iter().flatten() {
            version.schema = LazySchema::new(|| types::schema(self.type_name));
        }
        kind
    }
}

impl Strategy for Unstored {
    fn is_exempt_from_policies(&self) -> bool {
        true
    }

    fn other_versions(&self) -> &'static [&'static str] {
        self.group.other_versions
    }

    fn other_kind_error(&self, kind: &str, found: &str) -> Option<String> {
        let is_known = self.group.kinds.contains(&found);
        is_known.then(|| {
            format!("converting (v1.{found}) to ({}.{kind}): unknown conversion", self.group.package)
        })
    }

    fn decodes_whole_object(&self) -> bool {
        true
    }

    fn reports_unknown_in_document_order(&self) -> bool {
        true
    }

    fn decode(&self, _: Resource<'_>, object: &mut Value, _: &mut Typed) -> Result<Vec<String>, String> {
        let mut decoder = Decoder::noting_unknown("").with_literal_numbers();
        decoder.decode(object, &GoType::Struct(self.go_struct()))?;
        Ok(decoder.into_unknown())
    }
}

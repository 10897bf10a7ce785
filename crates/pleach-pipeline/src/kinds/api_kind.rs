//! Kinds whose Go types are in the table of [`crate::types`]: names and properties as data, and a strategy that all of
//! them share. What a kind has of its own is in its [`Rules`].

mod rules;

use std::borrow::Cow;

use pleach_crd::Scale;
use pleach_go::json::{Decoder, GoType};
use pleach_json::{Map, Str, Value};
use pleach_jsonpath::KeyPath;
use pleach_meta::FieldError;
use pleach_meta::object_meta::NameRule;
use pleach_patch::StrategicSchema;

pub use self::rules::{Plain, Rules};
use crate::decode::decode_metadata;
use crate::error::Error;
use crate::gates::Gates;
use crate::kind::{Kind, KindVersion, LazySchema, Scope, SelectableField};
use crate::kinds::pod;
use crate::prepare::{copy_member, metadata_mut};
use crate::resource::{Resource, Subresource};
use crate::strategy::{Effect, Role, Strategy, SubresourceInfo};
use crate::typed::Typed;
use crate::types;
use crate::validate::{self, Old, Verdict};

/// The changes that increase `metadata.generation`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The kind has none.
    None,
    /// It is 1 and stays so.
    First,
    /// A change of these members.
    Of(&'static [&'static str]),
    /// A change of the spec or the annotations.
    SpecOrAnnotations,
    /// A change of anything but the metadata, or of the labels.
    ContentOrLabels,
}

/// A kind of the table.
#[derive(Debug)]
pub struct ApiKind {
    /// The API group; empty for core.
    pub group: &'static str,
    /// Versions and the names of their types, the stored one first.
    pub versions: &'static [(&'static str, &'static str)],
    /// The `kind` of an object.
    pub kind: &'static str,
    /// The resource in URLs.
    pub plural: &'static str,
    /// Short names for clients.
    pub short_names: &'static [&'static str],
    /// Categories such as `all`.
    pub categories: &'static [&'static str],
    /// Namespaced or not.
    pub scope: Scope,
    /// Has `/status`.
    pub status: bool,
    /// The path of the number of replicas in the status, of kinds with `/scale`.
    pub scale: Option<&'static str>,
    /// Subresources besides these.
    pub subresources: &'static [SubresourceInfo],
    /// The changes that increase the generation.
    pub generation: Generation,
    /// A delete answers with the object.
    pub returns_deleted: bool,
    /// A PUT of an unknown name creates.
    pub creates_on_update: bool,
    /// A PUT must say which resource version it replaces.
    pub conditional_update: bool,
    /// Dependents are orphaned if a delete does not say otherwise.
    pub orphans_by_default: bool,
    /// Field selectors: label, path, and the text of an absent field.
    pub fields: &'static [(&'static str, &'static str, &'static str)],
    /// The prefix of its keys in etcd, where that is not the plural.
    pub etcd_prefix: &'static str,
    /// The warning that every request gets.
    pub deprecation: &'static str,
    /// The kind's rules.
    pub rules: &'static dyn Rules,
}

/// The version in which the kinds with a [`ApiKind::deprecation`] were deprecated: Endpoints.
const DEPRECATED_SINCE: u32 = 33;

/// A kind with the properties that most have.
pub const fn namespaced(
    group: &'static str,
    versions: &'static [(&'static str, &'static str)],
    kind: &'static str,
    plural: &'static str,
    rules: &'static dyn Rules,
) -> ApiKind {
    ApiKind {
        group,
        versions,
        kind,
        plural,
        short_names: &[],
        categories: &[],
        scope: Scope::Namespaced,
        status: false,
        scale: None,
        subresources: &[],
        generation: Generation::None,
        returns_deleted: false,
        creates_on_update: false,
        conditional_update: false,
        orphans_by_default: false,
        fields: &[],
        etcd_prefix: "",
        deprecation: "",
        rules,
    }
}

/// The same outside namespaces.
pub const fn cluster(
    group: &'static str,
    versions: &'static [(&'static str, &'static str)],
    kind: &'static str,
    plural: &'static str,
    rules: &'static dyn Rules,
) -> ApiKind {
    ApiKind { scope: Scope::Cluster, ..namespaced(group, versions, kind, plural, rules) }
}

impl ApiKind {
    /// The kind as the server has it. Nothing is read from the table of types yet.
    pub(crate) fn to_kind(&'static self, gates: Gates) -> Kind {
        Kind {
            group: Str::new_static(self.group),
            storage_group: Str::new_static(self.group),
            plural: Str::new_static(self.plural),
            singular: self.kind.to_ascii_lowercase().into(),
            kind: Str::new_static(self.kind),
            list_kind: format!("{}List", self.kind).into(),
            short_names: self.short_names.iter().map(|name| Str::new_static(name)).collect(),
            categories: self.categories.iter().map(|name| Str::new_static(name)).collect(),
            scope: self.scope,
            versions: self.versions.iter().map(|version| self.version(version, gates)).collect(),
            storage: 0,
            conversion_webhook: None,
            strategy: self,
            preserve_unknown_fields: false,
            crd: None,
            established: true,
            terminating: false,
            gates,
        }
    }

    fn version(
        &'static self,
        (name, type_name): &'static (&'static str, &'static str),
        gates: Gates,
    ) -> KindVersion {
        let api_version: Str = if self.group.is_empty() {
            Str::new_static(name)
        } else {
            format!("{}/{name}", self.group).into()
        };
        KindVersion {
            name: Str::new_static(name),
            api_version,
            served: true,
            deprecation: (!self.deprecation.is_empty() && gates.version.minor() >= DEPRECATED_SINCE)
                .then(|| Str::new_static(self.deprecation)),
            status: self.status,
            scale: self.scale.map(|status_replicas| Scale {
                spec_replicas_path: ".spec.replicas".into(),
                status_replicas_path: status_replicas.into(),
                label_selector_path: None,
            }),
            columns: self.rules.columns(),
            selectable_fields: self
                .fields
                .iter()
                .map(|(label, path, absent)| SelectableField {
                    label: Str::new_static(label),
                    path: KeyPath::new(path),
                    absent,
                })
                .collect(),
            schema: LazySchema::new(move || types::schema(type_name)),
            props: None,
            type_name,
        }
    }

    /// Puts the empty status where upstream's Go type writes one.
    fn reset_status(object: &mut Value, version: &KindVersion) {
        let zero = types::zero(version.type_name).get("status").cloned();
        if let Some(members) = object.as_object_mut() {
            match zero {
                Some(zero) => members.insert("status", zero),
                None => members.remove("status"),
            };
        }
    }

    /// Removes empty objects that only admission sees ([`Rules::kept_when_empty`]).
    fn remove_empty(&self, object: &mut Value) {
        for [outer, inner] in self.rules.kept_when_empty() {
            if let Some(outer) = object.get_mut(outer).and_then(Value::as_object_mut)
                && outer.get(inner).and_then(Value::as_object).is_some_and(Map::is_empty)
            {
                outer.remove(inner);
            }
        }
    }

    /// Removes fields of Pods whose feature gates are off.
    fn drop_disabled_fields_of_template(&self, object: &mut Value, old: Option<&Value>) {
        let path = match self.rules.pod_template() {
            Some(path) => path,
            None if self.rules.role() == Role::Pod => &[],
            None => return,
        };
        let spec = |object: &Value| object.at(path).and_then(|holder| holder.get("spec")).cloned();
        if !spec(object).is_some_and(|spec| pod::disabled::has_fields(&spec)) {
            return;
        }
        let holder = path.iter().try_fold(object, |holder, step| holder.get_mut(step));
        if let Some(spec_of_new) = holder.and_then(|holder| holder.get_mut("spec")) {
            pod::disabled::drop_fields(spec_of_new, old.and_then(spec).as_ref());
        }
    }

    fn raises_generation(&self, object: &Value, old: &Value) -> bool {
        let differs = |key: &str| object.get(key) != old.get(key);
        let metadata = |key: &str| object.at(&["metadata", key]) != old.at(&["metadata", key]);
        match self.generation {
            Generation::None | Generation::First => false,
            Generation::Of(members) => members.iter().any(|key| differs(key)),
            Generation::SpecOrAnnotations => differs("spec") || metadata("annotations"),
            Generation::ContentOrLabels => {
                let keys = |value: &Value| -> Vec<Str> {
                    value.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect()
                };
                let mut all = keys(object);
                all.extend(keys(old));
                all.iter().any(|key| key != "metadata" && differs(key)) || metadata("labels")
            }
        }
    }
}

impl Strategy for ApiKind {
    fn rules(&self) -> &dyn Rules {
        self.rules
    }

    fn api_kind(&self) -> Option<&ApiKind> {
        Some(self)
    }

    fn subresources(&self) -> &'static [SubresourceInfo] {
        self.subresources
    }

    fn etcd_prefix(&self) -> Option<&'static str> {
        (!self.etcd_prefix.is_empty()).then_some(self.etcd_prefix)
    }

    fn decodes_whole_object(&self) -> bool {
        true
    }

    fn decode(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        _: &mut Typed,
    ) -> Result<Vec<String>, String> {
        let mut unknown = decode_metadata(object, true)?;
        let is_empty =
            |path: &[&str; 2]| object.at(path).and_then(Value::as_object).is_some_and(Map::is_empty);
        let kept: Vec<[&str; 2]> = self.rules.kept_when_empty().iter().copied().filter(is_empty).collect();
        if let Some(root) = types::go_root(resource.version().type_name) {
            let mut decoder = Decoder::noting_unknown("").with_literal_numbers();
            decoder.decode(object, &GoType::Struct(root))?;
            unknown.extend(decoder.into_unknown());
        }
        for [outer, inner] in kept {
            if let Some(outer) = object.get_mut(outer).and_then(Value::as_object_mut) {
                outer.insert(inner, Value::object());
            }
        }
        self.rules.default(object);
        Ok(unknown)
    }

    fn reports_unknown_in_document_order(&self) -> bool {
        true
    }

    fn counts_generations(&self, _: &KindVersion) -> bool {
        self.generation != Generation::None
    }

    fn prepare_for_create(&self, resource: Resource<'_>, object: &mut Value, _: &mut Typed) {
        self.remove_empty(object);
        if self.generation == Generation::None {
            metadata_mut(object).remove("generation");
        } else {
            metadata_mut(object).insert("generation", 1);
        }
        if self.status && !self.rules.keeps_status_on_create() {
            Self::reset_status(object, resource.version());
        }
        self.drop_disabled_fields_of_template(object, None);
        self.rules.prepare_for_create(object);
    }

    fn prepare_for_update(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        _: &mut Typed,
        Old { value: old, .. }: Old<'_>,
    ) {
        self.remove_empty(object);
        match resource.subresource {
            Subresource::None | Subresource::Scale | Subresource::Finalize => {
                if self.status {
                    copy_member(object, old, "status");
                }
                self.drop_disabled_fields_of_template(object, Some(old));
                self.rules.prepare_for_update(object, old);
                if self.raises_generation(object, old) {
                    let generation = old.at(&["metadata", "generation"]).and_then(Value::as_int);
                    metadata_mut(object)
                        .insert("generation", generation.unwrap_or_default().saturating_add(1));
                }
            }
            Subresource::Status => {
                let members = object.as_object().into_iter().flat_map(|members| members.keys().cloned());
                let others: Vec<Str> = members
                    .chain(old.as_object().into_iter().flat_map(|members| members.keys().cloned()))
                    .filter(|key| key != "metadata" && key != "status")
                    .collect();
                others.iter().for_each(|key| copy_member(object, old, key));
                let metadata = metadata_mut(object);
                let old_metadata = old.get("metadata");
                let kept: &[&str] = if self.rules.status_keeps_labels() {
                    &["labels", "ownerReferences"]
                } else {
                    &["ownerReferences"]
                };
                for key in kept {
                    match old_metadata.and_then(|metadata| metadata.get(key)) {
                        Some(value) => metadata.insert(*key, value.clone()),
                        None => metadata.remove(key),
                    };
                }
                self.rules.prepare_for_subresource(object, old, resource.subresource);
            }
            other => self.rules.prepare_for_subresource(object, old, other),
        }
    }

    fn name_rule(&self) -> NameRule {
        self.rules.name_rule()
    }

    fn validates_by_schema(&self) -> bool {
        false
    }

    fn revalidates_metadata(&self) -> bool {
        self.rules.revalidates_metadata()
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.rules.validate(object, old)
    }

    fn validate_create(
        &self,
        resource: Resource<'_>,
        object: &Value,
        _: &Typed,
        validated: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let errors = validate::default_create(resource, object, validated, warnings);
        if errors.is_empty() {
            warnings.extend(self.rules.warnings(object, None));
        }
        errors
    }

    fn validate_update(
        &self,
        resource: Resource<'_>,
        object: &Value,
        _: &Typed,
        old: Old<'_>,
        warnings: &mut Vec<String>,
    ) -> Verdict {
        match resource.subresource {
            Subresource::None | Subresource::Scale | Subresource::Finalize => {
                let verdict = validate::default_update(resource, object, old, warnings);
                if verdict.errors.is_empty() && resource.subresource == Subresource::None {
                    warnings.extend(self.rules.warnings(object, Some(old.value)));
                }
                verdict
            }
            other => {
                let (mut errors, changes) = validate::metadata_update(resource, object, old.value);
                errors.extend(changes);
                errors.extend(self.rules.validate_subresource(object, old.value, other));
                Verdict { errors, valid: false }
            }
        }
    }

    fn allow_unconditional_update(&self) -> bool {
        !self.conditional_update
    }

    fn allow_create_on_update(&self) -> bool {
        self.creates_on_update
    }

    fn is_exempt_from_webhooks(&self) -> bool {
        self.rules.is_admission_configuration()
    }

    fn is_exempt_from_policies(&self) -> bool {
        self.rules.is_admission_configuration()
    }

    fn after_commit(&self) -> Effect {
        self.rules.after_commit()
    }

    fn role(&self) -> Role {
        self.rules.role()
    }

    fn runs_containers(&self) -> bool {
        self.rules.role() == Role::Pod
    }

    fn return_deleted_object(&self) -> bool {
        self.returns_deleted
    }

    fn orphans_dependents_by_default(&self) -> bool {
        self.orphans_by_default
    }

    fn convert<'v>(&self, object: &'v Value, _: &Typed, to: &KindVersion) -> Result<Cow<'v, Value>, Error> {
        Ok(self.rules.convert(object, &to.name).map_or(Cow::Borrowed(object), Cow::Owned))
    }

    fn strategic_schema(&self) -> StrategicSchema {
        self.versions.first().map(|(_, name)| types::strategic_schema(name)).unwrap_or_default()
    }

    fn always_written(&self, version: &KindVersion) -> Option<&'static Value> {
        Some(types::blank(version.type_name))
    }

    fn status_changes_metadata(&self) -> bool {
        self.rules.status_changes_metadata()
    }
}

//! A CRD, and the questions about it and its objects.

use std::sync::OnceLock;

use pleach_crd::decode::Options;
use pleach_crd::{ApiVersion, ConditionStatus, ConditionType, Crd};
use pleach_json::Value;
use pleach_pipeline::gates::Gates;
use pleach_pipeline::kind::Kind;
use pleach_pipeline::resource::{Resource, Subresource};
use pleach_pipeline::{compile, kinds};
use serde::Serialize;

use crate::explain::explain;
use crate::value::{from_value, to_value};
use crate::{CrdReport, Default, Error, Explanation, FieldError, Stored, Verdict, Withheld, stages};

/// A CustomResourceDefinition, compiled. Make one and ask it as often as you like; it can be shared among threads.
///
/// ```
/// use pleach_sdk::Definition;
///
/// let definition = Definition::new(&pleach_sdk::example_crd())?;
/// assert!(definition.check().is_valid());
/// assert!(definition.validate(&pleach_sdk::example_widget(3))?.is_valid());
/// # Ok::<(), pleach_sdk::Error>(())
/// ```
#[derive(Debug)]
pub struct Definition {
    document: Value,
    api_version: ApiVersion,
    crd: Crd,
    kind: Kind,
}

impl Definition {
    /// Compiles a CRD: `serde_json::Value`, `k8s_openapi`'s `CustomResourceDefinition`, the `crd()` of a type with
    /// kube's `#[derive(CustomResource)]`. Whether the server would accept it is what [`Definition::check`] says.
    ///
    /// ```
    /// let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// assert_eq!(definition.kind(), "Widget");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn new(crd: &impl Serialize) -> Result<Self, Error> {
        Self::from_value(to_value(crd)?)
    }

    /// Compiles a CRD in YAML.
    ///
    /// ```
    /// let definition = pleach_sdk::Definition::from_yaml(
    ///     "
    /// apiVersion: apiextensions.k8s.io/v1
    /// kind: CustomResourceDefinition
    /// metadata: {name: widgets.example.com}
    /// spec:
    ///   group: example.com
    ///   scope: Cluster
    ///   names: {plural: widgets, kind: Widget}
    ///   versions: []
    /// ",
    /// )?;
    /// assert!(!definition.check().is_valid(), "there must be a version");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    #[cfg(feature = "yaml")]
    pub fn from_yaml(text: &str) -> Result<Self, Error> {
        let value = pleach_yaml::parse(text.as_bytes()).map_err(|error| Error::Yaml(error.to_string()))?;
        Self::from_value(value)
    }

    fn from_value(document: Value) -> Result<Self, Error> {
        let unknown = || unknown_kind(&document);
        if text(&document, "kind") != pleach_crd::KIND {
            return Err(unknown());
        }
        let api_version = ApiVersion::from_api_version(text(&document, "apiVersion")).ok_or_else(unknown)?;
        let decoded = pleach_crd::decode(&document, api_version, Options::default()).map_err(|error| {
            let (kind, version) = (pleach_crd::KIND, api_version.version());
            Error::BadRequest(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"
            ))
        })?;
        let kind = compile::kind_named(&decoded.crd, &decoded.crd.spec.names);
        Ok(Self { document, api_version, crd: decoded.crd, kind })
    }

    /// The kind of its objects.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// assert_eq!(definition.kind(), "Widget");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn kind(&self) -> &str {
        &self.kind.kind
    }

    /// The `apiVersion`s in which its objects are served, as the CRD lists them.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// assert_eq!(definition.api_versions().collect::<Vec<_>>(), ["example.com/v1"]);
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn api_versions(&self) -> impl Iterator<Item = &str> {
        self.kind.versions.iter().filter(|version| version.served).map(|version| version.api_version.as_str())
    }

    /// Would the server accept this CRD? Errors, warnings, and whether its schemas are structural.
    ///
    /// ```
    /// let mut crd = pleach_sdk::example_crd();
    /// crd["metadata"]["name"] = "gadgets.example.com".into();
    /// let report = pleach_sdk::Definition::new(&crd)?.check();
    /// assert_eq!(
    ///     report.verdict.errors[0].to_string(),
    ///     "metadata.name: Invalid value: \"gadgets.example.com\": must be spec.names.plural+\".\"+spec.group"
    /// );
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn check(&self) -> CrdReport {
        self.report(stages::create)
    }

    /// Would the server accept this CRD in place of another one? What the old one has already may stay. An old one
    /// without a status is taken as established.
    ///
    /// ```
    /// let old = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// let mut crd = pleach_sdk::example_crd();
    /// crd["spec"]["scope"] = "Cluster".into();
    /// let report = pleach_sdk::Definition::new(&crd)?.check_update(&old);
    /// assert_eq!(report.verdict.errors[0].field, "spec.scope");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn check_update(&self, old: &Self) -> CrdReport {
        self.report(|resource, value| {
            let mut old = old.established().encode(self.api_version);
            stages::update(resource, value, &mut old)
        })
    }

    /// The CRD as it is served. One without a status is taken as established: what a file shows is in use.
    fn established(&self) -> Crd {
        let mut crd = self.crd.clone();
        if crd.status.conditions.is_none() {
            let now = "1970-01-01T00:00:00Z";
            let (of, holds) = (ConditionType::Established, ConditionStatus::True);
            crd.set_condition(of, holds, "InitialNamesAccepted", "the initial names have been accepted", now);
            crd.status.accepted_names = crd.spec.names.clone();
            crd.status.stored_versions = crd.spec.storage_version().map(|version| vec![version.name.clone()]);
        }
        crd
    }

    fn report(&self, validate: impl FnOnce(Resource<'_>, &mut Value) -> Verdict) -> CrdReport {
        let kind = crd_kind();
        let version = kind.version(self.api_version.version()).unwrap_or(kind.storage);
        let resource = Resource::new(kind, version);
        let (verdict, unknown_fields) = match stages::decode(resource, self.document.clone()) {
            Ok(decoded) => {
                let mut value = decoded.value.into_value();
                (validate(resource, &mut value), decoded.strict)
            }
            Err(_) => unreachable!("the same document was decoded before"),
        };
        let structural_violations = match self.crd.structural_violations() {
            Ok(violations) => violations.iter().map(FieldError::from).collect(),
            Err(message) => vec![FieldError::from(&pleach_meta::FieldError::internal("spec", message))],
        };
        CrdReport { verdict, structural_violations, unknown_fields }
    }

    /// The object that would be stored if this object were created: pruned and defaulted, not validated.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// let stored = definition.store(&pleach_sdk::example_widget(3))?;
    /// assert_eq!(stored.object["spec"]["color"], "red");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn store(&self, object: &impl Serialize) -> Result<Stored, Error> {
        let value = to_value(object)?;
        let resource = self.resource(&value, Subresource::None)?;
        let decoded = stages::decode(resource, value)?;
        let mut value = decoded.value.into_value();
        stages::prepare_for_create(resource, &mut value);
        let defaults = &decoded.changes.defaults;
        Ok(Stored {
            object: from_value(&value)?,
            pruned: decoded.strict,
            nulls_dropped: decoded.changes.nulls_dropped,
            defaulted: defaults.applied.iter().map(Default::of).collect::<Result<_, _>>()?,
            withheld: defaults
                .withheld
                .iter()
                .map(|withheld| Withheld { path: withheld.path.clone(), reason: withheld.reason.to_string() })
                .collect(),
        })
    }

    /// Would the server accept this object? It is decoded and defaulted first.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// let verdict = definition.validate(&pleach_sdk::example_widget(0))?;
    /// assert_eq!(verdict.errors[0].field, "spec.size");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn validate(&self, object: &impl Serialize) -> Result<Verdict, Error> {
        let value = to_value(object)?;
        let resource = self.resource(&value, Subresource::None)?;
        let mut value = stages::decode(resource, value)?.value.into_value();
        Ok(stages::create(resource, &mut value))
    }

    /// Would the server accept this object in place of `old`? Transition rules apply, values that were invalid before
    /// may stay, and metadata that cannot change must not.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// let (new, old) = (pleach_sdk::example_widget(2), pleach_sdk::example_widget(3));
    /// let verdict = definition.validate_update(&new, &old)?;
    /// assert_eq!(verdict.errors[0].to_string(), "spec.size: Invalid value: 2: cannot shrink");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn validate_update(&self, object: &impl Serialize, old: &impl Serialize) -> Result<Verdict, Error> {
        self.update(object, old, Subresource::None)
    }

    /// The same for an update of `/status`: only the status of `object` counts.
    ///
    /// ```
    /// # use serde_json::json;
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// let (mut new, old) = (pleach_sdk::example_widget(2), pleach_sdk::example_widget(3));
    /// new["status"] = json!({"ready": "yes"});
    /// let verdict = definition.validate_status_update(&new, &old)?;
    /// assert_eq!(verdict.errors[0].field, "status.ready");
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn validate_status_update(
        &self,
        object: &impl Serialize,
        old: &impl Serialize,
    ) -> Result<Verdict, Error> {
        self.update(object, old, Subresource::Status)
    }

    fn update(
        &self,
        object: &impl Serialize,
        old: &impl Serialize,
        subresource: Subresource,
    ) -> Result<Verdict, Error> {
        let (value, old) = (to_value(object)?, to_value(old)?);
        let resource = self.resource(&value, subresource)?;
        let old_resource = self.resource(&old, subresource)?;
        let mut value = stages::decode(resource, value)?.value.into_value();
        let mut old = stages::decode(old_resource, old)?.value.into_value();
        Ok(stages::update(resource, &mut value, &mut old))
    }

    /// Explains the field at this path in the stored version; `None` if there is none. Lists and maps are entered
    /// implicitly: `spec.ports.name`.
    ///
    /// ```
    /// # let definition = pleach_sdk::Definition::new(&pleach_sdk::example_crd())?;
    /// assert!(definition.explain("spec.size").unwrap().required);
    /// assert!(definition.explain("spec.shape").is_none());
    /// # Ok::<(), pleach_sdk::Error>(())
    /// ```
    pub fn explain(&self, path: &str) -> Option<Explanation> {
        explain(self.kind.versions.get(self.kind.storage)?.props.as_ref()?, path)
    }

    /// The version that an object is written in.
    fn resource(&self, object: &Value, subresource: Subresource) -> Result<Resource<'_>, Error> {
        let api_version = text(object, "apiVersion");
        let version = self.kind.versions.iter().position(|v| v.served && v.api_version == api_version);
        match version {
            Some(version) if text(object, "kind") == self.kind.kind => {
                Ok(Resource { kind: &self.kind, version, subresource })
            }
            _ => Err(unknown_kind(object)),
        }
    }
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn unknown_kind(object: &Value) -> Error {
    Error::UnknownKind { api_version: text(object, "apiVersion").into(), kind: text(object, "kind").into() }
}

/// The kind of CRDs.
fn crd_kind() -> &'static Kind {
    static KIND: OnceLock<Kind> = OnceLock::new();
    KIND.get_or_init(|| {
        kinds::all(Gates::default())
            .find(|kind| kind.plural == kinds::crd::PLURAL)
            .expect("CRDs are a built-in kind")
    })
}

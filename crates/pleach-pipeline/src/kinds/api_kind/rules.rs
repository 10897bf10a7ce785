//! Rules of a kind of the table: a trait whose methods have defaults.

use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_meta::object_meta::NameRule;

use crate::kind::Column;
use crate::resource::Subresource;
use crate::strategy::{Effect, ParamAccess, Role, Stamp};

/// The rules of a kind: defaults, validation, columns.
pub trait Rules: std::fmt::Debug + Send + Sync + 'static {
    /// Fills in defaults after decoding.
    fn default(&self, object: &mut Value) {
        let _ = object;
    }

    /// Paths of empty objects that admission sees, and that are removed before validation.
    fn kept_when_empty(&self) -> &'static [[&'static str; 2]] {
        &[]
    }

    /// `PrepareForCreate`: sets the fields that the server owns. The status is empty already.
    fn prepare_for_create(&self, object: &mut Value) {
        let _ = object;
    }

    /// `PrepareForUpdate`: sets the fields that the server owns. `old` is the stored object.
    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        let _ = (object, old);
    }

    /// `PrepareForUpdate` of a subresource that writes the object. For `status` the rest of the object is reset already.
    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, subresource: Subresource) {
        let _ = (object, old, subresource);
    }

    /// Sets the fields that depend on the user or the time of a write.
    fn stamp(&self, object: &mut Value, old: Option<&Value>, subresource: Subresource, by: &Stamp<'_>) {
        let _ = (object, old, subresource, by);
    }

    /// Whether a new object keeps the status that its author wrote.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// The rule for names.
    fn name_rule(&self) -> NameRule {
        NameRule::Dns1123Subdomain
    }

    /// Whether an update validates all metadata a second time.
    fn revalidates_metadata(&self) -> bool {
        false
    }

    /// The errors of an object. `old` is the object it replaces.
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let _ = (object, old);
        Vec::new()
    }

    /// The errors of an update of a subresource that writes the object.
    fn validate_subresource(&self, object: &Value, old: &Value, subresource: Subresource) -> Vec<FieldError> {
        let _ = (object, old, subresource);
        Vec::new()
    }

    /// Warnings about an object that is stored.
    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let _ = (object, old);
        Vec::new()
    }

    /// The name in a table, if it is not that of the object.
    fn table_name(&self, object: &Value) -> Option<String> {
        let _ = object;
        None
    }

    /// The conditions of a row in a table.
    fn row_conditions(&self, object: &Value) -> Option<Value> {
        let _ = object;
        None
    }

    /// The columns after the name.
    fn columns(&self) -> Vec<Column> {
        crate::columns::generic()
    }

    /// The warning of a deletion that does not say what becomes of dependents.
    fn orphan_warning(&self) -> Option<&'static str> {
        None
    }

    /// Whether admission is configured by objects of this kind: no policy and no webhook is about them.
    fn is_admission_configuration(&self) -> bool {
        false
    }

    /// Whether a status update may change metadata.
    fn status_changes_metadata(&self) -> bool {
        true
    }

    /// The parameters that the author of an object must be allowed to read.
    fn param_access(&self, object: &Value, old: Option<&Value>) -> Option<ParamAccess> {
        let _ = (object, old);
        None
    }

    /// Whether status updates keep the labels of the stored object.
    fn status_keeps_labels(&self) -> bool {
        false
    }

    /// Whether objects may be deleted after some time.
    fn has_grace_period(&self) -> bool {
        false
    }

    /// The grace period of a deletion, given what was asked for; none for kinds that go at once.
    fn grace_period(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        let _ = (object, asked);
        None
    }

    /// The effect of a commit.
    fn after_commit(&self) -> Effect {
        Effect::None
    }

    /// The kind's role for admission plugins.
    fn role(&self) -> Role {
        Role::Other
    }

    /// Where the template of Pods is.
    fn pod_template(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The finalizer that protects objects that are in use.
    fn protection_finalizer(&self) -> Option<&'static str> {
        None
    }

    /// Whether objects name a StorageClass.
    fn has_storage_class(&self) -> bool {
        false
    }

    /// Whether addresses and ports are allocated to objects.
    fn allocates(&self) -> bool {
        false
    }

    /// An object in another version.
    fn convert(&self, object: &Value, to: &str) -> Option<Value> {
        let _ = (object, to);
        None
    }
}

/// A kind without rules of its own.
#[derive(Debug)]
pub struct Plain;

impl Rules for Plain {}

//! Validation of admission policies and bindings, in upstream's order.

use std::collections::HashSet;

use pleach_cel::names::is_identifier;
use pleach_json::{Value, json};
use pleach_jsonpath::JsonPath;
use pleach_meta::names::{
    check_dns1035_label, check_dns1123_subdomain, check_path_segment_name, check_qualified_name,
};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::selector::validate_label_selector;
use pleach_meta::{FieldError, Path};

use super::expressions::{CompileError, Mode, Output, Scope};
use crate::kinds::fields::{items, text, text_at};
use crate::kinds::webhook_configuration::{check_choice, check_rule};

const MOST_CONDITIONS: usize = 64;
const MOST_ANNOTATIONS: usize = 20;
/// The steps that an annotation in an error is charged: the error has all of them.
const SHOWN: u64 = 300;
const LONGEST_ANNOTATION: usize = 5 * 1024;
/// The operations of mutating policies: creates and updates.
const MUTATING_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];

/// The errors of a policy, which replaces `old` if there is one. Expressions that were stored before may use what
/// newer servers know.
pub(super) fn policy(object: &Value, old: Option<&Value>, mutating: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Value::object();
    let spec = object.get("spec").unwrap_or(&empty);
    let path = Path::new("spec");
    let stored = old.and_then(|old| old.get("spec"));
    let mut check = PolicyCheck {
        params: spec.get("paramKind").is_some(),
        stored: stored.map(expressions).unwrap_or_default(),
        scope: Scope::new(spec.get("paramKind").is_some()),
        errors: &mut errors,
    };
    check_choice(spec, "failurePolicy", &["Fail", "Ignore"], &path, check.errors);
    if let Some(kind) = spec.get("paramKind") {
        check_param_kind(kind, &path.child("paramKind"), check.errors);
    }
    match spec.get("matchConstraints") {
        None => check.errors.push(FieldError::required(path.child("matchConstraints"), "")),
        Some(constraints) => {
            let path = path.child("matchConstraints");
            check_match_resources(constraints, &path, check.errors);
            if items(constraints, "resourceRules").is_empty() {
                check.errors.push(FieldError::required(path.child("resourceRules"), ""));
            }
            if mutating {
                check_mutating_operations(constraints, &path, check.errors);
            }
        }
    }
    let same = |key: &str| stored.is_some_and(|stored| stored.get(key) == spec.get(key));
    if !(same("paramKind") && same("matchConditions")) {
        check.match_conditions(spec, &path.child("matchConditions"));
    }
    if mutating || !items(spec, "variables").is_empty() {
        check.scope = Scope::with_variables(check.params);
    }
    for (i, variable) in items(spec, "variables").iter().enumerate() {
        check.variable(variable, &path.child("variables").index(i));
    }
    if mutating {
        check.mutations(spec, &path);
    } else {
        check.validations(spec, ObjectMeta::of(object).name(), &path);
    }
    errors
}

struct PolicyCheck<'c> {
    params: bool,
    stored: HashSet<&'c str>,
    scope: Scope,
    errors: &'c mut Vec<FieldError>,
}

impl PolicyCheck<'_> {
    fn mode(&self, expression: &str) -> Mode {
        if self.stored.contains(expression) { Mode::Stored } else { Mode::New }
    }

    /// Compiles an expression and says what is wrong with it; `shown` is the value that errors quote.
    fn compile(&mut self, expression: &str, output: Output, mode: Mode, path: &Path<'_>, shown: &str) {
        if let Err(error) = self.scope.compile(expression, output, mode) {
            self.failed(&error, path, shown);
        }
    }

    fn failed(&mut self, error: &CompileError, path: &Path<'_>, shown: &str) {
        self.errors.push(if error.internal {
            FieldError::internal(path, error.detail.clone())
        } else {
            FieldError::invalid(path, shown, error.detail.clone())
        });
    }

    fn match_conditions(&mut self, spec: &Value, path: &Path<'_>) {
        let conditions = items(spec, "matchConditions");
        if conditions.len() > MOST_CONDITIONS {
            self.errors.push(FieldError::too_many(path, conditions.len() as i64, MOST_CONDITIONS as i64));
        }
        let mut names = HashSet::new();
        for (i, condition) in conditions.iter().enumerate() {
            let path = path.index(i);
            let expression = text(condition, "expression").trim();
            if expression.is_empty() {
                self.errors.push(FieldError::required(path.child("expression"), ""));
            } else {
                let mode = self.mode(expression);
                self.compile(expression, Output::Bool, mode, &path.child("expression"), expression);
            }
            let (name, path) = (text(condition, "name"), path.child("name"));
            if name.is_empty() {
                self.errors.push(FieldError::required(path, ""));
                continue;
            }
            let messages = check_qualified_name(name).into_iter();
            self.errors.extend(messages.map(|message| FieldError::invalid(path, name, message)));
            if !names.insert(name) {
                self.errors.push(FieldError::duplicate(path, name));
            }
        }
    }

    fn variable(&mut self, variable: &Value, path: &Path<'_>) {
        let (name, expression) = (text(variable, "name"), text(variable, "expression"));
        if name.trim().is_empty() {
            self.errors.push(FieldError::required(path.child("name"), "name is not specified"));
        } else if !is_identifier(name) {
            let detail = "must be a valid CEL identifier";
            self.errors.push(FieldError::invalid(path.child("name"), name, detail));
        }
        if expression.trim().is_empty() {
            self.errors.push(FieldError::required(path.child("expression"), "expression is not specified"));
            return;
        }
        match self.scope.compile(expression, Output::Any, self.mode(expression)) {
            Ok((_, ty)) => self.scope.add_variable(name, Some(&ty)),
            Err(error) => {
                self.failed(&error, &path.child("expression"), expression);
                self.scope.add_variable(name, None);
            }
        }
    }

    fn validations(&mut self, spec: &Value, name: &str, path: &Path<'_>) {
        let (validations, annotations) = (items(spec, "validations"), items(spec, "auditAnnotations"));
        if validations.is_empty() && annotations.is_empty() {
            for key in ["validations", "auditAnnotations"] {
                let detail = "validations or auditAnnotations must contain at least one item";
                self.errors.push(FieldError::required(path.child(key), detail));
            }
            return;
        }
        for (i, validation) in validations.iter().enumerate() {
            self.validation(validation, &path.child("validations").index(i));
        }
        let path = path.child("auditAnnotations");
        if annotations.len() > MOST_ANNOTATIONS {
            let shown = annotations.iter().map(|annotation| {
                pleach_work::charge(SHOWN);
                json!({"Key": (text(annotation, "key")), "ValueExpression": (text(annotation, "valueExpression"))})
            });
            let detail = format!("must not have more than {MOST_ANNOTATIONS} auditAnnotations");
            self.errors.push(FieldError::invalid(path, Value::from(shown.collect::<Vec<_>>()), detail));
        }
        let mut keys = HashSet::new();
        for (i, annotation) in annotations.iter().enumerate() {
            let path = path.index(i);
            self.annotation(annotation, name, &path);
            let key = text(annotation, "key");
            if !keys.insert(key) {
                self.errors.push(FieldError::duplicate(path.child("key"), key));
            }
        }
    }

    fn validation(&mut self, validation: &Value, path: &Path<'_>) {
        let expression = text(validation, "expression");
        if expression.trim().is_empty() {
            self.errors.push(FieldError::required(path.child("expression"), "expression is not specified"));
        } else {
            let mode = self.mode(expression);
            self.compile(expression, Output::Bool, mode, &path.child("expression"), expression);
        }
        let by_expression = text(validation, "messageExpression");
        let at = path.child("messageExpression");
        if !by_expression.trim().is_empty() {
            let mode = self.mode(by_expression);
            self.compile(by_expression, Output::Text, mode, &at, by_expression);
        } else if !by_expression.is_empty() {
            self.errors.push(FieldError::invalid(at, by_expression, "must be non-empty if specified"));
        }
        let message = text(validation, "message");
        let at = path.child("message");
        if !message.is_empty() && message.trim().is_empty() {
            self.errors.push(FieldError::invalid(at, message, "must be non-empty if specified"));
        } else if message.trim().contains(['\n', '\r']) {
            self.errors.push(FieldError::invalid(at, message, "must not contain line breaks"));
        }
        let reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
        check_choice(validation, "reason", &reasons, path, self.errors);
    }

    fn annotation(&mut self, annotation: &Value, policy: &str, path: &Path<'_>) {
        let (key, expression) = (text(annotation, "key"), text(annotation, "valueExpression"));
        let at = path.child("key");
        if policy.is_empty() {
            self.errors.push(FieldError::invalid(at, key, "requires metadata.name be non-empty"));
        } else {
            let name = format!("{policy}/{key}");
            let messages = check_qualified_name(&name).into_iter();
            self.errors.extend(messages.map(|message| FieldError::invalid(at, name.as_str(), message)));
        }
        let at = path.child("valueExpression");
        let trimmed = expression.trim();
        if trimmed.is_empty() {
            self.errors.push(FieldError::required(at, "valueExpression is not specified"));
        } else if trimmed.len() > LONGEST_ANNOTATION {
            let detail = format!("must not exceed {LONGEST_ANNOTATION} bytes in length");
            self.errors.push(FieldError::required(at, detail));
        } else {
            let mode = self.mode(expression);
            self.compile(trimmed, Output::TextOrNull, mode, &at, expression);
        }
    }

    fn mutations(&mut self, spec: &Value, path: &Path<'_>) {
        let at = path.child("mutations");
        if items(spec, "mutations").is_empty() {
            self.errors.push(FieldError::required(at, "mutations must contain at least one item"));
        }
        for (i, mutation) in items(spec, "mutations").iter().enumerate() {
            self.mutation(mutation, &at.index(i));
        }
        let policy = text(spec, "reinvocationPolicy");
        let at = path.child("reinvocationPolicy");
        if policy.is_empty() {
            self.errors.push(FieldError::required(at, ""));
        } else if !["IfNeeded", "Never"].contains(&policy) {
            self.errors.push(FieldError::not_supported(at, policy, &["IfNeeded", "Never"]));
        }
    }

    fn mutation(&mut self, mutation: &Value, path: &Path<'_>) {
        let kind = text(mutation, "patchType");
        let (own, other, output) = match kind {
            "" => return self.errors.push(FieldError::required(path.child("patchType"), "")),
            "JSONPatch" => ("jsonPatch", "applyConfiguration", Output::JsonPatch),
            "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Output::Object),
            _ => {
                let known = ["ApplyConfiguration", "JSONPatch"];
                return self.errors.push(FieldError::not_supported(path.child("patchType"), kind, &known));
            }
        };
        match mutation.get(own) {
            None => {
                let detail = format!("must be specified when patchType is {kind}");
                self.errors.push(FieldError::required(path.child(own), detail));
            }
            Some(patch) => {
                let path = path.child(own);
                let expression = text(patch, "expression");
                let trimmed = expression.trim();
                if trimmed.is_empty() {
                    self.errors.push(FieldError::required(path.child("expression"), ""));
                } else {
                    let mode = self.mode(expression);
                    self.compile(trimmed, output, mode, &path.child("expression"), trimmed);
                }
            }
        }
        if mutation.get(other).is_some() {
            let (shown, detail) =
                (format!("{{{other}}}"), format!("must not be specified when patchType is {kind}"));
            self.errors.push(FieldError::invalid(path.child(other), shown, detail));
        }
    }
}

/// All expressions of a stored policy.
fn expressions(spec: &Value) -> HashSet<&str> {
    let mut found = HashSet::new();
    let lists = [
        ("matchConditions", "expression"),
        ("variables", "expression"),
        ("validations", "expression"),
        ("validations", "messageExpression"),
        ("auditAnnotations", "valueExpression"),
    ];
    for (list, key) in lists {
        found.extend(items(spec, list).iter().map(|item| text(item, key)));
    }
    for mutation in items(spec, "mutations") {
        found.insert(text_at(mutation, &["applyConfiguration", "expression"]));
        found.insert(text_at(mutation, &["jsonPatch", "expression"]));
    }
    found
}

/// The errors of a binding.
pub(super) fn binding(object: &Value, mutating: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Value::object();
    let spec = object.get("spec").unwrap_or(&empty);
    let path = Path::new("spec");
    let policy = text(spec, "policyName");
    let at = path.child("policyName");
    if policy.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else {
        let messages = check_dns1123_subdomain(policy).into_iter();
        errors.extend(messages.map(|message| FieldError::invalid(at, policy, message)));
    }
    if let Some(reference) = spec.get("paramRef") {
        check_param_ref(reference, &path.child("paramRef"), &mut errors);
    }
    if let Some(resources) = spec.get("matchResources") {
        let path = path.child("matchResources");
        check_match_resources(resources, &path, &mut errors);
        if mutating {
            check_mutating_operations(resources, &path, &mut errors);
        }
    }
    if !mutating {
        check_actions(spec, &path.child("validationActions"), &mut errors);
    }
    errors
}

fn check_actions(spec: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let actions: Vec<&str> = items(spec, "validationActions").iter().filter_map(Value::as_str).collect();
    let mut seen = HashSet::new();
    for (i, action) in actions.iter().copied().enumerate() {
        let known = ["Audit", "Deny", "Warn"];
        if !known.contains(&action) {
            errors.push(FieldError::not_supported(path.index(i), action, &known));
        }
        if !seen.insert(action) {
            errors.push(FieldError::duplicate(path.index(i), action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let shown: Vec<Value> = actions.iter().map(|action| Value::from(*action)).collect();
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, Value::from(shown), detail));
    }
    if seen.is_empty() {
        errors.push(FieldError::required(path, "at least one validation action is required"));
    }
}

fn check_param_ref(reference: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, selector) = (text(reference, "name"), reference.get("selector"));
    if !name.is_empty() {
        let at = path.child("name");
        let messages = check_path_segment_name(name).into_iter();
        errors.extend(messages.map(|message| FieldError::invalid(at, name, message)));
        if selector.is_some() {
            errors.push(FieldError::forbidden(at, EXCLUSIVE));
        }
    }
    if let Some(selector) = selector {
        validate_label_selector(selector, &path.child("selector"), errors);
        if !name.is_empty() {
            errors.push(FieldError::forbidden(path.child("selector"), EXCLUSIVE));
        }
    } else if name.is_empty() {
        errors.push(FieldError::required(path, "one of name or selector must be specified"));
    }
    let action = text(reference, "parameterNotFoundAction");
    let at = path.child("parameterNotFoundAction");
    if action.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if !["Deny", "Allow"].contains(&action) {
        errors.push(FieldError::not_supported(at, action, &["Deny", "Allow"]));
    }
}

fn check_param_kind(kind: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let (api_version, name) = (text(kind, "apiVersion"), text(kind, "kind"));
    let at = path.child("apiVersion");
    let slashes = api_version.matches('/').count();
    if api_version.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if slashes > 1 {
        let detail = format!("unexpected GroupVersion string: {api_version}");
        errors.push(FieldError::invalid(at, api_version, detail));
    } else {
        let (group, version) = match api_version {
            "/" => ("", ""),
            both => both.split_once('/').unwrap_or(("", both)),
        };
        let messages = check_dns1123_subdomain(group);
        if !group.is_empty() && !messages.is_empty() {
            errors.push(FieldError::invalid(at, group, messages.join(",")));
        }
        let messages = check_dns1035_label(version);
        if version.is_empty() {
            errors.push(FieldError::invalid(at, api_version, "version must be specified"));
        } else if !messages.is_empty() {
            errors.push(FieldError::invalid(at, version, messages.join(",")));
        }
    }
    let at = path.child("kind");
    let messages = check_dns1035_label(&name.to_lowercase());
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if !messages.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {}", messages.join(","));
        errors.push(FieldError::invalid(at, name, detail));
    }
}

fn check_match_resources(resources: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    check_choice(resources, "matchPolicy", &["Equivalent", "Exact"], path, errors);
    for selector in ["namespaceSelector", "objectSelector"] {
        if let Some(value) = resources.get(selector) {
            validate_label_selector(value, &path.child(selector), errors);
        }
    }
    for rules in ["resourceRules", "excludeResourceRules"] {
        for (i, rule) in items(resources, rules).iter().enumerate() {
            let path = path.child(rules);
            let path = path.index(i);
            let mut seen = HashSet::new();
            let names = items(rule, "resourceNames").iter().filter_map(Value::as_str);
            for (i, name) in names.enumerate() {
                let path = path.child("resourceNames");
                let path = path.index(i);
                let messages = check_path_segment_name(name).into_iter();
                errors.extend(messages.map(|message| FieldError::invalid(path, name, message)));
                if !seen.insert(name) {
                    errors.push(FieldError::duplicate(path, name));
                }
            }
            check_rule(rule, &path, errors);
        }
    }
}

fn check_mutating_operations(resources: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let path = path.child("resourceRules");
    let path = path.child("operations");
    for rule in items(resources, "resourceRules") {
        for operation in items(rule, "operations").iter().filter_map(Value::as_str) {
            if !MUTATING_OPERATIONS.contains(&operation) {
                errors.push(FieldError::not_supported(path, operation, &MUTATING_OPERATIONS));
            }
        }
    }
}

/// The errors of the status of a policy.
pub(super) fn status(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(status) = object.get("status") else { return errors };
    let root = Path::new("status");
    if let Some(checking) = status.get("typeChecking") {
        let path = root.child("typeChecking");
        let path = path.child("expressionWarnings");
        for (i, warning) in items(checking, "expressionWarnings").iter().enumerate() {
            let path = path.index(i);
            if text(warning, "warning").is_empty() {
                errors.push(FieldError::required(path.child("warning"), ""));
            }
            let reference = text(warning, "fieldRef").trim();
            let at = path.child("fieldRef");
            if reference.is_empty() {
                errors.push(FieldError::required(at, ""));
            } else if let Err(error) = JsonPath::parse(&format!("{{{reference}}}")) {
                errors.push(FieldError::invalid(at, reference, format!("invalid JSONPath: {error}")));
            }
        }
    }
    check_conditions(status, &root.child("conditions"), &mut errors);
    errors
}

/// The error about the reason of a condition.
const CONDITION_REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// Whether a text may be the reason of a condition.
fn is_condition_reason(reason: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = reason.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.last().is_some_and(|last| is_word(*last))
        && bytes.iter().all(|byte| is_word(*byte) || b",:".contains(byte))
}

/// Conditions of the type that most statuses have.
fn check_conditions(status: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let mut seen = HashSet::new();
    for (i, condition) in items(status, "conditions").iter().enumerate() {
        let path = path.index(i);
        let kind = text(condition, "type");
        if !seen.insert(kind) {
            errors.push(FieldError::duplicate(path.child("type"), kind));
        }
        let at = path.child("type");
        let messages = check_qualified_name(kind).into_iter();
        errors.extend(messages.map(|message| FieldError::invalid(at, kind, message)));
        let known = ["False", "True", "Unknown"];
        if !known.contains(&text(condition, "status")) {
            let at = path.child("status");
            errors.push(FieldError::not_supported(at, text(condition, "status"), &known));
        }
        let generation = condition.get("observedGeneration").and_then(Value::as_int).unwrap_or_default();
        if generation < 0 {
            let at = path.child("observedGeneration");
            errors.push(FieldError::invalid(at, generation, "must be greater than or equal to zero"));
        }
        if condition.get("lastTransitionTime").is_none_or(Value::is_null) {
            errors.push(FieldError::required(path.child("lastTransitionTime"), ""));
        }
        let (reason, at) = (text(condition, "reason"), path.child("reason"));
        if reason.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else {
            if !is_condition_reason(reason) {
                errors.push(FieldError::invalid(at, reason, CONDITION_REASON));
            }
            if reason.len() > 1024 {
                errors.push(FieldError::too_long(at, 1024));
            }
        }
        if text(condition, "message").len() > 32 * 1024 {
            errors.push(FieldError::too_long(path.child("message"), 32 * 1024));
        }
    }
}

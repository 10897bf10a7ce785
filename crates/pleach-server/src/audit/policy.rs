//! The audit policy (`audit.k8s.io/v1` Policy): which requests are recorded, at which level and in which stages.

use pleach_auth::{Attributes, ResourceAttributes};
use pleach_engine::kinds::credentials;
use pleach_json::Value;

/// How much of a request is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    None,
    /// Request metadata and the status.
    Metadata,
    /// The request's object, too.
    Request,
    /// The response's object, too.
    RequestResponse,
}

impl Level {
    /// The name in policies and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

/// When an event is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before the request is handled.
    RequestReceived,
    /// The headers of a watch are sent.
    ResponseStarted,
    /// The response is made.
    ResponseComplete,
    /// The handler panicked.
    Panic,
}

impl Stage {
    const ALL: [Self; 4] =
        [Self::RequestReceived, Self::ResponseStarted, Self::ResponseComplete, Self::Panic];

    /// The name in policies and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RequestReceived => "RequestReceived",
            Self::ResponseStarted => "ResponseStarted",
            Self::ResponseComplete => "ResponseComplete",
            Self::Panic => "Panic",
        }
    }
}

/// Resources of a group.
#[derive(Debug)]
struct GroupResources {
    group: String,
    resources: Vec<String>,
    names: Vec<String>,
}

#[derive(Debug)]
struct Rule {
    level: Level,
    users: Vec<String>,
    user_groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<GroupResources>,
    namespaces: Vec<String>,
    paths: Vec<String>,
    omit_stages: Vec<Stage>,
    omit_managed_fields: bool,
}

/// Which requests are recorded.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
}

/// The result of the policy for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    /// How much is recorded.
    pub level: Level,
    /// Whether managed fields are left out of objects.
    pub omit_managed_fields: bool,
    omit_stages: Vec<Stage>,
}

impl Audited {
    /// Whether an event is made in a stage.
    pub fn has(&self, stage: Stage) -> bool {
        !self.omit_stages.contains(&stage)
    }
}

impl Policy {
    /// Reads a policy file. Every error is one that keeps the server from starting.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value = pleach_yaml::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        if (text("apiVersion"), text("kind")) != ("audit.k8s.io/v1", "Policy") {
            return Err(format!(
                "unknown group version field {:?} or kind {:?} in policy, expected audit.k8s.io/v1 and Policy",
                text("apiVersion"),
                text("kind")
            ));
        }
        known(&value, "", &["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"])?;
        let omit_stages = stages(&value, "omitStages")?;
        let omit_managed_fields = flag(&value, "", "omitManagedFields")?.unwrap_or_default();
        let mut rules = Vec::new();
        for (i, rule) in list(&value, "", "rules")?.iter().enumerate() {
            let path = format!("rules[{i}]");
            rules.push(Rule::read(rule, &path, &omit_stages, omit_managed_fields)?);
        }
        if rules.is_empty() {
            return Err("loaded illegal policy with 0 rules".into());
        }
        Ok(Self { rules })
    }

    /// The policy for a request: the first rule that matches counts.
    pub fn evaluate(&self, attributes: &Attributes<'_>) -> Option<Audited> {
        let rule = self.rules.iter().find(|rule| rule.matches(attributes))?;
        let level = match &attributes.resource {
            Some(resource) if rule.level > Level::Metadata && !rule.asks_for_bodies_of(resource) => {
                Level::Metadata
            }
            _ => rule.level,
        };
        (level != Level::None).then(|| Audited {
            level,
            omit_managed_fields: rule.omit_managed_fields,
            omit_stages: rule.omit_stages.clone(),
        })
    }
}

impl Rule {
    fn read(rule: &Value, path: &str, omitted: &[Stage], omit_managed_fields: bool) -> Result<Self, String> {
        const FIELDS: [&str; 9] = [
            "level",
            "users",
            "userGroups",
            "verbs",
            "resources",
            "namespaces",
            "nonResourceURLs",
            "omitStages",
            "omitManagedFields",
        ];
        known(rule, path, &FIELDS)?;
        let level = match rule.get("level").and_then(Value::as_str).unwrap_or_default() {
            "None" => Level::None,
            "Metadata" => Level::Metadata,
            "Request" => Level::Request,
            "RequestResponse" => Level::RequestResponse,
            "" => return Err(format!("{path}.level: Required value")),
            other => {
                return Err(format!(
                    "{path}.level: Unsupported value: {other:?}: supported values: \"Metadata\", \"None\", \"Request\", \"RequestResponse\""
                ));
            }
        };
        let mut resources = Vec::new();
        for (j, group) in list(rule, path, "resources")?.iter().enumerate() {
            let path = format!("{path}.resources[{j}]");
            known(group, &path, &["group", "resources", "resourceNames"])?;
            let read = GroupResources {
                group: group.get("group").and_then(Value::as_str).unwrap_or_default().into(),
                resources: texts(group, &path, "resources")?,
                names: texts(group, &path, "resourceNames")?,
            };
            if read.resources.is_empty() && !read.names.is_empty() {
                return Err(format!(
                    "{path}.resourceNames: Invalid value: using resourceNames requires at least one resource"
                ));
            }
            resources.push(read);
        }
        let paths = texts(rule, path, "nonResourceURLs")?;
        let namespaces = texts(rule, path, "namespaces")?;
        let is_of_resources = !resources.is_empty() || !namespaces.is_empty();
        if is_of_resources && !paths.is_empty() {
            return Err(format!(
                "{path}.nonResourceURLs: Invalid value: rules cannot apply to both regular resources and non-resource URLs"
            ));
        }
        for url in paths.iter().filter(|url| *url != "*") {
            if !url.starts_with('/') {
                return Err(format!(
                    "{path}.nonResourceURLs: Invalid value: {url:?}: non-resource URL rules must begin with a '/' character"
                ));
            }
            if url.trim_end_matches('*').contains('*') || url.ends_with("**") {
                return Err(format!(
                    "{path}.nonResourceURLs: Invalid value: {url:?}: non-resource URL wildcards '*' must be the final character of the rule"
                ));
            }
        }
        let mut omit_stages = stages(rule, &format!("{path}.omitStages"))?;
        omit_stages.extend(omitted);
        Ok(Self {
            level,
            users: texts(rule, path, "users")?,
            user_groups: texts(rule, path, "userGroups")?,
            verbs: texts(rule, path, "verbs")?,
            resources,
            namespaces,
            paths,
            omit_stages,
            omit_managed_fields: flag(rule, path, "omitManagedFields")?.unwrap_or(omit_managed_fields),
        })
    }

    fn matches(&self, attributes: &Attributes<'_>) -> bool {
        let has = |list: &[String], text: &str| list.iter().any(|own| own == text);
        let user = &attributes.user;
        if !self.users.is_empty() && !has(&self.users, &user.name) {
            return false;
        }
        if !self.user_groups.is_empty() && !user.groups.iter().any(|group| has(&self.user_groups, group)) {
            return false;
        }
        if !self.verbs.is_empty() && !has(&self.verbs, attributes.verb.as_str()) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return attributes.resource.as_ref().is_some_and(|resource| self.matches_resource(resource));
        }
        if !self.paths.is_empty() {
            let path = attributes.path;
            let matches = |pattern: &String| match pattern.strip_suffix('*') {
                Some(prefix) => path.starts_with(prefix),
                None => pattern == path,
            };
            return attributes.resource.is_none() && self.paths.iter().any(matches);
        }
        true
    }

    /// Whether bodies of a resource are recorded: those with credentials in them only if the rule names the resource.
    fn asks_for_bodies_of(&self, resource: &ResourceAttributes<'_>) -> bool {
        let found = credentials::RESOURCES.iter().find(|(group, name, subresource)| {
            (*group, *name) == (resource.group, resource.resource)
                && (subresource.is_empty() || *subresource == resource.subresource)
        });
        let Some((group, name, subresource)) = found else { return true };
        let full = format!("{name}/{subresource}");
        self.resources.iter().any(|own| {
            own.group == *group
                && own.resources.iter().any(|own| {
                    own.split('/').next() == Some(*name) && (subresource.is_empty() || *own == full)
                })
        })
    }

    fn matches_resource(&self, resource: &ResourceAttributes<'_>) -> bool {
        if !self.namespaces.is_empty() && !self.namespaces.iter().any(|own| own == resource.namespace) {
            return false;
        }
        self.resources.is_empty() || self.resources.iter().any(|group| group.matches(resource))
    }
}

impl GroupResources {
    fn matches(&self, asked: &ResourceAttributes<'_>) -> bool {
        if self.group != asked.group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        if !self.names.is_empty() && !self.names.iter().any(|name| *name == *asked.name) {
            return false;
        }
        let sub = asked.subresource;
        self.resources.iter().any(|own| match own.split_once('/') {
            None => own == "*" || (own == asked.resource && sub.is_empty()),
            Some(("*", own)) => !sub.is_empty() && own == sub,
            Some((resource, "*")) => resource == asked.resource,
            Some((resource, own)) => resource == asked.resource && own == sub,
        })
    }
}

/// Refuses fields that do not exist: a rule with a spelling mistake would record too little.
fn known(value: &Value, path: &str, fields: &[&str]) -> Result<(), String> {
    let Some(members) = value.as_object() else { return Err(format!("{path}: must be an object")) };
    match members.keys().find(|key| !fields.contains(&key.as_str())) {
        Some(key) if path.is_empty() => Err(format!("unknown field \"{key}\"")),
        Some(key) => Err(format!("unknown field \"{path}.{key}\"")),
        None => Ok(()),
    }
}

fn list<'a>(value: &'a Value, path: &str, key: &str) -> Result<Vec<&'a Value>, String> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.iter().collect()),
        Some(_) => Err(format!("{path}.{key}: must be a list")),
    }
}

fn texts(value: &Value, path: &str, key: &str) -> Result<Vec<String>, String> {
    let text = |item: &&Value| item.as_str().map(str::to_owned);
    let items = list(value, path, key)?;
    items
        .iter()
        .map(|item| text(item).ok_or_else(|| format!("{path}.{key}: must be a list of texts")))
        .collect()
}

fn flag(value: &Value, path: &str, key: &str) -> Result<Option<bool>, String> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_bool().map(Some).ok_or_else(|| format!("{path}.{key}: must be true or false"))
        }
    }
}

fn stages(value: &Value, path: &str) -> Result<Vec<Stage>, String> {
    let names = texts(value, "", "omitStages")?;
    let stage = |name: &String| Stage::ALL.iter().find(|stage| stage.as_str() == name).copied();
    names
        .iter()
        .map(|name| {
            stage(name).ok_or_else(|| {
                format!(
                    "{path}: Invalid value: {name:?}: allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic"
                )
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pleach_auth::{UserInfo, Verb};

    use super::*;

    const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, users: [system:noise], verbs: [watch]}
- {level: None, nonResourceURLs: [/healthz*, /version]}
- level: Metadata
  resources: [{group: '', resources: [secrets, configmaps]}]
- level: RequestResponse
  omitManagedFields: true
  resources: [{group: example.com, resources: ['foos/*', '*/scale'], resourceNames: []}]
  namespaces: [a, '']
- {level: Request, userGroups: [dev], omitStages: [Panic]}
";

    #[test]
    fn the_first_rule_that_matches_counts() {
        let policy = Policy::parse(POLICY).unwrap();
        let user = UserInfo::authenticated("ann", [pleach_json::Str::from("dev")]);
        let ask = |verb: &str, path: &str, resource: Option<(&str, &str, &str, &str)>| {
            let resource = resource.map(|(group, resource, subresource, namespace)| ResourceAttributes {
                group,
                resource,
                subresource,
                namespace,
                ..ResourceAttributes::default()
            });
            let path = path.to_owned();
            let attributes = Attributes { user: user.clone(), verb: Verb::of(verb), path: &path, resource };
            policy.evaluate(&attributes).map(|audited| audited.level)
        };
        for (path, resource, want) in [
            ("/healthz/ping", None, None),
            ("/version/x", None, Some(Level::Request)),
            ("", Some(("", "secrets", "", "b")), Some(Level::Metadata)),
            ("", Some(("", "secrets", "status", "b")), Some(Level::Metadata)),
            ("", Some(("example.com", "foos", "", "a")), Some(Level::RequestResponse)),
            ("", Some(("example.com", "foos", "status", "")), Some(Level::RequestResponse)),
            ("", Some(("example.com", "bars", "scale", "a")), Some(Level::RequestResponse)),
            ("", Some(("example.com", "bars", "", "a")), Some(Level::Request)),
            ("", Some(("example.com", "foos", "", "b")), Some(Level::Request)),
        ] {
            assert_eq!(ask("get", path, resource), want, "{path} {resource:?}");
        }
        let other = Attributes { user: UserInfo::anonymous(), verb: Verb::Get, path: "/x", resource: None };
        assert_eq!(policy.evaluate(&other), None, "no rule is no record");
    }

    #[test]
    fn bodies_with_credentials_are_recorded_only_by_rules_that_name_their_resource() {
        let policy = |rules: &str| {
            Policy::parse(&format!("{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{rules}]}}"))
                .unwrap()
        };
        let everything = policy("{level: RequestResponse}");
        let core =
            policy("{level: RequestResponse, resources: [{group: ''}, {group: '', resources: ['*']}]}");
        let named = policy(
            "{level: RequestResponse, resources: [{group: '', resources: [secrets, serviceaccounts/token]}, {group: authentication.k8s.io, resources: [tokenreviews]}]}",
        );
        for (group, name, subresource, bodies) in [
            ("", "secrets", "", false),
            ("", "serviceaccounts", "token", false),
            ("authentication.k8s.io", "tokenreviews", "", false),
            ("", "serviceaccounts", "", true),
            ("", "configmaps", "", true),
            ("example.com", "secrets", "", true),
        ] {
            let resource =
                ResourceAttributes { group, resource: name, subresource, ..ResourceAttributes::default() };
            let user = UserInfo::anonymous();
            let attributes = Attributes { user, verb: Verb::Get, path: "", resource: Some(resource) };
            let level = |policy: &Policy| policy.evaluate(&attributes).map(|audited| audited.level);
            let want = if bodies { Level::RequestResponse } else { Level::Metadata };
            assert_eq!(level(&everything), Some(want), "{group} {name} {subresource}");
            assert!(!group.is_empty() || level(&core) == Some(want), "{name} by a star");
            assert!(bodies || level(&named) == Some(Level::RequestResponse), "{name} by name");
        }
    }

    #[test]
    fn policies_with_errors_are_refused() {
        let with = |rules: &str| format!("{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{rules}]}}");
        for (text, want) in [
            (with(""), "loaded illegal policy with 0 rules"),
            (with("{}"), "rules[0].level: Required value"),
            (with("{level: metadata}"), "rules[0].level: Unsupported value: \"metadata\""),
            (with("{level: None, user: [a]}"), "unknown field \"rules[0].user\""),
            (with("{level: None, users: a}"), "rules[0].users: must be a list"),
            (with("{level: None, omitStages: [x]}"), "rules[0].omitStages: Invalid value: \"x\""),
            (with("{level: None, nonResourceURLs: [x]}"), "must begin with a '/'"),
            (with("{level: None, nonResourceURLs: ['/a*b']}"), "must be the final character"),
            (with("{level: None, nonResourceURLs: ['/a'], namespaces: [b]}"), "cannot apply to both"),
            ("kind: Policy".into(), "expected audit.k8s.io/v1"),
            ("{".into(), "yaml"),
        ] {
            let error = Policy::parse(&text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}

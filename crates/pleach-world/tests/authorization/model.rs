//! A model of RBAC, after its documentation: written without a look at the server.

use pleach_auth::UserInfo;
use pleach_json::Str;

/// A generator of numbers that are the same in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn some(&mut self, of: &[&str], most: usize) -> Vec<String> {
        (0..=self.below(most)).map(|_| of[self.below(of.len())].to_owned()).collect()
    }
}

/// A role with one rule, bound to one subject.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) name: String,
    /// Of a Role and RoleBinding; none for ClusterRole and ClusterRoleBinding.
    pub(crate) namespace: Option<String>,
    /// Kind and name; of service accounts namespace and name.
    pub(crate) subject: (&'static str, String),
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) names: Vec<String>,
}

impl Grant {
    pub(crate) fn random(random: &mut Random, name: &str) -> Self {
        let subjects = [
            ("User", "alice"),
            ("User", "bob"),
            ("Group", "team"),
            ("Group", "system:authenticated"),
            ("ServiceAccount", "a/robot"),
            ("User", "system:serviceaccount:a:robot"),
            ("User", "team"),
        ];
        let (kind, subject) = subjects[random.below(subjects.len())];
        let verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"];
        let resources =
            ["configmaps", "foos", "foos/status", "foos/scale", "bars", "*", "*/status", "foos/*"];
        Self {
            name: name.to_owned(),
            namespace: [None, Some("a"), Some("b"), Some("a")][random.below(4)].map(str::to_owned),
            subject: (kind, subject.to_owned()),
            verbs: random.some(&verbs, 3),
            groups: random.some(&["", "example.com", "*", "other.example.com"], 2),
            resources: random.some(&resources, 3),
            names: if random.below(4) == 0 { random.some(&["x", "z"], 1) } else { Vec::new() },
        }
    }
}

/// The attributes of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) verb: &'a str,
    pub(crate) group: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

pub(crate) fn is_allowed(grants: &[Grant], user: &UserInfo, asked: &Asked<'_>) -> bool {
    let groups: Vec<&str> = user.groups.iter().map(Str::as_str).collect();
    if groups.contains(&"system:masters") {
        return true;
    }
    let wanted = if asked.subresource.is_empty() {
        asked.resource.to_owned()
    } else {
        format!("{}/{}", asked.resource, asked.subresource)
    };
    grants.iter().any(|grant| {
        let in_scope = match &grant.namespace {
            None => true,
            Some(namespace) => namespace == asked.namespace,
        };
        let is_subject = match grant.subject.0 {
            "User" => grant.subject.1 == user.name.as_str(),
            "Group" => groups.contains(&grant.subject.1.as_str()),
            _ => {
                let (namespace, name) = grant.subject.1.split_once('/').unwrap();
                user.name.as_str() == format!("system:serviceaccount:{namespace}:{name}")
            }
        };
        let any = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        let has_resource = grant.resources.iter().any(|rule| {
            rule == "*"
                || *rule == wanted
                || !asked.subresource.is_empty() && *rule == format!("*/{}", asked.subresource)
        });
        let has_name = grant.names.is_empty() || grant.names.iter().any(|name| name == asked.name);
        in_scope
            && is_subject
            && any(&grant.verbs, asked.verb)
            && any(&grant.groups, asked.group)
            && has_resource
            && has_name
    })
}

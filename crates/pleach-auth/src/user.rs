//! The user of a request, as authentication found it.

use std::sync::Arc;

use pleach_json::Str;

/// The group of users that may do everything.
pub const MASTERS: &str = "system:masters";
/// The group of all users with valid credentials.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of the anonymous user.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of the anonymous user.
pub const ANONYMOUS: &str = "system:anonymous";

/// A user: upstream's `user.Info`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The name.
    pub name: Str,
    /// The uid; often empty.
    pub uid: Str,
    /// The groups, `system:authenticated` last among them.
    pub groups: Vec<Str>,
    /// Extra attributes from the authenticator, sorted by key.
    pub extra: Vec<(Str, Vec<Str>)>,
}

impl UserInfo {
    /// The user of requests without credentials.
    pub fn anonymous() -> Arc<Self> {
        Arc::new(Self {
            name: Str::new_static(ANONYMOUS),
            groups: vec![Str::new_static(UNAUTHENTICATED)],
            ..Self::default()
        })
    }

    /// A user with valid credentials: `system:authenticated` is added to the groups.
    pub fn authenticated(name: impl Into<Str>, groups: impl IntoIterator<Item = Str>) -> Arc<Self> {
        let groups = groups.into_iter().collect();
        Arc::new(Self { name: name.into(), groups, ..Self::default() }.with_group_of_all())
    }

    /// The user with `system:authenticated` among its groups, unless the credentials say that it is not: by the name of
    /// the anonymous user or its group.
    #[must_use]
    pub fn with_group_of_all(mut self) -> Self {
        if !self.is_anonymous() && !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(Str::new_static(AUTHENTICATED));
        }
        self
    }

    /// The service account of a background controller.
    pub fn controller(name: &str) -> Arc<Self> {
        let groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system"];
        let name = format!("system:serviceaccount:kube-system:{name}");
        Self::authenticated(name, groups.map(Str::new_static))
    }

    /// Whether the user is a member of a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Whether the request came without credentials.
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authenticated_users_are_in_the_group_of_all() {
        for (given, want) in [
            (&["a"][..], &["a", "system:authenticated"][..]),
            (&["system:authenticated", "a"][..], &["system:authenticated", "a"][..]),
            (&[][..], &["system:authenticated"][..]),
        ] {
            let user = UserInfo::authenticated("bob", given.iter().map(|group| Str::from(*group)));
            assert_eq!(user.groups, want, "{given:?}");
            assert!(user.is_in(AUTHENTICATED) && !user.is_anonymous());
        }
        let user = UserInfo::authenticated("bob", [Str::new_static(UNAUTHENTICATED)]);
        assert_eq!(user.groups, [UNAUTHENTICATED], "a member of the anonymous user's group");
        let user = UserInfo::authenticated(ANONYMOUS, [Str::from("a")]);
        assert_eq!(user.groups, ["a"], "the anonymous user's name");
    }

    #[test]
    fn the_anonymous_user_is_not_authenticated() {
        let user = UserInfo::anonymous();
        assert!(user.is_anonymous() && user.is_in(UNAUTHENTICATED) && !user.is_in(AUTHENTICATED));
    }

    #[test]
    fn controllers_are_service_accounts() {
        let user = UserInfo::controller("generic-garbage-collector");
        assert_eq!(user.name, "system:serviceaccount:kube-system:generic-garbage-collector");
        assert_eq!(
            user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]
        );
    }
}

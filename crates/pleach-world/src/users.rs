//! The users of a world besides the admin: bearer tokens that tests ask for.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use pleach_auth::authenticator::Authenticated;
use pleach_auth::{Answer, Authenticator, Credentials, UserInfo};
use pleach_json::Str;

use crate::clock::SeededRandomness;

/// Users by their tokens. Clones are the same users.
#[derive(Clone, Default)]
pub(crate) struct Users {
    by_token: Arc<RwLock<HashMap<String, Arc<UserInfo>>>>,
}

impl Users {
    /// Other users, at first the same ones.
    pub(crate) fn fork(&self) -> Self {
        let users = self.by_token.read().unwrap_or_else(PoisonError::into_inner).clone();
        Self { by_token: Arc::new(RwLock::new(users)) }
    }

    /// Adds a user, or gives one other groups. The token depends on the seed and the name only.
    pub(crate) fn add(&self, seed: u64, name: &str, groups: &[String]) -> String {
        let number =
            name.bytes().fold(seed, |hash, byte| SeededRandomness::new(hash ^ u64::from(byte)).next());
        let token = format!("{name}-{number:016x}");
        let user = UserInfo::authenticated(name, groups.iter().map(|group| Str::from(group.as_str())));
        self.by_token.write().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), user);
        token
    }
}

impl Authenticator for Users {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        let users = self.by_token.read().unwrap_or_else(PoisonError::into_inner);
        Answer::Now(Ok(credentials.token.and_then(|token| users.get(token).cloned())))
    }
}

//! Authentication: credentials of a request in, a user out.
//!
//! An authenticator handles one kind of credentials. The chain tries them in order, as upstream's union does: the
//! first that accepts the credentials decides. Credentials that no authenticator accepts are refused and never
//! fall back to the anonymous user.

use std::sync::Arc;

use crate::answer::Answer;
use crate::user::UserInfo;

/// The credentials of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'a> {
    /// The user that the client certificate of the connection names; an error if the certificate is not valid.
    pub certificate: Option<Result<&'a Arc<UserInfo>, Unauthorized>>,
    /// The bearer token.
    pub token: Option<&'a str>,
    /// The path of the request; empty if the credentials are not those of a request.
    pub path: &'a str,
}

/// The credentials are not valid: 401. The response has no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unauthorized;

/// The user of a request; none if the credentials are of another kind than the authenticator's.
pub type Authenticated = Result<Option<Arc<UserInfo>>, Unauthorized>;

/// Authenticates one kind of credentials.
pub trait Authenticator: Send + Sync + 'static {
    /// The user of a request.
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated>;
}

impl<T: Authenticator> Authenticator for Arc<T> {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        (**self).authenticate(credentials)
    }
}

/// Authenticators in the order they are tried.
pub struct AuthenticatorChain {
    authenticators: Vec<Box<dyn Authenticator>>,
    /// The user of requests without credentials; none if they are refused.
    anonymous: Option<Arc<UserInfo>>,
    /// The only paths of such requests; any if there are none.
    anonymous_paths: Vec<String>,
}

impl AuthenticatorChain {
    /// A chain; requests without credentials are the anonymous user's.
    pub fn new(authenticators: Vec<Box<dyn Authenticator>>) -> Self {
        Self { authenticators, anonymous: Some(UserInfo::anonymous()), anonymous_paths: Vec::new() }
    }

    /// Whether requests without credentials are the anonymous user's; otherwise they are refused.
    #[must_use]
    pub fn with_anonymous(mut self, allowed: bool) -> Self {
        self.anonymous = allowed.then(UserInfo::anonymous);
        self
    }

    /// Requests without credentials are the anonymous user's only if their path is one of these.
    #[must_use]
    pub fn with_anonymous_paths(mut self, paths: Vec<String>) -> Self {
        self.anonymous_paths = paths;
        self
    }

    /// The chain with another authenticator, which is tried last.
    #[must_use]
    pub fn with(mut self, authenticator: Box<dyn Authenticator>) -> Self {
        self.authenticators.push(authenticator);
        self
    }

    /// The user of a request.
    pub fn authenticate<'a>(
        &'a self,
        credentials: Credentials<'a>,
    ) -> Answer<'a, Result<Arc<UserInfo>, Unauthorized>> {
        let mut refused = false;
        for (at, authenticator) in self.authenticators.iter().enumerate() {
            match authenticator.authenticate(&credentials) {
                Answer::Now(Ok(Some(user))) => return Answer::Now(Ok(user)),
                Answer::Now(Ok(None)) => {}
                Answer::Now(Err(Unauthorized)) => refused = true,
                Answer::Later(answer) => {
                    return Answer::later(async move {
                        match answer.await {
                            Ok(Some(user)) => return Ok(user),
                            Ok(None) => {}
                            Err(Unauthorized) => refused = true,
                        }
                        for authenticator in &self.authenticators[at + 1..] {
                            match authenticator.authenticate(&credentials).get().await {
                                Ok(Some(user)) => return Ok(user),
                                Ok(None) => {}
                                Err(Unauthorized) => refused = true,
                            }
                        }
                        self.unknown(&credentials, refused)
                    });
                }
            }
        }
        Answer::Now(self.unknown(&credentials, refused))
    }

    /// The outcome when no authenticator accepts the credentials. An unknown token is not a missing one.
    fn unknown(&self, credentials: &Credentials<'_>, refused: bool) -> Result<Arc<UserInfo>, Unauthorized> {
        if refused || credentials.token.is_some() {
            return Err(Unauthorized);
        }
        if !self.anonymous_paths.is_empty()
            && !self.anonymous_paths.iter().any(|path| path == credentials.path)
        {
            return Err(Unauthorized);
        }
        self.anonymous.clone().ok_or(Unauthorized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts one token, at once or later; refuses another.
    struct Knows {
        token: &'static str,
        refuses: &'static str,
        later: bool,
    }

    impl Authenticator for Knows {
        fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
            let answer = match credentials.token {
                Some(token) if token == self.token => Ok(Some(UserInfo::authenticated(self.token, []))),
                Some(token) if token == self.refuses => Err(Unauthorized),
                _ => Ok(None),
            };
            if self.later { Answer::later(async move { answer }) } else { Answer::Now(answer) }
        }
    }

    #[tokio::test]
    async fn the_first_that_knows_the_credentials_decides() {
        for later in [[false, false], [true, false], [false, true], [true, true]] {
            let chain = AuthenticatorChain::new(vec![
                Box::new(Knows { token: "a", refuses: "b", later: later[0] }),
                Box::new(Knows { token: "b", refuses: "c", later: later[1] }),
            ]);
            for (token, want, why) in [
                (Some("a"), Some("a"), "the first knows it"),
                (Some("b"), Some("b"), "a success counts whatever others said"),
                (Some("c"), None, "refused"),
                (Some("d"), None, "a token that nobody knows does not fall back to anonymous"),
                (None, Some("system:anonymous"), "no credentials"),
            ] {
                let found = chain.authenticate(Credentials { token, ..Credentials::default() }).get().await;
                assert_eq!(found.ok().map(|user| user.name.clone()).as_deref(), want, "{why} {later:?}");
            }
        }
    }

    #[tokio::test]
    async fn requests_without_credentials_may_be_limited_to_paths() {
        let chain = AuthenticatorChain::new(Vec::new()).with_anonymous_paths(vec!["/livez".into()]);
        for (path, want) in [("/livez", true), ("/livez/ping", false), ("/api", false), ("", false)] {
            let found = chain.authenticate(Credentials { path, ..Credentials::default() }).get().await;
            assert_eq!(found.is_ok(), want, "{path}");
        }
    }
}

//! Authenticators: client certificates and bearer tokens.
//!
//! Order as upstream: the certificate, then the tokens of the token file, then those of service accounts
//! ([`crate::service_account`]), then anonymous.

use std::collections::HashMap;
use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap};
use pleach_auth::authenticator::Authenticated;
use pleach_auth::user::MASTERS;
use pleach_auth::{Answer, Authenticator, AuthenticatorChain, Credentials, Unauthorized, UserInfo};
use pleach_json::Str;
use sha2::{Digest as _, Sha256};

/// The authenticators in the order they are asked. `token` is the admin's, if there is one.
pub fn authenticators(token: Option<String>) -> AuthenticatorChain {
    let chain = AuthenticatorChain::new(vec![Box::new(ClientCertificate)]);
    match token {
        Some(token) => chain.with(Box::new(StaticToken::admin(token))),
        None => chain,
    }
}

/// The bearer token of a request.
pub fn bearer(headers: &HeaderMap) -> Bearer<'_> {
    headers.get(AUTHORIZATION).map_or(Bearer::None, |value| bearer_token(value.as_bytes()))
}

/// The credentials of a request to a path, and of the connection that it came on.
pub fn credentials<'a>(
    bearer: Bearer<'a>,
    certificate: Option<Result<&'a Arc<UserInfo>, Unauthorized>>,
    path: &'a str,
) -> Credentials<'a> {
    let token = match bearer {
        Bearer::Token(token) => Some(token),
        Bearer::Unreadable => Some(UNREADABLE),
        Bearer::None | Bearer::ExtraSpace => None,
    };
    Credentials { certificate, token, path }
}

/// The bearer token of an `Authorization` header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer<'a> {
    /// None: there is another scheme, or no token. The request has no credentials.
    None,
    /// None, because two blanks follow the scheme. The client is warned.
    ExtraSpace,
    /// The token.
    Token(&'a str),
    /// A token that is no text: no authenticator knows it.
    Unreadable,
}

/// The scheme of bearer tokens, in any case.
const SCHEME: &str = "bearer";

/// The warning of [`Bearer::ExtraSpace`].
pub const EXTRA_SPACE: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

/// The token of [`Bearer::Unreadable`].
const UNREADABLE: &str = "\u{fffd}";

/// Reads an `Authorization` header as upstream does: parts end at single blanks, and only the first two count.
pub fn bearer_token(header: &[u8]) -> Bearer<'_> {
    let header = header.trim_ascii();
    let Some((scheme, rest)) = header.split_at_checked(SCHEME.len()) else { return Bearer::None };
    let Some(rest) = rest.strip_prefix(b" ").filter(|_| scheme.eq_ignore_ascii_case(SCHEME.as_bytes()))
    else {
        return Bearer::None;
    };
    match memchr::memchr(b' ', rest) {
        Some(0) => Bearer::ExtraSpace,
        end => {
            let token = str::from_utf8(&rest[..end.unwrap_or(rest.len())]);
            token.map_or(Bearer::Unreadable, Bearer::Token)
        }
    }
}

/// Takes the user of the connection's certificate.
struct ClientCertificate;

impl Authenticator for ClientCertificate {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        Answer::Now(match credentials.certificate {
            Some(Ok(user)) => Ok(Some(user.clone())),
            Some(Err(Unauthorized)) => Err(Unauthorized),
            None => Ok(None),
        })
    }
}

/// One token and its user.
struct StaticToken {
    token: String,
    user: Arc<UserInfo>,
}

impl StaticToken {
    /// The admin's.
    fn admin(token: String) -> Self {
        Self { token, user: UserInfo::authenticated("admin", [Str::new_static(MASTERS)]) }
    }
}

impl Authenticator for StaticToken {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        let is_own = credentials.token.is_some_and(|token| same(token.as_bytes(), self.token.as_bytes()));
        Answer::Now(Ok(is_own.then(|| self.user.clone())))
    }
}

/// The tokens of a `--token-auth-file`.
#[derive(Debug)]
pub struct TokenFile {
    /// By the hash of the token: looking one up says nothing about the others.
    users: HashMap<[u8; 32], Arc<UserInfo>>,
}

impl TokenFile {
    /// Reads lines of CSV: token, user, uid, and groups in quotes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut users = HashMap::new();
        for (number, line) in text.lines().enumerate() {
            let columns =
                csv_columns(line).ok_or_else(|| format!("line {}: a quote does not end", number + 1))?;
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let [token, name, uid, rest @ ..] = &columns[..] else {
                return Err(format!(
                    "line {}: token, user name and user uid are required, there are {} columns",
                    number + 1,
                    columns.len()
                ));
            };
            if token.is_empty() {
                return Err(format!("line {}: the token is empty", number + 1));
            }
            let groups = rest.first().into_iter().flat_map(|groups| groups.split(','));
            let groups = groups.filter(|group| !group.is_empty()).map(Str::from);
            let user = UserInfo::authenticated(name.as_str(), groups);
            let user = UserInfo { uid: uid.as_str().into(), ..(*user).clone() };
            users.insert(Sha256::digest(token).into(), Arc::new(user));
        }
        Ok(Self { users })
    }
}

impl Authenticator for TokenFile {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        let hash = credentials.token.map(|token| <[u8; 32]>::from(Sha256::digest(token)));
        Answer::Now(Ok(hash.and_then(|hash| self.users.get(&hash).cloned())))
    }
}

/// The columns of a line of CSV; `None` if a quote does not end.
fn csv_columns(line: &str) -> Option<Vec<String>> {
    let (mut columns, mut column, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                column.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(std::mem::take(&mut column).trim().to_owned()),
            c => column.push(c),
        }
    }
    columns.push(column.trim().to_owned());
    (!quoted).then_some(columns)
}

/// Compares in a time that does not depend on where two tokens differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (x, y)| seen | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn users_are_known_by_certificate_then_token() {
        let chain = authenticators(Some("secret".into()));
        let bob = UserInfo::authenticated("bob", [Str::from("dev")]);
        for (certificate, header, want, why) in [
            (None, Some("Bearer secret"), Some("admin"), "the token"),
            (None, Some("bearer secret "), Some("admin"), "the scheme in any case, blanks around the header"),
            (None, Some("Bearer secret more"), Some("admin"), "what follows the token is ignored"),
            (None, Some("Bearer  secret"), Some("system:anonymous"), "two blanks before the token"),
            (None, Some("Bearer\tsecret"), Some("system:anonymous"), "no blank"),
            (None, Some("Bearer x secret"), None, "the token is x"),
            (None, Some("Bearer wrong"), None, "a wrong token is refused"),
            (Some(Ok(&bob)), Some("Bearer wrong"), Some("bob"), "the certificate comes first"),
            (Some(Err(Unauthorized)), None, None, "a certificate that is not valid is no anonymous user"),
            (Some(Err(Unauthorized)), Some("Bearer secret"), Some("admin"), "the token is good"),
            (None, None, Some("system:anonymous"), "no credentials"),
            (None, Some("Basic c2VjcmV0"), Some("system:anonymous"), "another scheme"),
            (None, Some("Bearer"), Some("system:anonymous"), "no token"),
            (None, Some("Bearer \u{fc}"), None, "a token beyond ASCII"),
            (None, Some("Bearer x \u{fc}"), None, "bytes after the token are ignored"),
            (None, Some("Bearer secret \u{fc}"), Some("admin"), "bytes after the token are ignored"),
            (None, Some("Basic \u{fc}"), Some("system:anonymous"), "another scheme"),
        ] {
            let value = |text: &str| http::HeaderValue::from_bytes(text.as_bytes()).unwrap();
            let headers = header.map(|text| (AUTHORIZATION, value(text))).into_iter().collect();
            let user = chain.authenticate(credentials(bearer(&headers), certificate, "/")).get().await;
            assert_eq!(user.ok().map(|user| user.name.clone()).as_deref(), want, "{why}");
        }
    }

    #[tokio::test]
    async fn a_token_that_is_no_text_is_refused() {
        let chain = authenticators(Some("secret".into()));
        let value = http::HeaderValue::from_bytes(b"Bearer \xff\xfe").unwrap();
        let headers = [(AUTHORIZATION, value)].into_iter().collect();
        let user = chain.authenticate(credentials(bearer(&headers), None, "/")).get().await;
        assert_eq!(user.err(), Some(Unauthorized));
    }

    #[tokio::test]
    async fn a_token_file_has_a_user_per_line() {
        let file = TokenFile::parse("t1,ann,1,\"dev,ops\"\n\n# a comment\nt2 , bob, 2\n").unwrap();
        let ask = async |token| {
            let credentials = Credentials { token: Some(token), ..Credentials::default() };
            file.authenticate(&credentials).get().await.unwrap()
        };
        let ann = ask("t1").await.unwrap();
        assert_eq!((ann.name.as_str(), ann.uid.as_str()), ("ann", "1"));
        assert_eq!(ann.groups, ["dev", "ops", "system:authenticated"]);
        assert_eq!(ask("t2").await.unwrap().groups, ["system:authenticated"]);
        assert!(ask("t3").await.is_none() && ask("").await.is_none());
        for (text, want) in [
            ("t,u", "line 1: token, user name and user uid are required, there are 2 columns"),
            ("a,b,c\n,u,1", "line 2: the token is empty"),
            ("t,u,1,\"g", "line 1: a quote does not end"),
        ] {
            assert_eq!(TokenFile::parse(text).unwrap_err(), want);
        }
    }

    #[test]
    fn tokens_are_equal_or_not() {
        for (a, b, want) in [("a", "a", true), ("a", "b", false), ("a", "ab", false), ("", "", true)] {
            assert_eq!(same(a.as_bytes(), b.as_bytes()), want, "{a} {b}");
        }
    }
}

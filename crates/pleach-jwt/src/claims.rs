//! From the claims of a verified token to a user: mappings, prefixes, required claims and rules.

use pleach_auth::UserInfo;
use pleach_cel::CelValue;
use pleach_go::json::type_error;
use pleach_go::strconv::quote;
use pleach_json::{Map, Str, Value, json};

use crate::config::{JwtConfig, Mapping};
use crate::expression::{Expression, budget, texts, variable};
use crate::rules::CompiledRules;

/// The user that claims are about. The error is why there is none, in upstream's words.
pub(crate) fn user(config: &JwtConfig, rules: &CompiledRules, claims: &Value) -> Result<UserInfo, String> {
    let mut mapper = Mapper { claims, budget: budget() };
    let name = mapper.username(&config.username, rules.username.as_ref())?;
    let groups = mapper.groups(&config.groups, rules.groups.as_ref())?;
    let uid = mapper.uid(&config.uid, rules.uid.as_ref())?;
    let mut extra: Vec<(Str, Vec<Str>)> = Vec::new();
    for (key, expression) in &rules.extra {
        let failed = |error: String| format!("oidc: error evaluating extra claim expression: {error}");
        let values = texts(&mapper.eval(expression).map_err(failed)?)
            .map_err(|error| failed(format!("{}: {error}", expression.text)))?;
        if !values.is_empty() {
            extra.push((key.as_str().into(), values));
        }
    }
    extra.sort();
    for (claim, wanted) in &config.required_claims {
        mapper.required(claim, wanted)?;
    }
    mapper
        .check(&rules.claim_rules, claims)
        .map_err(|error| format!("oidc: error evaluating claim validation expression: {error}"))?;
    let user = UserInfo { name: name.into(), uid: uid.into(), groups, extra };
    if !rules.user_rules.is_empty() {
        let shown = user_value(&user);
        mapper
            .check(&rules.user_rules, &shown)
            .map_err(|error| format!("oidc: error evaluating user info validation rule: {error}"))?;
    }
    Ok(user.with_group_of_all())
}

struct Mapper<'a> {
    claims: &'a Value,
    budget: pleach_cel::CostBudget,
}

impl Mapper<'_> {
    fn claim(&self, name: &str) -> Result<&Value, String> {
        self.claims.get(name).ok_or_else(|| "claim not present".to_owned())
    }

    /// A claim as Go decodes it into a string: null is empty.
    fn text(&self, name: &str) -> Result<String, String> {
        match self.claim(name)? {
            Value::String(text) => Ok(text.to_string()),
            Value::Null => Ok(String::new()),
            other => Err(type_error(other, "string")),
        }
    }

    /// The value of an expression, which borrows nothing of the claims.
    fn eval(&mut self, expression: &Expression) -> Result<CelValue<'static>, String> {
        let variables = variable(self.claims);
        let value = expression.eval(&variables, &mut self.budget)?;
        Ok(owned(&value))
    }

    fn username(&mut self, mapping: &Mapping, expression: Option<&Expression>) -> Result<String, String> {
        if let Some(expression) = expression {
            let failed = |error: String| format!("oidc: error evaluating username claim expression: {error}");
            let value = self.eval(expression).map_err(failed)?;
            let name = value
                .as_str()
                .ok_or_else(|| failed("username claim expression must return a string".into()))?;
            return Ok(name.to_owned());
        }
        let claim = &mapping.claim;
        let name = self
            .text(claim)
            .map_err(|error| format!("oidc: parse username claims {}: {error}", quote(claim)))?;
        if claim == "email"
            && let Some(verified) = self.claims.get("email_verified")
        {
            match verified {
                Value::Bool(true) => {}
                Value::Bool(false) | Value::Null => return Err("oidc: email not verified".into()),
                other => {
                    return Err(format!("oidc: parse 'email_verified' claim: {}", type_error(other, "bool")));
                }
            }
        }
        Ok(format!("{}{name}", mapping.prefix.as_deref().unwrap_or_default()))
    }

    fn groups(&mut self, mapping: &Mapping, expression: Option<&Expression>) -> Result<Vec<Str>, String> {
        if !mapping.claim.is_empty()
            && let Some(value) = self.claims.get(&mapping.claim)
        {
            let failed = |why: String| format!("oidc: parse groups claim {}: {why}", quote(&mapping.claim));
            let found: Vec<Str> = match value {
                Value::String(text) => vec![text.clone()],
                Value::Null => Vec::new(),
                Value::Array(items) if items.iter().all(|item| item.as_str().is_some() || item.is_null()) => {
                    items.iter().map(|item| Str::from(item.as_str().unwrap_or_default())).collect()
                }
                // A list that is none of texts is decoded as a text next.
                other => return Err(failed(type_error(other, "string"))),
            };
            return Ok(match mapping.prefix.as_deref() {
                None | Some("") => found,
                Some(prefix) => found.iter().map(|group| format!("{prefix}{group}").into()).collect(),
            });
        }
        let Some(expression) = expression else { return Ok(Vec::new()) };
        let failed = |error: String| format!("oidc: error evaluating group claim expression: {error}");
        let value = self.eval(expression).map_err(failed)?;
        texts(&value).map_err(failed)
    }

    fn uid(&mut self, mapping: &Mapping, expression: Option<&Expression>) -> Result<String, String> {
        if !mapping.claim.is_empty() {
            return self
                .text(&mapping.claim)
                .map_err(|error| format!("oidc: parse uid claim {}: {error}", quote(&mapping.claim)));
        }
        let Some(expression) = expression else { return Ok(String::new()) };
        let failed = |error: String| format!("oidc: error evaluating uid claim expression: {error}");
        let value = self.eval(expression).map_err(failed)?;
        let uid = value.as_str().ok_or_else(|| failed("uid claim expression must return a string".into()))?;
        Ok(uid.to_owned())
    }

    fn required(&self, claim: &str, wanted: &str) -> Result<(), String> {
        if self.claims.get(claim).is_none() {
            return Err(format!("oidc: required claim {claim} not present in ID token"));
        }
        let found = self.text(claim).map_err(|error| format!("oidc: parse claim {claim}: {error}"))?;
        if found == wanted {
            return Ok(());
        }
        Err(format!("oidc: required claim {claim} value does not match. Got = {found}, want = {wanted}"))
    }

    /// Evaluates rules, the first that is not true decides.
    fn check(&mut self, rules: &[(Expression, String)], about: &Value) -> Result<(), String> {
        let variables = variable(about);
        for (rule, message) in rules {
            match rule.eval(&variables, &mut self.budget)? {
                CelValue::Bool(true) => {}
                CelValue::Bool(false) => {
                    return Err(format!("validation expression '{}' failed: {message}", rule.text));
                }
                _ => return Err("validation expression must return a boolean".into()),
            }
        }
        Ok(())
    }
}

/// Texts and lists of texts, as values of their own; all else as its kind.
fn owned(value: &CelValue<'_>) -> CelValue<'static> {
    match value {
        CelValue::String(text) => CelValue::string(text.as_str()),
        CelValue::List(list) => CelValue::list(
            list.iter().map(|item| item.map_or(CelValue::Bool(false), |item| owned(&item))).collect(),
        ),
        CelValue::Null => CelValue::Null,
        // What is neither a text nor a list of texts is refused, whatever it is.
        _ => CelValue::Bool(false),
    }
}

/// A user as rules see it: every field is there.
fn user_value(user: &UserInfo) -> Value {
    let texts = |list: &[Str]| list.iter().map(|text| Value::from(text.clone())).collect::<Vec<_>>();
    let mut extra = Map::new();
    for (key, values) in &user.extra {
        extra.insert(key.as_str(), texts(values));
    }
    json!({
        "username": (user.name.as_str()), "uid": (user.uid.as_str()), "groups": (texts(&user.groups)),
        "extra": (extra),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ExtraMapping, Rule};
    use crate::rules::compile;

    fn config() -> JwtConfig {
        let mut config = JwtConfig::default();
        config.issuer.url = "https://issuer".into();
        config.issuer.audiences = vec!["a".into()];
        config.username = Mapping { claim: "sub".into(), prefix: Some("u:".into()), ..Mapping::default() };
        config
    }

    fn map(config: &JwtConfig, claims: Value) -> Result<UserInfo, String> {
        user(config, &compile(config, "", &[]).unwrap(), &claims)
    }

    fn expression(text: &str) -> Mapping {
        Mapping { expression: text.into(), ..Mapping::default() }
    }

    #[test]
    fn claims_become_a_user() {
        let mut config = config();
        config.groups = Mapping { claim: "groups".into(), prefix: Some("g:".into()), ..Mapping::default() };
        let found = map(&config, json!({"sub": "ann", "groups": ["a", "b"]})).unwrap();
        assert_eq!(found.name, "u:ann");
        assert_eq!(found.groups, ["g:a", "g:b", "system:authenticated"]);
        let found = map(&config, json!({"sub": "ann", "groups": "a"})).unwrap();
        assert_eq!(found.groups, ["g:a", "system:authenticated"], "a text is one group");
        assert_eq!(map(&config, json!({"sub": "ann"})).unwrap().groups, ["system:authenticated"]);
        for (claims, want) in [
            (json!({}), "oidc: parse username claims \"sub\": claim not present"),
            (json!({"sub": 1}), "oidc: parse username claims \"sub\": json: "),
            (json!({"sub": "a", "groups": [1]}), "oidc: parse groups claim \"groups\": json: "),
            (json!({"sub": "a", "groups": {}}), "oidc: parse groups claim \"groups\": json: "),
        ] {
            let error = map(&config, claims).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
    }

    #[test]
    fn an_email_must_be_verified_if_the_issuer_says_so() {
        let mut config = config();
        config.username =
            Mapping { claim: "email".into(), prefix: Some(String::new()), ..Mapping::default() };
        for (claims, want) in [
            (json!({"email": "a@b"}), Ok("a@b")),
            (json!({"email": "a@b", "email_verified": true}), Ok("a@b")),
            (json!({"email": "a@b", "email_verified": false}), Err("oidc: email not verified")),
            (json!({"email": "a@b", "email_verified": "yes"}), Err("oidc: parse 'email_verified' claim")),
        ] {
            match (map(&config, claims), want) {
                (Ok(user), Ok(name)) => assert_eq!(user.name, name),
                (Err(error), Err(start)) => assert!(error.starts_with(start), "{error}"),
                (found, want) => panic!("{found:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn expressions_map_and_rules_refuse() {
        let mut config = config();
        config.username = expression("'x:' + claims.sub");
        config.groups = expression("claims.roles.split(',')");
        config.uid = expression("claims.id");
        config.extra = vec![
            ExtraMapping { key: "example.com/tenant".into(), expression: "claims.tenant".into() },
            ExtraMapping { key: "example.com/empty".into(), expression: "''".into() },
        ];
        let rule =
            |text: &str, message: &str| Rule { expression: text.into(), message: message.into(), index: 0 };
        config.claim_rules = vec![rule("claims.exp - claims.nbf <= 86400", "a day at most")];
        config.user_rules = vec![rule("!user.username.startsWith('x:system:')", "reserved")];
        config.required_claims = vec![("hd".into(), "example.com".into())];
        let claims = |sub: &str, exp: i64, hd: &str| json!({"sub": (sub), "roles": "a,b", "id": "7", "tenant": ["t"], "exp": (exp), "nbf": 0, "hd": (hd)});
        let found = map(&config, claims("ann", 1, "example.com")).unwrap();
        assert_eq!((found.name.as_str(), found.uid.as_str()), ("x:ann", "7"));
        assert_eq!(found.groups, ["a", "b", "system:authenticated"]);
        assert_eq!(found.extra, [("example.com/tenant".into(), vec![Str::from("t")])]);
        for (claims, want) in [
            (
                claims("ann", 86_401, "example.com"),
                "oidc: error evaluating claim validation expression: validation expression 'claims.exp - claims.nbf <= 86400' failed: a day at most",
            ),
            (
                claims("system:a", 1, "example.com"),
                "oidc: error evaluating user info validation rule: validation expression '!user.username.startsWith('x:system:')' failed: reserved",
            ),
            (
                claims("ann", 1, "other"),
                "oidc: required claim hd value does not match. Got = other, want = example.com",
            ),
            (json!({"sub": 1}), "oidc: error evaluating username claim expression: "),
        ] {
            let error = map(&config, claims).unwrap_err();
            assert!(error.starts_with(want), "{error}");
        }
        config.username = expression("claims.id == '7'");
        let error = map(&config, claims("ann", 1, "example.com")).unwrap_err();
        assert_eq!(
            error,
            "oidc: error evaluating username claim expression: username claim expression must return a string"
        );
    }
}

//! AuthenticationConfiguration (`apiserver.config.k8s.io/v1`): read at start, and again when the file changes.

use std::path::PathBuf;

use pleach_go::json::{GoField, GoStruct, GoType, STRING, always, omitempty};
use pleach_json::Value;
use pleach_meta::field_error::{FieldError, aggregate};

use crate::rules;

const KIND: &str = "AuthenticationConfiguration";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// More JWT authenticators are refused.
const MAX_AUTHENTICATORS: usize = 64;

/// A configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticationConfig {
    /// The JWT authenticators.
    pub jwt: Vec<JwtConfig>,
    /// Which requests without credentials are served; `None` leaves it to the flag.
    pub anonymous: Option<AnonymousConfig>,
}

/// Which requests without credentials are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnonymousConfig {
    /// Whether any are.
    pub enabled: bool,
    /// Only requests of these paths; of all if there are none.
    pub paths: Vec<String>,
}

/// A JWT authenticator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwtConfig {
    /// The issuer.
    pub issuer: IssuerConfig,
    /// Rules about the claims.
    pub claim_rules: Vec<Rule>,
    /// Claims that must have a value, which is compared as text.
    pub required_claims: Vec<(String, String)>,
    /// The user's name.
    pub username: Mapping,
    /// The user's groups.
    pub groups: Mapping,
    /// The user's uid.
    pub uid: Mapping,
    /// The user's extra.
    pub extra: Vec<ExtraMapping>,
    /// Rules about the user.
    pub user_rules: Vec<Rule>,
    /// Algorithms that are accepted, by name; all that are known if empty.
    pub algorithms: Vec<String>,
    /// Rules that are not well formed, found while the file was read: their paths, values and what is wrong.
    pub malformed: Vec<Malformed>,
}

/// An error of a field, by the path within its authenticator, its value and what is wrong.
pub type Malformed = (String, Option<String>, &'static str);

/// An issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IssuerConfig {
    /// The issuer, as the claim `iss` has it.
    pub url: String,
    /// Where the discovery document is, if not below the URL.
    pub discovery_url: String,
    /// CAs of the issuer's certificate, as PEM; the system's if empty.
    pub certificate_authority: String,
    /// A token must have one of these audiences.
    pub audiences: Vec<String>,
    /// `MatchAny`, or empty for one audience.
    pub audience_match_policy: String,
    /// Not supported: the server connects directly.
    pub egress_selector: String,
    /// A file with the keys, instead of discovery.
    pub jwks_file: Option<PathBuf>,
}

/// Where a part of the user comes from: a claim with a prefix, or an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// The claim.
    pub claim: String,
    /// The prefix of the value.
    pub prefix: Option<String>,
    /// The expression.
    pub expression: String,
}

/// A key of the user's extra.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraMapping {
    /// The key.
    pub key: String,
    /// The expression of its values.
    pub expression: String,
}

/// An expression that must be true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// The expression.
    pub expression: String,
    /// The message of the refusal.
    pub message: String,
    /// Its place in the file's list.
    pub index: usize,
}

const fn shape(name: &'static str, fields: &'static [GoField]) -> GoStruct {
    GoStruct { name, package: "v1", fields }
}

const TEXTS: GoType = GoType::Slice(&STRING);
const TEXT_POINTER: GoType = GoType::Pointer(&STRING);

static ISSUER: GoStruct = shape(
    "Issuer",
    &[
        always("url", STRING),
        omitempty("discoveryURL", STRING),
        omitempty("certificateAuthority", STRING),
        always("audiences", TEXTS),
        omitempty("audienceMatchPolicy", GoType::String("v1.AudienceMatchPolicyType")),
        omitempty("egressSelectorType", GoType::String("v1.EgressSelectorType")),
        omitempty("jwksFile", STRING),
    ],
);
static CLAIM_RULE: GoStruct = shape(
    "ClaimValidationRule",
    &[
        omitempty("claim", STRING),
        omitempty("requiredValue", STRING),
        omitempty("expression", STRING),
        omitempty("message", STRING),
    ],
);
static USER_RULE: GoStruct =
    shape("UserValidationRule", &[always("expression", STRING), omitempty("message", STRING)]);
static PREFIXED: GoStruct = shape(
    "PrefixedClaimOrExpression",
    &[
        omitempty("claim", STRING),
        GoField { name: "prefix", ty: TEXT_POINTER, omit: pleach_go::json::Omit::Never, embedded: "" },
        omitempty("expression", STRING),
    ],
);
static CLAIM_OR_EXPRESSION: GoStruct =
    shape("ClaimOrExpression", &[omitempty("claim", STRING), omitempty("expression", STRING)]);
static EXTRA: GoStruct = shape("ExtraMapping", &[always("key", STRING), always("valueExpression", STRING)]);
static MAPPINGS: GoStruct = shape(
    "ClaimMappings",
    &[
        always("username", GoType::Struct(&PREFIXED)),
        always("groups", GoType::Struct(&PREFIXED)),
        always("uid", GoType::Struct(&CLAIM_OR_EXPRESSION)),
        always("extra", GoType::Slice(&GoType::Struct(&EXTRA))),
    ],
);
static AUTHENTICATOR: GoStruct = shape(
    "JWTAuthenticator",
    &[
        always("issuer", GoType::Struct(&ISSUER)),
        always("claimValidationRules", GoType::Slice(&GoType::Struct(&CLAIM_RULE))),
        always("claimMappings", GoType::Struct(&MAPPINGS)),
        always("userValidationRules", GoType::Slice(&GoType::Struct(&USER_RULE))),
    ],
);
static CONDITION: GoStruct = shape("AnonymousAuthCondition", &[always("path", STRING)]);
static ANONYMOUS: GoStruct = shape(
    "AnonymousAuthConfig",
    &[always("enabled", GoType::Bool), always("conditions", GoType::Slice(&GoType::Struct(&CONDITION)))],
);
static CONFIGURATION: GoStruct = shape(
    KIND,
    &[
        always("kind", STRING),
        always("apiVersion", STRING),
        always("jwt", GoType::Slice(&GoType::Struct(&AUTHENTICATOR))),
        always("anonymous", GoType::Pointer(&GoType::Struct(&ANONYMOUS))),
    ],
);

impl AuthenticationConfig {
    /// Reads a file. Its issuers must be others than those of service account tokens.
    pub fn parse(text: &str, service_account_issuers: &[String]) -> Result<Self, String> {
        let value = pleach_yaml::config::read(text, KIND, &VERSIONS, &CONFIGURATION)?;
        let jwt: Vec<JwtConfig> = items(&value, "jwt").map(JwtConfig::read).collect();
        let anonymous = value.get("anonymous").filter(|anonymous| !anonymous.is_null());
        let anonymous = anonymous.map(|anonymous| AnonymousConfig {
            enabled: anonymous.get("enabled").and_then(Value::as_bool).unwrap_or_default(),
            paths: items(anonymous, "conditions").map(|condition| text_of(condition, "path")).collect(),
        });
        let config = Self { jwt, anonymous };
        let errors = config.errors(service_account_issuers);
        if errors.is_empty() { Ok(config) } else { Err(aggregate(&errors)) }
    }

    fn errors(&self, service_account_issuers: &[String]) -> Vec<FieldError> {
        if self.jwt.len() > MAX_AUTHENTICATORS {
            return vec![FieldError::too_many("jwt", self.jwt.len() as i64, MAX_AUTHENTICATORS as i64)];
        }
        let mut errors = Vec::new();
        for (i, authenticator) in self.jwt.iter().enumerate() {
            let path = format!("jwt[{i}].");
            errors.extend(rules::errors(authenticator, &path, service_account_issuers));
            let issuer = &authenticator.issuer;
            let earlier = || self.jwt[..i].iter().map(|earlier| &earlier.issuer);
            if earlier().any(|earlier| earlier.url == issuer.url) {
                errors.push(FieldError::duplicate(format!("{path}issuer.url"), issuer.url.as_str()));
            }
            let discovery = &issuer.discovery_url;
            if !discovery.is_empty() && earlier().any(|earlier| earlier.discovery_url == *discovery) {
                errors.push(FieldError::duplicate(format!("{path}issuer.discoveryURL"), discovery.as_str()));
            }
        }
        if let Some(AnonymousConfig { enabled: false, paths }) = &self.anonymous
            && !paths.is_empty()
        {
            let conditions: Vec<Value> =
                paths.iter().map(|path| pleach_json::json!({"path": (path.as_str())})).collect();
            let why = "enabled should be set to true when conditions are defined";
            errors.push(FieldError::invalid("anonymous.conditions", conditions, why));
        }
        errors
    }
}

impl JwtConfig {
    fn read(value: &Value) -> Self {
        let part = |key: &str| value.get(key).cloned().unwrap_or_default();
        let (issuer, mappings) = (part("issuer"), part("claimMappings"));
        let mapping = |key: &str| Mapping::read(mappings.get(key).unwrap_or(&Value::Null));
        let file = text_of(&issuer, "jwksFile");
        let mut config = Self {
            issuer: IssuerConfig {
                url: text_of(&issuer, "url"),
                discovery_url: text_of(&issuer, "discoveryURL"),
                certificate_authority: text_of(&issuer, "certificateAuthority"),
                audiences: texts_of(&issuer, "audiences"),
                audience_match_policy: text_of(&issuer, "audienceMatchPolicy"),
                egress_selector: text_of(&issuer, "egressSelectorType"),
                jwks_file: (!file.is_empty()).then(|| file.into()),
            },
            username: mapping("username"),
            groups: mapping("groups"),
            uid: mapping("uid"),
            extra: items(&mappings, "extra")
                .map(|item| ExtraMapping {
                    key: text_of(item, "key"),
                    expression: text_of(item, "valueExpression"),
                })
                .collect(),
            user_rules: items(value, "userValidationRules").enumerate().map(Rule::read).collect(),
            ..Self::default()
        };
        for (index, item) in items(value, "claimValidationRules").enumerate() {
            config.add_claim_rule(index, item);
        }
        config
    }

    /// A rule names a claim with its value, or has an expression.
    fn add_claim_rule(&mut self, index: usize, item: &Value) {
        let path = format!("claimValidationRules[{index}]");
        let (claim, required) = (text_of(item, "claim"), text_of(item, "requiredValue"));
        let rule = Rule::read((index, item));
        let mut malformed = |path: String, value: Option<&str>, why: &'static str| {
            self.malformed.push((path, value.map(str::to_owned), why));
        };
        match (claim.is_empty(), rule.expression.is_empty()) {
            (false, false) => malformed(path, Some(&claim), "claim and expression can't both be set"),
            (true, true) => malformed(path, None, "claim or expression is required"),
            (false, true) => {
                if !rule.message.is_empty() {
                    let why = "may not be specified when claim is set";
                    malformed(format!("{path}.message"), Some(&rule.message), why);
                }
                if self.required_claims.iter().any(|(earlier, _)| *earlier == claim) {
                    malformed(format!("{path}.claim"), Some(&claim), "");
                }
                self.required_claims.push((claim, required));
            }
            (true, false) => {
                if !required.is_empty() {
                    let why = "may not be specified when expression is set";
                    malformed(format!("{path}.requiredValue"), Some(&required), why);
                }
                self.claim_rules.push(rule);
            }
        }
    }

    /// The errors of rules that are not well formed.
    pub(crate) fn malformed(&self, root: &str) -> Vec<FieldError> {
        let error = |(path, value, why): &Malformed| {
            let path = format!("{root}{path}");
            match value {
                None => FieldError::required(path, *why),
                Some(value) if why.is_empty() => FieldError::duplicate(path, value.as_str()),
                Some(value) => FieldError::invalid(path, value.as_str(), *why),
            }
        };
        self.malformed.iter().map(error).collect()
    }
}

impl Mapping {
    fn read(value: &Value) -> Self {
        Self {
            claim: text_of(value, "claim"),
            prefix: value.get("prefix").and_then(Value::as_str).map(str::to_owned),
            expression: text_of(value, "expression"),
        }
    }
}

impl Rule {
    fn read((index, value): (usize, &Value)) -> Self {
        Self { expression: text_of(value, "expression"), message: text_of(value, "message"), index }
    }
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts_of(value: &Value, key: &str) -> Vec<String> {
    items(value, key).filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;

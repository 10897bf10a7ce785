//! Checks and compiles the rules of a JWT authenticator.

use pleach_go::url::Url;
use pleach_json::Value;
use pleach_meta::field_error::FieldError;
use pleach_meta::names::check_dns1123_subdomain;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::algorithm::Algorithm;
use crate::config::{ExtraMapping, IssuerConfig, JwtConfig, Mapping, Rule};
use crate::expression::{Expression, Returns};

/// The rules of an authenticator, ready to be evaluated.
#[derive(Debug, Default)]
pub(crate) struct CompiledRules {
    pub(crate) username: Option<Expression>,
    pub(crate) groups: Option<Expression>,
    pub(crate) uid: Option<Expression>,
    pub(crate) extra: Vec<(String, Expression)>,
    /// With their messages.
    pub(crate) claim_rules: Vec<(Expression, String)>,
    pub(crate) user_rules: Vec<(Expression, String)>,
}

/// The errors of an authenticator; `root` is put before the names of its fields.
pub(crate) fn errors(config: &JwtConfig, root: &str, disallowed: &[String]) -> Vec<FieldError> {
    compile(config, root, disallowed).err().unwrap_or_default()
}

/// Compiles all expressions, or says all that is wrong.
pub(crate) fn compile(
    config: &JwtConfig,
    root: &str,
    disallowed: &[String],
) -> Result<CompiledRules, Vec<FieldError>> {
    let mut checker = Checker { root, errors: Vec::new() };
    checker.issuer(&config.issuer, disallowed);
    checker.errors.extend(config.malformed(root));
    let claims = |text: &str, returns| Expression::of_claims(text, returns);
    let claim_rules = checker.rules("claimValidationRules", &config.claim_rules, claims);
    let username = checker.mapping("username", &config.username, true);
    let groups = checker.mapping("groups", &config.groups, false);
    let uid = checker.uid(&config.uid);
    let extra = checker.extra(&config.extra);
    let verified = username.iter().chain(extra.iter().map(|(_, expression)| expression));
    let mut verified = verified.chain(claim_rules.iter().map(|(expression, _)| expression));
    if username.as_ref().is_some_and(|username| username.uses_email)
        && !verified.any(|expression| expression.uses_email_verified)
    {
        let why = "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";
        checker.invalid("claimMappings.username.expression", config.username.expression.as_str(), why);
    }
    let user = |text: &str, returns| Expression::of_user(text, returns);
    let user_rules = checker.rules("userValidationRules", &config.user_rules, user);
    for name in config.algorithms.iter().filter(|name| Algorithm::parse(name).is_none()) {
        checker.invalid("signingAlgs", name.as_str(), "unsupported signing alg");
    }
    if checker.errors.is_empty() {
        Ok(CompiledRules { username, groups, uid, extra, claim_rules, user_rules })
    } else {
        Err(checker.errors)
    }
}

struct Checker<'a> {
    root: &'a str,
    errors: Vec<FieldError>,
}

impl Checker<'_> {
    fn invalid(&mut self, field: &str, value: impl Into<Value>, why: &str) {
        self.errors.push(FieldError::invalid(format!("{}{field}", self.root), value.into(), why));
    }

    fn required(&mut self, field: &str, why: &str) {
        self.errors.push(FieldError::required(format!("{}{field}", self.root), why));
    }

    fn duplicate(&mut self, field: &str, value: &str) {
        self.errors.push(FieldError::duplicate(format!("{}{field}", self.root), value));
    }

    fn issuer(&mut self, issuer: &IssuerConfig, disallowed: &[String]) {
        let IssuerConfig { url, discovery_url, audiences, audience_match_policy, .. } = issuer;
        if url.is_empty() {
            self.required("issuer.url", "");
        } else {
            if disallowed.contains(url) {
                let why = format!("URL must not overlap with disallowed issuers: [{}]", disallowed.join(" "));
                self.invalid("issuer.url", url.as_str(), &why);
            }
            self.url("issuer.url", url);
        }
        if !discovery_url.is_empty() {
            if url.trim_end_matches('/') == discovery_url.trim_end_matches('/') {
                let why = "discoveryURL must be different from URL";
                self.invalid("issuer.discoveryURL", discovery_url.as_str(), why);
            }
            self.url("issuer.discoveryURL", discovery_url);
        }
        if audiences.is_empty() {
            let why = format!("at least one {}issuer.audiences is required", self.root);
            self.required("issuer.audiences", &why);
        }
        for (i, audience) in audiences.iter().enumerate() {
            let field = format!("issuer.audiences[{i}]");
            if audience.is_empty() {
                self.required(&field, "");
            }
            if audiences[..i].contains(audience) {
                self.duplicate(&field, audience);
            }
        }
        let policy = audience_match_policy.as_str();
        let why = match audiences.len() {
            2.. if policy != "MatchAny" => "audienceMatchPolicy must be MatchAny for multiple audiences",
            1 if !matches!(policy, "" | "MatchAny") => {
                "audienceMatchPolicy must be empty or MatchAny for single audience"
            }
            _ => "",
        };
        if !why.is_empty() {
            self.invalid("issuer.audienceMatchPolicy", policy, why);
        }
        self.connection(issuer);
    }

    /// How the issuer is reached.
    fn connection(&mut self, issuer: &IssuerConfig) {
        if !issuer.certificate_authority.is_empty()
            && let Err(why) = check_certificates(&issuer.certificate_authority)
        {
            self.invalid("issuer.certificateAuthority", "<omitted>", why);
        }
        if !issuer.egress_selector.is_empty() {
            let why = "egress selectors are not supported: the server connects directly";
            self.invalid("issuer.egressSelectorType", issuer.egress_selector.as_str(), why);
        }
        if let Some(file) = &issuer.jwks_file
            && !issuer.discovery_url.is_empty()
        {
            let why = "may not be specified when discoveryURL is set";
            self.invalid("issuer.jwksFile", file.to_string_lossy().as_ref(), why);
        }
    }

    fn url(&mut self, field: &str, text: &str) {
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => return self.invalid(field, text, &error),
        };
        for (is_wrong, why) in [
            (url.scheme() != "https", "URL scheme must be https"),
            (url.user().is_some(), "URL must not contain a username or password"),
            (!url.raw_query().is_empty(), "URL must not contain a query"),
            (!url.fragment().is_empty(), "URL must not contain a fragment"),
        ] {
            if is_wrong {
                self.invalid(field, text, why);
            }
        }
    }

    fn rules(
        &mut self,
        list: &str,
        rules: &[Rule],
        compile: impl Fn(&str, Returns) -> Result<Expression, String>,
    ) -> Vec<(Expression, String)> {
        let mut compiled: Vec<(Expression, String)> = Vec::new();
        for (i, rule) in rules.iter().enumerate() {
            let field = format!("{list}[{}].expression", rule.index);
            if rule.expression.is_empty() {
                self.required(&field, "");
                continue;
            }
            if rules[..i].iter().any(|earlier| earlier.expression == rule.expression) {
                self.duplicate(&field, &rule.expression);
                continue;
            }
            match compile(&rule.expression, Returns::Bool) {
                Ok(expression) => compiled.push((expression, rule.message.clone())),
                Err(why) => self.invalid(&field, rule.expression.as_str(), &why),
            }
        }
        compiled
    }

    fn expression(&mut self, field: &str, text: &str) -> Option<Expression> {
        match Expression::of_claims(text, Returns::Any) {
            Ok(expression) => Some(expression),
            Err(why) => {
                self.invalid(field, text, &why);
                None
            }
        }
    }

    fn mapping(&mut self, name: &str, mapping: &Mapping, is_required: bool) -> Option<Expression> {
        let field = format!("claimMappings.{name}");
        match (mapping.claim.is_empty(), mapping.expression.is_empty()) {
            (false, false) => self.invalid(&field, "", "claim and expression can't both be set"),
            (true, true) if is_required => self.required(&field, "claim or expression is required"),
            (true, true) => {}
            (true, false) => {
                if let Some(prefix) = &mapping.prefix {
                    let why = "may not be specified when expression is set";
                    self.invalid(&format!("{field}.prefix"), prefix.as_str(), why);
                }
                return self.expression(&format!("{field}.expression"), &mapping.expression);
            }
            (false, true) => {
                if mapping.prefix.is_none() {
                    let why = "prefix is required when claim is set. It can be set to an empty string to disable prefixing";
                    self.required(&format!("{field}.prefix"), why);
                }
            }
        }
        None
    }

    fn uid(&mut self, mapping: &Mapping) -> Option<Expression> {
        match (mapping.claim.is_empty(), mapping.expression.is_empty()) {
            (false, false) => {
                self.invalid("claimMappings.uid", "", "claim and expression can't both be set");
                None
            }
            (_, true) => None,
            (true, false) => self.expression("claimMappings.uid.expression", &mapping.expression),
        }
    }

    fn extra(&mut self, mappings: &[ExtraMapping]) -> Vec<(String, Expression)> {
        let mut compiled = Vec::new();
        for (i, ExtraMapping { key, expression }) in mappings.iter().enumerate() {
            let field = format!("claimMappings.extra[{i}]");
            let at_key = format!("{field}.key");
            self.domain_prefixed(&at_key, key);
            if *key != key.to_lowercase() {
                self.invalid(&at_key, key.as_str(), "must be lowercase");
            }
            let domain = key.split_once('/').map_or("", |(domain, _)| domain);
            let is_reserved = ["kubernetes.io", "k8s.io"].into_iter().any(|reserved| {
                domain.strip_suffix(reserved).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            });
            if is_reserved {
                let why = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
                self.invalid(&at_key, key.as_str(), why);
            }
            if mappings[..i].iter().any(|earlier| earlier.key == *key) {
                self.duplicate(&at_key, key);
                continue;
            }
            let at_value = format!("{field}.valueExpression");
            if expression.is_empty() {
                self.required(&at_value, "");
            } else if let Some(expression) = self.expression(&at_value, expression) {
                compiled.push((key.clone(), expression));
            }
        }
        compiled
    }

    /// A key is a domain, a slash and a path.
    fn domain_prefixed(&mut self, field: &str, key: &str) {
        if key.is_empty() {
            return self.required(field, "");
        }
        let Some((domain, path)) =
            key.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
        else {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            return self.invalid(field, key, why);
        };
        for why in check_dns1123_subdomain(domain) {
            self.invalid(field, domain, &why);
        }
        if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)) {
            let why = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
            self.invalid(field, path, why);
        }
    }
}

fn check_certificates(pem: &str) -> Result<(), &'static str> {
    let mut found = false;
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        use x509_parser::prelude::FromDer as _;
        let certificate =
            certificate.map_err(|_| "data does not contain any valid RSA or ECDSA certificates")?;
        x509_parser::certificate::X509Certificate::from_der(&certificate)
            .map_err(|_| "data does not contain any valid RSA or ECDSA certificates")?;
        found = true;
    }
    if found { Ok(()) } else { Err("data does not contain any valid RSA or ECDSA certificates") }
}

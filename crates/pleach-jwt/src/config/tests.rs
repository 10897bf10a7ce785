use super::*;

const GOOD: &str = "
issuer: {url: https://issuer.example.com, audiences: [a]}
claimMappings: {username: {claim: sub, prefix: ''}}
";

fn parse(jwt: &str) -> Result<AuthenticationConfig, String> {
    let indented = jwt.trim().replace('\n', "\n  ");
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n-\n  {indented}"
    );
    AuthenticationConfig::parse(&text, &["https://own".into()])
}

#[test]
fn a_file_with_everything_is_read() {
    let config = parse(
        "
issuer:
  url: https://issuer.example.com
  discoveryURL: https://elsewhere.example.com/x
  audiences: [a, b]
  audienceMatchPolicy: MatchAny
claimValidationRules:
- {claim: hd, requiredValue: example.com}
- {expression: 'claims.exp - claims.nbf <= 86400', message: a day}
claimMappings:
  username: {expression: 'claims.sub'}
  groups: {claim: groups, prefix: 'g:'}
  uid: {claim: id}
  extra: [{key: example.com/tenant, valueExpression: claims.tenant}]
userValidationRules:
- {expression: \"!user.username.startsWith('system:')\", message: reserved}
",
    );
    let config = config.unwrap().jwt.remove(0);
    assert_eq!(config.issuer.audiences, ["a", "b"]);
    assert_eq!(config.required_claims, [("hd".to_owned(), "example.com".to_owned())]);
    assert_eq!((config.claim_rules.len(), config.claim_rules[0].index), (1, 1));
    assert_eq!(config.groups.prefix.as_deref(), Some("g:"));
    assert_eq!((config.uid.claim.as_str(), config.extra.len(), config.user_rules.len()), ("id", 1, 1));
}

#[test]
fn files_with_errors_are_refused() {
    for (from, to, want) in [
        ("url: https://issuer.example.com", "url: ''", "jwt[0].issuer.url: Required value"),
        (
            "https://issuer.example.com",
            "http://a",
            "jwt[0].issuer.url: Invalid value: \"http://a\": URL scheme must be https",
        ),
        ("https://issuer.example.com", "https://u@a", "URL must not contain a username or password"),
        ("https://issuer.example.com", "https://a?b", "URL must not contain a query"),
        (
            "https://issuer.example.com",
            "https://own",
            "URL must not overlap with disallowed issuers: [https://own]",
        ),
        (
            "audiences: [a]",
            "audiences: []",
            "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
        ),
        (
            "audiences: [a]",
            "audiences: [a, a], audienceMatchPolicy: MatchAny",
            "jwt[0].issuer.audiences[1]: Duplicate value: \"a\"",
        ),
        (
            "audiences: [a]",
            "audiences: [a, b]",
            "jwt[0].issuer.audienceMatchPolicy: Invalid value: \"\": audienceMatchPolicy must be MatchAny for multiple audiences",
        ),
        (
            "audiences: [a]",
            "audiences: [a], certificateAuthority: x",
            "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": data does not contain any valid RSA or ECDSA certificates",
        ),
        (
            "audiences: [a]",
            "audiences: [a], egressSelectorType: cluster",
            "egress selectors are not supported",
        ),
        (
            "audiences: [a]",
            "audiences: [a], discoveryURL: 'https://issuer.example.com/'",
            "discoveryURL must be different from URL",
        ),
        (
            ", prefix: ''",
            "",
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set",
        ),
        (
            "claim: sub, prefix: ''",
            "expression: claims.sub, claim: sub",
            "claim and expression can't both be set",
        ),
        ("claim: sub, prefix: ''", "expression: claims.email", "claims.email_verified must be used in"),
        (
            "claim: sub, prefix: ''",
            "expression: 'claims.'",
            "jwt[0].claimMappings.username.expression: Invalid value: \"claims.\": compilation failed: ERROR",
        ),
        (
            "username: {claim: sub, prefix: ''}",
            "groups: {}",
            "jwt[0].claimMappings.username: Required value: claim or expression is required",
        ),
        ("username: {claim: sub, prefix: ''}", "username: {claim: 1}", "of type string"),
        ("claimMappings", "claimMapping", "strict decoding error: unknown field \"jwt[0].claimMapping\""),
        (
            "prefix: ''}",
            "prefix: ''}, extra: [{key: foo, valueExpression: \"'x'\"}]",
            "must be a domain-prefixed path (such as \"acme.io/foo\")",
        ),
        (
            "prefix: ''}",
            "prefix: ''}, extra: [{key: a.k8s.io/foo, valueExpression: \"'x'\"}]",
            "are reserved for Kubernetes use",
        ),
        (
            "prefix: ''}",
            "prefix: ''}, extra: [{key: example.com/Foo, valueExpression: \"'x'\"}]",
            "must be lowercase",
        ),
        (
            "prefix: ''}",
            "prefix: ''}, extra: [{key: example.com/foo}]",
            "claimMappings.extra[0].valueExpression: Required value",
        ),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = parse(&GOOD.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(want), "{to}: {error}");
    }
    let rules = [
        (
            "claimValidationRules: [{claim: a, expression: 'true'}]",
            "jwt[0].claimValidationRules[0]: Invalid value: \"a\": claim and expression can't both be set",
        ),
        (
            "claimValidationRules: [{}]",
            "jwt[0].claimValidationRules[0]: Required value: claim or expression is required",
        ),
        (
            "claimValidationRules: [{claim: a, message: m}]",
            "claimValidationRules[0].message: Invalid value: \"m\": may not be specified when claim is set",
        ),
        (
            "claimValidationRules: [{claim: a}, {claim: a}]",
            "claimValidationRules[1].claim: Duplicate value: \"a\"",
        ),
        (
            "claimValidationRules: [{claim: a}, {expression: claims.a}]",
            "claimValidationRules[1].expression: Invalid value: \"claims.a\": must evaluate to bool",
        ),
        ("userValidationRules: [{}]", "jwt[0].userValidationRules[0].expression: Required value"),
        (
            "userValidationRules: [{expression: 'true'}, {expression: 'true'}]",
            "userValidationRules[1].expression: Duplicate value: \"true\"",
        ),
    ];
    for (rules, want) in rules {
        let error = parse(&format!("{GOOD}{rules}")).unwrap_err();
        assert!(error.contains(want), "{rules}: {error}");
    }
}

#[test]
fn several_issuers_and_anonymous_requests() {
    let head = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\n";
    let parse = |rest: &str| AuthenticationConfig::parse(&format!("{head}{rest}"), &[]);
    assert_eq!(parse("").unwrap(), AuthenticationConfig::default());
    let found = parse("anonymous: {enabled: true, conditions: [{path: /livez}]}").unwrap();
    assert_eq!(found.anonymous, Some(AnonymousConfig { enabled: true, paths: vec!["/livez".into()] }));
    let error = parse("anonymous: {enabled: false, conditions: [{path: /livez}]}").unwrap_err();
    assert_eq!(
        error,
        "anonymous.conditions: Invalid value: [{\"path\":\"/livez\"}]: enabled should be set to true when conditions are defined"
    );
    let one =
        "{issuer: {url: 'https://a', audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ''}}}";
    let error = parse(&format!("jwt: [{one}, {one}]")).unwrap_err();
    assert_eq!(error, "jwt[1].issuer.url: Duplicate value: \"https://a\"");
    let many = vec![one; 65].join(", ");
    assert_eq!(
        parse(&format!("jwt: [{many}]")).unwrap_err(),
        "jwt: Too many: 65: must have at most 64 items"
    );
}

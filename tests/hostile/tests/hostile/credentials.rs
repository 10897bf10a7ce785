//! Tokens and key sets.

use pleach_jwt::{KeySet, Token};

use crate::{BODY, Make, attack, fitting};

/// Base64 without padding, for URLs.
fn part(text: &str) -> String {
    pleach_go::base64::encode_raw_url(text)
}

/// Reading a token of this header and these claims, whose signature is none.
fn token(
    name: &'static str,
    header: impl FnOnce() -> String + 'static,
    claims: impl FnOnce() -> String + 'static,
) -> Make {
    Box::new(move || {
        let token = format!("{}.{}.{}", part(&header()), part(&claims()), part("signature"));
        attack(name, token.len(), move || {
            Token::parse(&token).map(|token| (token.audiences().len(), token.time("exp").is_some()))
        })
    })
}

pub(crate) fn all() -> Vec<Make> {
    let short = || r#"{"alg":"RS256","kid":"a"}"#.to_owned();
    let list = |item: &'static str| {
        move || {
            let items = vec![item; fitting(item.len() + 1) / 2].join(",");
            format!(r#"{{"iss":"i","aud":[{items}],"exp":1}}"#)
        }
    };
    vec![
        token("token: many audiences", short, list(r#""a""#)),
        token("token: audiences that are no texts", short, list("[]")),
        token("token: deep claims", short, || {
            let depth = fitting(8);
            format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth))
        }),
        token(
            "token: a long header",
            || format!(r#"{{"alg":"{}"}}"#, "a".repeat(fitting(2))),
            || "{}".into(),
        ),
        Box::new(|| {
            let text = ".".repeat(BODY);
            attack("token: nothing but dots", BODY, move || Token::parse(&text).is_some())
        }),
        Box::new(|| {
            let keys = vec![r#"{"kty":"RSA","n":"AQAB","e":"AQAB","kid":"r"}"#; fitting(48)].join(",");
            let set = format!(r#"{{"keys":[{keys}]}}"#);
            attack("key sets: many keys", set.len(), move || KeySet::parse(set.as_bytes()).is_ok())
        }),
        Box::new(|| {
            let set = format!(r#"{{"keys":[{{"kty":"RSA","e":"AQAB","n":"{}"}}]}}"#, "A".repeat(fitting(2)));
            attack("key sets: a number of many digits", set.len(), move || {
                KeySet::parse(set.as_bytes()).is_ok()
            })
        }),
    ]
}

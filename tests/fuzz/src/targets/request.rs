//! The parts of a URL: selectors, continue tokens, paths and queries.

use http::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pleach_auth::{ResourceAttributes, Verb};
use pleach_engine::options::PatchType;
use pleach_engine::token::Token;
use pleach_json::{Map, Value};
use pleach_meta::{FieldSelector, LabelSelector};
use pleach_server::options;
use pleach_server::query::Query;
use pleach_server::request_info::RequestInfo;

use crate::bytes::{long, seeds, split, split_text};

/// A label selector as text and as an object: what was read is printed and read the same.
pub(super) fn label_selector(data: &[u8]) {
    let (text, object) = split(data);
    let labels = labels();
    if let Ok(selector) = LabelSelector::parse(&String::from_utf8_lossy(text)) {
        let printed = selector.to_string();
        let again = LabelSelector::parse(&printed).expect("what was printed is read");
        assert_eq!(again, selector, "{printed}");
        assert_eq!(again.matches(Some(&labels)), selector.matches(Some(&labels)));
        assert!(!selector.is_everything() || selector.matches(None));
    }
    let Ok(object) = pleach_json::parse(object) else { return };
    if let Ok(selector) = LabelSelector::from_object(Some(&object))
        && !object.is_null()
    {
        let again = LabelSelector::parse(&selector.to_string()).expect("what was printed is read");
        assert_eq!(again.matches(Some(&labels)), selector.matches(Some(&labels)));
    }
    pleach_meta::selector::validate_label_selector(&object, &pleach_meta::Path::ROOT, &mut Vec::new());
}

fn labels() -> Map {
    [("a", "b"), ("n", "5"), ("x.io/y", "")].into_iter().map(|(k, v)| (k.into(), Value::from(v))).collect()
}

pub(super) fn label_selector_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        "a=b,c==d,e!=f,g in (h,i,),j notin (k),!l,x.io/y,n>4,n<6",
        "a in (b,c),a notin(d)",
        " a , !b ,c = d",
        "in,notin,in in (in)",
        r#"¦{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"n","operator":"In","values":["5","6"]},{"key":"z","operator":"DoesNotExist"}]}"#,
        "a=,b",
    ]);
    all.push(long("a", ",k# in (b,c)", 600, ""));
    all.push(long("a in (b", ",v#", 1000, ")"));
    all
}

/// A field selector: what was read is printed and read the same.
pub(super) fn field_selector(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(selector) = FieldSelector::parse(&text) else { return };
    let again = FieldSelector::parse(&selector.to_string()).expect("what was printed is read");
    assert_eq!(again, selector);
    let name = Value::from("x,\\y");
    let value_of = |field: &str| (field == "metadata.name").then_some(&name);
    assert_eq!(again.matches(value_of), selector.matches(value_of));
    assert!(!selector.is_everything() || selector.matches(value_of));
}

pub(super) fn field_selector_seeds() -> Vec<Vec<u8>> {
    let mut all =
        seeds(&["metadata.name=x\\,\\\\y,spec.a!=b", "a==b,c=d\\=e", "metadata.namespace!=,,", "a=b\\", "="]);
    all.push(long("a=b", ",k#=\\\\v", 800, ""));
    all
}

/// A continue token: what was decoded is encoded and decoded the same, and does not climb out of its resource.
pub(super) fn continue_token(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    check_token(&text);
    // The same bytes as what is inside of one.
    let (start, revision) = (text.clone().into_owned(), u64::from_le_bytes(first_eight(data)) >> 1);
    if let Ok(token) = Token::decode(&Token { revision: Some(revision), start: start.clone() }.encode()) {
        assert_eq!((token.revision, token.start), (Some(revision), start));
    }
}

fn check_token(text: &str) {
    let Ok(token) = Token::decode(text) else { return };
    assert!(!token.start.is_empty() && !token.start.starts_with('/'));
    assert!(token.start.split('/').all(|part| part != ".." && part != "."));
    assert_eq!(Token::decode(&token.encode()).expect("what was encoded is decoded"), token);
}

fn first_eight(data: &[u8]) -> [u8; 8] {
    let mut out = [0; 8];
    let count = data.len().min(8);
    out[..count].copy_from_slice(&data[..count]);
    out
}

pub(super) fn continue_token_seeds() -> Vec<Vec<u8>> {
    let tokens = [
        Token { revision: Some(123), start: "ns/x\0".into() },
        Token { revision: None, start: "x\0".into() },
        Token { revision: Some(u64::MAX >> 1), start: "a/../b".into() },
    ];
    let mut all: Vec<Vec<u8>> = tokens.iter().map(|token| token.encode().into_bytes()).collect();
    all.extend(seeds(&["../a", "ns/name\u{0}", "a//b", "./x", "%%%", "eyJ2IjoiIn0"]));
    all
}

/// A path and a query: what was understood of a path leads to the same when it is put together again; parameters
/// come back when they are escaped; options are understood or refused.
pub(super) fn path_query(data: &[u8]) {
    let (path, query) = split_text(data);
    let (method, none) = (Method::DELETE, Query::default());
    let request = RequestInfo::new(&method, &path, &none);
    if let Some(info) = &request.resource {
        for part in [info.group, info.version, info.namespace, info.resource, &info.name, info.subresource] {
            assert!(!part.contains('/') && path.contains(part));
        }
        // Empty segments cannot be told from absent ones, nor a namespace from the name of one.
        if !path.trim_matches('/').contains("//") && info.resource != "namespaces" {
            // Only the prefix makes a deletion a watch.
            let again = put_together(info, request.verb == Verb::Watch);
            let again = RequestInfo::new(&method, &again, &none);
            assert_eq!((&again.resource, &again.verb), (&request.resource, &request.verb), "{path}");
        }
    }
    let query = Query::parse(Some(&query));
    for name in ["labelSelector", "fieldSelector", "continue", "limit", "resourceVersion", "timeout", ""] {
        let values: Vec<&str> = query.all(name).collect();
        assert_eq!(query.get(name), values.first().copied());
        let escape = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<String> = values.iter().map(|value| format!("{name}={}", escape(value))).collect();
        let again = Query::parse(Some(&pairs.join("&")));
        assert_eq!(again.all(name).collect::<Vec<_>>(), values);
    }
    let _ = options::list_options(&query);
    let _ = options::watch_options(&query, true);
    let _ = options::get_options(&query);
    let _ = options::write_options(&query, "CreateOptions");
    for patch_type in [PatchType::Json, PatchType::Apply] {
        let _ = options::patch_options(&query, patch_type);
    }
    let _ = options::delete_options_of_query(&query);
    if let Ok(body) = pleach_json::parse(query.text("body").as_bytes()) {
        let _ = options::delete_options(&body);
    }
}

fn put_together(info: &ResourceAttributes<'_>, watch_prefix: bool) -> String {
    let root = if info.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", info.group) };
    let mut out = format!("{root}/{}", info.version);
    if watch_prefix {
        out.push_str("/watch");
    }
    if !info.namespace.is_empty() {
        out.push_str(&format!("/namespaces/{}", info.namespace));
    }
    out.push_str(&format!("/{}", info.resource));
    for part in [&*info.name, info.subresource] {
        if !part.is_empty() {
            out.push_str(&format!("/{part}"));
        }
    }
    out
}

pub(super) fn path_query_seeds() -> Vec<Vec<u8>> {
    let mut all = seeds(&[
        "/apis/g/v1/namespaces/ns/foos/x/status¦watch=1&labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&resourceVersion=5&resourceVersionMatch=NotOlderThan",
        "/api/v1/namespaces/a¦limit=500&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIzLCJzdGFydCI6Im5zL3hcdTAwMDAifQ",
        "/api/v1/watch/namespaces/a/configmaps/¦timeoutSeconds=-1&allowWatchBookmarks=true&sendInitialEvents=true",
        "/apis/g/v1/foos//x¦fieldManager=m&force=true&dryRun=All&dryRun=All&fieldValidation=Strict&pretty",
        "/apis/g/v1/namespaces/ns/foos¦propagationPolicy=Orphan&gracePeriodSeconds=0&orphanDependents=1&body={\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"1\"}}",
        "//apis¦a=%ZZ&;b&=&+=%2B",
    ]);
    all.push(long("/api/v1¦a=b", "&k#=%41+", 700, ""));
    all.push(long("/apis/g/v1", "/n#", 1000, "¦dryRun=All"));
    all
}

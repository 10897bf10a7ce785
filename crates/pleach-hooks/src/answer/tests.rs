//! Status codes and bodies, with the errors of upstream's client.

use super::*;

#[track_caller]
fn check(status: u16, content_type: &str, body: &str, wanted: &str) {
    let mut headers = HeaderMap::new();
    if !content_type.is_empty() {
        headers.insert(header::CONTENT_TYPE, content_type.parse().expect("a header"));
    }
    let status = StatusCode::from_u16(status).expect("a status");
    let got = super::check(status, &headers, Bytes::copy_from_slice(body.as_bytes()));
    assert_eq!(got, Err(wanted.to_owned()), "{status} {content_type} {body}");
}

#[test]
fn statuses() {
    let nothing = |code| {
        format!("the server responded with the status code {code} but did not return more information")
    };
    for code in [207, 300, 301, 304, 408, 410, 413, 418, 499] {
        check(code, "text/plain", "msg\n", &nothing(code));
        check(code, "application/json", "{\"a\":1}", &nothing(code));
    }
    for (code, wanted) in [
        (400, "the server rejected our request for an unknown reason"),
        (401, "the server has asked for the client to provide credentials"),
        (404, "the server could not find the requested resource"),
        (405, "the server does not allow this method on the requested resource"),
        (409, "the server reported a conflict"),
        (422, "the server rejected our request due to an error in our request"),
        (429, "the server has received too many requests and has asked us to try again later"),
        (503, "the server is currently unable to handle the request"),
        (
            504,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
    ] {
        check(code, "text/plain", "msg\n", wanted);
        check(code, "application/json", "{\"a\":1}", wanted);
    }
    for code in [500, 501, 502, 505, 599] {
        check(
            code,
            "text/plain",
            "msg\n",
            "an error on the server (\"msg\") has prevented the request from succeeding",
        );
        check(
            code,
            "application/json",
            "{\"a\":1}",
            "an error on the server (\"unknown\") has prevented the request from succeeding",
        );
    }
    check(403, "text/plain", "msg\n", "msg");
    check(403, "application/json", "{\"a\":1}", "unknown");
    check(406, "text/plain", "msg\n", "msg");
    check(
        406,
        "application/json",
        "{\"a\":1}",
        "the server was unable to respond with a content type that the client supports",
    );
    check(415, "text/plain", "msg\n", "msg");
    check(415, "application/json", "{\"a\":1}", "unknown");
}

#[test]
fn bodies_are_quoted() {
    let says =
        |said: &str| format!("an error on the server ({said}) has prevented the request from succeeding");
    check(500, "text/html", "<b>\"x\"\n\t</b> é\n", &says("\"<b>\\\"x\\\"\\n\\t</b> é\""));
    check(500, "", "boom\n", &says("\"boom\""));
    check(500, "text/plain", "", &says("\"\""));
    check(500, "text/plain", &"x".repeat(2050), &says(&format!("\"{}\"", "x".repeat(256))));
    assert_eq!(quote_bytes(b"a\xff\"b"), "\"a\\xff\\\"b\"");
}

#[test]
fn content_types() {
    check(500, "//", "x", "Internal error occurred: mime: no media type");
    check(200, "text/plain; x", "x", "Internal error occurred: mime: invalid media parameter");
    let empty = |code: u16, as_type| {
        format!("0-length response with status code: {code} and content type: {as_type}")
    };
    check(200, "text/plain", "", &empty(200, "text/plain"));
    check(200, "text/plain; charset=utf-8", "", &empty(200, "text/plain; charset=utf-8"));
    check(200, "", "", &empty(200, "application/json"));
    check(204, "", "", &empty(204, "application/json"));
}

#[test]
fn a_status_speaks_for_itself() {
    let full = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"my message","reason":"Forbidden","code":403}"#;
    for (code, content_type) in [
        (403, "application/json"),
        (500, "application/json"),
        (404, "text/plain"),
        (404, ""),
        (404, "application/cbor"),
    ] {
        check(code, content_type, full, "my message");
    }
    let json = |body, wanted| check(500, "application/json", body, wanted);
    let unknown = "an error on the server (\"unknown\") has prevented the request from succeeding";
    json(r#"{"kind":"Status","apiVersion":"v1","status":"Success","message":"m"}"#, unknown);
    json(r#"{"kind":"Status","apiVersion":"v1","status":"Failure"}"#, "");
    json(r#"{"kind":"Status","status":"Failure","message":"m"}"#, "m");
    let long = format!(r#"{{"kind":"Status","status":"Failure","message":"{}"}}"#, "x".repeat(1000));
    check(500, "application/json", &long, &format!("{}...", "x".repeat(256)));
    json(r#"{"status":"Failure","message":"m"}"#, unknown);
    json(r#"{"apiVersion":"v1","status":"Failure","message":"m"}"#, unknown);
    json(r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":5}"#, unknown);
    json(r#"{"kind":"Status","apiVersion":"v1","Status":"Failure","Message":"M"}"#, unknown);
    json(r#"{"kind":"Status","apiVersion":"meta.k8s.io/v1","status":"Failure","message":"m"}"#, "m");
}

//! Content negotiation for OpenAPI and discovery documents.

use pleach_openapi::{Edition, Form};

use crate::accept::clauses;
use crate::app::Call;

/// The negotiated form; `None` is 406.
pub(super) fn form(call: &Call<'_>, edition: Edition) -> Option<Form> {
    chosen(call.accept().as_deref().unwrap_or("*/*"), edition)
}

fn chosen(accept: &str, edition: Edition) -> Option<Form> {
    clauses(accept).iter().find_map(|clause| {
        if !matches!(clause.main, "application" | "*") {
            return None;
        }
        match clause.sub {
            "json" | "*" => Some(Form::Json),
            sub if sub == subtype(edition) || sub == deprecated_subtype(edition) => Some(Form::Protobuf),
            _ => None,
        }
    })
}

/// The type a document is sent as.
pub(super) fn media_type(edition: Edition, form: Form) -> &'static str {
    match (form, edition) {
        (Form::Json, _) => "application/json",
        (Form::Protobuf, Edition::V2) => "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
        (Form::Protobuf, Edition::V3) => "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    }
}

fn subtype(edition: Edition) -> &'static str {
    media_type(edition, Form::Protobuf).strip_prefix("application/").unwrap_or_default()
}

/// The media type of older clients.
fn deprecated_subtype(edition: Edition) -> &'static str {
    match edition {
        Edition::V2 => "com.github.proto-openapi.spec.v2@v1.0+protobuf",
        Edition::V3 => "com.github.proto-openapi.spec.v3@v1.0+protobuf",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_known_counts() {
        let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
        for (accept, want, why) in [
            ("*/*", Some(Form::Json), "anything is JSON"),
            ("application/json", Some(Form::Json), "JSON"),
            (protobuf, Some(Form::Protobuf), "the name older clients use"),
            ("text/html, application/json", Some(Form::Json), "what is not known is passed over"),
            ("application/yaml", None, "YAML is not served"),
            ("application/com.github.proto-openapi.spec.v3.v1.0+protobuf", None, "another edition"),
        ] {
            assert_eq!(chosen(accept, Edition::V2), want, "{why}");
        }
    }
}

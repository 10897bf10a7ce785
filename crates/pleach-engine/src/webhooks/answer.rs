//! The response of a webhook to an admission review.

use std::cell::Cell;

use pleach_go::base64;
use pleach_json::Value;
use pleach_meta::{Reason, Status, StatusCause, StatusDetails};

use super::excerpt::{MESSAGE, excerpt_of};
use super::review;
use crate::rejection::Rejection;

/// The group of admission reviews.
pub(crate) const GROUP: &str = "admission.k8s.io";

/// How many warnings and causes are read: more than fit into an answer to the client.
const MOST: usize = 4096;

/// A webhook's answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Whether the write may go on.
    pub(crate) allowed: bool,
    /// The status of a denied write.
    status: Option<Box<Status>>,
    /// The JSON patch, or nothing.
    pub(crate) patch: Vec<u8>,
    patch_type: String,
    /// Warnings for the client.
    pub(crate) warnings: Vec<String>,
    /// Annotations for the audit log.
    pub(crate) audit_annotations: Vec<(String, String)>,
}

impl Answer {
    /// Reads the response to the review of that uid.
    pub(crate) fn read(
        answer: &[u8],
        version: &'static str,
        uid: &str,
        may_patch: bool,
    ) -> Result<Self, String> {
        let review = review::read(answer, GROUP, version, "AdmissionReview")
            .map_err(|problem| format!("failed to call webhook: {problem}"))?;
        let invalid = |problem: String| format!("received invalid webhook response: {problem}");
        let Some(response) = review.get("response").filter(|response| !response.is_null()) else {
            return Err(invalid("webhook response was absent".into()));
        };
        let text = |key: &str| response.get(key).and_then(Value::as_str).unwrap_or_default();
        if version == "v1" {
            review::check_uid(response, uid).map_err(invalid)?;
        }
        let patch =
            base64::decode(text("patch")).map_err(|error| format!("failed to call webhook: {error}"))?;
        if version == "v1" {
            match (patch.is_empty(), text("patchType")) {
                (true, "") => {}
                (_, _) if !may_patch => {
                    return Err(invalid("validating webhook may not return response.patch".into()));
                }
                (false, "") => {
                    return Err(invalid("webhook returned response.patch but not response.patchType".into()));
                }
                (true, _) => {
                    return Err(invalid("webhook returned response.patchType but not response.patch".into()));
                }
                (false, _) => {}
            }
        }
        let annotations = response.get("auditAnnotations").and_then(Value::as_object);
        let warnings = response.get("warnings").and_then(Value::as_array);
        Ok(Self {
            allowed: response.get("allowed").and_then(Value::as_bool).unwrap_or_default(),
            status: response
                .get("status")
                .filter(|status| !status.is_null())
                .map(|status| read_status(status).into()),
            patch: if may_patch { patch } else { Vec::new() },
            patch_type: text("patchType").into(),
            warnings: warnings
                .map(|warnings| {
                    warnings.iter().filter_map(Value::as_str).take(MOST).map(Into::into).collect()
                })
                .unwrap_or_default(),
            audit_annotations: annotations
                .map(|annotations| {
                    let texts = annotations.iter().filter_map(|(key, text)| Some((key, text.as_str()?)));
                    texts.take(MOST).map(|(key, text)| (key.to_string(), text.to_owned())).collect()
                })
                .unwrap_or_default(),
        })
    }

    /// The type of the patch, if this server does not support it.
    pub(crate) fn unsupported_patch(&self) -> Option<&str> {
        // The older form of review need not say.
        Some(self.patch_type.as_str()).filter(|given| !matches!(*given, "" | "JSONPatch"))
    }

    /// The code of the error for the client if the write is denied.
    pub(crate) fn denial_code(&self, webhook: &str) -> u16 {
        Rejection::denied(webhook, self.status.as_deref().cloned()).into_status().code
    }

    /// The error for the client if the write is denied.
    pub(crate) fn denial(self, webhook: &str) -> Rejection {
        Rejection::denied(webhook, self.status.map(|status| *status))
    }
}

/// The webhook's status; texts beyond a bound on all of them together are left out.
fn read_status(value: &Value) -> Status {
    let left = Cell::new(MESSAGE);
    let text = |value: &Value, key: &str| {
        let text = excerpt_of(value.get(key).and_then(Value::as_str).unwrap_or_default(), left.get());
        left.set(left.get().saturating_sub(text.len()));
        text.into_owned()
    };
    let message = text(value, "message");
    let details = value.get("details").filter(|details| !details.is_null()).map(|details| {
        let causes = details.get("causes").and_then(Value::as_array);
        let cause = |cause: &Value| StatusCause {
            reason: text(cause, "reason"),
            message: text(cause, "message"),
            field: text(cause, "field"),
        };
        let seconds = details.get("retryAfterSeconds").and_then(Value::as_int).unwrap_or_default();
        let causes =
            causes.map(|causes| causes.iter().take(MOST).take_while(|_| left.get() > 0).map(cause).collect());
        Box::new(StatusDetails {
            name: text(details, "name"),
            group: text(details, "group"),
            kind: text(details, "kind"),
            uid: text(details, "uid"),
            causes: causes.unwrap_or_default(),
            retry_after_seconds: i32::try_from(seconds).unwrap_or_default(),
        })
    });
    let reason = match text(value, "reason") {
        word if word.is_empty() => Reason::None,
        word => Reason::Other(word),
    };
    let code = value.get("code").and_then(Value::as_int).unwrap_or_default();
    Status { code: u16::try_from(code).unwrap_or_default(), success: false, reason, message, details }
}

#[cfg(test)]
mod tests {
    use pleach_json::{json, to_vec};

    use super::*;

    fn read(review: &Value) -> Result<Answer, String> {
        Answer::read(&to_vec(review), "v1", "u", true)
    }

    fn response(response: Value) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": (response)})
    }

    #[test]
    fn errors_quote_little_of_an_answer() {
        let long = "secret-".repeat(1000);
        for review in [
            json!({"a": (long.as_str())}),
            json!({"apiVersion": (long.as_str()), "kind": (long.as_str())}),
            json!({"apiVersion": "admission.k8s.io/v1", "kind": (long.as_str())}),
            response(json!({"uid": (long.as_str())})),
        ] {
            let error = read(&review).unwrap_err();
            let quoted = error.matches("secret-").count() * "secret-".len();
            assert!(quoted > 0 && quoted <= super::super::EXCERPT, "{quoted} bytes: {error}");
        }
    }

    #[test]
    fn a_denial_is_in_the_words_of_the_webhook_up_to_a_bound() {
        let long = "no ".repeat(1 << 20);
        let cause = json!({"reason": "r", "message": (long.as_str()), "field": ""});
        let status = json!({"message": "not pink", "details": {"causes": [(cause.clone()), (cause)]}});
        let denial =
            read(&response(json!({"uid": "u", "status": (status)}))).unwrap().denial("w").into_status();
        assert_eq!(denial.message, "admission webhook \"w\" denied the request: not pink");
        let causes = denial.details.unwrap().causes;
        assert_eq!(causes.len(), 1, "nothing is left for the second");
        assert!(causes[0].message.len() < MESSAGE + 4);
        let status = json!({"message": (long.as_str())});
        let denial =
            read(&response(json!({"uid": "u", "status": (status)}))).unwrap().denial("w").into_status();
        assert!(denial.message.len() < MESSAGE + 100);
        let empty: Vec<Value> = vec![json!({}); 3 * MOST];
        let status = json!({"details": {"causes": (empty)}});
        let denial =
            read(&response(json!({"uid": "u", "status": (status)}))).unwrap().denial("w").into_status();
        assert_eq!(denial.details.unwrap().causes.len(), MOST);
    }
}

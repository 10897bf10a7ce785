//! Messages to clients: refusals and warnings.

/// The refusal of a policy that validates. There is no binding if its configuration is at fault.
pub fn denial(policy: &str, binding: Option<&str>, why: &str) -> String {
    match binding {
        Some(binding) => {
            format!("ValidatingAdmissionPolicy '{policy}' with binding '{binding}' denied request: {why}")
        }
        None => format!("ValidatingAdmissionPolicy '{policy}' denied request: {why}"),
    }
}

/// The warning of a policy that validates.
pub fn warning(policy: &str, binding: &str, why: &str) -> String {
    format!("Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {why}")
}

/// The refusal of a policy that mutates. There is no binding if its configuration is at fault.
pub fn mutation_refusal(policy: &str, binding: Option<&str>, why: &str) -> String {
    match binding {
        Some(binding) => format!("policy '{policy}' with binding '{binding}' denied request: {why}"),
        None => format!("policy {} denied request: {why}", pleach_go::strconv::quote(policy)),
    }
}

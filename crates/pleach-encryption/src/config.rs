//! EncryptionConfiguration: which resources are encrypted, by which providers and keys.

use std::collections::HashMap;

use pleach_go::base64;
use pleach_go::json::{GoField, GoStruct, GoType, STRING, always};
use pleach_json::Value;
use pleach_meta::field_error::{FieldError, aggregate};

use crate::provider::{Cipher, Provider};

const AES_KEYS: [usize; 3] = [16, 24, 32];
const SECRETBOX_KEYS: [usize; 1] = [32];

/// Providers by resource.
#[derive(Default)]
pub(crate) struct Resources {
    /// By group and then resource; `*` for any. The first provider writes.
    providers: HashMap<String, HashMap<String, Vec<Provider>>>,
}

impl Resources {
    /// The providers of a resource; `None` if it is not in the configuration.
    pub(crate) fn providers(&self, group: &str, resource: &str) -> Option<&[Provider]> {
        let of_group = self.providers.get(group);
        let found = of_group.and_then(|resources| resources.get(resource).or_else(|| resources.get("*")));
        let found = found.or_else(|| self.providers.get("*")?.get("*"));
        found.map(Vec::as_slice)
    }
}

const fn shape(name: &'static str, fields: &'static [GoField]) -> GoStruct {
    GoStruct { name, package: "v1", fields }
}

static KEY: GoStruct = shape("Key", &[always("name", STRING), always("secret", STRING)]);
static KEY_TYPE: GoType = GoType::Struct(&KEY);
static KEYS: [GoField; 1] = [always("keys", GoType::Slice(&KEY_TYPE))];
static AES: GoStruct = shape("AESConfiguration", &KEYS);
static SECRETBOX: GoStruct = shape("SecretboxConfiguration", &KEYS);
static IDENTITY: GoStruct = shape("IdentityConfiguration", &[]);
static KMS: GoStruct = shape(
    "KMSConfiguration",
    &[
        always("apiVersion", STRING),
        always("name", STRING),
        always("cachesize", GoType::Pointer(&GoType::Int32)),
        always("endpoint", STRING),
        always("timeout", GoType::Raw),
    ],
);
static PROVIDER: GoStruct = shape(
    "ProviderConfiguration",
    &[
        always("aesgcm", GoType::Pointer(&GoType::Struct(&AES))),
        always("aescbc", GoType::Pointer(&GoType::Struct(&AES))),
        always("secretbox", GoType::Pointer(&GoType::Struct(&SECRETBOX))),
        always("identity", GoType::Pointer(&GoType::Struct(&IDENTITY))),
        always("kms", GoType::Pointer(&GoType::Struct(&KMS))),
    ],
);
static RESOURCE: GoStruct = shape(
    "ResourceConfiguration",
    &[
        always("resources", GoType::Slice(&STRING)),
        always("providers", GoType::Slice(&GoType::Struct(&PROVIDER))),
    ],
);
static CONFIGURATION: GoStruct = shape(
    "EncryptionConfiguration",
    &[
        always("kind", STRING),
        always("apiVersion", STRING),
        always("resources", GoType::Slice(&GoType::Struct(&RESOURCE))),
    ],
);

/// Reads a configuration.
pub(crate) fn parse(text: &str) -> Result<Resources, String> {
    let value = pleach_yaml::config::read(text, "EncryptionConfiguration", &["v1"], &CONFIGURATION)?;
    let mut reader = Reader::default();
    let resources = items(&value, "resources");
    if resources.is_empty() {
        reader.required("resources", "at least one resources is required");
    }
    for (i, entry) in resources.iter().enumerate() {
        reader.entry(&format!("resources[{i}]"), entry);
    }
    if reader.errors.is_empty() { Ok(reader.found) } else { Err(aggregate(&reader.errors)) }
}

#[derive(Default)]
struct Reader {
    found: Resources,
    errors: Vec<FieldError>,
}

impl Reader {
    fn required(&mut self, field: &str, why: &str) {
        self.errors.push(FieldError::required(field, why));
    }

    fn invalid(&mut self, field: &str, value: impl Into<Value>, why: &str) {
        self.errors.push(FieldError::invalid(field, value.into(), why));
    }

    /// Resources and their providers.
    fn entry(&mut self, path: &str, entry: &Value) {
        let (at_resources, at_providers) = (format!("{path}.resources"), format!("{path}.providers"));
        let names: Vec<&str> = items(entry, "resources").iter().filter_map(|name| name.as_str()).collect();
        if names.is_empty() {
            self.required(&at_resources, &format!("at least one {at_resources} is required"));
        }
        self.overlap(&at_resources, &names);
        for (i, name) in names.iter().enumerate() {
            if let Some(why) = wrong_name(name) {
                self.invalid(&format!("{at_resources}[{i}]"), *name, why);
            }
        }
        let providers = items(entry, "providers");
        if providers.is_empty() {
            self.required(&at_providers, &format!("at least one {at_providers} is required"));
        }
        for name in names {
            self.add(&at_resources, name);
            for (i, provider) in providers.iter().enumerate() {
                let made = self.provider(&format!("{at_providers}[{i}]"), provider);
                let (group, resource) = split(name);
                let of_group = self.found.providers.entry(group).or_default();
                of_group.entry(resource).or_default().extend(made);
            }
        }
    }

    /// A resource that an earlier entry with a wildcard covers would never be used.
    fn add(&mut self, path: &str, name: &str) {
        let (group, resource) = split(name);
        let mask =
            [(group.clone(), "*".to_owned()), ("*".to_owned(), "*".to_owned())].into_iter().find(|mask| {
                *mask != (group.clone(), resource.clone())
                    && self
                        .found
                        .providers
                        .get(&mask.0)
                        .is_some_and(|resources| resources.contains_key(&mask.1))
            });
        if let Some((group, resource)) = mask {
            let why = format!("resource \"{name}\" is masked by earlier rule \"{resource}.{group}\"");
            self.invalid(path, name, &why);
        }
    }

    fn overlap(&mut self, path: &str, names: &[&str]) {
        let parsed: Vec<(String, String)> = names.iter().map(|name| split(name)).collect();
        let pairs = || parsed.iter().enumerate().flat_map(|(i, a)| parsed[..i].iter().map(move |b| (a, b)));
        let any = |name: &(String, String)| name.0 == "*" && name.1 == "*";
        let list = || names.iter().map(|name| Value::from(*name)).collect::<Vec<_>>();
        if pairs().any(|(a, b)| a == b) {
            self.invalid(path, list(), "the same resource cannot be specified multiple times");
        }
        let overlaps = |(a, b): (&(String, String), &(String, String))| {
            a != b && (any(a) || any(b) || (a.0 == b.0 && (a.1 == "*" || b.1 == "*")))
        };
        if pairs().any(overlaps) {
            let why = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
            self.invalid(path, list(), why);
        }
    }

    fn provider(&mut self, path: &str, provider: &Value) -> Vec<Provider> {
        let there = |name: &str| provider.get(name).filter(|settings| !settings.is_null());
        let kinds = ["kms", "aesgcm", "aescbc", "secretbox", "identity"];
        let mut found = kinds.into_iter().filter_map(|kind| there(kind).map(|settings| (kind, settings)));
        let (first, more) = (found.next(), found.next().is_some());
        let keys = |reader: &mut Self,
                    name: &str,
                    settings: &Value,
                    lengths: &[usize],
                    make: fn(&[u8]) -> Option<Cipher>| {
            reader.keys(&format!("{path}.{name}.keys"), settings, lengths, make)
        };
        match first {
            Some(_) if more => {
                let why = "more than one provider specified in a single element, should split into different list elements";
                self.invalid(path, "REDACTED", why);
            }
            Some(("identity", _)) => return vec![Provider::identity()],
            Some(("aesgcm", settings)) => return keys(self, "aesgcm", settings, &AES_KEYS, Cipher::gcm),
            Some(("aescbc", settings)) => return keys(self, "aescbc", settings, &AES_KEYS, Cipher::cbc),
            Some(("secretbox", settings)) => {
                return keys(self, "secretbox", settings, &SECRETBOX_KEYS, Cipher::secretbox);
            }
            Some(_) => self.invalid(&format!("{path}.kms"), "REDACTED", "KMS plugins are not supported"),
            None => {
                let why = "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity";
                self.invalid(path, Value::object(), why);
            }
        }
        Vec::new()
    }

    fn keys(
        &mut self,
        path: &str,
        settings: &Value,
        lengths: &[usize],
        make: fn(&[u8]) -> Option<Cipher>,
    ) -> Vec<Provider> {
        let keys = items(settings, "keys");
        if keys.is_empty() {
            self.required(path, "at least one keys is required");
        }
        let mut providers = Vec::new();
        for (i, key) in keys.iter().enumerate() {
            let text = |name: &str| key.get(name).and_then(Value::as_str).unwrap_or_default();
            if text("name").is_empty() {
                self.required(&format!("{path}[{i}].name"), "name is a mandatory field for a key");
            }
            let field = format!("{path}[{i}].secret");
            if text("secret").is_empty() {
                self.required(&field, "secret is a mandatory field for a key");
                continue;
            }
            let Ok(secret) = base64::decode(text("secret")) else {
                self.invalid(&field, "REDACTED", "secrets must be base64 encoded");
                continue;
            };
            match make(&secret) {
                Some(cipher) => providers.push(Provider::new(text("name"), cipher)),
                None => {
                    let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
                    let why = format!(
                        "secret is not of the expected length, got {}, expected one of [{}]",
                        secret.len(),
                        lengths.join(" ")
                    );
                    self.invalid(&field, "REDACTED", &why);
                }
            }
        }
        providers
    }
}

/// The group and the resource of `resource.group`.
fn split(name: &str) -> (String, String) {
    let (resource, group) = name.split_once('.').unwrap_or((name, ""));
    (group.to_owned(), resource.to_owned())
}

fn wrong_name(name: &str) -> Option<&'static str> {
    let (group, resource) = split(name);
    if name.to_lowercase() != name {
        return Some("resource name should not contain capital letters");
    }
    match (name, group.as_str(), resource.as_str()) {
        ("*", ..) => {
            Some("use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources")
        }
        ("apiserveripinfo" | "serviceipallocations" | "servicenodeportallocations", ..) => {
            Some("resources which do not have REST API/s cannot be encrypted")
        }
        (_, "events.k8s.io", _) => Some(
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file",
        ),
        (_, "extensions", _) => Some("'extensions' group has been removed and cannot be used for encryption"),
        (_, "*", resource) if resource != "*" => {
            Some("encrypting the same resource across groups is not supported")
        }
        _ => None,
    }
}

fn items<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().collect()
}

//! Values that Go's ciphers made, round trips, and configurations.

use super::*;

/// Keys of ascending bytes, from 1 on.
const KEY16: &str = "AQIDBAUGBwgJCgsMDQ4PEA==";
const KEY24: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcY";
const KEY32: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const OTHER32: &str = "//////////////////////////////////////////8=";
const PLAIN: &[u8] = b"k8s\0some object";
const STORAGE_KEY: &[u8] = b"/registry/secrets/default/a";

fn config(entries: &str) -> String {
    format!(
        "{{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{entries}]}}"
    )
}

fn secrets(providers: &str) -> String {
    config(&format!("{{resources: [secrets], providers: [{providers}]}}"))
}

fn keys(provider: &str, keys: &[(&str, &str)]) -> String {
    let keys: Vec<String> =
        keys.iter().map(|(name, key)| format!("{{name: {name}, secret: \"{key}\"}}")).collect();
    format!("{{{provider}: {{keys: [{}]}}}}", keys.join(", "))
}

fn open(text: &str) -> Encryption {
    Encryption::parse(text).unwrap()
}

fn from_hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn decrypt(encryption: &Encryption, stored: &[u8]) -> Result<Decrypted, String> {
    encryption.decrypt("", "secrets", STORAGE_KEY, Bytes::copy_from_slice(stored))
}

#[test]
fn values_of_gos_ciphers_are_read() {
    for (provider, key, hex) in [
        (
            "aesgcm",
            KEY16,
            "6465666768696a6b6c6d6e6f40608ff8fe5b11458f3b096a7f41ad2ca43f1dbb08cbe0e0d986c089ea1a84",
        ),
        (
            "aesgcm",
            KEY24,
            "6465666768696a6b6c6d6e6fcf100da6eec09d3707edc6d5d3da6b784ae9d215fa222a0d3ad4a2c02f408e",
        ),
        (
            "aesgcm",
            KEY32,
            "6465666768696a6b6c6d6e6f0b67004ce2edd11cd838cdf27d4f8c7b8a431f6dde19f63de284701613c5ae",
        ),
        ("aescbc", KEY16, "32333435363738393a3b3c3d3e3f40416f7d3e377660cc890bdb7b07b3296795"),
        ("aescbc", KEY24, "32333435363738393a3b3c3d3e3f40415fd6d20a6dce7b5dd3e2f9e82b83532a"),
        ("aescbc", KEY32, "32333435363738393a3b3c3d3e3f40418e4bc4c6fdb8c63bd79f689333d91c53"),
        (
            "secretbox",
            KEY32,
            "6465666768696a6b6c6d6e6f707172737475767778797a7bdeaf42d177a585f870d0573461f75ac93f6e4684a0ac316f1ee540211d4755",
        ),
    ] {
        let encryption = open(&secrets(&keys(provider, &[("key1", key)])));
        let stored = [format!("k8s:enc:{provider}:v1:key1:").as_bytes(), &from_hex(hex)].concat();
        let found = decrypt(&encryption, &stored).unwrap();
        assert_eq!((&found.value[..], found.is_stale), (PLAIN, false), "{provider}");
        let written = encryption.encrypt("", "secrets", STORAGE_KEY, PLAIN).unwrap().unwrap();
        assert_eq!(written.len(), stored.len());
        assert_ne!(written, stored, "nonces are random");
        assert!(written.len() as u64 <= PLAIN.len() as u64 + OVERHEAD);
        assert_eq!(decrypt(&encryption, &written).unwrap().value, PLAIN);
        // Whatever is changed or cut off is an error and never a value; CBC does not notice every change.
        for at in 0..written.len() {
            let mut changed = written.to_vec();
            changed[at] ^= 1;
            let found = decrypt(&encryption, &changed);
            assert!(found.is_err() || provider == "aescbc", "{provider} byte {at}");
            assert!(
                decrypt(&encryption, &written[..at]).is_err() || provider == "aescbc",
                "{provider} cut at {at}"
            );
        }
    }
}

#[test]
fn a_value_belongs_to_its_object() {
    let encryption = open(&secrets(&keys("aesgcm", &[("k", KEY32)])));
    let stored = encryption.encrypt("", "secrets", b"/registry/secrets/default/a", PLAIN).unwrap().unwrap();
    let moved = encryption.decrypt("", "secrets", b"/registry/secrets/default/b", stored);
    assert!(moved.unwrap_err().contains("cannot be decrypted"));
}

#[test]
fn keys_are_rotated() {
    let old = open(&secrets(&keys("aesgcm", &[("a", KEY32)])));
    let stored = old.encrypt("", "secrets", STORAGE_KEY, PLAIN).unwrap().unwrap();
    let both = open(&secrets(&keys("aesgcm", &[("b", OTHER32), ("a", KEY32)])));
    assert!(decrypt(&both, &stored).unwrap().is_stale);
    let rewritten = both.encrypt("", "secrets", STORAGE_KEY, PLAIN).unwrap().unwrap();
    assert!(rewritten.starts_with(b"k8s:enc:aesgcm:v1:b:"));
    assert!(!decrypt(&both, &rewritten).unwrap().is_stale);
    both.replace(&secrets(&keys("aesgcm", &[("b", OTHER32)]))).unwrap();
    assert_eq!(decrypt(&both, &stored).unwrap_err(), "no matching prefix found");
    assert!(both.replace("nonsense").is_err());
    assert_eq!(decrypt(&both, &rewritten).unwrap().value, PLAIN, "the old configuration stays");
    // The same name for another key.
    let wrong = open(&secrets(&keys("aesgcm", &[("a", OTHER32)])));
    assert!(decrypt(&wrong, &stored).unwrap_err().contains("the key is another one"));
}

#[test]
fn plain_values_are_read_only_with_identity() {
    let strict = open(&secrets(&keys("secretbox", &[("k", KEY32)])));
    assert_eq!(decrypt(&strict, PLAIN).unwrap_err(), "no matching prefix found");
    let begin = open(&secrets(&format!("{}, {{identity: {{}}}}", keys("secretbox", &[("k", KEY32)]))));
    assert!(decrypt(&begin, PLAIN).unwrap().is_stale);
    let end = open(&secrets(&format!("{{identity: {{}}}}, {}", keys("secretbox", &[("k", KEY32)]))));
    assert_eq!(end.encrypt("", "secrets", STORAGE_KEY, PLAIN).unwrap(), None);
    let stored = begin.encrypt("", "secrets", STORAGE_KEY, PLAIN).unwrap().unwrap();
    assert!(decrypt(&end, &stored).unwrap().is_stale);
    let identity = open(&secrets("{identity: {}}"));
    assert!(decrypt(&identity, &stored).is_err());
    let other = identity.decrypt("", "configmaps", STORAGE_KEY, stored).unwrap_err();
    assert_eq!(other, "identity transformer tried to read encrypted data");
}

#[test]
fn wildcards_cover_groups_and_everything() {
    let provider = |name: &str| keys("aesgcm", &[(name, KEY32)]);
    let encryption = open(&config(&format!(
        "{{resources: [events], providers: [{{identity: {{}}}}]}}, \
         {{resources: [secrets, foos.example.com], providers: [{}]}}, \
         {{resources: ['*.apps', '*.'], providers: [{}]}}, \
         {{resources: ['*.*'], providers: [{}]}}",
        provider("named"),
        provider("group"),
        provider("all")
    )));
    for (group, resource, want) in [
        ("", "events", ""),
        ("", "secrets", "named"),
        ("example.com", "foos", "named"),
        ("example.com", "bars", "all"),
        ("apps", "deployments", "group"),
        ("", "configmaps", "group"),
        ("batch", "jobs", "all"),
    ] {
        let stored = encryption.encrypt(group, resource, b"k", PLAIN).unwrap();
        let want = format!("k8s:enc:aesgcm:v1:{want}:");
        let found = stored
            .as_ref()
            .map_or(want == "k8s:enc:aesgcm:v1::", |stored| stored.starts_with(want.as_bytes()));
        assert!(found, "{group} {resource}");
    }
}

#[test]
fn configurations_with_errors_are_refused() {
    let good = keys("aesgcm", &[("a", KEY32)]);
    let entry = |resources: &str| config(&format!("{{resources: [{resources}], providers: [{good}]}}"));
    for (text, want) in [
        (config(""), "resources: Required value: at least one resources is required"),
        (
            config("{}"),
            "resources[0].providers: Required value: at least one resources[0].providers is required",
        ),
        (secrets("{}"), "provider does not contain any of the expected providers"),
        (
            secrets("{aesgcm: {keys: []}}"),
            "resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required",
        ),
        (
            secrets(&keys("aesgcm", &[("a", "AAAA")])),
            "resources[0].providers[0].aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 3, expected one of [16 24 32]",
        ),
        (secrets(&keys("secretbox", &[("a", KEY16)])), "got 16, expected one of [32]"),
        (
            secrets(&keys("aescbc", &[("a", "!!")])),
            "secret: Invalid value: \"REDACTED\": secrets must be base64 encoded",
        ),
        (
            secrets("{aesgcm: {keys: [{secret: x}]}}"),
            "keys[0].name: Required value: name is a mandatory field for a key",
        ),
        (
            secrets("{aesgcm: {keys: [{name: x}]}}"),
            "keys[0].secret: Required value: secret is a mandatory field for a key",
        ),
        (secrets("{kms: {name: x}}"), "KMS plugins are not supported"),
        (secrets("{identity: {}, aesgcm: {}}"), "more than one provider specified in a single element"),
        (secrets("{aesgcmm: {}}"), "unknown field \"resources[0].providers[0].aesgcmm\""),
        (entry("Secrets"), "resource name should not contain capital letters"),
        (entry("'*'"), "use '*.' to encrypt all the resources from core API group"),
        (entry("'a.*'"), "encrypting the same resource across groups is not supported"),
        (entry("x.events.k8s.io"), "Use 'events' instead in the config file"),
        (entry("x.extensions"), "'extensions' group has been removed"),
        (entry("secrets, secrets"), "the same resource cannot be specified multiple times"),
        (entry("secrets, '*.'"), "using overlapping resources such as 'secrets' and '*.'"),
        (
            config(&format!(
                "{{resources: ['*.'], providers: [{good}]}}, {{resources: [secrets], providers: [{good}]}}"
            )),
            "resource \"secrets\" is masked by earlier rule \"*.\"",
        ),
        (secrets(&good).replace("/v1,", "/v1beta1,"), "no kind \"EncryptionConfiguration\" is registered"),
    ] {
        let error = Encryption::parse(&text).unwrap_err();
        assert!(error.contains(want), "{text}: {error}");
        assert!(!error.contains(KEY32) && !error.contains(KEY16), "no key is shown: {error}");
    }
}

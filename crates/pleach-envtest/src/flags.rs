//! Command lines of `kube-apiserver` and `etcd`, which follow Go's conventions.

use pleach_go::strconv::{bool_error, parse_bool, quote};

/// A flag with its value.
pub type Flag = (String, String);

/// The names and types of the flags of kube-apiserver v1.36, and which are deprecated.
const KUBE_APISERVER: &str = include_str!("kube-apiserver-flags.txt");

/// A flag of kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFlag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// Its type. Flags of type `bool` need no value.
    pub kind: &'static str,
    /// Whether `--help` leaves it out.
    pub deprecated: bool,
}

/// The flags of kube-apiserver.
pub fn kube_apiserver_flags() -> impl Iterator<Item = KnownFlag> {
    KUBE_APISERVER.lines().filter_map(|line| {
        let (name, kind) = line.split_once(' ')?;
        let current = kind.strip_suffix(" deprecated");
        Some(KnownFlag { name, kind: current.unwrap_or(kind), deprecated: current.is_some() })
    })
}

/// Reads a command line of kube-apiserver. Errors are those of the real one.
pub fn parse_kube_apiserver(arguments: &[String]) -> Result<Vec<Flag>, String> {
    let mut flags = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let (name, value) = if argument == "--" {
            // What follows are arguments, whatever it looks like.
            no_arguments(rest.as_slice())?;
            break;
        } else if let Some(long) = argument.strip_prefix("--") {
            split(long)
        } else if let Some(short) = argument.strip_prefix('-').filter(|short| !short.is_empty()) {
            match short.split_at(1) {
                ("h", "") => ("help", None),
                ("v", "") => ("v", None),
                ("v", value) => ("v", Some(value.strip_prefix('=').unwrap_or(value))),
                (letter, _) => return Err(format!("unknown shorthand flag: '{letter}' in -{short}")),
            }
        } else {
            no_arguments(&[std::slice::from_ref(argument), rest.as_slice()].concat())?;
            break;
        };
        // As component-base's WordSepNormalizeFunc.
        let normalized = name.replace('_', "-");
        let kind = match normalized.as_str() {
            "help" => "bool",
            normalized => {
                let found = kube_apiserver_flags().find(|known| known.name == normalized);
                found.ok_or_else(|| format!("unknown flag: --{name}"))?.kind
            }
        };
        let value = match value {
            Some(value) => value.to_owned(),
            None if kind == "bool" => "true".to_owned(),
            None => rest.next().ok_or_else(|| format!("flag needs an argument: --{name}"))?.clone(),
        };
        // `--version` also takes `raw`.
        let value = match parse_bool(&value).filter(|_| kind == "bool") {
            Some(value) => value.to_string(),
            None if kind == "bool" && normalized != "version" => {
                return Err(format!(
                    "invalid argument {} for \"--{normalized}\" flag: {}",
                    quote(&value),
                    bool_error(&value)
                ));
            }
            None => value,
        };
        flags.push((normalized, value));
    }
    Ok(flags)
}

/// Refuses arguments that are not flags.
fn no_arguments(arguments: &[String]) -> Result<(), String> {
    if arguments.iter().all(String::is_empty) {
        return Ok(());
    }
    let quoted: Vec<String> = arguments.iter().map(|argument| quote(argument)).collect();
    Err(format!("\"kube-apiserver\" does not take any arguments, got [{}]", quoted.join(" ")))
}

/// Reads a command line of etcd: one or two dashes, the value after `=` or as the next argument. Any name is taken.
pub fn parse_etcd(arguments: &[String]) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut rest = arguments.iter().peekable();
    while let Some(argument) = rest.next() {
        let name = argument.trim_start_matches('-');
        let (name, value) = split(name);
        let value = match value {
            Some(value) => value.to_owned(),
            None => match rest.next_if(|next| !next.starts_with('-')) {
                Some(value) => value.clone(),
                None => "true".to_owned(),
            },
        };
        flags.push((name.to_owned(), value));
    }
    flags
}

/// The last value of a flag.
pub fn last<'a>(flags: &'a [Flag], name: &str) -> Option<&'a str> {
    flags.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn split(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (argument, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Vec<String> {
        line.split_whitespace().map(ToOwned::to_owned).collect()
    }

    #[test]
    fn flags_of_kube_apiserver_are_read_and_refused_as_upstream_does() {
        let flags = |line: &str| parse_kube_apiserver(&arguments(line));
        let pairs = |pairs: &[(&str, &str)]| {
            Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        for (line, expected) in [
            ("", pairs(&[])),
            (
                "--secure-port=1 --bind-address 127.0.0.1",
                pairs(&[("secure-port", "1"), ("bind-address", "127.0.0.1")]),
            ),
            (
                "--allow-privileged --v 4 -v=5 -v6",
                pairs(&[("allow-privileged", "true"), ("v", "4"), ("v", "5"), ("v", "6")]),
            ),
            (
                "--apiserver_count 3 --default-watch-cache-size=100 --kubelet-port 10250",
                pairs(&[
                    ("apiserver-count", "3"),
                    ("default-watch-cache-size", "100"),
                    ("kubelet-port", "10250"),
                ]),
            ),
            (
                "--log-json-split-stream --log-json-info-buffer-size 4Ki --logging_format=json",
                pairs(&[
                    ("log-json-split-stream", "true"),
                    ("log-json-info-buffer-size", "4Ki"),
                    ("logging-format", "json"),
                ]),
            ),
            ("--no_such=1", Err("unknown flag: --no_such".into())),
            ("--allow-privileged=false", pairs(&[("allow-privileged", "false")])),
            ("--feature-gates=A=true", pairs(&[("feature-gates", "A=true")])),
            ("-h", pairs(&[("help", "true")])),
            ("--", pairs(&[])),
            ("-- --v", Err("\"kube-apiserver\" does not take any arguments, got [\"--v\"]".into())),
            ("--nope=1", Err("unknown flag: --nope".into())),
            ("-x", Err("unknown shorthand flag: 'x' in -x".into())),
            ("--secure-port", Err("flag needs an argument: --secure-port".into())),
            ("foo", Err("\"kube-apiserver\" does not take any arguments, got [\"foo\"]".into())),
        ] {
            assert_eq!(flags(line), expected, "{line}");
        }
    }

    #[test]
    fn flags_of_etcd_are_read_in_all_forms() {
        let flags =
            parse_etcd(&arguments("-data-dir a --listen-client-urls=http://x:1 --unsafe-no-fsync --name b"));
        assert_eq!(last(&flags, "data-dir"), Some("a"));
        assert_eq!(last(&flags, "listen-client-urls"), Some("http://x:1"));
        assert_eq!(last(&flags, "unsafe-no-fsync"), Some("true"));
        assert_eq!(last(&flags, "name"), Some("b"));
        assert_eq!(last(&flags, "other"), None);
    }

    #[test]
    fn envtest_is_not_told_of_an_insecure_port() {
        assert!(kube_apiserver_flags().count() > 150);
        assert!(!kube_apiserver_flags().any(|flag| flag.name.starts_with("insecure")));
    }
}

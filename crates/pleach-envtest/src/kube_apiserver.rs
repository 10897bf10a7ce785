//! The program `kube-apiserver`: its flags as those of `pleach serve`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::etcd::{self, StoreLocation};
use crate::flags::{self, Flag};

/// How long etcd is waited for.
const ETCD_STARTS: Duration = Duration::from_secs(20);

/// The authorization modes without effect: there are no nodes.
const MODES_OF_NODES: [&str; 1] = ["Node"];

/// The other authorization modes.
const MODES: [&str; 4] = ["RBAC", "Webhook", "AlwaysAllow", "AlwaysDeny"];

/// Flags whose values are maps: given several times, each adds to those before.
const MAPS: [&str; 2] = ["feature-gates", "runtime-config"];

/// The options of a command line of kube-apiserver.
#[derive(Debug, PartialEq, Eq)]
pub enum Run {
    /// Printing a text.
    Print(String),
    /// Serving.
    Serve(Serve),
}

/// A server to start.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Serve {
    /// The arguments of `pleach serve`.
    pub arguments: Vec<String>,
    /// Flags that have no effect.
    pub without_effect: Vec<String>,
}

/// A flag of `pleach serve`.
pub struct ServeFlag {
    /// Its name, without dashes.
    pub name: String,
    /// Whether it has a value.
    pub takes_value: bool,
    /// Whether it may be given several times. Of other flags the last counts, as in Go.
    pub is_list: bool,
}

/// Reads a command line. `serve_flags` are those of `pleach serve`, `knows_gate` tells whether a feature gate is one
/// of Pleach.
pub fn read(
    arguments: &[String],
    serve_flags: &[ServeFlag],
    knows_gate: impl Fn(&str) -> bool,
) -> Result<Run, String> {
    let flags = flags::parse_kube_apiserver(arguments)?;
    if flags::last(&flags, "help").is_some() {
        return Ok(Run::Print(help()));
    }
    if flags::last(&flags, "version").is_some_and(|value| value != "false") {
        return Ok(Run::Print(format!("Kubernetes {}\n", crate::KUBERNETES_VERSION)));
    }
    let mut serve = translate(&flags, serve_flags, knows_gate)?;
    let has_serving_certificate = flags::last(&flags, "tls-cert-file").is_some();
    let certificates = flags::last(&flags, "cert-dir").map(Path::new);
    if let Some(directory) = certificates.filter(|_| !has_serving_certificate) {
        serve.arguments.extend(serving_certificate(directory));
    }
    let servers = flags::last(&flags, "etcd-servers").ok_or("--etcd-servers must be specified")?;
    let first = servers.split(',').next().unwrap_or_default();
    let of_etcd = flags.iter().filter(|(name, _)| name.starts_with("etcd-"));
    let knows = |name: &str| serve_flags.iter().any(|flag| flag.name == name);
    match wait_for_etcd(first)? {
        Some(location) => {
            serve.arguments.extend(storage(&location));
            let of_etcd = of_etcd.filter(|(name, _)| name != "etcd-servers");
            serve.without_effect.extend(of_etcd.map(|(name, value)| format!("--{name}={value}")));
        }
        None if knows("etcd-servers") => {
            for (name, value) in of_etcd {
                let flag = format!("--{name}={value}");
                if knows(name) { &mut serve.arguments } else { &mut serve.without_effect }.push(flag);
            }
        }
        None => return Err(format!("the etcd at {first} is not the one of this installation")),
    }
    Ok(Run::Serve(serve))
}

/// The flags of `pleach serve` that mean the same. Flags of etcd are left out: they depend on the etcd.
pub fn translate(
    flags: &[Flag],
    serve_flags: &[ServeFlag],
    knows_gate: impl Fn(&str) -> bool,
) -> Result<Serve, String> {
    let mut serve = Serve { arguments: vec!["--log-level=warn".into()], ..Serve::default() };
    for (name, value) in flags {
        let (name, value) = match name.as_str() {
            "bind-address" => ("bind", value.clone()),
            "secure-port" => {
                let port = value.parse::<u16>();
                port.map_err(|_| {
                    format!("invalid argument {value:?} for \"--secure-port\" flag: not a port")
                })?;
                ("port", value.clone())
            }
            "authorization-mode" => {
                let (node, others): (Vec<&str>, Vec<&str>) =
                    value.split(',').partition(|mode| MODES_OF_NODES.contains(mode));
                if let Some(unknown) = others.iter().find(|mode| !MODES.contains(mode)) {
                    let modes = MODES.join(", ");
                    return Err(format!("--authorization-mode {unknown}: {modes} are implemented"));
                }
                if !node.is_empty() {
                    serve.without_effect.push(format!("--authorization-mode={}", node.join(",")));
                }
                if others.is_empty() {
                    continue;
                }
                ("authorization-mode", others.join(","))
            }
            "feature-gates" => {
                let gates = value.split(',').map(str::trim).filter(|gate| !gate.is_empty());
                // Gates of kube-apiserver may have its name in front.
                let gates = gates.map(|gate| gate.strip_prefix("kube:").unwrap_or(gate));
                let (known, others): (Vec<&str>, Vec<&str>) = gates.partition(|gate| knows_gate(gate));
                if !others.is_empty() {
                    serve.without_effect.push(format!("--feature-gates={}", others.join(",")));
                }
                if known.is_empty() {
                    continue;
                }
                ("feature-gates", known.join(","))
            }
            name if name.starts_with("etcd-") => continue,
            // Certificates and the privileges of Pods: nothing has to be done.
            "cert-dir" | "allow-privileged" => continue,
            name => (name, value.clone()),
        };
        match serve_flags.iter().find(|flag| flag.name == name) {
            Some(flag) if flag.takes_value => {
                let prefix = format!("--{name}=");
                let before = serve.arguments.iter().position(|argument| argument.starts_with(&prefix));
                match before.filter(|_| !flag.is_list) {
                    Some(before) if MAPS.contains(&name) => {
                        let _ = write!(serve.arguments[before], ",{value}");
                    }
                    Some(before) => serve.arguments[before] = prefix + &value,
                    None => serve.arguments.push(prefix + &value),
                }
            }
            Some(_) if value == "true" => serve.arguments.push(format!("--{name}")),
            Some(_) => {}
            None => serve.without_effect.push(format!("--{name}={value}")),
        }
    }
    let is_mode = |argument: &String| argument.starts_with("--authorization-mode=");
    if flags::last(flags, "authorization-mode").is_some() && !serve.arguments.iter().any(is_mode) {
        return Err(format!("--authorization-mode Node: {} are implemented", MODES.join(", ")));
    }
    Ok(serve)
}

/// The serving certificate, where one has been put into the directory of certificates.
fn serving_certificate(directory: &Path) -> Vec<String> {
    let (certificate, key) = (directory.join("apiserver.crt"), directory.join("apiserver.key"));
    if !certificate.exists() || !key.exists() {
        return Vec::new();
    }
    vec![
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-private-key-file={}", key.display()),
    ]
}

fn storage(location: &StoreLocation) -> Vec<String> {
    let directory: PathBuf = location.data_dir.join("pleach");
    let mut arguments = vec![format!("--data-dir={}", directory.display())];
    if !location.fsync {
        arguments.push("--unsafe-no-fsync".into());
    }
    arguments
}

/// Asks etcd where objects are kept, until it answers.
fn wait_for_etcd(url: &str) -> Result<Option<StoreLocation>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let began = Instant::now();
    loop {
        match runtime.block_on(etcd::store_location(url)) {
            Err(error) if began.elapsed() > ETCD_STARTS => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
            location => return location,
        }
    }
}

fn help() -> String {
    let mut text = String::from(
        "Pleach in the place of kube-apiserver, for tests. Takes all of its flags; those that mean nothing here are\n\
         logged and have no effect.\n\nUsage:\n  kube-apiserver [flags]\n\nFlags:\n",
    );
    for flag in flags::kube_apiserver_flags().filter(|flag| !flag.deprecated) {
        let (name, kind) = (flag.name, if flag.kind == "bool" { "" } else { flag.kind });
        text += format!("      --{name} {kind}").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve_flags() -> Vec<ServeFlag> {
        let with_value = [
            "bind",
            "port",
            "authorization-mode",
            "client-ca-file",
            "feature-gates",
            "runtime-config",
            "anonymous-auth",
        ];
        let flag = |name: &str| ServeFlag { name: name.into(), takes_value: true, is_list: false };
        let mut flags: Vec<_> = with_value.map(flag).into();
        flags.push(ServeFlag { takes_value: false, ..flag("watch-cache") });
        flags.push(ServeFlag { is_list: true, ..flag("service-account-issuer") });
        flags
    }

    fn translated(line: &str) -> Result<(String, String), String> {
        let arguments: Vec<_> = line.split_whitespace().map(ToOwned::to_owned).collect();
        let flags = flags::parse_kube_apiserver(&arguments)?;
        let serve = translate(&flags, &serve_flags(), |gate| gate.starts_with("Known="))?;
        Ok((serve.arguments[1..].join(" "), serve.without_effect.join(" ")))
    }

    #[test]
    fn flags_become_those_of_serve() {
        for (line, arguments, without_effect) in [
            ("--bind-address=127.0.0.1 --secure-port=1", "--bind=127.0.0.1 --port=1", ""),
            ("--client-ca-file=a --cert-dir=b --allow-privileged", "--client-ca-file=a", ""),
            ("--authorization-mode=Node,RBAC", "--authorization-mode=RBAC", "--authorization-mode=Node"),
            ("--authorization-mode=Webhook,RBAC", "--authorization-mode=Webhook,RBAC", ""),
            (
                "--feature-gates=Known=true,Other=true",
                "--feature-gates=Known=true",
                "--feature-gates=Other=true",
            ),
            (
                "--feature-gates=Known=true --feature-gates=kube:Known=false --feature-gates=Other=true",
                "--feature-gates=Known=true,Known=false",
                "--feature-gates=Other=true",
            ),
            (
                "--runtime-config=apps/v1=false --bind-address=::1 --runtime-config=batch/v1=false",
                "--runtime-config=apps/v1=false,batch/v1=false --bind=::1",
                "",
            ),
            ("--watch-cache --anonymous-auth", "--watch-cache --anonymous-auth=true", ""),
            ("--watch-cache=false", "", ""),
            ("--watch-cache=1 --anonymous-auth=F", "--watch-cache --anonymous-auth=false", ""),
            ("--client-ca-file a --client-ca-file b", "--client-ca-file=b", ""),
            (
                "--service-account-issuer a --service-account-issuer b",
                "--service-account-issuer=a --service-account-issuer=b",
                "",
            ),
            ("--etcd-servers=x --kubelet-timeout=1s", "", "--kubelet-timeout=1s"),
        ] {
            assert_eq!(translated(line), Ok((arguments.into(), without_effect.into())), "{line}");
        }
        assert!(translated("--secure-port=x").unwrap_err().starts_with("invalid argument \"x\""));
        assert!(translated("--authorization-mode=ABAC").unwrap_err().contains("ABAC"));
        assert!(translated("--authorization-mode=Node").unwrap_err().contains("Node"));
        assert_eq!(
            translated("--watch-cache=on").unwrap_err(),
            "invalid argument \"on\" for \"--watch-cache\" flag: strconv.ParseBool: parsing \"on\": invalid syntax"
        );
    }

    #[test]
    fn help_passes_the_check_of_envtest() {
        let Ok(Run::Print(text)) = read(&["--help".into()], &[], |_| false) else { panic!("no help") };
        assert!(text.contains("--secure-port int"));
        assert!(!text.contains("--insecure-port"));
        assert!(!text.contains("--apiserver-count"), "deprecated flags are hidden");
        assert_eq!(
            read(&["--version".into()], &[], |_| false),
            Ok(Run::Print("Kubernetes v1.36.4\n".into()))
        );
    }
}

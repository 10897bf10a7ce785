//! `pleach envtest …`, and this binary under the names `kube-apiserver` and `etcd`.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgAction, CommandFactory as _, Parser as _};
use pleach_cli::Color;
use pleach_engine::gates::Gates;
use pleach_envtest::install::Kubectl;
use pleach_envtest::kube_apiserver::{self, Run, ServeFlag};
use pleach_envtest::{Program, bundle, etcd, install, parent};

use crate::cli::{Cli, Command, EnvtestCommand};
use crate::serve;

/// Runs a command of `pleach envtest`.
pub(crate) fn run(command: &EnvtestCommand) -> Result<(), Box<dyn Error>> {
    let binary = std::env::current_exe()?;
    let path = std::env::var_os("PATH");
    let kubectl = match command {
        EnvtestCommand::Install { directory, version } => {
            let version = version.map(|version| version.to_string());
            let kubectl = install::install(&binary, directory, path.as_deref(), version.as_deref())
                .map_err(|error| format!("cannot install into {}: {error}", directory.display()))?;
            writeln_out!("export KUBEBUILDER_ASSETS={}", std::path::absolute(directory)?.display());
            kubectl
        }
        EnvtestCommand::Bundle { directory, base_url, version } => {
            let version = version.map(|version| version.to_string());
            let made = bundle::bundle(&binary, directory, base_url, path.as_deref(), version.as_deref())
                .map_err(|error| format!("cannot write to {}: {error}", directory.display()))?;
            writeln_out!("{}\n{}", made.archive.display(), made.index.display());
            made.kubectl
        }
    };
    if kubectl == Kubectl::Missing {
        eprintln!("pleach: there is no kubectl in PATH; tests that run kubectl will fail");
    }
    Ok(())
}

/// Runs as a program of envtest.
pub(crate) fn run_as(program: Program) -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let result = match program {
        Program::Etcd => etcd::run(&arguments).map_err(Into::into),
        Program::KubeApiserver => run_kube_apiserver(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_kube_apiserver(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    parent::end_with_parent();
    let start = match kube_apiserver::read(arguments, &serve_flags(), is_known)? {
        Run::Print(text) => {
            write_out!("{text}");
            return Ok(());
        }
        Run::Serve(start) => start,
    };
    let installed = installed_version()
        .filter(|_| !start.arguments.iter().any(|argument| argument.starts_with("--emulated-version")));
    let command = ["pleach", "serve", "--console=false"].into_iter().map(ToOwned::to_owned);
    let command = command.chain(installed.map(|version| format!("--emulated-version={version}")));
    let command = command.chain(start.arguments);
    let Command::Serve(options) = Cli::try_parse_from(command)?.command else { return Ok(()) };
    for flag in start.without_effect {
        eprintln!("kube-apiserver: {flag} has no effect");
    }
    serve::run(*options, Color::Never)
}

/// The version that this program was installed to emulate, by the file beside it.
fn installed_version() -> Option<String> {
    let name = std::env::args_os().next().map(PathBuf::from).filter(|name| name.components().count() > 1);
    install::emulated_version(&name.or_else(|| std::env::current_exe().ok())?)
}

/// Whether a feature gate, with its value, is one of Pleach.
fn is_known(gate: &str) -> bool {
    let name = gate.split('=').next().unwrap_or_default();
    Gates::names().any(|known| known == name)
}

/// The flags of `pleach serve`.
fn serve_flags() -> Vec<ServeFlag> {
    let command = Cli::command();
    let serve = command.find_subcommand("serve").into_iter().flat_map(clap::Command::get_arguments);
    serve
        .filter_map(|argument| {
            let (takes_value, is_list) =
                (argument.get_action().takes_values(), matches!(argument.get_action(), ArgAction::Append));
            Some(ServeFlag { name: argument.get_long()?.to_owned(), takes_value, is_list })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pleach_envtest::flags::{kube_apiserver_flags, parse_kube_apiserver};

    use super::*;

    /// A value of a type of Go's flags.
    fn value(name: &str, kind: &str) -> &'static str {
        match (name, kind) {
            ("authorization-mode", _) => "RBAC",
            ("bind-address", _) => "127.0.0.1",
            ("service-account-max-token-expiration", _) => "24h0m0s",
            ("enable-admission-plugins" | "disable-admission-plugins", _) => "NamespaceLifecycle",
            ("emulated-version", _) => "1.36",
            ("oidc-required-claim", _) => "a=b",
            ("runtime-config", _) => "apps/v1=true",
            ("tls-sni-cert-key", _) => "a,b",
            ("service-cluster-ip-range", _) => "10.0.0.0/24",
            ("service-node-port-range", _) => "30000-32767",
            (_, "bool") => "true",
            (_, "duration") => "1h0m0s",
            (_, "int" | "int32" | "float" | "uint" | "Level") => "5",
            (_, "mapStringBool") => "A=true",
            _ => "a",
        }
    }

    #[test]
    fn every_flag_of_kube_apiserver_is_taken() {
        let serve_flags = serve_flags();
        let taken = kube_apiserver_flags().filter(|flag| flag.name != "version");
        for (name, kind) in taken.map(|flag| (flag.name, flag.kind)) {
            // Flags that others need.
            let needed: &[&str] = match name {
                "tls-cert-file" => &["--tls-private-key-file=a"],
                "tls-private-key-file" => &["--tls-cert-file=a"],
                "encryption-provider-config-automatic-reload" => &["--encryption-provider-config=a"],
                "oidc-issuer-url" => &["--oidc-client-id=a"],
                "oidc-client-id" => &["--oidc-issuer-url=a"],
                name if name.starts_with("oidc-") => &["--oidc-issuer-url=a", "--oidc-client-id=a"],
                _ => &[],
            };
            let needed = needed.iter().map(|flag| (*flag).to_owned());
            let line: Vec<_> =
                [format!("--{name}={}", value(name, kind))].into_iter().chain(needed).collect();
            let flags = parse_kube_apiserver(&line).unwrap();
            let serve = kube_apiserver::translate(&flags, &serve_flags, is_known);
            let serve = serve.unwrap_or_else(|error| panic!("--{name}: {error}"));
            let line = ["pleach".to_owned(), "serve".to_owned()].into_iter().chain(serve.arguments);
            assert!(Cli::try_parse_from(line).is_ok(), "--{name}");
        }
    }
}

//! `pleach rbac learn`: the smallest Roles and ClusterRoles for the requests in an audit log.

mod learn;
mod unused;

use std::io::{self, BufRead as _, BufReader, Read};

use clap::{Args, Subcommand};
use pleach_json::Value;
use pleach_pipeline::kinds::rbac::role_resource;

use self::learn::{Observed, roles};
use super::Exit;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  Record what an operator does, and write the roles it needs:
    pleach serve --audit-policy-file policy.yaml --audit-log-path audit.log
    pleach rbac learn --from-audit audit.log --service-account operators/robot

  Which rules of a role were never used:
    pleach rbac learn --from-audit audit.log --service-account operators/robot --role role.yaml

Exit codes: 0 done, 1 the given role has rules that were not used, 2 a file or the command line could not be used.";

/// `pleach rbac …`
#[derive(Clone, Debug, Subcommand)]
pub enum RbacCommand {
    /// Write the smallest Roles and ClusterRoles for the requests in an audit log.
    #[command(after_help = EXAMPLES)]
    Learn(Options),
}

/// Options of `pleach rbac learn`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The audit log, a line of JSON per event, or `-`; may be given several times.
    #[arg(long, required = true, value_name = "FILE")]
    pub from_audit: Vec<String>,
    /// Only requests of this user; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub user: Vec<String>,
    /// Only requests of this service account; may be given several times.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub service_account: Vec<String>,
    /// Requests that were forbidden count as well: the roles allow them.
    #[arg(long)]
    pub include_forbidden: bool,
    /// Objects are named in rules if a verb was used on no more than this many; 0 for never.
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub max_names: usize,
    /// Say which rules of this Role or ClusterRole were not used, instead of writing roles.
    #[arg(long, value_name = "FILE")]
    pub role: Option<String>,
}

/// Runs the command.
pub fn run(command: &RbacCommand, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let RbacCommand::Learn(options) = command;
    let mut users = options.user.clone();
    for account in &options.service_account {
        let Some((namespace, name)) = account.split_once('/') else {
            writeln!(terminal.err, "pleach: a service account is NAMESPACE/NAME, not {account}")?;
            return Ok(Exit::Trouble);
        };
        users.push(format!("system:serviceaccount:{namespace}:{name}"));
    }
    let mut observed = Observed::new(users, options.include_forbidden);
    for name in &options.from_audit {
        if let Err(error) = read(name, &mut observed, terminal) {
            writeln!(terminal.err, "pleach: {name}: {error}")?;
            return Ok(Exit::Trouble);
        }
    }
    if observed.is_empty() {
        writeln!(terminal.err, "pleach: the audit log has no requests that roles would be needed for")?;
    }
    if let Some(name) = &options.role {
        return report(name, &observed, terminal);
    }
    for (i, object) in roles(&observed, options.max_names).iter().enumerate() {
        if i > 0 {
            writeln!(terminal.out, "---")?;
        }
        write!(terminal.out, "{}", pleach_yaml::to_yaml(object))?;
    }
    Ok(Exit::Fine)
}

/// Reads the events of a file.
fn read(name: &str, observed: &mut Observed, terminal: &mut Terminal<'_>) -> io::Result<()> {
    let mut file;
    let input: &mut dyn Read = if name == "-" {
        terminal.input
    } else {
        file = std::fs::File::open(name)?;
        &mut file
    };
    for (number, line) in BufReader::new(input).split(b'\n').enumerate() {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = pleach_json::parse(&line)
            .map_err(|error| io::Error::other(format!("line {}: {error}", number + 1)))?;
        observed.add(&event);
    }
    Ok(())
}

/// Says which rules of a role were not used.
fn report(name: &str, observed: &Observed, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let role = std::fs::read(name).map_err(|error| error.to_string());
    let role = role.and_then(|text| pleach_yaml::parse(&text).map_err(|error| error.to_string()));
    let role = match role {
        Ok(role) if role.get("kind").and_then(Value::as_str).and_then(role_resource).is_some() => role,
        Ok(_) => {
            writeln!(terminal.err, "pleach: {name}: neither a Role nor a ClusterRole")?;
            return Ok(Exit::Trouble);
        }
        Err(error) => {
            writeln!(terminal.err, "pleach: {name}: {error}")?;
            return Ok(Exit::Trouble);
        }
    };
    let unused = unused::unused(&role, observed);
    for line in &unused {
        writeln!(terminal.out, "{line}")?;
    }
    Ok(if unused.is_empty() { Exit::Fine } else { Exit::Findings })
}

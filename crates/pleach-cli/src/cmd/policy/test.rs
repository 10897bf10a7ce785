//! `pleach policy test`: admission policies evaluated on objects, without a server.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use pleach_auth::UserInfo;
use pleach_auth::user::MASTERS;
use pleach_json::{Str, Value};

use crate::cmd::{Exit, Loaded, load};
use crate::document::Document;
use crate::policy::evaluate::{Write, evaluate};
use crate::policy::report::{PolicyFormat, Tested, refused, write};
use crate::policy::setting::Setting;
use crate::terminal::Terminal;

/// Examples in `--help`.
pub const EXAMPLES: &str = "\
Examples:
  pleach policy test --policies policies/ --objects manifests/
  pleach policy test --policies policies/ --objects after.yaml --old before.yaml
  pleach policy test --policies policies/ --objects manifests/ --user jane --group dev
  pleach policy test --policies policies/ --objects manifests/ --output junit > report.xml

The files of --policies have policies, bindings, parameters, CRDs, namespaces and roles. Roles decide what the
authorizer of expressions answers. Without --user the user is kubernetes-admin of the group system:masters.

Exit codes: 0 all objects are accepted, 1 an object is refused, 2 a file or the command line could not be used.";

/// Options of `pleach policy test`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Files, directories or globs with policies, bindings and what they need; may be given more than once.
    #[arg(long, required = true, value_name = "PATH")]
    pub policies: Vec<String>,
    /// Files, directories or globs with the objects to test, or `-`; may be given more than once.
    #[arg(long, required = true, value_name = "PATH")]
    pub objects: Vec<String>,
    /// Stored objects: objects of the same kind and name are tested as updates of them.
    #[arg(long, value_name = "PATH")]
    pub old: Vec<String>,
    /// The operation: what is tested is stored, or deleted.
    #[arg(long, value_enum, default_value_t)]
    pub operation: Operation,
    /// The user of the request.
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// A group of the user; may be given more than once. system:authenticated is always one.
    #[arg(long, value_name = "NAME", requires = "user")]
    pub group: Vec<String>,
    /// An extra attribute of the user; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE", requires = "user")]
    pub extra: Vec<String>,
    /// The form of the results.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: PolicyFormat,
}

/// The operation on the objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// They are created, or replace those of --old.
    #[default]
    Store,
    /// They are deleted.
    Delete,
}

/// Group, kind, namespace and name.
type Identity = [String; 4];

/// Runs the command.
pub fn run(options: &Options, terminal: &mut Terminal<'_>) -> io::Result<Exit> {
    let user = match user(options) {
        Ok(user) => user,
        Err(why) => {
            writeln!(terminal.err, "pleach: {why}")?;
            return Ok(Exit::Trouble);
        }
    };
    let policies = load(&options.policies, terminal)?;
    let objects = load(&options.objects, terminal)?;
    let old = load(&options.old, terminal)?;
    let mut trouble = policies.trouble || objects.trouble || old.trouble;
    for loaded in [&policies, &objects, &old] {
        trouble |= report_unreadable(loaded, terminal)?;
    }
    // CRDs beside the objects define their kinds.
    let context = policies.documents().chain(objects.documents().filter(|document| document.is_crd()));
    let (setting, refused_files) = Setting::read(context);
    for one in &refused_files {
        trouble = true;
        let (source, line) = place(one.document);
        writeln!(terminal.err, "pleach: {source}:{line}: {}: {}", one.document.title(), one.why)?;
    }
    if trouble {
        return Ok(Exit::Trouble);
    }
    if setting.names().is_empty() {
        writeln!(terminal.err, "pleach: no admission policy in {}", options.policies.join(", "))?;
        return Ok(Exit::Trouble);
    }
    for policy in setting.unbound() {
        writeln!(terminal.err, "pleach: policy {} has no binding: it has no effect", policy.name)?;
    }
    let old: HashMap<Identity, &Value> =
        old.documents().map(|document| (identity(document), &document.value)).collect();
    let write_kind = match options.operation {
        Operation::Store => Write::Store,
        Operation::Delete => Write::Delete,
    };
    let mut tested = Vec::new();
    for document in objects.documents().filter(|document| !document.is_crd()) {
        let identity = identity(document);
        let old = old.get(&identity).copied();
        let result = evaluate(&setting, &user, &document.value, old, write_kind);
        let [_, kind, namespace, name] = identity;
        let namespace = match setting.kind_of(&document.value) {
            Ok((kind, _)) if kind.is_namespaced() => namespace,
            _ => String::new(),
        };
        let object = [document.api_version().to_owned(), kind, namespace, name];
        tested.push(Tested { source: document.source.clone(), line: place(document).1, object, result });
    }
    write(&tested, options.output, terminal)?;
    Ok(if refused(&tested) > 0 { Exit::Findings } else { Exit::Fine })
}

fn report_unreadable(loaded: &Loaded, terminal: &mut Terminal<'_>) -> io::Result<bool> {
    let mut any = false;
    for report in loaded.unreadable() {
        any = true;
        for finding in &report.findings {
            let text = crate::output::text::finding_text(finding, &report.source, "", false);
            writeln!(terminal.err, "{text}")?;
        }
    }
    Ok(any)
}

/// The file and line of a document.
fn place(document: &Document) -> (&str, usize) {
    let start = document.locate("kind").underlined(&document.source.text).start;
    (&document.source.name, document.source.position(start).0)
}

fn identity(document: &Document) -> Identity {
    let group = document.api_version().rsplit_once('/').map_or("", |(group, _)| group);
    let namespace = document.value.at(&["metadata", "namespace"]).and_then(Value::as_str);
    let namespace = namespace.filter(|n| !n.is_empty()).unwrap_or("default");
    [group, document.kind(), namespace, document.name()].map(str::to_owned)
}

fn user(options: &Options) -> Result<Arc<UserInfo>, String> {
    let Some(name) = &options.user else {
        return Ok(UserInfo::authenticated("kubernetes-admin", [Str::new_static(MASTERS)]));
    };
    let groups = options.group.iter().map(|group| Str::from(group.as_str()));
    let user = UserInfo::authenticated(name.as_str(), groups);
    let mut extra: BTreeMap<Str, Vec<Str>> = BTreeMap::new();
    for pair in &options.extra {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("--extra is KEY=VALUE, not {pair}"))?;
        extra.entry(key.into()).or_default().push(value.into());
    }
    Ok(Arc::new(UserInfo { extra: extra.into_iter().collect(), ..(*user).clone() }))
}

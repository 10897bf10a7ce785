//! `pleach world …`: worlds of a server that runs with `--test-endpoints`, from the command line.

use std::error::Error;
use std::path::PathBuf;

use bytes::Bytes;
use clap::{Args, Subcommand};
use http::{Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use pleach_json::{Map, Value};
use tokio::net::TcpStream;

use crate::files::read;

/// Options of `pleach world`.
#[derive(Debug, Args)]
pub(crate) struct WorldOptions {
    /// The server: the URL that `pleach serve --test-endpoints` or `pleach chaos` prints.
    #[arg(
        long,
        global = true,
        env = "PLEACH_WORLDS",
        default_value = "http://127.0.0.1:6443",
        value_name = "URL"
    )]
    pub server: String,
    /// The admin's bearer token.
    #[arg(long, global = true, env = "PLEACH_TOKEN", hide_env_values = true, default_value = "")]
    pub token: String,
    #[command(subcommand)]
    pub command: WorldCommand,
}

/// `pleach world …`
#[derive(Debug, Subcommand)]
pub(crate) enum WorldCommand {
    /// List the worlds.
    List,
    /// Make a world with everything that is in another one. A world of that name is replaced.
    Fork {
        /// The new world.
        name: String,
        /// The world that it begins as.
        #[arg(long, default_value = "default", value_name = "WORLD")]
        from: String,
        /// The seed of its uids, generated names and probabilities; it goes on with that of the other world if not given.
        #[arg(long, value_name = "N")]
        seed: Option<u32>,
    },
    /// Remove a world.
    Remove {
        /// The world.
        name: String,
    },
    /// Print the admin's kubeconfig for a world.
    Kubeconfig {
        /// The world.
        name: String,
    },
    /// Add a user to a world and print the user's kubeconfig.
    User {
        /// The world.
        name: String,
        /// The user.
        user: String,
        /// A group of the user; may be given several times.
        #[arg(long, value_name = "GROUP")]
        group: Vec<String>,
        /// Print the bearer token only.
        #[arg(long)]
        token_only: bool,
    },
    /// Move the clock of a world, which stands still otherwise, and print its time in seconds since 1970.
    Clock {
        /// The world.
        name: String,
        /// How far: 90s, 1h.
        #[arg(long, value_name = "DURATION")]
        advance: Option<String>,
        /// Set it to these seconds since 1970 first.
        #[arg(long, value_name = "SECONDS")]
        set: Option<i64>,
    },
    /// Add and remove fault rules, and list them with how often each has happened.
    Faults {
        /// The world.
        name: String,
        /// Rules to add: a list in YAML.
        #[arg(long, value_name = "FILE")]
        add: Option<PathBuf>,
        /// Remove the rule of this number.
        #[arg(long, value_name = "N")]
        remove: Option<u64>,
        /// Remove all rules first.
        #[arg(long)]
        clear: bool,
    },
    /// Restart the server of a world: watches are cut, and requests while it is away.
    Restart {
        /// The world.
        name: String,
        /// How long it is away: 500ms, 2s.
        #[arg(long, value_name = "DURATION")]
        away: Option<String>,
    },
    /// Print the requests so far, a line each.
    Requests {
        /// The world.
        name: String,
        /// Print them as JSON, with their answers.
        #[arg(long)]
        json: bool,
        /// Only those of clients with this User-Agent; * at the end stands for any rest.
        #[arg(long, value_name = "TEXT")]
        user_agent: Option<String>,
        /// Only those of this user; * at the end stands for any rest.
        #[arg(long, value_name = "TEXT")]
        user: Option<String>,
        /// Only those that ask for a change, without leader election and events.
        #[arg(long)]
        writes: bool,
        /// Only those after so many events were sent to the watches of these clients, bookmarks aside.
        #[arg(long, value_name = "N")]
        after_event: Option<u64>,
        /// Forget them afterwards.
        #[arg(long)]
        clear: bool,
    },
    /// Print the requests so far as a recording that can be played again.
    Record {
        /// The world.
        name: String,
        /// The name of the recording.
        #[arg(long, default_value = "recorded/test", value_name = "AREA/NAME")]
        case: String,
    },
    /// Play a recording to a world, and print where answers differ. Exits with 1 if there are differences.
    Replay {
        /// The world.
        name: String,
        /// The recording.
        file: PathBuf,
    },
    /// Print the requests so far as an audit log, for `pleach rbac learn --from-audit`.
    Audit {
        /// The world.
        name: String,
    },
    /// Print all objects but events and leases, without uids, times and resource versions: to compare two worlds.
    Objects {
        /// The world.
        name: String,
    },
}

/// Runs a command. The result is whether there was nothing to complain about.
pub(crate) fn run(options: &WorldOptions) -> Result<bool, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ask = |method: &str, path: &str, body: String| runtime.block_on(send(options, method, path, body));
    let value = |answer: &str| pleach_json::parse(answer.as_bytes()).map_err(|error| error.to_string());
    let field = |answer: &str, name: &str| -> Result<String, String> {
        let found = value(answer)?.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        found.ok_or_else(|| format!("the server does not say {name}"))
    };
    let object = |fields: &[(&str, Option<Value>)]| {
        let mut map = Map::new();
        for (name, value) in fields {
            value.clone().map(|value| map.insert(*name, value));
        }
        pleach_json::to_string(&Value::from(map))
    };
    match &options.command {
        WorldCommand::List => {
            for world in
                value(&ask("GET", "", String::new())?)?.as_array().into_iter().flat_map(|all| all.iter())
            {
                let text = |name| world.get(name).and_then(Value::as_str).unwrap_or_default();
                writeln_out!("{}\t{}", text("name"), text("url"));
            }
        }
        WorldCommand::Fork { name, from, seed } => {
            let seed = seed.map(|seed| Value::from(i64::from(seed)));
            let body = object(&[("from", Some(Value::from(from.clone()))), ("seed", seed)]);
            writeln_out!("{}", field(&ask("PUT", &format!("/{name}"), body)?, "url")?);
        }
        WorldCommand::Remove { name } => drop(ask("DELETE", &format!("/{name}"), String::new())?),
        WorldCommand::Kubeconfig { name } => {
            write_out!("{}", field(&ask("GET", &format!("/{name}"), String::new())?, "kubeconfig")?);
        }
        WorldCommand::User { name, user, group, token_only } => {
            let groups: Vec<Value> = group.iter().map(|group| Value::from(group.clone())).collect();
            let added =
                ask("PUT", &format!("/{name}/users/{user}"), object(&[("groups", Some(groups.into()))]))?;
            if *token_only {
                writeln_out!("{}", field(&added, "token")?);
            } else {
                write_out!("{}", field(&added, "kubeconfig")?);
            }
        }
        WorldCommand::Clock { name, advance, set } => {
            let body =
                object(&[("advance", advance.clone().map(Value::from)), ("set", set.map(Value::from))]);
            let answer = value(&ask("POST", &format!("/{name}/clock"), body)?)?;
            writeln_out!("{}", answer.get("seconds").and_then(Value::as_int).unwrap_or_default());
        }
        WorldCommand::Faults { name, add, remove, clear } => {
            if *clear {
                ask("DELETE", &format!("/{name}/faults"), String::new())?;
            }
            if let Some(number) = remove {
                ask("DELETE", &format!("/{name}/faults/{number}"), String::new())?;
            }
            if let Some(path) = add {
                ask("POST", &format!("/{name}/faults"), read(path)?)?;
            }
            let rules = value(&ask("GET", &format!("/{name}/faults"), String::new())?)?;
            for rule in rules.as_array().into_iter().flat_map(|rules| rules.iter()) {
                let number = |field| rule.get(field).and_then(Value::as_int).unwrap_or_default();
                let fault = rule.get("fault").and_then(Value::as_str).unwrap_or_default();
                writeln_out!("{}\t{fault}\thappened {} times", number("number"), number("happened"));
            }
        }
        WorldCommand::Restart { name, away } => {
            drop(ask(
                "POST",
                &format!("/{name}/restart"),
                object(&[("away", away.clone().map(Value::from))]),
            )?);
        }
        WorldCommand::Requests { name, json, user_agent, user, writes, after_event, clear } => {
            let mut path = if *json { "requests?answers=true" } else { "transcript?" }.to_owned();
            for (name, text) in [
                ("userAgent", user_agent.clone()),
                ("user", user.clone()),
                ("afterEvent", after_event.map(|number| number.to_string())),
                ("writes", writes.then(|| "true".to_owned())),
            ] {
                if let Some(text) = text {
                    path += &format!("&{name}={}", escape(&text));
                }
            }
            write_out!("{}", ask("GET", &format!("/{name}/{path}"), String::new())?);
            if *clear {
                ask("DELETE", &format!("/{name}/requests"), String::new())?;
            }
        }
        WorldCommand::Record { name, case } => {
            write_out!("{}", ask("GET", &format!("/{name}/recording?name={case}"), String::new())?);
        }
        WorldCommand::Replay { name, file } => {
            let differences = value(&ask("POST", &format!("/{name}/replay"), read(file)?)?)?;
            let differences = differences.as_array().cloned().unwrap_or_default();
            for line in differences.iter().filter_map(Value::as_str) {
                writeln_out!("{line}");
            }
            return Ok(differences.is_empty());
        }
        WorldCommand::Audit { name } => {
            write_out!("{}", ask("GET", &format!("/{name}/audit"), String::new())?);
        }
        WorldCommand::Objects { name } => {
            write_out!("{}", ask("GET", &format!("/{name}/objects"), String::new())?);
        }
    }
    Ok(true)
}

/// A text as the value of a parameter in a query.
fn escape(text: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(escaped).collect()
}

/// Sends a request below `/pleach/worlds`; an answer that is not 200 is an error.
async fn send(
    options: &WorldOptions,
    method: &str,
    path: &str,
    body: String,
) -> Result<String, Box<dyn Error>> {
    let server: Uri = options.server.parse().map_err(|error| format!("{}: {error}", options.server))?;
    if server.scheme_str() != Some("http") {
        return Err(format!("{}: worlds are reached over http", options.server).into());
    }
    let authority = server.authority().ok_or_else(|| format!("{}: there is no host", options.server))?;
    let address = (authority.host(), authority.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| format!("cannot reach {}: {error}", options.server))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(format!("/pleach/worlds{path}"))
        .header(http::header::HOST, authority.as_str())
        .header(http::header::AUTHORIZATION, format!("Bearer {}", options.token))
        .body(Full::<Bytes>::from(body))?;
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let text = String::from_utf8_lossy(&answer.into_body().collect().await?.to_bytes()).into_owned();
    connection.abort();
    if status.is_success() { Ok(text) } else { Err(text.trim().to_owned().into()) }
}

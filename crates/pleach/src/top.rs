//! `pleach top`: what each resource of an API server costs, from its metrics.

mod metrics;

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, ValueEnum};
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Limited};
use pleach_chaos::UpstreamClient;
use pleach_go::time::parse_std_duration;
use pleach_json::{Map, Value};

use self::metrics::{Resource, Usage, read};
use crate::chaos::of_kubeconfig;
use crate::serve::runtime;

/// The most that is read of a server's metrics.
const METRICS: usize = 64 << 20;
/// Bytes in a KiB.
const KIB: f64 = 1024.0;

/// Options of `pleach top`.
#[derive(Debug, Args)]
pub(crate) struct TopOptions {
    /// The kubeconfig of the API server, whose user may get /metrics.
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    pub kubeconfig: PathBuf,
    /// The context of the kubeconfig; the current one if not given.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The column to sort by.
    #[arg(long, value_enum, default_value_t = Column::Size)]
    pub sort_by: Column,
    /// Show requests per second over this time instead of all since the server's start.
    #[arg(long, value_name = "DURATION", value_parser = parse_std_duration)]
    pub over: Option<Duration>,
    /// Show so many resources; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub rows: usize,
    /// The form of the output.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
}

/// A column to sort by, the largest first; names in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Column {
    /// The resource's name.
    Name,
    /// The number of objects.
    Objects,
    /// The size of the objects.
    Size,
    /// Open watches.
    Watches,
    /// Requests that read.
    Reads,
    /// Requests that write.
    Writes,
}

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// A table for people.
    Text,
    /// For scripts.
    Json,
}

/// Prints the table.
pub(crate) fn run(options: &TopOptions) -> Result<(), Box<dyn Error>> {
    if options.over.is_some_and(|over| over.is_zero()) {
        return Err("--over must not be 0".into());
    }
    let upstream = of_kubeconfig(&options.kubeconfig, options.context.as_deref())?;
    let usage = runtime()?.block_on(async {
        let client = UpstreamClient::new(&upstream)?;
        let at_server = |why: String| format!("{}: {why}", upstream.server);
        let first = fetch(&client).await.map_err(at_server)?;
        let Some(over) = options.over else { return Ok(first) };
        tokio::time::sleep(over).await;
        let mut second = fetch(&client).await.map_err(at_server)?;
        second.requests_per_second(&first, over);
        Ok::<_, Box<dyn Error>>(second)
    })?;
    if usage.resources.is_empty() {
        return Err(format!(
            "{}: no metrics of resources: kube-apiserver has them since v1.34",
            upstream.server
        )
        .into());
    }
    match options.output {
        Output::Text => write(&table(&usage, options)),
        Output::Json => write(&(json(&usage, options.sort_by) + "\n")),
    }
}

/// Writes to standard output, whose reader may have seen enough.
fn write(text: &str) -> Result<(), Box<dyn Error>> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// The metrics of the server.
async fn fetch(client: &UpstreamClient) -> Result<Usage, String> {
    let mut request = Request::get("/metrics").body(Bytes::new()).map_err(|error| error.to_string())?;
    client.sign(request.headers_mut());
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/plain"));
    let response = client.send(request).await?;
    let status = response.status();
    let body =
        Limited::new(response.into_body(), METRICS).collect().await.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    if !status.is_success() {
        let message = pleach_json::parse(text.as_bytes()).ok();
        let message = message.as_ref().and_then(|status| status.get("message")).and_then(Value::as_str);
        return Err(format!("GET /metrics: {status}: {}", message.unwrap_or("no message")));
    }
    Ok(read(&text))
}

/// The resources in the order of a column.
fn sorted(usage: &Usage, column: Column) -> Vec<(&Resource, f64)> {
    let key = |resource: &Resource| match column {
        Column::Name => 0.0,
        Column::Objects => resource.objects,
        Column::Size => resource.bytes,
        Column::Watches => resource.watches,
        Column::Reads => resource.reads,
        Column::Writes => resource.writes,
    };
    let mut rows: Vec<_> = usage.resources.iter().map(|resource| (resource, key(resource))).collect();
    rows.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| one.name.cmp(&other.name)));
    rows
}

/// A table with a line for each resource, and one for what they are together.
fn table(usage: &Usage, options: &TopOptions) -> String {
    let rows = sorted(usage, options.sort_by);
    let shown = if options.rows == 0 { rows.len() } else { options.rows.min(rows.len()) };
    let total = usage.total();
    let mut lines: Vec<[String; 6]> = Vec::with_capacity(shown + 2);
    let (reads, writes) = if options.over.is_some() { ("READS/S", "WRITES/S") } else { ("READS", "WRITES") };
    lines.push(["RESOURCE", "OBJECTS", "SIZE", "WATCHES", reads, writes].map(str::to_owned));
    let rate = options.over.is_some();
    lines.extend(rows[..shown].iter().map(|(resource, _)| cells(resource, rate)));
    lines.push(cells(&total, rate));
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        let _ = write!(out, "{:<width$}", line[0], width = widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(out, "  {cell:>width$}");
        }
        out.push('\n');
    }
    if shown < rows.len() {
        let _ = writeln!(out, "{} more resources (--rows 0 shows all)", rows.len() - shown);
    }
    out
}

fn cells(resource: &Resource, rate: bool) -> [String; 6] {
    let requests = |number: f64| if rate { format!("{number:.1}") } else { format!("{number:.0}") };
    [
        resource.name.clone(),
        format!("{:.0}", resource.objects),
        size(resource.bytes),
        format!("{:.0}", resource.watches),
        requests(resource.reads),
        requests(resource.writes),
    ]
}

/// Bytes with a binary prefix.
fn size(bytes: f64) -> String {
    let mut rest = bytes;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if rest < KIB {
            return if unit == "B" { format!("{rest:.0} B") } else { format!("{rest:.1} {unit}") };
        }
        rest /= KIB;
    }
    format!("{rest:.1} TiB")
}

fn json(usage: &Usage, column: Column) -> String {
    let resources: Vec<Value> = sorted(usage, column)
        .into_iter()
        .map(|(resource, _)| {
            let mut members = Map::new();
            members.insert("resource", resource.name.as_str());
            members.insert("objects", resource.objects as i64);
            members.insert("bytes", resource.bytes as i64);
            members.insert("watches", resource.watches as i64);
            members.insert("reads", resource.reads);
            members.insert("writes", resource.writes);
            members.into()
        })
        .collect();
    let mut out = Map::new();
    out.insert("resources", Value::from(resources));
    String::from_utf8_lossy(&pleach_json::to_vec(&out.into())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "\
# TYPE apiserver_resource_objects gauge
apiserver_resource_objects{group=\"\",resource=\"configmaps\"} 12
apiserver_resource_objects{group=\"example.com\",resource=\"foos\"} 3
apiserver_resource_size_estimate_bytes{group=\"\",resource=\"configmaps\"} 2048
apiserver_resource_size_estimate_bytes{group=\"example.com\",resource=\"foos\"} 3145728
apiserver_longrunning_requests{group=\"\",resource=\"configmaps\",verb=\"WATCH\",version=\"v1\"} 2
";

    fn options(sort_by: Column, rows: usize) -> TopOptions {
        TopOptions {
            kubeconfig: PathBuf::new(),
            context: None,
            sort_by,
            over: None,
            rows,
            output: Output::Text,
        }
    }

    #[test]
    fn tables_are_sorted_and_have_a_total() {
        let usage = read(METRICS);
        let text = table(&usage, &options(Column::Size, 1));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "RESOURCE          OBJECTS     SIZE  WATCHES  READS  WRITES");
        assert_eq!(lines[1], "foos.example.com        3  3.0 MiB        0      0       0");
        assert_eq!(lines[2], "total                  15  3.0 MiB        2      0       0");
        assert_eq!(lines[3], "1 more resources (--rows 0 shows all)");
        let text = table(&usage, &options(Column::Name, 0));
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("configmaps ")), "{text}");
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn sizes_have_a_unit() {
        for (bytes, want) in
            [(0.0, "0 B"), (1023.0, "1023 B"), (1536.0, "1.5 KiB"), (5e9, "4.7 GiB"), (2e13, "18.2 TiB")]
        {
            assert_eq!(size(bytes), want);
        }
    }
}

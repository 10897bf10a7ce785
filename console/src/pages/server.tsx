// The server: requests, latency, watches and the store from /metrics, health, webhooks, and what the user may do.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useInterval, useLoaded } from "../context";
import { getJson, getText } from "../lib/api";
import { bytes, count, duration } from "../lib/format";
import { parseMetrics, quantile, summaries, sums, totals, type Sample, type Totals } from "../lib/metrics";
import { Problem, Sparkline } from "../parts";
import { Access } from "./access";
import { Policies, Webhooks } from "./admission";

const READINGS = 60;
const EVERY = 2_000;

export function ServerPage() {
  const readings = useRef<Totals[]>([]);
  const [samples, setSamples] = useState<Sample[]>([]);
  const [error, setError] = useState<Error>();
  useInterval(() => {
    getText("/metrics").then(
      (text) => {
        const parsed = parseMetrics(text);
        readings.current = [...readings.current.slice(-READINGS), totals(parsed, Date.now())];
        setSamples(parsed);
        setError(undefined);
      },
      (failed: Error) => setError(failed),
    );
  }, EVERY);
  const version = useLoaded((signal) => getJson<{ gitVersion: string; platform: string }>("/version", signal), []);
  const rate = (of: (t: Totals) => number): number[] => {
    const all = readings.current;
    return all.slice(1).map((after, i) => {
      const before = all[i];
      return before ? (Math.max(0, of(after) - of(before)) * 1000) / Math.max(1, after.at - before.at) : 0;
    });
  };
  const gauge = (name: string) => samples.find((sample) => sample.name === name)?.value;
  const [requests, writes, failed] = [rate((t) => t.requests), rate((t) => t.writes), rate((t) => t.failed)];
  const last = (values: number[]) => (values.at(-1) ?? 0).toFixed(1);
  const noSpace = gauge("pleach_store_no_space") === 1;
  const show = (value: number | undefined, write: (n: number) => string = count) => (value === undefined ? "–" : write(value));
  return (
    <section class="scroll" tabIndex={0} role="region" aria-label="Server">
      <div class="bar-row"><h1>Server</h1><span class="quiet">{version.value && `API ${version.value.gitVersion}`}</span><Health /></div>
      {error && <Problem error={error} />}
      {noSpace && <p class="alert" role="alert">The disk is full or the quota used up: only deletes are accepted.</p>}
      <div class="cards">
        <Card title="Requests" value={`${last(requests)} /s`}><Sparkline values={requests} label={`Requests per second, now ${last(requests)}`} width={160} height={36} /></Card>
        <Card title="Writes" value={`${last(writes)} /s`}><Sparkline values={writes} label={`Writes per second, now ${last(writes)}`} width={160} height={36} /></Card>
        <Card title="Failures (5xx)" value={`${last(failed)} /s`}><Sparkline values={failed} label={`Failures per second, now ${last(failed)}`} width={160} height={36} /></Card>
        <Card title="Open watches" value={show(gauge("pleach_store_watchers"))} />
        <Card title="Objects in the store" value={show(gauge("pleach_store_keys"))} />
        <Card title="Store on disk" value={show(gauge("pleach_store_disk_bytes"), bytes)} />
        <Card title="Revision" value={show(gauge("pleach_store_revision"))} />
        <Card title="History" value={show(gauge("pleach_store_history_events"))}>
          <p class="quiet">events since revision {show(gauge("pleach_store_oldest_revision"))}, {show(gauge("pleach_store_history_bytes"), bytes)}</p>
        </Card>
        <Card title="Last checkpoint" value={gauge("pleach_store_checkpoint_revision") ? show(gauge("pleach_store_checkpoint_revision")) : "–"}>
          <p class="quiet">{gauge("pleach_store_maintenance_failed") === 1 ? "the last one failed" : gauge("pleach_store_checkpoint_revision") ? `revision; ${show(gauge("pleach_store_checkpoints_total"))} since the start` : "none yet"}</p>
        </Card>
        <Card title="Panics" value={show(gauge("pleach_request_panics_total"))} />
      </div>
      <Queues samples={samples} />
      <Latency samples={samples} />
      <Webhooks samples={samples} />
      <Policies samples={samples} />
      <Access />
    </section>
  );
}

function Card({ title, value, children }: { title: string; value: string; children?: ComponentChildren }) {
  return <div class="card"><h2>{title}</h2><p class="figure">{value}</p>{children}</div>;
}

function Health() {
  const [state, setState] = useState<"" | "ready" | "not ready">("");
  useInterval(() => {
    getText("/readyz").then(() => setState("ready"), () => setState("not ready"));
  }, 10_000);
  return state ? <span class="state" data-bad={state !== "ready"}>{state}</span> : null;
}

/** API Priority and Fairness: seats, queues and refusals of each priority level. */
function Queues({ samples }: { samples: Sample[] }) {
  const prefix = "apiserver_flowcontrol_";
  const of = (name: string) => sums(samples, prefix + name, ["priority_level"]);
  const [limits, executing, waiting, refused] = ["current_limit_seats", "current_executing_seats", "current_inqueue_requests", "rejected_requests_total"].map(of);
  const waits = summaries(samples, `${prefix}request_wait_duration_seconds`, ["priority_level"]);
  const levels = [...(limits?.keys() ?? [])].sort((a, b) => (waiting?.get(b) ?? 0) - (waiting?.get(a) ?? 0) || (waits.get(b)?.count ?? 0) - (waits.get(a)?.count ?? 0));
  if (!levels.length) return null;
  return (
    <>
      <h2 class="pad-x">Queues by priority level</h2>
      <table class="list">
        <thead><tr><th scope="col">Priority level</th><th scope="col" class="number">Seats taken</th><th scope="col" class="number">Seats</th><th scope="col" class="number">Waiting</th><th scope="col" class="number">Refused</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Wait, median</th><th scope="col" class="number">99 %</th></tr></thead>
        <tbody>
          {levels.map((level) => {
            const wait = waits.get(level);
            return (
              <tr key={level} data-warn={(waiting?.get(level) ?? 0) > 0}>
                <th scope="row">{level}</th><td class="number">{count(executing?.get(level) ?? 0)}</td><td class="number">{count(limits?.get(level) ?? 0)}</td>
                <td class="number">{count(waiting?.get(level) ?? 0)}</td><td class="number">{count(refused?.get(level) ?? 0)}</td><td class="number">{count(wait?.count ?? 0)}</td>
                <td class="number">{duration(quantile(0.5, wait?.buckets ?? []))}</td><td class="number">{duration(quantile(0.99, wait?.buckets ?? []))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </>
  );
}

function Latency({ samples }: { samples: Sample[] }) {
  interface Line { verb: string; resource: string; count: number; buckets: [number, number][]; sum: number }
  const lines = new Map<string, Line>();
  for (const { name, labels, value } of samples) {
    if (!name.startsWith("apiserver_request_duration_seconds_")) continue;
    const resource = [labels["resource"], labels["subresource"]].filter(Boolean).join("/") + (labels["group"] ? `.${labels["group"]}` : "");
    const key = `${labels["verb"] ?? ""} ${resource}`;
    const line = lines.get(key) ?? { verb: labels["verb"] ?? "", resource, count: 0, buckets: [], sum: 0 };
    lines.set(key, line);
    if (name.endsWith("_count")) line.count = value;
    else if (name.endsWith("_sum")) line.sum = value;
    else line.buckets.push([labels["le"] === "+Inf" ? Infinity : Number(labels["le"]), value]);
  }
  const busiest = [...lines.values()].sort((a, b) => b.sum - a.sum).slice(0, 20);
  if (!busiest.length) return null;
  return (
    <>
      <h2 class="pad-x">Latency since the start, by time spent</h2>
      <table class="list">
        <thead><tr><th scope="col">Verb</th><th scope="col">Resource</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Mean</th><th scope="col" class="number">Median</th><th scope="col" class="number">99 %</th></tr></thead>
        <tbody>
          {busiest.map((line) => (
            <tr key={`${line.verb} ${line.resource}`}>
              <td>{line.verb}</td><th scope="row" class="break">{line.resource}</th><td class="number">{count(line.count)}</td>
              <td class="number">{duration(line.sum / line.count)}</td><td class="number">{duration(quantile(0.5, line.buckets))}</td><td class="number">{duration(quantile(0.99, line.buckets))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

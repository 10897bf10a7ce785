// The server: requests, latency, watches and the store from /metrics, health, webhooks, and what the user may do.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useApp, useInterval, useLoaded } from "../context";
import { api, getJson, getText, groupPath, type KubeObject } from "../lib/api";
import { bytes, count, duration } from "../lib/format";
import { parseMetrics, quantile, totals, type Sample, type Totals } from "../lib/metrics";
import { link } from "../lib/router";
import { Problem, Sparkline } from "../parts";

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
        <Card title="Panics" value={show(gauge("pleach_request_panics_total"))} />
      </div>
      <Latency samples={samples} />
      <Webhooks />
      <Rights />
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

interface WebhookConfiguration extends KubeObject {
  webhooks?: { name: string; failurePolicy?: string; timeoutSeconds?: number; rules?: { operations?: string[]; apiGroups?: string[]; resources?: string[] }[] }[];
}

function Webhooks() {
  const found = useLoaded(async (signal) => {
    const kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    const lists = await Promise.all(kinds.map((plural) => getJson<{ items: WebhookConfiguration[] }>(`${groupPath("admissionregistration.k8s.io", "v1")}/${plural}`, signal)));
    return lists.flatMap((list, i) => list.items.flatMap((item) => (item.webhooks ?? []).map((hook) => ({ plural: kinds[i] ?? "", configuration: item.metadata.name, hook }))));
  }, []);
  return (
    <>
      <h2 class="pad-x">Admission webhooks</h2>
      {found.error && <p class="quiet pad-x">{found.error.message}</p>}
      {found.value?.length === 0 && <p class="quiet pad-x">None. A MutatingWebhookConfiguration or ValidatingWebhookConfiguration adds one.</p>}
      {found.value && found.value.length > 0 && (
        <table class="list">
          <thead><tr><th scope="col">Webhook</th><th scope="col">Sort</th><th scope="col">Configuration</th><th scope="col">Called for</th><th scope="col">On failure</th><th scope="col" class="number">Timeout</th></tr></thead>
          <tbody>
            {found.value.map(({ plural, configuration, hook }) => (
              <tr key={`${plural} ${configuration} ${hook.name}`}>
                <th scope="row" class="break">{hook.name}</th><td>{plural.startsWith("mutating") ? "mutating" : "validating"}</td>
                <td><a href={link(["object", "admissionregistration.k8s.io", "v1", plural, "-", configuration])}>{configuration}</a></td>
                <td class="break">{(hook.rules ?? []).map((rule) => `${(rule.operations ?? []).join(",")} ${(rule.resources ?? []).join(",")}.${(rule.apiGroups ?? []).join(",")}`).join("; ")}</td>
                <td>{hook.failurePolicy}</td><td class="number">{hook.timeoutSeconds} s</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"];

interface AccessRule { verbs: string[]; apiGroups?: string[]; resources?: string[] }

/** What the user may do in a namespace, by kind and verb, from a SelfSubjectRulesReview. */
function Rights() {
  const { resources, session } = useApp();
  const [namespace, setNamespace] = useState("default");
  const found = useLoaded(async (signal) => {
    const body = JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } });
    const response = await api(`${groupPath("authorization.k8s.io", "v1")}/selfsubjectrulesreviews`, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
    return ((await response.json()) as { status: { resourceRules: AccessRule[] } }).status.resourceRules;
  }, [namespace]);
  const covers = (list: string[] | undefined, value: string) => Boolean(list?.includes("*") || list?.includes(value));
  const seen = new Set<string>();
  const kinds = resources.filter((r) => {
    const key = `${r.plural}.${r.group}`;
    return !seen.has(key) && seen.add(key) && r.verbs.includes("get");
  });
  return (
    <>
      <h2 class="pad-x">What {session.user} may do</h2>
      <p class="pad-x"><label>In namespace <input value={namespace} onChange={(e) => setNamespace(e.currentTarget.value || "default")} /></label></p>
      {found.error && <p class="quiet pad-x">{found.error.message}</p>}
      {found.value && (
        <table class="list matrix">
          <thead><tr><th scope="col">Kind</th>{VERBS.map((verb) => <th key={verb} scope="col">{verb}</th>)}</tr></thead>
          <tbody>
            {kinds.map((resource) => (
              <tr key={`${resource.plural}.${resource.group}`}>
                <th scope="row">{resource.plural}{resource.group && <span class="quiet">.{resource.group}</span>}</th>
                {VERBS.map((verb) => {
                  const may = found.value?.some((rule) => covers(rule.verbs, verb) && covers(rule.apiGroups, resource.group) && covers(rule.resources, resource.plural));
                  return <td key={verb}>{may ? <span aria-label="yes">✓</span> : <span class="quiet" aria-label="no">·</span>}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

// All APIs: CRDs with their versions, conditions and figures, and the built-in kinds.

import { useMemo, useRef, useState } from "preact/hooks";
import { useApp, useInterval, useLoaded, type App } from "../context";
import { getJson, getText, groupPath, type Resource } from "../lib/api";
import { conditionWords, type Crd, type CrdList } from "../lib/crd";
import type { CrdFacts } from "../lib/engine";
import { bytes, compareVersions, count } from "../lib/format";
import { ofResources, parseMetrics, totals, type OfResources, type Totals } from "../lib/metrics";
import { link } from "../lib/router";
import { Bar, Code, Problem, Sparkline, useWindow } from "../parts";

const EXAMPLE = `kubectl apply -f - <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [cronSpec]
            properties:
              cronSpec: {type: string, pattern: '^(\\S+\\s+){4}\\S+$'}
              replicas: {type: integer, minimum: 1, maximum: 10, default: 1}
YAML`;

/** Writes per minute of the last readings, by group/resource. */
const READINGS = 30;
const EVERY = 5_000;
/** Longer tables have rows in sight only, all of one height. */
const MOST_ROWS = 150;
const ROW = 33;
const OVERSCAN = 15;

export interface Api {
  group: string;
  plural: string;
  kind: string;
  versions: string[];
  namespaced: boolean;
  shortNames: string[];
  resource: Resource | undefined;
  crd: Crd | undefined;
}

export function apisOf(resources: Resource[], crds: Crd[]): Api[] {
  const all = new Map<string, Api>();
  for (const resource of resources) {
    const key = `${resource.plural}.${resource.group}`;
    const known = all.get(key);
    if (known) {
      known.versions.push(resource.version);
      if (compareVersions(resource.version, known.resource?.version ?? "") < 0) known.resource = resource;
    } else {
      const { group, plural, kind, namespaced, shortNames } = resource;
      all.set(key, { group, plural, kind, namespaced, shortNames, versions: [resource.version], resource, crd: undefined });
    }
  }
  for (const crd of crds) {
    const { group, names, versions, scope } = crd.spec;
    const key = `${names.plural}.${group}`;
    const api = all.get(key) ?? {
      group,
      plural: names.plural,
      kind: names.kind,
      versions: versions.map((v) => v.name),
      namespaced: scope === "Namespaced",
      shortNames: names.shortNames ?? [],
      resource: undefined,
      crd: undefined,
    };
    api.crd = crd;
    all.set(key, api);
  }
  return [...all.values()].sort((a, b) => a.group.localeCompare(b.group) || a.kind.localeCompare(b.kind));
}

export function ApisPage() {
  const { resources, refresh, session } = useApp();
  const [search, setSearch] = useState("");
  const [only, setOnly] = useState<"all" | "custom" | "built-in" | "problems">("custom");
  const crds = useLoaded((signal) => getJson<CrdList>(`${groupPath("apiextensions.k8s.io", "v1")}/customresourcedefinitions`, signal), [resources]);
  const [, setRound] = useState(0);
  const readings = useRef<Totals[]>([]);
  const [figures, setFigures] = useState<OfResources>();
  const [noMetrics, setNoMetrics] = useState(false);
  useInterval(() => {
    if (noMetrics) return;
    getText("/metrics").then(
      (text) => {
        const samples = parseMetrics(text);
        readings.current = [...readings.current.slice(-READINGS), totals(samples, Date.now())];
        setFigures(ofResources(samples));
        setRound((n) => n + 1);
      },
      () => setNoMetrics(true),
    );
  }, EVERY);
  const apis = useMemo(() => apisOf(resources, crds.value?.items ?? []), [resources, crds.value]);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = apis.filter((api) => {
    const text = `${api.kind} ${api.plural} ${api.group} ${api.shortNames.join(" ")} ${api.versions.join(" ")}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) return false;
    if (only === "custom") return Boolean(api.crd);
    if (only === "built-in") return !api.crd;
    if (only === "problems") return Boolean(api.crd && conditionWords(api.crd).some((c) => c.bad));
    return true;
  });
  const problems = apis.filter((api) => api.crd && conditionWords(api.crd).some((c) => c.bad)).length;
  const customs = apis.filter((api) => api.crd).length;
  const choices: [typeof only, string][] = [
    ["custom", `Custom (${customs})`],
    ["built-in", `Built in (${apis.length - customs})`],
    ["all", `All (${apis.length})`],
    ["problems", `Problems (${problems})`],
  ];
  return (
    <section class={shown.length > MOST_ROWS ? "fill" : ""}>
      <div class="bar-row">
        <h1>APIs</h1>
        <input data-search type="search" placeholder="Search: kind, group, short name" aria-label="Search APIs" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />
        <div class="choices" role="group" aria-label="Which APIs">
          {choices.map(([id, label]) => (
            <button key={id} aria-pressed={only === id} onClick={() => setOnly(id)}>{label}</button>
          ))}
        </div>
        <button onClick={() => void refresh()}>Reload</button>
      </div>
      {crds.error && <Problem error={crds.error} retry={crds.reload} />}
      {crds.value && customs === 0 && only === "custom" && (
        <div class="empty">
          <h2>No CRDs yet</h2>
          <p>A CustomResourceDefinition adds an API of your own. Paste this into a terminal{session.readOnly ? "" : ", then reload"}:</p>
          <Code text={EXAMPLE} />
          <p>Or try a schema without a server first, in the <a href="#/playground">playground</a>.</p>
        </div>
      )}
      {shown.length === 0 && customs > 0 && <p class="quiet pad">Nothing matches.</p>}
      {shown.length > 0 && <ApiTable key={shown.length > MOST_ROWS ? "long" : "short"} apis={shown} readings={readings.current} figures={figures} noMetrics={noMetrics} />}
    </section>
  );
}

interface Figures {
  readings: Totals[];
  figures: OfResources | undefined;
  /** Without metrics objects are counted by lists. */
  noMetrics: boolean;
}

const COLUMNS: [label: string, number?: boolean][] = [["Kind"], ["Group"], ["Versions"], ["Scope"], ["State"], ["Objects", true], ["Bytes", true], ["Watches", true], ["Writes"], ["CEL cost"], ["Schema"]];

function ApiTable({ apis, ...figures }: { apis: Api[] } & Figures) {
  const box = useRef<HTMLDivElement>(null);
  const isLong = apis.length > MOST_ROWS;
  const seen = useWindow(box, ROW, apis.length, OVERSCAN);
  const { first, last } = isLong ? seen : { first: 0, last: apis.length };
  const space = (rows: number) => rows > 0 && <tr aria-hidden="true" class="space"><td colSpan={COLUMNS.length} style={{ height: `${rows * ROW}px` }} /></tr>;
  return (
    <div class={isLong ? "scroll tall" : "scroll"} ref={box} tabIndex={0} role="region" aria-label="APIs">
      <table class={isLong ? "list rows apis" : "list"} aria-rowcount={apis.length + 1}>
        <thead>
          <tr aria-rowindex={1}>{COLUMNS.map(([label, number]) => <th key={label} scope="col" class={number ? "number" : ""}>{label}</th>)}</tr>
        </thead>
        <tbody>
          {space(first)}
          {apis.slice(first, last).map((api, i) => <ApiRow key={`${api.plural}.${api.group}`} api={api} index={first + i + 2} {...figures} />)}
          {space(apis.length - last)}
        </tbody>
      </table>
    </div>
  );
}

function ApiRow({ api, index, readings, figures, noMetrics }: { api: Api; index: number } & Figures) {
  const key = `${api.group}/${api.plural}`;
  const byLists = noMetrics || figures?.objects.size === 0;
  const watches = figures?.watches.get(key) ?? 0;
  const size = figures?.bytes.get(key);
  const target = api.resource && link(["objects", api.group || "core", api.resource.version, api.plural]);
  const readable = api.resource?.verbs.includes("list");
  const versions = api.crd?.spec.versions ?? api.versions.map((name) => ({ name, served: true, storage: false, deprecated: false }));
  return (
    <tr aria-rowindex={index}>
      <th scope="row">
        {target && readable ? <a data-row href={target}>{api.kind}</a> : api.kind}
        {api.shortNames.length > 0 && <span class="quiet"> {api.shortNames.join(", ")}</span>}
      </th>
      <td class="break">{api.group || <span class="quiet">core</span>}</td>
      <td>
        {[...versions].sort((a, b) => compareVersions(a.name, b.name)).map((version) => (
          <VersionTag key={version.name} name={version.name} served={version.served} stored={version.storage} deprecated={version.deprecated ?? false} />
        ))}
      </td>
      <td>{api.namespaced ? "Namespaced" : "Cluster"}</td>
      <td>{api.crd ? <Conditions crd={api.crd} /> : <span class="quiet">built in</span>}</td>
      <td class="number">{target && readable && api.resource ? byLists ? <Objects resource={api.resource} /> : figures ? count(figures.objects.get(key) ?? 0) : "" : ""}</td>
      <td class="number">{size ? bytes(size) : ""}</td>
      <td class="number">{watches || ""}</td>
      <td><Writes api={api} readings={readings} /></td>
      <td class="cost">{api.crd && <Costs crd={api.crd} />}</td>
      <td>{api.crd && <a href={link(["schema", api.crd.metadata.name])} aria-label={`Schema of ${api.kind}`}>Schema</a>}</td>
    </tr>
  );
}

export function VersionTag({ name, served, stored, deprecated }: { name: string; served: boolean; stored: boolean; deprecated: boolean }) {
  const words = [served ? "served" : "not served", stored ? "stored" : "", deprecated ? "deprecated" : ""].filter(Boolean);
  return (
    <span class="tag" data-off={!served} data-warn={deprecated} title={words.join(", ")}>
      {name}{stored && <span class="quiet"> stored</span>}{deprecated && <span> deprecated</span>}{!served && <span> not served</span>}
    </span>
  );
}

function Conditions({ crd }: { crd: Crd }) {
  return (
    <>
      {conditionWords(crd).map(({ text, bad, why }) => (
        <span key={text} class="state" data-bad={bad} title={why}>{text}{bad && why && <span class="why">{why}</span>}</span>
      ))}
    </>
  );
}

/** How many objects there are: one item is read, and how many remain. */
function Objects({ resource }: { resource: Resource }) {
  const found = useLoaded(async (signal) => {
    const path = `${groupPath(resource.group, resource.version)}/${resource.plural}?limit=1`;
    const list = await getJson<{ metadata: { remainingItemCount?: number }; items: unknown[] }>(path, signal);
    return list.items.length + (list.metadata.remainingItemCount ?? 0);
  }, [resource.group, resource.plural]);
  return <>{found.value === undefined ? (found.error ? "–" : "") : count(found.value)}</>;
}

function Writes({ api, readings }: { api: Api; readings: Totals[] }) {
  const key = `${api.group}/${api.plural}`;
  const rates: number[] = [];
  for (let i = 1; i < readings.length; i++) {
    const [before, after] = [readings[i - 1], readings[i]];
    if (!before || !after) continue;
    const writes = (after.writesOf.get(key) ?? 0) - (before.writesOf.get(key) ?? 0);
    rates.push((Math.max(0, writes) * 60_000) / Math.max(1, after.at - before.at));
  }
  const last = rates.at(-1) ?? 0;
  if (!rates.some((rate) => rate > 0)) return <span class="quiet">{readings.length ? "–" : ""}</span>;
  return (
    <span class="writes">
      <Sparkline values={rates} label={`Writes per minute, now ${count(last)}`} /> {count(last)}/min
    </span>
  );
}

/** Facts about CRDs by uid and generation: they cost a compilation each. */
const facts = new Map<string, Promise<CrdFacts | null>>();

/** Null for a CRD without rules: the engine is not loaded for those. */
function factsOf(engine: App["engine"], crd: Crd): Promise<CrdFacts | null> {
  const key = `${crd.metadata.uid ?? crd.metadata.name} ${crd.metadata.generation ?? 0}`;
  const known = facts.get(key);
  if (known) return known;
  const text = JSON.stringify({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", ...crd });
  const made = text.includes('"x-kubernetes-validations"') ? engine.ask("costs", { crd: text }) : Promise.resolve(null);
  facts.set(key, made);
  return made;
}

/** The dearest rule's share of what a rule may cost. */
function Costs({ crd }: { crd: Crd }) {
  const { engine } = useApp();
  const found = useLoaded(() => factsOf(engine, crd), [crd.metadata.uid, crd.metadata.generation]);
  if (found.value === undefined) return <span class="quiet">{found.error ? "–" : ""}</span>;
  const { costs, costBudget } = found.value ?? { costs: [], costBudget: 1 };
  if (costs.length === 0) return <span class="quiet">no rules</span>;
  const share = Math.max(...costs.map(({ cost }) => cost)) / costBudget;
  const percent = share < 0.001 ? "< 0.1 %" : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
  return <><Bar share={share} label={`The dearest of ${costs.length} rules takes ${percent} of its budget`} /> <span class="quiet">{percent}</span></>;
}

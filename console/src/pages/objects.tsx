// Objects of a kind as a live table: the server's columns, its selectors, only the rows in sight in the document.

import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { useApp, useInterval, useLoaded } from "../context";
import { getJson, groupPath, resourcePath, type KubeObject, type Resource } from "../lib/api";
import { age, count } from "../lib/format";
import { LiveRows, type Row } from "../lib/rows";
import { go, link } from "../lib/router";
import { Problem, useWindow } from "../parts";
import { Edit } from "./edit";

/** Must be the height of a row in style.css. */
const ROW = 28;
const OVERSCAN = 12;

export function findResource(resources: Resource[], group: string, version: string, plural: string): Resource | undefined {
  return resources.find((r) => r.group === group && r.version === version && r.plural === plural);
}

export function ObjectsPage({ group, version, plural, query }: { group: string; version: string; plural: string; query: URLSearchParams }) {
  const { resources, session } = useApp();
  const resource = findResource(resources, group, version, plural);
  const [creating, setCreating] = useState(false);
  if (!resource) {
    return (
      <section class="pad">
        <h1>{plural}</h1>
        <p>{plural}.{group} is not served in version {version}. <a href="#/">All APIs</a></p>
      </section>
    );
  }
  const versions = resources.filter((r) => r.group === group && r.plural === plural).map((r) => r.version);
  return (
    <section class="fill">
      <div class="bar-row">
        <h1>{resource.kind}</h1>
        {versions.length > 1 ? (
          <select aria-label="Version" value={version} onChange={(e) => go(link(["objects", group || "core", e.currentTarget.value, plural]))}>
            {versions.map((v) => <option key={v}>{v}</option>)}
          </select>
        ) : <span class="quiet">{group ? `${group}/${version}` : version}</span>}
        {group.includes(".") && <a href={link(["schema", `${plural}.${group}`, version])}>Schema</a>}
        {resource.verbs.includes("create") && !session.readOnly && <button onClick={() => setCreating(true)}>Create…</button>}
      </div>
      {creating && <Edit resource={resource} object={null} namespace={query.get("ns") || "default"} close={() => setCreating(false)} />}
      <Objects key={query.toString()} resource={resource} query={query} />
    </section>
  );
}

function Objects({ resource, query }: { resource: Resource; query: URLSearchParams }) {
  const namespace = query.get("ns") ?? "";
  const [labels, setLabels] = useState(query.get("labels") ?? "");
  const [fields, setFields] = useState(query.get("fields") ?? "");
  const [text, setText] = useState("");
  const sort = query.get("sort") ?? "";
  const [round, changed] = useReducer((n: number) => n + 1, 0);
  const live = useMemo(() => {
    const selectors = new URLSearchParams();
    if (query.get("labels")) selectors.set("labelSelector", query.get("labels") ?? "");
    if (query.get("fields")) selectors.set("fieldSelector", query.get("fields") ?? "");
    return new LiveRows(resourcePath(resource, resource.namespaced ? namespace : ""), selectors, () => changed(undefined));
  }, []);
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, [live]);
  const base = ["objects", resource.group || "core", resource.version, resource.plural];
  const navigate = (change: Record<string, string>) => {
    const all = { ns: namespace, labels, fields, sort, ...change };
    go(link(base, all));
  };
  const apply = (event: Event) => {
    event.preventDefault();
    navigate({});
  };
  const wide = !useNarrow();
  const [all, setAll] = useState(false);
  const columns = live.columns.map((column, index) => ({ ...column, index })).filter((column) => all || column.priority === 0);
  const showNamespace = resource.namespaced && !namespace;
  const rows = useMemo(() => {
    let list = [...live.rows.values()];
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) list = list.filter((row) => words.every((word) => `${row.namespace}/${row.cells.join(" ")}`.toLowerCase().includes(word)));
    return sorted(list, sort, live);
  }, [round, text, sort]);
  // A sort or filter over half of the objects would be wrong: the rest is loaded then.
  const needsAll = Boolean(sort || text);
  useEffect(() => {
    if (needsAll && !live.complete) void live.more();
  }, [needsAll, round]);
  return (
    <>
      <form class="bar-row filters" onSubmit={apply}>
        {resource.namespaced && <Namespaces value={namespace} change={(ns) => navigate({ ns })} />}
        <input data-search type="search" placeholder="Filter the rows" aria-label="Filter the rows" value={text} onInput={(e) => setText(e.currentTarget.value)} />
        <input placeholder="Labels: app=web,tier!=db" aria-label="Label selector" spellcheck={false} value={labels} onInput={(e) => setLabels(e.currentTarget.value)} />
        <input placeholder="Fields: metadata.name=a" aria-label="Field selector" spellcheck={false} value={fields} onInput={(e) => setFields(e.currentTarget.value)} />
        <button>Select</button>
        {live.columns.some((column) => column.priority > 0) && (
          <label class="check"><input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} /> All columns</label>
        )}
        <span class="quiet grow" role="status" data-state={live.state}>
          {count(rows.length)}{text ? " shown" : ""} of {count(live.rows.size + live.remaining)}
          {live.state === "live" ? " · live" : live.state === "loading" ? " · loading…" : " · reconnecting…"}
        </span>
      </form>
      {live.error && <Problem error={live.error} />}
      {live.state === "live" && live.rows.size === 0 && !live.remaining ? (
        <Empty resource={resource} selected={Boolean(namespace || query.get("labels") || query.get("fields"))} />
      ) : (
        <VirtualTable
          rows={rows}
          unloaded={needsAll ? 0 : live.remaining}
          load={() => void live.more()}
          wide={wide}
          columns={[
            ...(showNamespace ? [{ id: "namespace", name: "Namespace", number: false, text: (row: Row) => row.namespace }] : []),
            ...columns.map(({ name, type, index }) => ({
              id: name,
              name,
              number: type === "integer" || type === "number",
              text: (row: Row) => (name === "Age" ? age(row.created) : cell(row.cells[index])),
            })),
          ]}
          target={(row) => link(["object", resource.group || "core", resource.version, resource.plural, row.namespace || "-", row.name])}
          label={`${resource.kind} objects`}
          sort={sort}
          setSort={(next) => navigate({ sort: next })}
        />
      )}
    </>
  );
}

function cell(value: unknown): string {
  return value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** The server's order is by key; others are by a column: "Name", or "-Name" for the other way round. */
function sorted(rows: Row[], sort: string, live: LiveRows): Row[] {
  if (!sort) return rows.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const down = sort.startsWith("-");
  const name = down ? sort.slice(1) : sort;
  const index = live.columns.findIndex((column) => column.name === name);
  const value = (row: Row): unknown => (name === "Age" ? row.created : name === "Namespace" ? row.namespace : row.cells[index]);
  const order = (a: Row, b: Row): number => {
    const [x, y] = [value(a), value(b)];
    if (typeof x === "number" && typeof y === "number") return x - y;
    // Younger objects have the greater timestamp and the smaller age.
    const text = cell(x).localeCompare(cell(y), "en", { numeric: true });
    return name === "Age" ? -text : text;
  };
  return rows.sort((a, b) => (down ? -order(a, b) : order(a, b)) || (a.key < b.key ? -1 : 1));
}

interface Column {
  id: string;
  name: string;
  number: boolean;
  text: (row: Row) => string;
}

function VirtualTable({ rows, unloaded, load, columns, target, label, sort, setSort, wide }: {
  rows: Row[];
  unloaded: number;
  load: () => void;
  columns: Column[];
  target: (row: Row) => string;
  label: string;
  sort: string;
  setSort: (sort: string) => void;
  wide: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  // The age of objects goes on without events.
  const [, tick] = useReducer((n: number) => n + 1, 0);
  useInterval(() => tick(undefined), 10_000);
  const total = rows.length + unloaded;
  const { first, last } = useWindow(box, ROW, total, OVERSCAN);
  useEffect(() => {
    if (unloaded > 0 && last > rows.length - 100) load();
  }, [last, rows.length, unloaded]);
  const open = (row: Row) => go(target(row));
  return (
    <div class="scroll tall" ref={box} tabIndex={0} role="region" aria-label={label}>
      <table class="list rows" aria-rowcount={total + 1} data-wide={wide}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map(({ id, name, number }) => {
              const direction = sort === name ? "ascending" : sort === `-${name}` ? "descending" : undefined;
              return (
                <th key={id} scope="col" class={number ? "number" : ""} aria-sort={direction}>
                  <button class="plain sort" onClick={() => setSort(sort === name ? `-${name}` : sort === `-${name}` ? "" : name)}>
                    {name}{direction === "ascending" ? " ↑" : direction === "descending" ? " ↓" : ""}
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr aria-hidden="true" class="space"><td colSpan={columns.length} style={{ height: `${first * ROW}px` }} /></tr>}
          {rows.slice(first, last).map((row, i) => (
            <tr key={row.key} aria-rowindex={first + i + 2} data-deleting={row.deleting} onDblClick={() => open(row)}>
              {columns.map((column, c) => {
                const text = column.text(row);
                const isName = column.id === "Name" || (c === 0 && !columns.some((other) => other.id === "Name"));
                return (
                  <td key={column.id} class={column.number ? "number" : ""} title={text.length > 30 ? text : undefined}>
                    {isName ? <a data-row href={target(row)}>{text || row.name}</a> : text}
                  </td>
                );
              })}
            </tr>
          ))}
          {last > rows.length && unloaded > 0 && (
            <tr class="space"><td colSpan={columns.length} style={{ height: `${(total - rows.length) * ROW}px` }}><span class="quiet">Loading…</span></td></tr>
          )}
          {last < rows.length && <tr aria-hidden="true" class="space"><td colSpan={columns.length} style={{ height: `${(total - last) * ROW}px` }} /></tr>}
        </tbody>
      </table>
    </div>
  );
}

function Namespaces({ value, change }: { value: string; change: (namespace: string) => void }) {
  const found = useLoaded(async (signal) => {
    const list = await getJson<{ items: KubeObject[] }>(`${groupPath("", "v1")}/namespaces`, signal);
    return list.items.map((item) => item.metadata.name);
  }, []);
  const names = [...new Set([...(found.value ?? []), ...(value ? [value] : [])])].sort();
  if (found.error) {
    return <input placeholder="Namespace" aria-label="Namespace" value={value} onChange={(e) => change(e.currentTarget.value)} />;
  }
  return (
    <select aria-label="Namespace" value={value} onChange={(e) => change(e.currentTarget.value)}>
      <option value="">All namespaces</option>
      {names.map((name) => <option key={name} value={name}>{name}</option>)}
    </select>
  );
}

function Empty({ resource, selected }: { resource: Resource; selected: boolean }) {
  const isCustom = resource.group.includes(".");
  return (
    <div class="empty">
      <h2>{selected ? "Nothing is selected" : `No ${resource.kind} yet`}</h2>
      {selected ? (
        <p>No object has this namespace, these labels and these fields. <a href={link(["objects", resource.group || "core", resource.version, resource.plural])}>Show all</a></p>
      ) : (
        <p>
          <code>kubectl apply</code> or “Create…” makes one; it appears here at once.
          {isCustom && <> A sample that is valid is in the <a href={link(["schema", `${resource.plural}.${resource.group}`, resource.version])}>schema</a>.</>}
        </p>
      )}
    </div>
  );
}

export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia("(max-width: 640px)").matches);
  useEffect(() => {
    const query = matchMedia("(max-width: 640px)");
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

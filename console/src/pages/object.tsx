// One object: YAML painted by owner, tree, events, owners and dependents, history, editing and deletion.

import { useEffect, useMemo, useState } from "preact/hooks";
import { useApp, useLoaded } from "../context";
import type { Event } from "../generated/openapi";
import { api, ApiError, getJson, groupPath, resourcePath, watch, type KubeObject, type Resource } from "../lib/api";
import { age } from "../lib/format";
import { isExactNumber } from "../lib/json";
import { ownership, type Owner } from "../lib/managed";
import { useShortcuts } from "../lib/keys";
import { go, link } from "../lib/router";
import { lineText, toYaml, yamlLines, type Step } from "../lib/yaml";
import { Copy, Dialog, Problem, Tabs } from "../parts";
import { Edit } from "./edit";
import { History } from "./history";
import { findResource } from "./objects";
import { Related } from "./related";

interface Props {
  group: string;
  version: string;
  plural: string;
  namespace: string;
  name: string;
  tab: string;
}

export function ObjectPage(props: Props) {
  const { group, version, plural, namespace, name, tab } = props;
  const { resources, session } = useApp();
  const resource = findResource(resources, group, version, plural);
  const [object, setObject] = useState<KubeObject>();
  const [error, setError] = useState<Error>();
  const [gone, setGone] = useState(false);
  const [dialog, setDialog] = useState<"edit" | "delete" | null>(null);
  useEffect(() => {
    if (!resource) return;
    const abort = new AbortController();
    follow(resource, namespace, name, abort.signal, setObject, setGone).catch((failed: Error) => abort.signal.aborted || setError(failed));
    return () => abort.abort();
  }, [resource]);
  const list = link(["objects", group || "core", version, plural], { ns: namespace });
  const mayEdit = Boolean(resource?.verbs.includes("update")) && !session.readOnly && !gone;
  useShortcuts(
    [
      { keys: "e", does: "Edit", run: () => mayEdit && setDialog("edit") },
      { keys: "u", does: "Back to the list", run: () => go(list) },
    ],
    [mayEdit],
  );
  const here = ["object", group || "core", version, plural, namespace || "-", name];
  const tabs: [string, string][] = [
    ["yaml", "YAML"],
    ["tree", "Tree"],
    ["fields", "Owners of fields"],
    ["events", "Events"],
    ["related", "Owners and dependents"],
    ["history", "History"],
  ];
  return (
    <section class="fill">
      <div class="bar-row">
        <p class="path"><a href={list}>{resource?.kind ?? plural}</a>{namespace && <> / <span>{namespace}</span></>} /</p>
        <h1 class="break">{name}</h1>
        {gone && <span class="tag" data-warn="true">deleted</span>}
        {object?.metadata.deletionTimestamp && !gone && <span class="tag" data-warn="true">being deleted{object.metadata.finalizers?.length ? `, waits for ${object.metadata.finalizers.join(", ")}` : ""}</span>}
        <span class="quiet">{object && `${age(object.metadata.creationTimestamp)} old`}</span>
        <span class="grow" />
        {object && <Copy text={toYaml(withoutManaged(object))} label="Copy YAML" />}
        {mayEdit && <button onClick={() => setDialog("edit")}>Edit…</button>}
        {resource?.verbs.includes("delete") && !session.readOnly && !gone && <button class="danger" onClick={() => setDialog("delete")}>Delete…</button>}
      </div>
      <Tabs tabs={tabs} current={tab} hrefs={(id) => link(here, { tab: id })} label="Views of the object" />
      {!resource && <p class="pad">{plural}.{group} is not served in version {version}.</p>}
      {error && <Problem error={error} />}
      {object && resource && (
        <>
          {tab === "yaml" && <YamlView object={object} />}
          {tab === "tree" && <div class="scroll pad" tabIndex={0} role="region" aria-label="Tree"><Tree value={withoutManaged(object)} name={object.kind} open /></div>}
          {tab === "fields" && <FieldOwners object={object} />}
          {tab === "events" && <Events object={object} />}
          {tab === "related" && <Related object={object} resources={resources} />}
          {tab === "history" && <History resource={resource} object={object} />}
          {dialog === "edit" && <Edit resource={resource} object={object} close={() => setDialog(null)} />}
          {dialog === "delete" && <Delete resource={resource} object={object} close={() => setDialog(null)} done={() => go(list)} />}
        </>
      )}
    </section>
  );
}

function withoutManaged(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Keeps an object up to date. */
async function follow(resource: Resource, namespace: string, name: string, signal: AbortSignal, set: (object: KubeObject) => void, setGone: (gone: boolean) => void): Promise<void> {
  let object = await getJson<KubeObject>(resourcePath(resource, namespace, name), signal);
  set(object);
  if (!resource.verbs.includes("watch")) return;
  while (!signal.aborted) {
    const query = new URLSearchParams({ watch: "1", fieldSelector: `metadata.name=${name}`, resourceVersion: object.metadata.resourceVersion ?? "" });
    try {
      for await (const event of watch<KubeObject>(`${resourcePath(resource, namespace)}?${query}`, false, signal)) {
        if (event.type === "ERROR") break;
        if (event.type === "BOOKMARK") continue;
        object = event.object;
        set(object);
        setGone(event.type === "DELETED");
      }
    } catch (error) {
      if (signal.aborted || (error instanceof ApiError && error.code === 403)) return;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    if (signal.aborted) return;
    try {
      object = await getJson<KubeObject>(resourcePath(resource, namespace, name), signal);
      set(object);
      setGone(false);
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) setGone(true);
    }
  }
}

const ownerText = (owner: Owner) => `${owner.manager}${owner.subresource ? ` (${owner.subresource})` : ""}`;

function YamlView({ object }: { object: KubeObject }) {
  const [painted, setPainted] = useState(true);
  const owned = useMemo(() => ownership(object), [object]);
  const lines = useMemo(() => yamlLines(withoutManaged(object)), [object]);
  const [chosen, setChosen] = useState<number | null>(null);
  return (
    <div class="split">
      <div class="scroll" tabIndex={0} role="region" aria-label="YAML">
        <pre class="yaml">
          {lines.map((line, i) => {
            const owners = painted ? owned.of(line.path) : [];
            const first = owners[0];
            const dim = chosen !== null && !owners.some((owner) => owner.index === chosen);
            const title = owners.map((owner) => `${ownerText(owner)}, ${owner.operation}, ${owner.time}`).join("\n");
            return (
              <span key={i} class="yaml-line" data-owner={first ? first.index % 8 : undefined} data-dim={dim} title={title || undefined}>
                {" ".repeat(line.indent)}
                {line.key && <span class="yaml-key">{line.key}</span>}
                {line.key && line.value ? " " : ""}
                {line.value}
                {"\n"}
              </span>
            );
          })}
        </pre>
      </div>
      <aside class="side" aria-label="Owners of fields">
        <label class="check"><input type="checkbox" checked={painted} onChange={(e) => setPainted(e.currentTarget.checked)} /> Paint by owner</label>
        {painted && (
          <ul class="owners">
            {owned.owners.map((owner) => (
              <li key={owner.index}>
                <button class="plain" aria-pressed={chosen === owner.index} onClick={() => setChosen(chosen === owner.index ? null : owner.index)}>
                  <span class="dot" data-owner={owner.index % 8} aria-hidden="true" />{ownerText(owner)}
                </button>
                <span class="quiet">{owner.operation}{owner.time && `, ${age(owner.time)} ago`}</span>
              </li>
            ))}
            {owned.owners.length === 0 && <li class="quiet">This object has no managed fields.</li>}
          </ul>
        )}
      </aside>
    </div>
  );
}

/** Long lists are shown in parts: a hundred members at a time. */
const PART = 100;

function Tree({ value, name, open = false }: { value: unknown; name: string; open?: boolean }) {
  const [shown, setShown] = useState(PART);
  const [opened, setOpened] = useState(open);
  if (typeof value !== "object" || value === null || isExactNumber(value)) {
    return <div class="leaf"><span class="yaml-key">{name}</span> {typeof value === "string" ? value : JSON.stringify(value)}</div>;
  }
  const entries = Object.entries(value);
  const what = Array.isArray(value) ? `${entries.length} item${entries.length === 1 ? "" : "s"}` : entries.length === 0 ? "{}" : "";
  return (
    <details open={opened} onToggle={(e) => setOpened(e.currentTarget.open)}>
      <summary><span class="yaml-key">{name}</span> <span class="quiet">{what}</span></summary>
      {opened && entries.slice(0, shown).map(([key, member]) => <Tree key={key} name={key} value={member} open={open && typeof member === "object" && key !== "managedFields"} />)}
      {opened && entries.length > shown && <button onClick={() => setShown(shown + PART)}>{entries.length - shown} more</button>}
    </details>
  );
}

function FieldOwners({ object }: { object: KubeObject }) {
  const owned = useMemo(() => ownership(object), [object]);
  const fields = useMemo(() => {
    const seen = new Map<string, { path: Step[]; text: string; owners: Owner[] }>();
    for (const line of yamlLines(withoutManaged(object))) {
      const owners = owned.of(line.path);
      const text = pathText(line.path);
      if (owners.length && !seen.has(text)) seen.set(text, { path: line.path, text: lineText(line).trim(), owners });
    }
    return [...seen.entries()];
  }, [object]);
  if (!owned.owners.length) return <p class="pad quiet">This object has no managed fields: it was written before they were kept, or they were removed.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Fields and their owners">
      <table class="list">
        <thead><tr><th scope="col">Field</th><th scope="col">Value</th><th scope="col">Owner</th><th scope="col">Since</th></tr></thead>
        <tbody>
          {fields.map(([path, { text, owners }]) => (
            <tr key={path}>
              <th scope="row" class="mono">{path}</th>
              <td class="mono break">{text.replace(/^[^:]*: ?/, "")}</td>
              <td>{owners.map((owner) => <span key={owner.index} class="tag"><span class="dot" data-owner={owner.index % 8} aria-hidden="true" />{ownerText(owner)} <span class="quiet">{owner.operation}</span></span>)}</td>
              <td>{owners.map((owner) => <div key={owner.index} title={owner.time}>{age(owner.time)} ago</div>)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function pathText(path: Step[]): string {
  return path.map((step, i) => (typeof step === "number" ? `[${step}]` : /^[\w-]+$/.test(step) ? (i ? `.${step}` : step) : `[${JSON.stringify(step)}]`)).join("");
}

type KubeEvent = KubeObject & Pick<Event, "reason" | "message" | "type" | "count" | "lastTimestamp" | "eventTime" | "source">;

function Events({ object }: { object: KubeObject }) {
  const { uid = "", name, namespace } = object.metadata;
  const found = useLoaded(async (signal) => {
    const selector = encodeURIComponent(`involvedObject.uid=${uid}`);
    const path = `${groupPath("", "v1")}${namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ""}/events?fieldSelector=${selector}&limit=500`;
    return (await getJson<{ items: KubeEvent[] }>(path, signal)).items;
  }, [uid, object.metadata.resourceVersion]);
  if (found.error) return <Problem error={found.error} retry={found.reload} />;
  const when = (event: KubeEvent) => event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? "";
  const events = [...(found.value ?? [])].sort((a, b) => when(b).localeCompare(when(a)));
  if (!events.length) return <p class="pad quiet">{found.value ? `No events about ${name}. Controllers record them; Kubernetes keeps them for an hour.` : "Loading…"}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Events">
      <table class="list">
        <thead><tr><th scope="col">Last</th><th scope="col">Type</th><th scope="col">Reason</th><th scope="col">Message</th><th scope="col">From</th><th scope="col" class="number">Count</th></tr></thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.metadata.uid ?? event.metadata.name} data-warn={event.type === "Warning"}>
              <td>{age(when(event))}</td><td>{event.type}</td><th scope="row">{event.reason}</th><td class="break">{event.message}</td><td>{event.source?.component}</td><td class="number">{event.count ?? 1}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const POLICIES: [id: string, label: string, what: string][] = [
  ["Background", "Background", "The object goes at once, its dependents soon after."],
  ["Foreground", "Foreground", "Dependents go first; the object stays until they are gone."],
  ["Orphan", "Orphan", "Dependents stay, without this owner."],
];

function Delete({ resource, object, close, done }: { resource: Resource; object: KubeObject; close: () => void; done: () => void }) {
  const { notify } = useApp();
  const [policy, setPolicy] = useState("Background");
  const [error, setError] = useState<Error>();
  const remove = async () => {
    try {
      await api(resourcePath(resource, object.metadata.namespace ?? "", object.metadata.name), {
        method: "DELETE",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: policy, preconditions: { uid: object.metadata.uid } }),
      });
      notify(`${resource.kind} ${object.metadata.name} deleted`);
      done();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <Dialog title={`Delete ${resource.kind} ${object.metadata.name}?`} close={close}>
      <fieldset>
        <legend>Objects that it owns</legend>
        {POLICIES.map(([id, label, what]) => (
          <label class="check" key={id}><input type="radio" name="policy" checked={policy === id} onChange={() => setPolicy(id)} /> <span><strong>{label}</strong> <span class="quiet">{what}</span></span></label>
        ))}
      </fieldset>
      {error && <Problem error={error} />}
      <div class="bar-row end">
        <button onClick={close} autofocus>Keep it</button>
        <button class="danger" onClick={() => void remove()}>Delete</button>
      </div>
    </Dialog>
  );
}

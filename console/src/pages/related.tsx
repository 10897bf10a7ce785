// Owners above an object and dependents below it, as a graph that is a list.

import { useState } from "preact/hooks";
import { useLoaded } from "../context";
import { getJson, resourcePath, type KubeObject, type OwnerReference, type Resource } from "../lib/api";
import { link } from "../lib/router";
import { Problem } from "../parts";

interface Node {
  resource: Resource | undefined;
  kind: string;
  name: string;
  namespace: string;
  uid: string;
  missing?: boolean;
}

/** How far up owners are followed. */
const MOST_LEVELS = 8;
/** How many kinds are searched for dependents at once. */
const AT_ONCE = 6;

function find(resources: Resource[], reference: Pick<OwnerReference, "apiVersion" | "kind">): Resource | undefined {
  const at = reference.apiVersion.lastIndexOf("/");
  const [group, version] = at < 0 ? ["", reference.apiVersion] : [reference.apiVersion.slice(0, at), reference.apiVersion.slice(at + 1)];
  return resources.find((r) => r.group === group && r.version === version && r.kind === reference.kind) ?? resources.find((r) => r.group === group && r.kind === reference.kind);
}

async function ownersOf(object: KubeObject, resources: Resource[], signal: AbortSignal): Promise<Node[][]> {
  const levels: Node[][] = [];
  let level = object.metadata.ownerReferences ?? [];
  const namespace = object.metadata.namespace ?? "";
  const seen = new Set([object.metadata.uid]);
  while (level.length && levels.length < MOST_LEVELS) {
    const above: OwnerReference[] = [];
    const nodes: Node[] = [];
    for (const reference of level.slice(0, 50)) {
      if (seen.has(reference.uid)) continue;
      seen.add(reference.uid);
      const resource = find(resources, reference);
      const node: Node = { resource, kind: reference.kind, name: reference.name, namespace: resource?.namespaced ? namespace : "", uid: reference.uid };
      nodes.push(node);
      if (!resource) continue;
      try {
        const owner = await getJson<KubeObject>(resourcePath(resource, node.namespace, node.name), signal);
        node.missing = owner.metadata.uid !== reference.uid;
        above.push(...(owner.metadata.ownerReferences ?? []));
      } catch {
        node.missing = true;
      }
    }
    if (nodes.length) levels.push(nodes);
    level = above;
  }
  return levels.reverse();
}

async function dependentsOf(object: KubeObject, resources: Resource[], signal: AbortSignal): Promise<Node[]> {
  const { uid, namespace } = object.metadata;
  const kinds = new Map<string, Resource>();
  for (const resource of resources) {
    const key = `${resource.group}/${resource.plural}`;
    const namespaced = namespace ? resource.namespaced : true;
    if (resource.verbs.includes("list") && namespaced && resource.plural !== "events" && !kinds.has(key)) kinds.set(key, resource);
  }
  const out: Node[] = [];
  const queue = [...kinds.values()];
  const work = async () => {
    for (let resource = queue.shift(); resource && !signal.aborted; resource = queue.shift()) {
      try {
        const path = `${resourcePath(resource, resource.namespaced ? namespace : "")}?limit=1000`;
        const headers = await getJson<{ items: KubeObject[] }>(path, signal);
        for (const item of headers.items) {
          if (item.metadata.ownerReferences?.some((reference) => reference.uid === uid)) {
            out.push({ resource, kind: resource.kind, name: item.metadata.name, namespace: item.metadata.namespace ?? "", uid: item.metadata.uid ?? "" });
          }
        }
      } catch {
        // What the user may not list is not searched.
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return out.sort((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name));
}

export function Related({ object, resources }: { object: KubeObject; resources: Resource[] }) {
  const owners = useLoaded((signal) => ownersOf(object, resources, signal), [object.metadata.uid]);
  const [search, setSearch] = useState(false);
  const dependents = useLoaded((signal) => (search ? dependentsOf(object, resources, signal) : Promise.resolve(null)), [object.metadata.uid, search]);
  return (
    <div class="scroll pad" tabIndex={0} role="region" aria-label="Owners and dependents">
      {owners.error && <Problem error={owners.error} />}
      <ol class="graph">
        {(owners.value ?? []).map((level, i) => <li key={i}>{level.map((node) => <Box key={node.uid} node={node} />)}</li>)}
        {owners.value?.length === 0 && <li class="quiet">No owner: this object is deleted only on request.</li>}
        <li><span class="box" aria-current="true"><span class="quiet">{object.kind}</span> {object.metadata.name}</span></li>
        <li>
          {!search && <button onClick={() => setSearch(true)}>Search for dependents</button>}
          {search && dependents.value === null && <span class="quiet">Searching all kinds…</span>}
          {dependents.value?.map((node) => <Box key={node.uid} node={node} />)}
          {dependents.value?.length === 0 && <span class="quiet">No dependents among the kinds that you may list.</span>}
        </li>
      </ol>
    </div>
  );
}

function Box({ node }: { node: Node }) {
  const { resource } = node;
  const text = <><span class="quiet">{node.kind}</span> {node.name}{node.missing && <span class="tag" data-warn="true">missing</span>}</>;
  if (!resource || node.missing) return <span class="box">{text}</span>;
  return <a class="box" data-row href={link(["object", resource.group || "core", resource.version, resource.plural, node.namespace || "-", node.name])}>{text}</a>;
}

// Owners above an object and dependents below it, at any depth, as a graph that is a list.

import { useState } from "preact/hooks";
import { useLoaded } from "../context";
import { getJson, getMetadata, resourcePath, type KubeObject, type OwnerReference, type Resource } from "../lib/api";
import { count } from "../lib/format";
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
/** Objects per page, and in all: beyond that, the page says which kinds were not searched. */
const PAGE = 2_000;
const MOST_OBJECTS = 500_000;
/** So many dependents of an object are shown at first. */
const SHOWN = 100;

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

interface Dependents {
  /** Dependents by the uid of their owner. */
  of: Map<string, Node[]>;
  /** Kinds that could not be listed, to the end or at all. */
  missed: string[];
  objects: number;
}

/** Reads the metadata of all objects that may depend on this one, at any depth, kind by kind and page by page. */
async function dependentsOf(object: KubeObject, resources: Resource[], signal: AbortSignal, progress: (objects: number) => void): Promise<Dependents> {
  const { namespace } = object.metadata;
  const kinds = new Map<string, Resource>();
  for (const resource of resources) {
    const key = `${resource.group}/${resource.plural}`;
    // Dependents of a namespaced object are in its namespace.
    const namespaced = namespace ? resource.namespaced : true;
    if (resource.verbs.includes("list") && namespaced && resource.plural !== "events" && !kinds.has(key)) kinds.set(key, resource);
  }
  const out: Dependents = { of: new Map(), missed: [], objects: 0 };
  const queue = [...kinds.values()];
  const work = async () => {
    for (let resource = queue.shift(); resource && !signal.aborted; resource = queue.shift()) {
      const { kind } = resource;
      let token = "";
      do {
        if (out.objects >= MOST_OBJECTS) {
          out.missed.push(kind);
          break;
        }
        try {
          const query = new URLSearchParams({ limit: String(PAGE), ...(token ? { continue: token } : {}) });
          const page = await getMetadata(`${resourcePath(resource, resource.namespaced ? namespace : "")}?${query}`, signal);
          for (const metadata of page.items) {
            for (const { uid } of metadata.ownerReferences ?? []) {
              const known = out.of.get(uid) ?? [];
              out.of.set(uid, known);
              known.push({ resource, kind, name: metadata.name, namespace: metadata.namespace ?? "", uid: metadata.uid ?? "" });
            }
          }
          out.objects += page.items.length;
          progress(out.objects);
          token = page.next;
        } catch {
          if (signal.aborted) return;
          // The user may not list it, or the list has expired.
          out.missed.push(kind);
          break;
        }
      } while (token && !signal.aborted);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const nodes of out.of.values()) nodes.sort((a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name));
  return out;
}

export function Related({ object, resources }: { object: KubeObject; resources: Resource[] }) {
  const owners = useLoaded((signal) => ownersOf(object, resources, signal), [object.metadata.uid]);
  const [search, setSearch] = useState(false);
  const [read, setRead] = useState(0);
  const dependents = useLoaded((signal) => (search ? dependentsOf(object, resources, signal, setRead) : Promise.resolve(null)), [object.metadata.uid, search]);
  const found = dependents.value;
  const own = found?.of.get(object.metadata.uid ?? "") ?? [];
  return (
    <div class="scroll pad" tabIndex={0} role="region" aria-label="Owners and dependents">
      {owners.error && <Problem error={owners.error} />}
      <ol class="graph">
        {(owners.value ?? []).map((level, i) => <li key={i}>{level.map((node) => <Box key={node.uid} node={node} />)}</li>)}
        {owners.value?.length === 0 && <li class="quiet">No owner: this object is deleted only on request.</li>}
        <li><span class="box" aria-current="true"><span class="quiet">{object.kind}</span> {object.metadata.name}</span></li>
        <li>
          {!search && <button onClick={() => setSearch(true)}>Search for dependents</button>}
          {search && !found && <span class="quiet" role="status">Searching all kinds… {count(read)} objects read</span>}
          {found && own.length > 0 && <Below nodes={own} of={found.of} above={new Set([object.metadata.uid ?? ""])} />}
          {found && own.length === 0 && <span class="quiet">No dependents among the kinds that you may list.</span>}
        </li>
      </ol>
      {found && (
        <p class="quiet" role="status">
          {count(found.objects)} objects were read{found.missed.length === 0 ? "." : `; not, or not all: ${[...new Set(found.missed)].sort().join(", ")}.`}
        </p>
      )}
    </div>
  );
}

/** Dependents with theirs. An object with several owners is below each of them; a circle ends. */
function Below({ nodes, of, above }: { nodes: Node[]; of: Map<string, Node[]>; above: Set<string> }) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <ul class="dependents">
      {nodes.slice(0, shown).map((node) => {
        const below = above.has(node.uid) ? [] : (of.get(node.uid) ?? []);
        return (
          <li key={node.uid}>
            <Box node={node} />
            {below.length > 0 && <Below nodes={below} of={of} above={new Set([...above, node.uid])} />}
          </li>
        );
      })}
      {nodes.length > shown && <li><button onClick={() => setShown(shown + SHOWN)}>{count(nodes.length - shown)} more</button></li>}
    </ul>
  );
}

function Box({ node }: { node: Node }) {
  const { resource } = node;
  const text = <><span class="quiet">{node.kind}</span> {node.name}{node.missing && <span class="tag" data-warn="true">missing</span>}</>;
  if (!resource || node.missing) return <span class="box">{text}</span>;
  return <a class="box" data-row href={link(["object", resource.group || "core", resource.version, resource.plural, node.namespace || "-", node.name])}>{text}</a>;
}

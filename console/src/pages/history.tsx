// Past versions of an object, read from the server's history through a watch that begins in the past.

import { useEffect, useState } from "preact/hooks";
import { ApiError, getJson, resourcePath, watch, type KubeObject, type Resource } from "../lib/api";
import { age } from "../lib/format";
import { diffLines } from "../lib/text-diff";
import { toYaml } from "../lib/yaml";

/** How many revisions back a watch is tried, the furthest that succeeds counts. */
const STEPS = [10, 100, 1_000, 10_000, 100_000, 1_000_000];
/** So many versions are shown, the newest. */
const MOST_VERSIONS = 200;

async function versionsSince(resource: Resource, object: KubeObject, from: number): Promise<KubeObject[] | null> {
  const { name, namespace = "" } = object.metadata;
  const query = new URLSearchParams({ watch: "1", fieldSelector: `metadata.name=${name}`, resourceVersion: String(from), timeoutSeconds: "1" });
  const out: KubeObject[] = [];
  try {
    // The version that the object had then; events are about what changed later.
    const then = new URLSearchParams({ fieldSelector: `metadata.name=${name}`, resourceVersion: String(from), resourceVersionMatch: "Exact" });
    const list = await getJson<{ items: KubeObject[]; apiVersion: string }>(`${resourcePath(resource, namespace)}?${then}`);
    out.push(...list.items.map((item) => ({ ...item, apiVersion: object.apiVersion, kind: object.kind })));
    for await (const event of watch<KubeObject>(`${resourcePath(resource, namespace)}?${query}`, false, AbortSignal.timeout(5_000))) {
      if (event.type === "ERROR") return null;
      if (event.type !== "BOOKMARK" && event.type !== "DELETED") out.push(event.object);
      // The newest stay.
      if (out.length > MOST_VERSIONS) out.shift();
    }
  } catch (error) {
    if (error instanceof ApiError) return null;
  }
  return out;
}

async function load(resource: Resource, object: KubeObject): Promise<KubeObject[]> {
  const now = Number(object.metadata.resourceVersion);
  if (!Number.isSafeInteger(now)) return [object];
  let best: KubeObject[] = [];
  const tried = [...new Set(STEPS.map((step) => Math.max(1, now - step)))];
  const found = await Promise.all(tried.map((from) => versionsSince(resource, object, from)));
  for (const versions of found) if (versions && versions.length > best.length) best = versions;
  return best.length ? best : [object];
}

export function History({ resource, object }: { resource: Resource; object: KubeObject }) {
  const [versions, setVersions] = useState<KubeObject[] | null>(null);
  useEffect(() => {
    void load(resource, object).then(setVersions);
  }, [object.metadata.resourceVersion]);
  if (!versions) return <p class="pad quiet">Reading history…</p>;
  const text = (version: KubeObject) => {
    const { managedFields: _, ...metadata } = version.metadata;
    return toYaml({ ...version, metadata });
  };
  const since = (version: KubeObject) => version.metadata.managedFields?.map((entry) => entry.time ?? "").sort().at(-1) ?? version.metadata.creationTimestamp;
  const newest = [...versions].reverse();
  const isCut = versions.length >= MOST_VERSIONS;
  return (
    <div class="scroll pad" tabIndex={0} role="region" aria-label="History">
      <p class="quiet">
        The server keeps past versions for about five minutes. {versions.length === 1 && "There is no older one of this object now; change it and look again."}
        {isCut && `The newest ${MOST_VERSIONS} are shown.`}
      </p>
      {newest.map((version, i) => {
        const before = newest[i + 1];
        const changed = before ? diffLines(text(before), text(version)) : [];
        return (
          <details key={version.metadata.resourceVersion} open={i < 3}>
            <summary>Version {version.metadata.resourceVersion} <span class="quiet">{age(since(version))} ago{before ? "" : isCut ? ", the oldest that is shown" : ", the oldest that is kept"}</span></summary>
            {before && (
              <pre class="diff">
                {changed.map((line, n) => <span key={n} class="diff-line" data-mark={line.mark}>{line.mark} {line.text}{"\n"}</span>)}
              </pre>
            )}
          </details>
        );
      })}
    </div>
  );
}

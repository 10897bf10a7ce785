// Creating and editing an object: checked by the engine while typing, by the server with a dry run, then written.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApp } from "../context";
import { Editor } from "../editor";
import { api, ApiError, getJson, groupPath, resourcePath, type KubeObject, type Resource } from "../lib/api";
import type { Finding } from "../lib/engine";
import { link } from "../lib/router";
import { toYaml } from "../lib/yaml";

/** The object as people edit it: without managed fields. */
function editable(object: KubeObject): string {
  const { managedFields: _, ...metadata } = object.metadata;
  return toYaml({ ...object, metadata });
}

function draft(resource: Resource, namespace: string): string {
  const apiVersion = resource.group ? `${resource.group}/${resource.version}` : resource.version;
  const metadata = resource.namespaced ? { name: "example", namespace } : { name: "example" };
  return toYaml({ apiVersion, kind: resource.kind, metadata });
}

export function Edit({ resource, object, close }: { resource: Resource; object: KubeObject | null; close: () => void }) {
  const { engine, notify } = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  const [base, setBase] = useState(object);
  const initial = useMemo(() => (object ? editable(object) : draft(resource, "default")), []);
  const [text, setText] = useState(initial);
  const [findings, setFindings] = useState<Finding[]>([]);
  const [answer, setAnswer] = useState<{ ok: boolean; message: string; causes: string[]; conflict: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  const crd = useRef<string | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  // The schema is that of the CRD; built-in kinds are checked by the server alone.
  useEffect(() => {
    if (!resource.group.includes(".")) return;
    const path = `${groupPath("apiextensions.k8s.io", "v1")}/customresourcedefinitions/${resource.plural}.${resource.group}`;
    getJson<KubeObject>(path).then(
      async (found) => {
        crd.current = JSON.stringify(found);
        if (!object) {
          const sample = await engine.ask("sample", { crd: crd.current, version: resource.version, extent: "minimal" });
          setText((now) => (now === initial ? sample.yaml : now));
        }
      },
      () => {},
    );
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      const definition = crd.current;
      if (!definition) return;
      engine.ask("check", { crds: definition, objects: text }).then(
        (checked) => setFindings([...checked.objects.unreadable, ...checked.objects.documents.flatMap((d) => d.findings)]),
        () => setFindings([]),
      );
    }, 250);
    return () => clearTimeout(timer);
  }, [text]);
  const write = async (dryRun: boolean) => {
    setBusy(true);
    try {
      const query = `?fieldManager=pleach-console&fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`;
      const { metadata } = object ?? { metadata: null };
      const namespace = metadata ? (metadata.namespace ?? "") : resource.namespaced ? (/^ {2}namespace: (\S+)$/m.exec(text)?.[1] ?? "default") : "";
      const path = resourcePath(resource, namespace, metadata?.name ?? "");
      const response = await api(path + query, {
        method: object ? "PUT" : "POST",
        headers: { "Content-Type": "application/yaml", Accept: "application/json" },
        body: text,
      });
      const stored = (await response.json()) as KubeObject;
      if (dryRun) {
        setAnswer({ ok: true, message: "The server would accept this.", causes: [], conflict: false });
      } else {
        notify(`${resource.kind} ${stored.metadata.name} ${object ? "updated" : "created"}`);
        close();
        if (!object) location.hash = link(["object", resource.group || "core", resource.version, resource.plural, stored.metadata.namespace ?? "-", stored.metadata.name]);
      }
    } catch (failed) {
      const error = failed as ApiError;
      const causes = (error.status?.details?.causes ?? []).map((cause) => `${cause.field ?? ""}: ${cause.message ?? ""}`);
      setAnswer({ ok: false, message: error.message, causes, conflict: error.reason === "Conflict" });
    } finally {
      setBusy(false);
    }
  };
  // The text keeps its fields; only the version that it is based on becomes the newest. The dry run tells the rest.
  const rebase = async () => {
    if (!base) return;
    const newest = await getJson<KubeObject>(resourcePath(resource, base.metadata.namespace ?? "", base.metadata.name));
    const [mine, theirs] = [text.split("\n"), editable(newest).split("\n")];
    const was = editable(base).split("\n");
    const changed = theirs.filter((line) => !was.includes(line) && !mine.includes(line) && !/resourceVersion|generation/.test(line));
    setText(text.replace(/^( {2}resourceVersion: ).*$/m, `$1${JSON.stringify(newest.metadata.resourceVersion)}`));
    setBase(newest);
    setAnswer({ ok: true, message: "Based on the newest version now. Lines that others changed since, which your text does not have:", causes: changed.map((line) => line.trim()), conflict: false });
  };
  const errors = findings.filter((finding) => finding.level === "error").length;
  return (
    <dialog class="large" ref={dialog} onClose={close} aria-label={object ? `Edit ${object.metadata.name}` : `Create ${resource.kind}`}>
      <div class="bar-row">
        <h2>{object ? `Edit ${object.metadata.name}` : `Create ${resource.kind}`}</h2>
        <span class="quiet grow">{errors ? `${errors} error${errors > 1 ? "s" : ""}` : ""}</span>
      </div>
      <Editor value={text} change={setText} findings={findings} label="The object in YAML" />
      <div role="status">
        {answer && (
          <div class={answer.ok ? "fine" : "alert"}>
            {answer.message}
            {answer.causes.length > 0 && <ul>{answer.causes.map((cause) => <li key={cause}>{cause}</li>)}</ul>}
            {answer.conflict && <p><button onClick={() => void rebase()}>Take the newest version as base</button></p>}
          </div>
        )}
      </div>
      <div class="bar-row end">
        <button onClick={() => dialog.current?.close()}>Cancel</button>
        <button disabled={busy} onClick={() => void write(true)}>Dry run</button>
        <button class="primary" disabled={busy} onClick={() => void write(false)}>{object ? "Save" : "Create"}</button>
      </div>
    </dialog>
  );
}

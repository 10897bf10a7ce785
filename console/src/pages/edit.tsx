// Creating and editing an object: checked by the engine while typing, by the server with a dry run, then written.

import { useEffect, useRef, useState } from "preact/hooks";
import { useApp } from "../context";
import { Editor } from "../editor";
import { api, ApiError, getJsonText, groupPath, resourcePath, type KubeObject, type Resource } from "../lib/api";
import type { Conflict, Finding } from "../lib/engine";
import { link } from "../lib/router";
import { toYaml } from "../lib/yaml";

function draft(resource: Resource, namespace: string): string {
  const apiVersion = resource.group ? `${resource.group}/${resource.version}` : resource.version;
  const metadata = resource.namespaced ? { name: "example", namespace } : { name: "example" };
  return toYaml({ apiVersion, kind: resource.kind, metadata });
}

/** A sample of the engine, in a namespace. */
function inNamespace(sample: string, namespace: string): string {
  const line = /^ {2}namespace: .*$/m;
  return line.test(sample) ? sample.replace(line, `  namespace: ${namespace}`) : sample.replace(/^( {2}name: .*)$/m, `$1\n  namespace: ${namespace}`);
}

/** Edits an object, or creates one in a namespace. */
export function Edit({ resource, object, namespace: chosen = "default", close }: { resource: Resource; object: KubeObject | null; namespace?: string; close: () => void }) {
  const { engine, notify } = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  // The version that the text is based on, as the server wrote it.
  const [base, setBase] = useState("");
  const [initial] = useState(object ? "" : draft(resource, chosen));
  const [text, setText] = useState(initial);
  const [findings, setFindings] = useState<Finding[]>([]);
  const [answer, setAnswer] = useState<{ ok: boolean; message: string; causes: string[]; conflict: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  const [merge, setMerge] = useState<Merge | null>(null);
  const path = object ? resourcePath(resource, object.metadata.namespace ?? "", object.metadata.name) : "";
  const crd = useRef<string | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  // The schema is that of the CRD; built-in kinds are checked by the server alone.
  useEffect(() => {
    if (!resource.group.includes(".")) return;
    const path = `${groupPath("apiextensions.k8s.io", "v1")}/customresourcedefinitions/${resource.plural}.${resource.group}`;
    getJsonText(path).then(
      async (found) => {
        crd.current = found;
        if (!object) {
          const sample = await engine.ask("sample", { crd: crd.current, version: resource.version, extent: "minimal" });
          const yaml = resource.namespaced ? inNamespace(sample.yaml, chosen) : sample.yaml;
          setText((now) => (now === initial ? yaml : now));
        }
      },
      () => {},
    );
  }, []);
  useEffect(() => {
    if (!path) return;
    const load = async () => {
      const stored = await getJsonText(path);
      const { yaml } = await engine.ask("merge", { base: stored, mine: stored, theirs: stored });
      setBase(stored);
      setText(yaml);
    };
    load().catch((error: Error) => setAnswer({ ok: false, message: error.message, causes: [], conflict: false }));
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      const definition = crd.current;
      if (!definition) return;
      engine.ask("check", { crds: definition, objects: text, old: base }).then(
        (checked) => setFindings([...checked.objects.unreadable, ...checked.objects.documents.flatMap((d) => d.findings)]),
        () => setFindings([]),
      );
    }, 250);
    return () => clearTimeout(timer);
  }, [text, base]);
  /** The namespace that a text names. One that cannot be read is for the server to refuse. */
  const namespaceOf = async (text: string) => {
    const read = await engine.ask("check", { crds: "", objects: text });
    return read.objects.documents[0]?.namespace;
  };
  const write = async (dryRun: boolean) => {
    setBusy(true);
    try {
      const query = `?fieldManager=pleach-console&fieldValidation=Strict${dryRun ? "&dryRun=All" : ""}`;
      const namespace = path || !resource.namespaced ? "" : ((await namespaceOf(text)) ?? chosen);
      const response = await api((path || resourcePath(resource, namespace)) + query, {
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
  // The changes of the text and those on the server since, field by field; conflicts are the user's to decide.
  const mergeNewest = async () => {
    setBusy(true);
    try {
      const theirs = await getJsonText(path);
      const uid = (json: string) => (JSON.parse(json) as KubeObject).metadata.uid;
      const question = { base, mine: text, theirs, crd: crd.current ?? "", statusIsTheirs: resource.subresources.includes("status") };
      const merged = await engine.ask("merge", question);
      const taken = merged.taken.map(({ field, theirs }) => (theirs === null ? `${field} removed` : `${field}: ${theirs}`));
      const made = { question, conflicts: merged.conflicts, taken, choices: new Map(), again: uid(base) !== uid(theirs) };
      if (merged.conflicts.length) setMerge(made);
      else finishMerge(made, merged.yaml);
    } catch (failed) {
      const gone = failed instanceof ApiError && failed.code === 404;
      setAnswer({ ok: false, message: gone ? "It was deleted meanwhile: your text can be created anew, without uid and resourceVersion." : (failed as Error).message, causes: [], conflict: false });
    } finally {
      setBusy(false);
    }
  };
  const finishMerge = (made: Merge, yaml: string) => {
    setMerge(null);
    setBase(made.question.theirs);
    setText(yaml);
    const since = made.taken.length ? "It has these changes of others:" : "Others changed nothing that your text does not have.";
    const again = made.again ? " The object was deleted and created again meanwhile." : "";
    setAnswer({ ok: true, message: `Your text is based on the newest version now.${again} ${since}`, causes: made.taken, conflict: false });
  };
  const applyChoices = async (made: Merge) => {
    const theirsAt = made.conflicts.flatMap(({ field }) => (made.choices.get(field) === "theirs" ? [field] : []));
    try {
      finishMerge(made, (await engine.ask("merge", { ...made.question, theirsAt })).yaml);
    } catch (failed) {
      setAnswer({ ok: false, message: (failed as Error).message, causes: [], conflict: true });
    }
  };
  const errors = findings.filter((finding) => finding.level === "error").length;
  return (
    <dialog class="large" ref={dialog} onClose={close} aria-label={object ? `Edit ${object.metadata.name}` : `Create ${resource.kind}`}>
      <div class="bar-row">
        <h2>{object ? `Edit ${object.metadata.name}` : `Create ${resource.kind}`}</h2>
        <span class="quiet grow">{errors ? `${errors} error${errors > 1 ? "s" : ""}` : ""}</span>
      </div>
      {merge ? (
        <Conflicts merge={merge} choose={(field, whose) => setMerge({ ...merge, choices: new Map(merge.choices).set(field, whose) })} apply={() => void applyChoices(merge)} cancel={() => setMerge(null)} />
      ) : object && !base ? (
        <p class="quiet grow">Loading…</p>
      ) : (
        <Editor value={text} change={setText} findings={findings} label="The object in YAML" />
      )}
      <div role="status">
        {answer && !merge && (
          <div class={answer.ok ? "fine" : "alert"}>
            {answer.message}
            {answer.causes.length > 0 && <ul>{answer.causes.map((cause) => <li key={cause}>{cause}</li>)}</ul>}
            {answer.conflict && <p><button disabled={busy} onClick={() => void mergeNewest()}>Merge with the newest version</button></p>}
          </div>
        )}
      </div>
      <div class="bar-row end">
        <button onClick={() => dialog.current?.close()}>Cancel</button>
        <button disabled={busy || merge !== null || !text} onClick={() => void write(true)}>Dry run</button>
        <button class="primary" disabled={busy || merge !== null || !text} onClick={() => void write(false)}>{object ? "Save" : "Create"}</button>
      </div>
    </dialog>
  );
}

type Whose = "mine" | "theirs";

interface Merge {
  question: { base: string; mine: string; theirs: string; crd: string; statusIsTheirs: boolean };
  conflicts: Conflict[];
  taken: string[];
  choices: Map<string, Whose>;
  /** Whether the object on the server is another one of the same name. */
  again: boolean;
}

/** Fields that the text and others changed to different values: nothing is chosen for the user. */
function Conflicts({ merge, choose, apply, cancel }: { merge: Merge; choose: (field: string, whose: Whose) => void; apply: () => void; cancel: () => void }) {
  const { conflicts, choices } = merge;
  const value = (yaml: string | null) => (yaml === null ? <span class="quiet">absent</span> : <pre>{yaml}</pre>);
  return (
    <div class="scroll tall conflicts" tabIndex={0} role="region" aria-label="Conflicts">
      <p>You and others changed {conflicts.length === 1 ? "this field" : "these fields"} since you began. All other changes are merged.</p>
      {conflicts.map(({ field, base, mine, theirs }) => (
        <fieldset key={field}>
          <legend class="mono">{field}</legend>
          <div class="quiet">Before: {value(base)}</div>
          {([["mine", "Yours", mine], ["theirs", "Theirs", theirs]] as const).map(([whose, label, yaml]) => (
            <label class="check" key={whose}>
              <input type="radio" name={`conflict ${field}`} checked={choices.get(field) === whose} onChange={() => choose(field, whose)} /> <strong>{label}</strong> {value(yaml)}
            </label>
          ))}
        </fieldset>
      ))}
      <div class="bar-row end">
        <button onClick={cancel}>Back to your text</button>
        <button class="primary" disabled={choices.size < conflicts.length} onClick={apply}>Use these values</button>
      </div>
    </div>
  );
}

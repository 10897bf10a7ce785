// The playground: CRDs and objects as text, checked by the engine. The state is in the link.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApp } from "../context";
import { Editor } from "../editor";
import type { CheckAnswer, Checked, Finding } from "../lib/engine";
import { pack, unpack } from "../lib/share";
import { Bar, Copy } from "../parts";

const CRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab}
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
              args:
                type: array
                maxItems: 20
                items: {type: string, maxLength: 200}
            x-kubernetes-validations:
            - rule: self.replicas < 5 || self.cronSpec.startsWith('0 ')
              message: many replicas run on the hour
            - rule: '!has(self.args) || self.args.all(a, self.args.exists_one(b, a == b))'
              message: arguments are unique
`;

const OBJECT = `apiVersion: stable.example.com/v1
kind: CronTab
metadata:
  name: nightly
spec:
  cronSpec: "30 3 * * *"
  replicas: 7
  color: red
`;

interface State {
  crds: string;
  objects: string;
}

type View = "stored" | "rules" | "openapi" | "skeleton" | "expand";
const VIEWS: [View, string][] = [["stored", "Stored"], ["rules", "Rules"], ["openapi", "OpenAPI"], ["skeleton", "Skeleton"], ["expand", "Expanded"]];

export function PlaygroundPage({ state: packed }: { state: string }) {
  const [state, setState] = useState<State | null>(null);
  useEffect(() => {
    const usual = { crds: CRD, objects: OBJECT };
    if (!packed) setState((old) => old ?? usual);
    else unpack<State>(packed).then((found) => setState({ crds: String(found.crds), objects: String(found.objects) }), () => setState(usual));
  }, [packed]);
  return state ? <Playground state={state} setState={setState} /> : null;
}

function Playground({ state, setState }: { state: State; setState: (state: State) => void }) {
  const { engine, notify } = useApp();
  const [answer, setAnswer] = useState<CheckAnswer | null>(null);
  const [error, setError] = useState("");
  const [view, setView] = useState<View>("stored");
  const round = useRef(0);
  useEffect(() => {
    const mine = ++round.current;
    const timer = setTimeout(() => {
      engine.ask("check", state).then(
        (checked) => {
          if (mine !== round.current) return;
          setAnswer(checked);
          setError("");
        },
        (failed: Error) => mine === round.current && setError(failed.message),
      );
    }, 200);
    return () => clearTimeout(timer);
  }, [state]);
  const of = (part: CheckAnswer["crds"] | undefined): Finding[] => (part ? [...part.unreadable, ...part.documents.flatMap((d) => d.findings)] : []);
  const crdFindings = useMemo(() => of(answer?.crds), [answer]);
  const objectFindings = useMemo(() => of(answer?.objects), [answer]);
  const share = async () => {
    const hash = `#/playground/${await pack(state)}`;
    history.replaceState(null, "", hash);
    return location.href;
  };
  const all = [...(answer?.crds.documents ?? []), ...(answer?.objects.documents ?? [])];
  return (
    <section class="fill">
      <div class="bar-row">
        <h1>Playground</h1>
        <span class="quiet grow">{engine.place === "browser" ? "Checked in your browser; nothing is sent." : "Checked by the server; nothing is kept."}</span>
        <Copy text={() => share().catch((failed: Error) => (notify(failed.message, "error"), location.href))} label="Copy link" />
      </div>
      {error && <p class="alert" role="alert">{error}</p>}
      <div class="thirds">
        <div class="pane">
          <h2>CRDs</h2>
          <Editor value={state.crds} change={(crds) => setState({ ...state, crds })} findings={crdFindings} label="CRDs in YAML" />
          <Findings list={crdFindings} clean={Boolean(answer?.crds.documents.length)} what="The server would accept this CRD." />
        </div>
        <div class="pane">
          <h2>Objects</h2>
          <Editor value={state.objects} change={(objects) => setState({ ...state, objects })} findings={objectFindings} label="Objects in YAML" />
          <Findings list={objectFindings} clean={Boolean(answer?.objects.documents.length)} what="The server would accept these objects." />
        </div>
        <div class="pane">
          <div class="choices" role="group" aria-label="Result">
            {VIEWS.map(([id, label]) => <button key={id} aria-pressed={view === id} onClick={() => setView(id)}>{label}</button>)}
          </div>
          {view === "stored" && <Stored documents={all} />}
          {view === "rules" && <Rules documents={all} />}
          {(view === "openapi" || view === "skeleton" || view === "expand") && <Made op={view} crd={state.crds} />}
        </div>
      </div>
    </section>
  );
}

function Findings({ list, clean, what }: { list: Finding[]; clean: boolean; what: string }) {
  return (
    <div class="findings" role="status" tabIndex={0} aria-label="Findings">
      {list.length === 0 && clean && <p class="fine">{what}</p>}
      <ul>
        {list.map((finding, i) => (
          <li key={i} data-level={finding.level}>
            <span class="tag" data-severity={finding.level === "error" ? "breaking" : finding.level === "warning" ? "caution" : "safe"}>{finding.level}</span> {finding.message}
            {finding.help.map((help) => <p key={help} class="quiet">{help}</p>)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Stored({ documents }: { documents: Checked[] }) {
  const objects = documents.filter((document) => document.stored !== undefined);
  if (!objects.length) return <p class="quiet">Objects whose kind a CRD on the left defines are shown here as the server would store them.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="As stored">
      {objects.map((object, i) => (
        <div key={i}>
          <h3>{object.title}</h3>
          <pre class="block">{object.stored}</pre>
          <ul class="quiet">
            {object.changes?.map(({ path, reason }) => <li key={path}><span class="mono">{path}</span>: {reason}</li>)}
            {object.defaultsNotApplied?.map(({ path, reason }) => <li key={path}><span class="mono">{path}</span>: default not applied: {reason}</li>)}
          </ul>
        </div>
      ))}
    </div>
  );
}

function Rules({ documents }: { documents: Checked[] }) {
  const crds = documents.flatMap((document) => (document.crd ? [document.crd] : []));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Rules">
      {crds.map((crd) => (
        <div key={crd.name}>
          <h3>{crd.name}</h3>
          <p class="quiet">{crd.structuralViolations.length ? "Not structural:" : "The schema is structural."}</p>
          <ul>{crd.structuralViolations.map((violation) => <li key={violation}>{violation}</li>)}</ul>
          <ul class="rules">
            {crd.costs.map(({ field, cost }) => {
              const share = cost / crd.costBudget;
              return <li key={field}><span class="mono break">{field.replace(/^.*openAPIV3Schema\.?/, "")}</span> <Bar share={share} label={`${(share * 100).toFixed(2)} % of the budget of a rule`} /> <span class="quiet">{(share * 100).toFixed(2)} %</span></li>;
            })}
          </ul>
          {crd.costs.length === 0 && <p class="quiet">No CEL rules.</p>}
        </div>
      ))}
    </div>
  );
}

function Made({ op, crd }: { op: "openapi" | "skeleton" | "expand"; crd: string }) {
  const { engine } = useApp();
  const [text, setText] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => {
      const made = op === "openapi" ? engine.ask("openapi", { crd }).then(({ json }) => JSON.stringify(JSON.parse(json), null, 2)) : engine.ask(op, { crd }).then(({ yaml }) => yaml);
      made.then(setText, (error: Error) => setText(error.message));
    }, 200);
    return () => clearTimeout(timer);
  }, [op, crd]);
  return <pre class="block scroll" tabIndex={0}>{text}</pre>;
}

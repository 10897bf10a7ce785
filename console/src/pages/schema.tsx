// The schema of a CRD as a tree, versions side by side, and samples.

import { useEffect, useMemo, useState } from "preact/hooks";
import { useApp, useLoaded } from "../context";
import { getJson, groupPath } from "../lib/api";
import { conditionWords, type Crd, type Schema } from "../lib/crd";
import type { Change } from "../lib/engine";
import { compareVersions } from "../lib/format";
import { go, link } from "../lib/router";
import { toYaml } from "../lib/yaml";
import { Bar, Code, Copy, Dialog, Problem } from "../parts";
import { VersionTag } from "./apis";

export function SchemaPage({ crd: name, version: asked, query }: { crd: string; version: string; query: URLSearchParams }) {
  const found = useLoaded((signal) => getJson<Crd>(`${groupPath("apiextensions.k8s.io", "v1")}/customresourcedefinitions/${encodeURIComponent(name)}`, signal), [name]);
  if (found.error) return <Problem error={found.error} retry={found.reload} />;
  if (!found.value) return <p class="pad quiet">Loading…</p>;
  return <Explorer crd={found.value} asked={asked} query={query} />;
}

function Explorer({ crd, asked, query }: { crd: Crd; asked: string; query: URLSearchParams }) {
  const { engine, notify } = useApp();
  const { names, group, versions } = crd.spec;
  const current = versions.find((v) => v.name === asked) ?? versions.find((v) => v.storage) ?? versions[0];
  const other = versions.find((v) => v.name === query.get("with"));
  const field = query.get("field") ?? "";
  const [search, setSearch] = useState("");
  const [sample, setSample] = useState<{ title: string; yaml: string; notes: string[] } | null>(null);
  const text = useMemo(() => JSON.stringify({ apiVersion: "apiextensions.k8s.io/v1", ...crd, kind: "CustomResourceDefinition", status: undefined }), [crd]);
  const costs = useLoaded(async () => {
    const checked = await engine.ask("check", { crds: text, objects: "" });
    return checked.crds.documents[0];
  }, [text]);
  if (!current) return <p class="pad">This CRD has no version.</p>;
  const here = (change: { version?: string; with?: string | undefined; field?: string }) =>
    link(["schema", crd.metadata.name, change.version ?? current.name], { with: "with" in change ? change.with : other?.name, field: change.field ?? field });
  const make = async (extent: "minimal" | "full") => {
    try {
      const made = await engine.ask("sample", { crd: text, version: current.name, extent });
      const notes = [...made.errors.map((error) => `Not valid: ${error}`), ...made.leftOut.map(({ field, why }) => `Left out: ${field}: ${why}`)];
      setSample({ title: extent === "minimal" ? "Minimal sample" : "Full sample", yaml: made.yaml, notes });
    } catch (error) {
      notify((error as Error).message, "error");
    }
  };
  const index = versions.indexOf(current);
  const rules = (costs.value?.crd?.costs ?? []).filter((cost) => cost.field.startsWith(`spec.versions[${index}].`));
  const budget = costs.value?.crd?.costBudget ?? 1;
  const violations = costs.value?.crd?.structuralViolations ?? [];
  return (
    <section class="fill">
      <div class="bar-row">
        <h1>{names.kind}</h1>
        <span class="quiet">{group}</span>
        {conditionWords(crd).map(({ text, bad, why }) => <span key={text} class="state" data-bad={bad} title={why}>{text}</span>)}
        <span class="grow" />
        <a href={link(["objects", group, current.name, names.plural])}>Objects</a>
        <button onClick={() => void make("minimal")}>Minimal sample</button>
        <button onClick={() => void make("full")}>Full sample</button>
      </div>
      <div class="bar-row">
        <div class="choices" role="group" aria-label="Version">
          {[...versions].sort((a, b) => compareVersions(a.name, b.name)).map((version) => (
            <button key={version.name} aria-pressed={version === current} onClick={() => go(here({ version: version.name }))}>{version.name}</button>
          ))}
        </div>
        <VersionTag name={current.name} served={current.served} stored={current.storage} deprecated={current.deprecated ?? false} />
        {versions.length > 1 && (
          <label>Compare with <select value={other?.name ?? ""} onChange={(e) => go(here({ with: e.currentTarget.value || undefined }))}>
            <option value="">nothing</option>
            {versions.filter((v) => v !== current).map((v) => <option key={v.name}>{v.name}</option>)}
          </select></label>
        )}
        <input data-search type="search" placeholder="Search fields and descriptions" aria-label="Search fields" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />
      </div>
      {current.deprecationWarning && <p class="alert">{current.deprecationWarning}</p>}
      {violations.length > 0 && <div class="alert"><strong>Not structural</strong><ul>{violations.map((v) => <li key={v}>{v}</li>)}</ul></div>}
      <div class="split">
        <div class="scroll pad" tabIndex={0} role="region" aria-label="Fields">
          {current.schema?.openAPIV3Schema ? (
            <>
              {!search && <TheObject schema={current.schema.openAPIV3Schema} />}
              <Fields schema={current.schema.openAPIV3Schema} chosen={field} search={search.toLowerCase()} href={(path) => here({ field: path })} />
            </>
          ) : <p class="quiet">This version has no schema: every field is kept as it is.</p>}
        </div>
        <aside class="side" aria-label="About the schema">
          {other && <Versions key={`${current.name} ${other.name}`} crd={crd} from={other.name} to={current.name} />}
          <h2>Rules</h2>
          {rules.length === 0 && <p class="quiet">{costs.error ? costs.error.message : "No CEL rules in this version."}</p>}
          <ul class="rules">
            {rules.map(({ field, cost }, i) => {
              const path = field.replace(/^spec\.versions\[\d+\]\.schema\.openAPIV3Schema\.?/, "").replace(/(^|\.)x-kubernetes-validations.*/, "").replace(/(^|\.)(items|additionalProperties)(?=\.|$)/g, "").replace(/\.?properties\[([^\]]+)\]/g, ".$1").replace(/^\./, "");
              const share = cost / budget;
              const percent = share >= 0.0001 ? `${(share * 100).toFixed(2)} %` : "< 0.01 %";
              return <li key={i}><a href={here({ field: path })}>{path || "the object"}</a> <Bar share={share} label={`${percent} of the cost that one rule may have`} /> <span class="quiet">{percent}</span></li>;
            })}
          </ul>
        </aside>
      </div>
      {sample && (
        <Dialog title={sample.title} close={() => setSample(null)}>
          {sample.notes.length > 0 && <ul class="quiet">{sample.notes.map((note) => <li key={note}>{note}</li>)}</ul>}
          <pre tabIndex={0} class="block">{sample.yaml}</pre>
          <form method="dialog" class="bar-row end"><Copy text={sample.yaml} /><button class="primary">Close</button></form>
        </Dialog>
      )}
    </section>
  );
}

/** A CRD with one version only, under a common name, so that the diff engine compares two versions of one CRD. */
function single(crd: Crd, version: string, as: string): string {
  const found = crd.spec.versions.find((v) => v.name === version);
  const spec = { ...crd.spec, versions: [{ ...found, name: as, served: true, storage: true }], conversion: undefined };
  return JSON.stringify({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: crd.metadata.name }, spec });
}

function Versions({ crd, from, to }: { crd: Crd; from: string; to: string }) {
  const { engine } = useApp();
  const found = useLoaded(() => engine.ask("diff", { old: single(crd, from, to), new: single(crd, to, to) }), [crd, from, to]);
  const [shown, setShown] = useState<Change | null>(null);
  return (
    <>
      <h2>From {from} to {to}</h2>
      {found.error && <Problem error={found.error} />}
      {found.value?.changes.length === 0 && <p class="quiet">No difference that users of the API notice.</p>}
      <ul class="changes">
        {found.value?.changes.map((change, i) => (
          <li key={i}>
            <span class="tag" data-severity={change.severity}>{change.severity}</span> <span class="mono">{change.path}</span> {change.message}
            {change.witness && <> <button class="plain" onClick={() => setShown(change)}>Show an object</button></>}
          </li>
        ))}
      </ul>
      {shown?.witness && (
        <Dialog title={`Accepted in ${from}`} close={() => setShown(null)}>
          <Code text={toYaml(shown.witness.object)} />
          <p>In {to}: {shown.witness.now}</p>
          <form method="dialog" class="bar-row end"><button class="primary">Close</button></form>
        </Dialog>
      )}
    </>
  );
}

/** What a schema says about a value besides its members, in words. */
function facts(schema: Schema): string[] {
  const out: string[] = [];
  const say = (key: keyof Schema, text: (value: never) => string) => {
    if (schema[key] !== undefined) out.push(text(schema[key] as never));
  };
  say("default", (v: unknown) => `default ${JSON.stringify(v)}`);
  say("enum", (v: unknown[]) => `one of ${v.map((item) => JSON.stringify(item)).join(", ")}`);
  say("minimum", (v: number) => `${schema.exclusiveMinimum ? ">" : "≥"} ${v}`);
  say("maximum", (v: number) => `${schema.exclusiveMaximum ? "<" : "≤"} ${v}`);
  say("multipleOf", (v: number) => `multiple of ${v}`);
  say("minLength", (v: number) => `at least ${v} characters`);
  say("maxLength", (v: number) => `at most ${v} characters`);
  say("pattern", (v: string) => `matches ${v}`);
  say("minItems", (v: number) => `at least ${v} items`);
  say("maxItems", (v: number) => `at most ${v} items`);
  say("minProperties", (v: number) => `at least ${v} members`);
  say("maxProperties", (v: number) => `at most ${v} members`);
  if (schema.nullable) out.push("nullable");
  if (schema.uniqueItems) out.push("items are unique");
  say("x-kubernetes-list-type", (v: string) => (v === "map" ? `list by ${(schema["x-kubernetes-list-map-keys"] ?? []).join(", ")}` : v === "set" ? "set" : "atomic list"));
  say("x-kubernetes-map-type", (v: string) => `${v} map`);
  if (schema["x-kubernetes-preserve-unknown-fields"]) out.push("keeps unknown fields");
  if (schema["x-kubernetes-embedded-resource"]) out.push("an object of its own");
  for (const [key, words] of JUNCTIONS) {
    const said = schema[key]?.map((part) => sentence(part) || "anything");
    if (said?.length) out.push(`${words}: ${said.join(" | ")}`);
  }
  if (schema.not) out.push(`not: ${sentence(schema.not) || "anything"}`);
  return out;
}

const JUNCTIONS = [["allOf", "all of"], ["anyOf", "any of"], ["oneOf", "exactly one of"]] as const;

/** All that a schema without fields of its own says, in one line: the parts of allOf, anyOf, oneOf and not. */
function sentence(schema: Schema): string {
  const out = schema.type ? [typeName(schema), ...facts(schema)] : facts(schema);
  if (schema.required?.length) out.push(`requires ${schema.required.join(", ")}`);
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    const said = sentence(below);
    if (said) out.push(`${name}: (${said})`);
  }
  const [part, below] = contained(schema) ?? [];
  const said = below && sentence(below);
  if (said) out.push(`${part}: (${said})`);
  return out.join(", ");
}

/** The schema of the items of a list or the values of a map. */
function contained(schema: Schema): [part: string, schema: Schema] | null {
  if (schema.items) return ["each item", schema.items];
  if (typeof schema.additionalProperties === "object") return ["each value", schema.additionalProperties];
  return null;
}

export function typeName(schema: Schema): string {
  if (schema["x-kubernetes-int-or-string"]) return "int or string";
  if (schema.type === "array") return `[]${schema.items ? typeName(schema.items) : ""}`;
  if (schema.type === "object" && typeof schema.additionalProperties === "object") return `map of ${typeName(schema.additionalProperties)}`;
  return [schema.type ?? "any", schema.format].filter(Boolean).join(", ");
}

/** The schema whose members a field has: through lists and maps, as kubectl explain goes. */
function inner(schema: Schema): Schema {
  return layers(schema).at(-1)?.schema ?? schema;
}

/** A schema and those of its items and values, down to the one whose members a field has. */
function layers(schema: Schema, part = ""): { part: string; schema: Schema }[] {
  const below = schema.properties ? null : contained(schema);
  return [{ part, schema }, ...(below ? layers(below[1], part ? `${part}, ${below[0]}` : below[0]) : [])];
}

function matches(name: string, schema: Schema, search: string): boolean {
  const own = [name, ...layers(schema).map((layer) => layer.schema.description ?? "")].join(" ").toLowerCase();
  if (own.includes(search)) return true;
  return Object.entries(inner(schema).properties ?? {}).some(([key, below]) => matches(key, below, search));
}

function Fields({ schema, chosen, search, href, path = "" }: { schema: Schema; chosen: string; search: string; href: (path: string) => string; path?: string }) {
  const below = inner(schema);
  const required = new Set(below.required ?? []);
  const entries = Object.entries(below.properties ?? {}).filter(([name, field]) => !search || matches(name, field, search));
  if (!path && entries.length === 0) return <p class="quiet">{search ? "Nothing matches." : "This schema names no fields."}</p>;
  return (
    <ul class="fields">
      {entries.map(([name, field]) => <Field key={name} name={name} schema={field} required={required.has(name)} path={path ? `${path}.${name}` : name} chosen={chosen} search={search} href={href} />)}
    </ul>
  );
}

/** Facts and rules of the object as a whole. */
function TheObject({ schema }: { schema: Schema }) {
  return (
    <>
      {schema.description && <p class="description">{schema.description}</p>}
      <Facts schema={schema} />
      <Rules schema={schema} part="" />
    </>
  );
}

function Facts({ schema }: { schema: Schema }) {
  const said = layers(schema).flatMap(({ part, schema }) => facts(schema).map((fact) => (part ? `${part}: ${fact}` : fact)));
  return <span class="facts">{said.map((fact) => <span key={fact}>{fact}</span>)}</span>;
}

function Rules({ schema, part }: { schema: Schema; part: string }) {
  return (
    <>
      {(schema["x-kubernetes-validations"] ?? []).map((rule, i) => (
        <p key={i} class="rule">{part && <span class="quiet">{part}: </span>}<code>{rule.rule}</code>{rule.message && <span class="quiet"> {rule.message}</span>}</p>
      ))}
    </>
  );
}

function Field({ name, schema, required, path, chosen, search, href }: { name: string; schema: Schema; required: boolean; path: string; chosen: string; search: string; href: (path: string) => string }) {
  const members = inner(schema).properties;
  const onWay = chosen === path || chosen.startsWith(`${path}.`);
  const shallow = path.split(".").length < 2;
  const [open, setOpen] = useState(onWay || shallow);
  useEffect(() => {
    if (onWay) setOpen(true);
  }, [onWay]);
  useEffect(() => {
    if (chosen === path) document.getElementById(`field-${path}`)?.scrollIntoView({ block: "center" });
  }, [chosen]);
  const isOpen = open || Boolean(search);
  return (
    <li id={`field-${path}`} data-chosen={chosen === path}>
      <div class="field">
        {members ? (
          <button class="plain twist" aria-expanded={isOpen} aria-label={`Members of ${name}`} onClick={() => setOpen(!open)}>{isOpen ? "▾" : "▸"}</button>
        ) : <span class="twist" />}
        <a data-row href={href(path)} class="mono">{name}</a>
        <span class="type">{typeName(schema)}</span>
        {required && <span class="tag" data-warn="true">required</span>}
        <Facts schema={schema} />
      </div>
      {(isOpen || chosen === path) && layers(schema).map(({ part, schema }) => schema.description && <p key={part} class="description">{part && `${part}: `}{schema.description}</p>)}
      {(isOpen || !members) && layers(schema).map(({ part, schema }) => <Rules key={part} part={part} schema={schema} />)}
      {members && isOpen && <Fields schema={schema} chosen={chosen} search={search && name.toLowerCase().includes(search) ? "" : search} href={href} path={path} />}
    </li>
  );
}

// Who may do what: the rights of the user, and those of all subjects of RBAC to one kind.

import { useState } from "preact/hooks";
import { useApp, useLoaded } from "../context";
import type { RoleBinding, Subject } from "../generated/openapi";
import { api, getJson, groupPath, type KubeObject, type Resource } from "../lib/api";
import { Problem } from "../parts";

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"];

interface AccessRule { verbs: string[]; apiGroups?: string[]; resources?: string[] }

/** What the user may do in a namespace, by kind and verb, from a SelfSubjectRulesReview. */
function Rights() {
  const { resources, session } = useApp();
  const [namespace, setNamespace] = useState("default");
  const found = useLoaded(async (signal) => {
    const body = JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } });
    const response = await api(`${groupPath("authorization.k8s.io", "v1")}/selfsubjectrulesreviews`, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
    return ((await response.json()) as { status: { resourceRules: AccessRule[] } }).status.resourceRules;
  }, [namespace]);
  const covers = (list: string[] | undefined, value: string) => Boolean(list?.includes("*") || list?.includes(value));
  const seen = new Set<string>();
  const kinds = resources.filter((r) => {
    const key = `${r.plural}.${r.group}`;
    return !seen.has(key) && seen.add(key) && r.verbs.includes("get");
  });
  return (
    <>
      <h2 class="pad-x">What {session.user} may do</h2>
      <p class="pad-x"><label>In namespace <input value={namespace} onChange={(e) => setNamespace(e.currentTarget.value || "default")} /></label></p>
      {found.error && <p class="quiet pad-x">{found.error.message}</p>}
      {found.value && (
        <table class="list matrix">
          <thead><tr><th scope="col">Kind</th>{VERBS.map((verb) => <th key={verb} scope="col">{verb}</th>)}</tr></thead>
          <tbody>
            {kinds.map((resource) => (
              <tr key={`${resource.plural}.${resource.group}`}>
                <th scope="row">{resource.plural}{resource.group && <span class="quiet">.{resource.group}</span>}</th>
                {VERBS.map((verb) => {
                  const may = found.value?.some((rule) => covers(rule.verbs, verb) && covers(rule.apiGroups, resource.group) && covers(rule.resources, resource.plural));
                  return <td key={verb}>{may ? <span aria-label="yes">✓</span> : <span class="quiet" aria-label="no">·</span>}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

export function Access() {
  return (
    <>
      <Rights />
      <WhoMay />
    </>
  );
}

type Binding = KubeObject & Pick<RoleBinding, "subjects">;

/** More subjects than this are not asked about. */
const MOST_SUBJECTS = 60;
const AT_ONCE = 8;

const RBAC = groupPath("rbac.authorization.k8s.io", "v1");

function subjectText({ kind, name, namespace }: Subject): string {
  return kind === "ServiceAccount" ? `${namespace ?? ""}/${name}` : name;
}

/** Asks about every subject and verb with a SubjectAccessReview; the order of the answers is that of the subjects. */
async function review(subjects: Subject[], resource: Resource, namespace: string, signal: AbortSignal): Promise<boolean[][]> {
  const answers = subjects.map(() => VERBS.map(() => false));
  const questions = subjects.flatMap((subject, row) => VERBS.map((verb, column) => ({ subject, row, verb, column })));
  const work = async () => {
    for (let next = questions.shift(); next && !signal.aborted; next = questions.shift()) {
      const { subject, row, verb, column } = next;
      const account = subject.kind === "ServiceAccount";
      const user = account ? `system:serviceaccount:${subject.namespace ?? ""}:${subject.name}` : subject.kind === "User" ? subject.name : "";
      // Everybody who has signed in is in this group; a group is asked about alone.
      const groups = subject.kind === "Group" ? [subject.name] : ["system:authenticated", ...(account ? ["system:serviceaccounts", `system:serviceaccounts:${subject.namespace ?? ""}`] : [])];
      const resourceAttributes = { verb, group: resource.group, version: resource.version, resource: resource.plural, ...(resource.namespaced ? { namespace } : {}) };
      const body = JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: { user, groups, resourceAttributes } });
      const response = await api(`${groupPath("authorization.k8s.io", "v1")}/subjectaccessreviews`, { method: "POST", headers: { "Content-Type": "application/json" }, body, signal });
      const answer = (await response.json()) as { status: { allowed: boolean } };
      (answers[row] ?? [])[column] = answer.status.allowed;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

/** A matrix of users, groups and service accounts by verbs, for one kind. */
function WhoMay() {
  const { resources } = useApp();
  const kinds = [...new Map(resources.filter((r) => r.verbs.includes("get")).map((r) => [`${r.plural}.${r.group}`, r])).values()].sort((a, b) => a.plural.localeCompare(b.plural));
  const [chosen, setChosen] = useState("");
  const [namespace, setNamespace] = useState("default");
  const resource = kinds.find((kind) => `${kind.plural}.${kind.group}` === chosen);
  const found = useLoaded(async (signal) => {
    if (!resource) return null;
    const paths = [`${RBAC}/clusterrolebindings`, ...(resource.namespaced ? [`${RBAC}/namespaces/${encodeURIComponent(namespace)}/rolebindings`] : [])];
    const lists = await Promise.all(paths.map((path) => getJson<{ items: Binding[] }>(path, signal)));
    const all = new Map<string, Subject>();
    for (const binding of lists.flatMap((list) => list.items)) {
      for (const subject of binding.subjects ?? []) all.set(`${subject.kind} ${subjectText(subject)}`, { ...subject, namespace: subject.namespace ?? binding.metadata.namespace ?? "" });
    }
    const text = (subject: Subject) => `${subject.kind === "User" ? 0 : subject.kind === "Group" ? 1 : 2} ${subject.name.startsWith("system:") ? 1 : 0} ${subjectText(subject)}`;
    const subjects = [...all.values()].sort((a, b) => text(a).localeCompare(text(b)));
    const shown = subjects.slice(0, MOST_SUBJECTS);
    return { shown, left: subjects.length - shown.length, answers: await review(shown, resource, namespace, signal) };
  }, [chosen, namespace]);
  return (
    <>
      <h2 class="pad-x">Who may do what</h2>
      <p class="pad-x">
        <label>Kind <select value={chosen} onChange={(e) => setChosen(e.currentTarget.value)}>
          <option value="">Choose one</option>
          {kinds.map((kind) => <option key={`${kind.plural}.${kind.group}`} value={`${kind.plural}.${kind.group}`}>{kind.plural}{kind.group && `.${kind.group}`}</option>)}
        </select></label>{" "}
        {(!resource || resource.namespaced) && <label>In namespace <input value={namespace} onChange={(e) => setNamespace(e.currentTarget.value || "default")} /></label>}
      </p>
      {found.error && <Problem error={found.error} />}
      {chosen && found.value && (
        <>
          <table class="list matrix" aria-label="Users and verbs">
            <thead><tr><th scope="col">Subject</th>{VERBS.map((verb) => <th key={verb} scope="col">{verb}</th>)}</tr></thead>
            <tbody>
              {found.value.shown.map((subject, row) => (
                <tr key={`${subject.kind} ${subjectText(subject)}`}>
                  <th scope="row" class="break"><span class="quiet">{subject.kind}</span> {subjectText(subject)}</th>
                  {VERBS.map((verb, column) => <td key={verb}>{found.value?.answers[row]?.[column] ? <span aria-label="yes">✓</span> : <span class="quiet" aria-label="no">·</span>}</td>)}
                </tr>
              ))}
            </tbody>
          </table>
          <p class="quiet pad-x">
            Subjects of the bindings that count here, by SubjectAccessReviews; users may have more rights through groups that only their credentials name.
            {found.value.left > 0 && ` ${found.value.left} more subjects are not shown.`}
          </p>
        </>
      )}
    </>
  );
}

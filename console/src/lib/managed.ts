// Who owns which field: metadata.managedFields laid over the object.

import type { FieldsV1, KubeObject, ManagedFields } from "./api";
import type { Step } from "./yaml";

export interface Owner {
  manager: string;
  operation: string;
  subresource: string;
  time: string;
  /** The place in the list of owners, which chooses the colour. */
  index: number;
}

export interface Ownership {
  owners: Owner[];
  /** Owners of a field: its own, or those of the atomic field around it. */
  of(path: Step[]): Owner[];
}

const key = (path: Step[]) => JSON.stringify(path);

export function ownership(object: KubeObject): Ownership {
  const entries = object.metadata.managedFields ?? [];
  const owners = entries.map((entry, index) => owner(entry, index));
  const exact = new Map<string, Owner[]>();
  entries.forEach((entry, index) => {
    const found = owners[index];
    if (found && entry.fieldsV1) mark(entry.fieldsV1, object, [], found, exact);
  });
  const of = (path: Step[]): Owner[] => {
    for (let length = path.length; length > 0; length--) {
      const found = exact.get(key(path.slice(0, length)));
      if (found) return found;
    }
    return [];
  };
  return { owners, of };
}

function owner(entry: ManagedFields, index: number): Owner {
  return {
    manager: entry.manager ?? "unknown",
    operation: entry.operation ?? "",
    subresource: entry.subresource ?? "",
    time: entry.time ?? "",
    index,
  };
}

/** Marks the leaves of a field set. */
function mark(fields: FieldsV1, value: unknown, path: Step[], by: Owner, out: Map<string, Owner[]>): void {
  const add = (at: Step[]) => {
    const text = key(at);
    const known = out.get(text);
    if (known) known.push(by);
    else out.set(text, [by]);
  };
  for (const [name, below] of Object.entries(fields)) {
    const step = stepOf(name, value);
    if (step === undefined) continue;
    const at = [...path, step];
    const isLeaf = Object.keys(below).length === 0;
    if (isLeaf || "." in below) add(at);
    if (!isLeaf) mark(below, (value as Record<Step, unknown>)[step], at, by, out);
  }
}

function stepOf(name: string, value: unknown): Step | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (name.startsWith("f:")) {
    const member = name.slice(2);
    return member in value ? member : undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const index = (found: number) => (found < 0 ? undefined : found);
  try {
    if (name.startsWith("i:")) return Number(name.slice(2));
    if (name.startsWith("v:")) {
      const wanted = JSON.stringify(JSON.parse(name.slice(2)));
      return index(value.findIndex((item) => JSON.stringify(item) === wanted));
    }
    if (name.startsWith("k:")) {
      const keys = Object.entries(JSON.parse(name.slice(2)) as Record<string, unknown>);
      const matches = (item: unknown) =>
        typeof item === "object" && item !== null && keys.every(([k, v]) => (item as Record<string, unknown>)[k] === v);
      return index(value.findIndex(matches));
    }
  } catch {
    // A field set that cannot be read marks nothing.
  }
  return undefined;
}

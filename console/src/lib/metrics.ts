// Figures from /metrics, in the text format of Prometheus, and what changed between two readings.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function parseMetrics(text: string): Sample[] {
  const out: Sample[] = [];
  for (const line of text.split("\n")) {
    if (!line || line.startsWith("#")) continue;
    const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!match) continue;
    const labels: Record<string, string> = {};
    for (const [, key, value] of (match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      if (key) labels[key] = (value ?? "").replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    }
    const number = match[3] ?? "";
    const value = number === "+Inf" ? Infinity : Number(number);
    out.push({ name: match[1] ?? "", labels, value });
  }
  return out;
}

/** The value of a quantile from the buckets of a histogram, each with the count of what is not larger. */
export function quantile(q: number, buckets: [le: number, count: number][]): number {
  const sorted = [...buckets].sort((a, b) => a[0] - b[0]);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total === 0) return NaN;
  const rank = q * total;
  let [low, before] = [0, 0];
  for (const [le, count] of sorted) {
    if (count >= rank) {
      if (le === Infinity) return low;
      return low + ((le - low) * (rank - before)) / Math.max(count - before, 1);
    }
    [low, before] = [le, count];
  }
  return low;
}

/** Figures of resources, by group/resource. */
export interface OfResources {
  objects: Map<string, number>;
  bytes: Map<string, number>;
  watches: Map<string, number>;
}

/** Figures of resources, if the server has any: kube-apiserver has no estimate of sizes before 1.34, and other names. */
export function ofResources(samples: Sample[]): OfResources {
  const out: OfResources = { objects: new Map(), bytes: new Map(), watches: new Map() };
  const add = (map: Map<string, number>, key: string, value: number) => map.set(key, (map.get(key) ?? 0) + value);
  for (const { name, labels, value } of samples) {
    const key = `${labels["group"] ?? ""}/${labels["resource"] ?? ""}`;
    if (name === "apiserver_resource_objects") out.objects.set(key, value);
    else if (name === "apiserver_resource_size_estimate_bytes") out.bytes.set(key, value);
    else if (name === "apiserver_longrunning_requests" && labels["verb"] === "WATCH") add(out.watches, key, value);
  }
  if (out.objects.size === 0) {
    for (const { name, labels, value } of samples) {
      if (name !== "apiserver_storage_objects") continue;
      const [resource = "", ...group] = (labels["resource"] ?? "").split(".");
      out.objects.set(`${group.join(".")}/${resource}`, value);
    }
  }
  return out;
}

/** A histogram's series, added up over all labels but those of `by`. */
export interface Summary {
  labels: Record<string, string>;
  count: number;
  sum: number;
  buckets: [le: number, count: number][];
}

export function summaries(samples: Sample[], name: string, by: string[]): Map<string, Summary> {
  const out = new Map<string, Summary>();
  for (const sample of samples) {
    if (!sample.name.startsWith(`${name}_`)) continue;
    const key = by.map((label) => sample.labels[label] ?? "").join(" ");
    const found = out.get(key) ?? { labels: sample.labels, count: 0, sum: 0, buckets: [] };
    out.set(key, found);
    const part = sample.name.slice(name.length + 1);
    if (part === "count") found.count += sample.value;
    else if (part === "sum") found.sum += sample.value;
    else if (part === "bucket") {
      const le = sample.labels["le"] === "+Inf" ? Infinity : Number(sample.labels["le"]);
      const bucket = found.buckets.find((known) => known[0] === le);
      if (bucket) bucket[1] += sample.value;
      else found.buckets.push([le, sample.value]);
    }
  }
  return out;
}

/** The sum of a metric's values by labels. */
export function sums(samples: Sample[], name: string, by: string[]): Map<string, number> {
  const out = new Map<string, number>();
  for (const sample of samples) {
    if (sample.name !== name) continue;
    const key = by.map((label) => sample.labels[label] ?? "").join(" ");
    out.set(key, (out.get(key) ?? 0) + sample.value);
  }
  return out;
}

const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection", "apply", "post", "put"]);

/** Requests so far: all, writes, errors of the server, and writes by group/resource. */
export interface Totals {
  at: number;
  requests: number;
  writes: number;
  failed: number;
  writesOf: Map<string, number>;
}

export function totals(samples: Sample[], at: number): Totals {
  const out: Totals = { at, requests: 0, writes: 0, failed: 0, writesOf: new Map() };
  for (const { name, labels, value } of samples) {
    if (name !== "apiserver_request_total") continue;
    out.requests += value;
    if ((labels["code"] ?? "").startsWith("5")) out.failed += value;
    if (WRITES.has((labels["verb"] ?? "").toLowerCase())) {
      out.writes += value;
      const key = `${labels["group"] ?? ""}/${labels["resource"] ?? ""}`;
      out.writesOf.set(key, (out.writesOf.get(key) ?? 0) + value);
    }
  }
  return out;
}

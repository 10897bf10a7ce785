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

const WRITES = new Set(["create", "update", "patch", "delete", "deletecollection", "apply"]);

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

// How figures and times are written.

export function age(timestamp: string | undefined, now = Date.now()): string {
  if (!timestamp) return "";
  const seconds = Math.max(0, Math.round((now - Date.parse(timestamp)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${n < 10 && i > 0 ? n.toFixed(1) : Math.round(n)} ${units[i] ?? ""}`;
}

export function count(n: number): string {
  return Math.round(n).toLocaleString("en-US");
}

export function duration(seconds: number): string {
  if (Number.isNaN(seconds)) return "–";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
  return `${seconds.toFixed(1)} s`;
}

/** v2 before v1 before v1beta1, as Kubernetes orders versions. */
export function compareVersions(a: string, b: string): number {
  const parts = (v: string) => {
    const m = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(v);
    if (!m) return null;
    return [m[2] === undefined ? 2 : m[2] === "beta" ? 1 : 0, Number(m[1]), Number(m[3] ?? 0)] as const;
  };
  const [x, y] = [parts(a), parts(b)];
  if (x && y) return y[0] - x[0] || y[1] - x[1] || y[2] - x[2];
  if (x) return -1;
  if (y) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

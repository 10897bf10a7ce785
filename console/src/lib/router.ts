// Routes are in the fragment, so that the page works below any path and the server sees none of them.

import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The parts of the path, decoded. */
  parts: string[];
  query: URLSearchParams;
}

export function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const path = at < 0 ? text : text.slice(0, at);
  const decode = (part: string) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  return {
    parts: path.split("/").filter(Boolean).map(decode),
    query: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)),
  };
}

/** A link within the page. */
export function link(parts: string[], query: Record<string, string | undefined> = {}): string {
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value) params.set(key, value);
  const text = params.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

export function go(hash: string, replace = false): void {
  if (replace) {
    history.replaceState(null, "", hash);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = hash;
  }
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return parse(hash);
}

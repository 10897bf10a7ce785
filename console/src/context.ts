// What every page knows: the session, the engine, and the resources that are served.

import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Resource, Session } from "./lib/api";
import type { Engine } from "./lib/engine";

export interface App {
  session: Session;
  engine: Engine;
  resources: Resource[];
  refresh: () => Promise<void>;
  notify: (message: string, kind?: "error" | "done") => void;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error("pages are inside of the application");
  return app;
}

/** What an async function returns, anew whenever `inputs` change. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: unknown[]): { value: T | undefined; error: Error | undefined; reload: () => void } {
  const [state, setState] = useState<{ value: T | undefined; error: Error | undefined }>({ value: undefined, error: undefined });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    load(abort.signal).then(
      (value) => abort.signal.aborted || setState({ value, error: undefined }),
      (error: Error) => abort.signal.aborted || setState((old) => ({ value: old.value, error })),
    );
    return () => abort.abort();
  }, [...inputs, round]);
  return { ...state, reload: () => setRound((n) => n + 1) };
}

/** Calls a function every so often while the page is visible, and once at the beginning. */
export function useInterval(call: () => void, milliseconds: number, inputs: unknown[] = []): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    latest.current();
    const timer = setInterval(() => document.hidden || latest.current(), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds, ...inputs]);
}

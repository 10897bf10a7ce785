// The engine: in the browser as WebAssembly if the server has the file, else the server's own.

import { send, type Session } from "./api";
import workerUrl from "../engine.worker?worker&url";

export interface Finding {
  level: "error" | "warning" | "note";
  rule: string;
  field: string;
  message: string;
  help: string[];
  from?: number;
  to?: number;
}

export interface CrdFacts {
  name: string;
  kind: string;
  versions: string[];
  structuralViolations: string[];
  /** Estimated costs of rules, and what one rule may cost. */
  costs: { field: string; cost: number }[];
  costBudget: number;
}

export interface Checked {
  title: string;
  namespace?: string;
  findings: Finding[];
  crd?: CrdFacts;
  stored?: string;
  changes?: { path: string; reason: string }[];
  defaultsNotApplied?: { path: string; reason: string }[];
}

export interface CheckAnswer {
  crds: { unreadable: Finding[]; documents: Checked[] };
  objects: { unreadable: Finding[]; documents: Checked[] };
}

export interface Change {
  severity: "breaking" | "caution" | "safe";
  rule: string;
  message: string;
  version?: string;
  path?: string;
  witness?: { object: unknown; now: string };
}

/** A field that two writers changed to different values, in YAML; absent values are null. */
export interface Conflict {
  field: string;
  base: string | null;
  mine: string | null;
  theirs: string | null;
}

export interface Questions {
  check: [{ crds: string; objects: string; old?: string }, CheckAnswer];
  diff: [{ old: string; new: string }, { changes: Change[] }];
  sample: [
    { crd: string; version: string; extent: "minimal" | "full" },
    { yaml: string; errors: string[]; leftOut: { field: string; why: string }[] },
  ];
  merge: [
    { base: string; mine: string; theirs: string; crd?: string; theirsAt?: string[]; statusIsTheirs?: boolean },
    { yaml: string; conflicts: Conflict[]; taken: { field: string; theirs: string | null }[] },
  ];
  costs: [{ crd: string }, CrdFacts];
  openapi: [{ crd: string }, { json: string }];
  skeleton: [{ crd: string }, { yaml: string }];
  expand: [{ crd: string }, { yaml: string }];
}

/** A computation in the browser that takes longer is ended. */
const MOST_SECONDS = 10;

export class Engine {
  private worker: Worker | null = null;
  private waiting = new Map<number, { resolve: (text: string) => void; reject: (error: Error) => void }>();
  private next = 1;
  private unusable = false;

  constructor(private readonly session: Session) {}

  /** Where questions are answered. */
  get place(): "browser" | "server" {
    return this.session.wasm && !this.unusable ? "browser" : "server";
  }

  async ask<K extends keyof Questions>(op: K, question: Questions[K][0]): Promise<Questions[K][1]> {
    const text = JSON.stringify({ op, ...question });
    const answer = JSON.parse(await this.answer(text)) as Questions[K][1] & { error?: string };
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  private async answer(question: string): Promise<string> {
    if (this.session.wasm && !this.unusable) {
      try {
        return await this.inBrowser(question, this.session.wasm);
      } catch (error) {
        if (error instanceof Unusable) this.unusable = true;
        if (!this.session.engine || error instanceof TooLong) throw error;
      }
    }
    return (await send("./engine", { method: "POST", body: question })).text();
  }

  private inBrowser(question: string, wasm: string): Promise<string> {
    const worker = (this.worker ??= this.start(wasm));
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.stop(new TooLong()), MOST_SECONDS * 1000);
      const done = () => {
        clearTimeout(timer);
        this.waiting.delete(id);
      };
      this.waiting.set(id, {
        resolve: (text) => (done(), resolve(text)),
        reject: (error) => (done(), reject(error)),
      });
      worker.postMessage({ id, question });
    });
  }

  private start(wasm: string): Worker {
    const worker = new Worker(trusted(workerUrl) as string, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<{ id: number; answer?: string; error?: string; unusable?: string }>) => {
      const waiting = this.waiting.get(data.id);
      if (data.answer !== undefined) waiting?.resolve(data.answer);
      else if (data.error !== undefined) waiting?.reject(new Error(data.error));
      else this.stop(new Unusable(data.unusable));
    };
    worker.onerror = () => this.stop(new Unusable("the engine cannot be loaded"));
    worker.postMessage({ wasm: new URL(`./${wasm}`, document.baseURI).href });
    return worker;
  }

  private stop(error: Error): void {
    this.worker?.terminate();
    this.worker = null;
    for (const waiting of [...this.waiting.values()]) waiting.reject(error);
  }
}

/** The browser cannot run the engine. */
class Unusable extends Error {}

class TooLong extends Error {
  constructor() {
    super(`this takes longer than ${MOST_SECONDS} seconds`);
  }
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): unknown };
}

/** The one URL of a script that is not in the page, as the content security policy wants it. */
function trusted(url: string): unknown {
  const types = (window as unknown as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!types) return url;
  policy ??= types.createPolicy("pleach-worker", { createScriptURL: (same) => same });
  return policy.createScriptURL(url);
}
let policy: { createScriptURL(url: string): unknown } | undefined;

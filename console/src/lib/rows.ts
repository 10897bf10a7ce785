// The rows of a live table: pages of a list, then the events of a watch, in the order of the server.
//
// Pages come from one snapshot; events are newer. Events about objects whose page is not loaded yet wait until it is.

import { ApiError, getTable, watch, type Table, type TableColumn, type TableRow } from "./api";

export interface Row {
  key: string;
  namespace: string;
  name: string;
  created: string;
  deleting: boolean;
  version: string;
  cells: unknown[];
}

/** The first page is small, so that something is seen at once. */
const FIRST_PAGE = 500;
const PAGE = 2_000;

function rowOf({ cells, object }: TableRow): Row {
  const { namespace = "", name, creationTimestamp = "", deletionTimestamp, resourceVersion = "" } = object.metadata;
  return { key: keyOf(namespace, name), namespace, name, created: creationTimestamp, deleting: Boolean(deletionTimestamp), version: resourceVersion, cells };
}

/** Keys sort as the server lists: by namespace, then name. */
export function keyOf(namespace: string, name: string): string {
  return `${namespace}\u0000${name}`;
}

export class LiveRows {
  columns: TableColumn[] = [];
  rows = new Map<string, Row>();
  /** Objects that are not loaded yet. */
  remaining = 0;
  state: "loading" | "live" | "waiting" = "loading";
  error: Error | undefined;
  private continueToken = "";
  private lastKey = "";
  private early = new Map<string, Row | null>();
  private abort = new AbortController();
  private paging = false;
  private scheduled = false;

  constructor(
    private readonly path: string,
    private readonly query: URLSearchParams,
    private readonly changed: () => void,
  ) {}

  start(): void {
    void this.run();
  }

  stop(): void {
    this.abort.abort();
  }

  get complete(): boolean {
    return !this.continueToken;
  }

  /** Loads the next page; resolves when it is there. */
  async more(): Promise<void> {
    if (this.paging || !this.continueToken) return;
    this.paging = true;
    try {
      this.add(await this.page(this.continueToken));
    } catch (error) {
      if (error instanceof ApiError && error.code === 410) void this.restart();
      else this.fail(error as Error);
    } finally {
      this.paging = false;
      this.touch();
    }
  }

  private async restart(): Promise<void> {
    this.abort.abort();
    this.abort = new AbortController();
    await this.run();
  }

  private page(token: string): Promise<Table> {
    const query = new URLSearchParams(this.query);
    query.set("limit", String(token ? PAGE : FIRST_PAGE));
    if (token) query.set("continue", token);
    return getTable(`${this.path}?${query}`, this.abort.signal);
  }

  private add(table: Table): void {
    if (table.columnDefinitions.length) this.columns = table.columnDefinitions;
    this.continueToken = table.metadata.continue ?? "";
    for (const row of table.rows.map(rowOf)) {
      this.lastKey = row.key;
      const newer = this.early.get(row.key);
      this.early.delete(row.key);
      if (newer === null) continue;
      this.rows.set(row.key, newer ?? row);
    }
    const passed = [...this.early].filter(([key]) => !this.continueToken || key <= this.lastKey);
    for (const [key, row] of passed) {
      this.early.delete(key);
      if (row) this.rows.set(key, row);
    }
    this.remaining = this.continueToken ? (table.metadata.remainingItemCount ?? 0) : 0;
  }

  private async run(): Promise<void> {
    const { signal } = this.abort;
    let wait = 500;
    while (!signal.aborted) {
      try {
        const table = await this.page("");
        this.rows.clear();
        this.early.clear();
        this.add(table);
        this.error = undefined;
        this.state = "live";
        this.touch();
        wait = 500;
        await this.follow(table.metadata.resourceVersion ?? "", signal);
      } catch (error) {
        if (signal.aborted) return;
        const code = error instanceof ApiError ? error.code : 0;
        if (code !== 410) {
          this.fail(error as Error);
          if (code >= 400 && code < 500 && code !== 429) return;
        }
      }
      if (signal.aborted) return;
      this.state = "waiting";
      this.touch();
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 15_000);
    }
  }

  /** Follows watches from a version until one fails. */
  private async follow(from: string, signal: AbortSignal): Promise<void> {
    let version = from;
    for (;;) {
      const query = new URLSearchParams(this.query);
      for (const [key, value] of [["watch", "1"], ["allowWatchBookmarks", "true"], ["resourceVersion", version]] as const) query.set(key, value);
      const began = Date.now();
      for await (const event of watch<Table>(`${this.path}?${query}`, true, signal)) {
        if (event.type === "ERROR") {
          const status = event.object as unknown as { code?: number; message?: string };
          throw new ApiError(status.code ?? 500, status.message ?? "the watch failed", null);
        }
        const row = event.object.rows?.[0];
        if (!row) continue;
        version = row.object.metadata.resourceVersion ?? version;
        if (event.type !== "BOOKMARK") this.event(event.type, rowOf(row));
      }
      // A watch that ends at once would be asked for without end.
      if (Date.now() - began < 1_000) await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }

  private event(type: "ADDED" | "MODIFIED" | "DELETED", row: Row): void {
    const deleted = type === "DELETED";
    if (this.continueToken && row.key > this.lastKey) {
      if (deleted) this.remaining = Math.max(0, this.remaining - 1);
      else if (type === "ADDED") this.remaining += 1;
      this.early.set(row.key, deleted ? null : row);
    } else if (deleted) {
      this.rows.delete(row.key);
    } else {
      this.rows.set(row.key, row);
    }
    this.touch();
  }

  private fail(error: Error): void {
    if (this.abort.signal.aborted) return;
    this.error = error;
    this.state = "waiting";
    this.touch();
  }

  /** Tells the page, at most once per frame. */
  private touch(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      if (!this.abort.signal.aborted) this.changed();
    });
  }
}

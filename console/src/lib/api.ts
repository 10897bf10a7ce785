// The Kubernetes API below ./k8s/, as the user of the session. Every request has the header that the server asks for.

import { parseJson } from "./json";
import type * as openapi from "../generated/openapi";

export type { OwnerReference, Status, StatusCause } from "../generated/openapi";
import type { Status } from "../generated/openapi";

/** Stored objects have a name. */
export type ObjectMeta = Omit<openapi.ObjectMeta, "name" | "managedFields"> & { name: string; managedFields?: ManagedFields[] };

export type ManagedFields = Omit<openapi.ManagedFieldsEntry, "fieldsV1"> & { fieldsV1?: FieldsV1 };

export interface FieldsV1 {
  [key: string]: FieldsV1;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [key: string]: unknown;
}

export interface TableColumn {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export interface TableRow {
  cells: Json[];
  object: { metadata: ObjectMeta };
}

export interface Table {
  kind: "Table";
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  columnDefinitions: TableColumn[];
  rows: TableRow[];
}

export interface WatchEvent<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T;
}

/** An error response of the API, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly status: Status | null,
  ) {
    super(message);
  }
  get reason(): string {
    return this.status?.reason ?? "";
  }
}

const HEADER = { "X-Pleach-Console": "1" };
let onSignedOut: () => void = () => {};

/** What happens when the session has ended. */
export function whenSignedOut(then: () => void): void {
  onSignedOut = then;
}

/** A request to the server; `path` is relative to the page. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...HEADER, ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(path, { ...init, headers, credentials: "same-origin", cache: "no-store" });
  if (response.ok) return response;
  const text = await response.text();
  let status: Status | null = null;
  try {
    const parsed = JSON.parse(text) as Status;
    if (parsed.kind === "Status") status = parsed;
  } catch {
    // Not every error is a Status.
  }
  if (response.status === 401) onSignedOut();
  throw new ApiError(response.status, status?.message ?? (text.trim() || response.statusText), status);
}

/** A path of the API, such as /api/v1/namespaces. */
export function api(path: string, init: RequestInit = {}): Promise<Response> {
  return send(`./k8s${path}`, init);
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await api(path, { headers: { Accept: "application/json" }, signal: signal ?? null });
  return parseJson<T>(await response.text());
}

export async function getText(path: string): Promise<string> {
  return (await api(path)).text();
}

/** An object as the server writes it: numbers keep all their digits, which they would lose in JavaScript. */
export async function getJsonText(path: string): Promise<string> {
  return (await api(path, { headers: { Accept: "application/json" } })).text();
}

const TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

export async function getTable(path: string, signal?: AbortSignal): Promise<Table> {
  const response = await api(path, { headers: { Accept: TABLE }, signal: signal ?? null });
  return parseJson<Table>(await response.text());
}

const PARTIAL = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** A page of a list, with nothing but the metadata of the objects. */
export async function getMetadata(path: string, signal: AbortSignal): Promise<{ next: string; items: ObjectMeta[] }> {
  const response = await api(path, { headers: { Accept: PARTIAL }, signal });
  // Empty lists of Go may be null.
  const list = (await response.json()) as { metadata: { continue?: string }; items: { metadata: ObjectMeta }[] | null };
  return { next: list.metadata.continue ?? "", items: (list.items ?? []).map((item) => item.metadata) };
}

/** The lines of a streamed response. */
async function* lines(response: Response): AsyncGenerator<string> {
  const body = response.body;
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    rest += value;
    let start = 0;
    for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
      const line = rest.slice(start, end);
      start = end + 1;
      if (line) yield line;
    }
    rest = rest.slice(start);
  }
  if (rest.trim()) yield rest;
}

/** Events of a watch until it ends. */
export async function* watch<T>(path: string, table: boolean, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
  const response = await api(path, { headers: { Accept: table ? TABLE : "application/json" }, signal });
  for await (const line of lines(response)) yield parseJson<WatchEvent<T>>(line);
}

// Discovery.

export interface Resource {
  group: string;
  version: string;
  plural: string;
  singular: string;
  kind: string;
  namespaced: boolean;
  verbs: string[];
  shortNames: string[];
  categories: string[];
  subresources: string[];
}

interface AggregatedGroup {
  metadata: { name?: string };
  versions: {
    version: string;
    resources?: {
      resource: string;
      responseKind: { group: string; version: string; kind: string };
      scope: string;
      singularResource: string;
      verbs: string[];
      shortNames?: string[];
      categories?: string[];
      subresources?: { subresource: string }[];
    }[];
  }[];
}

const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/** Every resource that is served, the preferred version of each group first. */
export async function discover(): Promise<Resource[]> {
  const parts = await Promise.all(
    ["/api", "/apis"].map(async (path) => {
      const response = await api(path, { headers: { Accept: DISCOVERY } });
      return ((await response.json()) as { items?: AggregatedGroup[] }).items ?? [];
    }),
  );
  const out: Resource[] = [];
  for (const group of parts.flat()) {
    for (const { version, resources } of group.versions) {
      for (const found of resources ?? []) {
        out.push({
          group: group.metadata.name ?? "",
          version,
          plural: found.resource,
          singular: found.singularResource,
          kind: found.responseKind.kind,
          namespaced: found.scope === "Namespaced",
          verbs: found.verbs,
          shortNames: found.shortNames ?? [],
          categories: found.categories ?? [],
          subresources: (found.subresources ?? []).map((s) => s.subresource),
        });
      }
    }
  }
  return out;
}

/** /api/v1 or /apis/group/version */
export function groupPath(group: string, version: string): string {
  return group ? `/apis/${group}/${version}` : `/api/${version}`;
}

export function resourcePath(resource: Pick<Resource, "group" | "version" | "plural">, namespace = "", name = ""): string {
  const e = encodeURIComponent;
  let path = groupPath(resource.group, resource.version);
  if (namespace) path += `/namespaces/${e(namespace)}`;
  path += `/${resource.plural}`;
  if (name) path += `/${e(name)}`;
  return path;
}

// The session.

export interface Session {
  user: string;
  groups: string[];
  version: string;
  engine: boolean;
  wasm: string | null;
  readOnly: boolean;
  cluster?: string;
}

export async function session(): Promise<Session> {
  return (await (await send("./session")).json()) as Session;
}

export async function signIn(credentials: { code: string } | { token: string }): Promise<Session> {
  const response = await send("./session", { method: "POST", body: JSON.stringify(credentials) });
  return (await response.json()) as Session;
}

export async function signOut(): Promise<void> {
  await send("./session", { method: "DELETE" });
}

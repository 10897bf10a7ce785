// Writes src/generated/openapi.ts: types of what the page reads, from the OpenAPI documents of a running server.
//
//   PLEACH_BINARY=target/debug/pleach node console/scripts/types.mjs
//
// The file is part of the repository, since the page is built without a server; a test compares them.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { api, startServer } from "../test/server.mjs";

/** The types that the page uses; those that they use follow. */
const WANTED = {
  "api/v1": ["io.k8s.api.core.v1.Event"],
  "apis/admissionregistration.k8s.io/v1": [
    "io.k8s.api.admissionregistration.v1.MutatingWebhookConfiguration",
    "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicy",
    "io.k8s.api.admissionregistration.v1.ValidatingAdmissionPolicyBinding",
    "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration",
  ],
  "apis/apiextensions.k8s.io/v1": [
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
  ],
  "apis/rbac.authorization.k8s.io/v1": ["io.k8s.api.rbac.v1.RoleBinding"],
};

const REF = "#/components/schemas/";

/** The full name of the type that a schema is a reference to. */
function reference(schema) {
  const ref = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0].$ref : undefined);
  return ref?.slice(REF.length);
}

/** All types that a schema names. */
function references(schema) {
  const parts = [...Object.values(schema.properties ?? {}), ...(schema.oneOf ?? [])];
  for (const part of [schema.items, schema.additionalProperties]) if (part && typeof part === "object") parts.push(part);
  const own = reference(schema);
  return [...(own ? [own] : []), ...parts.flatMap(references)];
}

function typeOf(schema, names) {
  const ref = reference(schema);
  if (ref) return names.get(ref);
  if (schema.oneOf) return [...new Set(schema.oneOf.map((one) => typeOf(one, names)))].join(" | ");
  switch (schema.type) {
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "integer":
    case "number":
      return "number";
    case "array": {
      const item = typeOf(schema.items ?? {}, names);
      return item.includes("|") ? `(${item})[]` : `${item}[]`;
    }
    case "object":
      if (schema.properties) return "Record<string, unknown>";
      return `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties, names) : "unknown"}>`;
    default:
      return "unknown";
  }
}

function declaration(name, schema, names) {
  const comment = (text, indent) => (text ? `${indent}/** ${text.replace(/\s+/g, " ").replaceAll("*/", "* /")} */\n` : "");
  if (!schema.properties) return `${comment(schema.description, "")}export type ${name} = ${typeOf(schema, names)};\n`;
  const members = Object.entries(schema.properties).map(([key, member]) => {
    const quoted = /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
    const optional = schema.required?.includes(key) ? "" : "?";
    return `${comment(member.description, "  ")}  ${quoted}${optional}: ${typeOf(member, names)};\n`;
  });
  return `${comment(schema.description, "")}export interface ${name} {\n${members.join("")}}\n`;
}

/** The text of the file. */
export async function types(server) {
  const found = new Map();
  for (const [path, wanted] of Object.entries(WANTED)) {
    const { schemas } = (await api(server, "GET", `/openapi/v3/${path}`)).components;
    const queue = [...wanted];
    for (let name = queue.shift(); name; name = queue.shift()) {
      if (!schemas[name]) throw new Error(`${path} has no ${name}`);
      if (found.has(name)) continue;
      found.set(name, schemas[name]);
      queue.push(...references(schemas[name]));
    }
  }
  // The last part of a name, with that of its group where another type has the same.
  const parts = (name) => name.split(".");
  const short = (name) => parts(name).at(-1);
  const shorts = [...found.keys()].map(short);
  const isTaken = (name) => shorts.filter((other) => other === short(name)).length > 1;
  const group = (name) => parts(name).at(-3).replace(/^./, (letter) => letter.toUpperCase());
  const names = new Map([...found.keys()].map((name) => [name, isTaken(name) ? group(name) + short(name) : short(name)]));
  const sorted = [...found.keys()].sort((a, b) => (names.get(a) < names.get(b) ? -1 : 1));
  const declarations = sorted.map((name) => declaration(names.get(name), found.get(name), names));
  return `// Types of the API, from the server's OpenAPI documents by scripts/types.mjs. Not edited by hand.\n\n${declarations.join("\n")}`;
}

export const FILE = join(dirname(fileURLToPath(import.meta.url)), "../src/generated/openapi.ts");

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await startServer(process.env.PLEACH_BINARY ?? "target/debug/pleach", ["--console=false"]);
  try {
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(FILE, await types(server));
  } finally {
    server.stop();
  }
}

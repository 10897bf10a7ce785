// Makes types of published documents, as people do who write clients in TypeScript.
//
// Called with the directory of the generators and a directory of documents: of every v2*.json and v3*.json there a
// .ts file is made. The generator of today reads v3 only, its fifth edition reads v2.

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [, , tools, directory] = process.argv;
const load = (file) => import(pathToFileURL(path.join(tools, "node_modules", file)).href);
const v3 = await load("openapi-typescript/dist/index.mjs");
const v2 = await load("openapi-typescript-v2/dist/index.js");

for (const file of fs.readdirSync(directory).filter((name) => /^v[23].*\.json$/.test(name)).sort()) {
  const document = JSON.parse(fs.readFileSync(path.join(directory, file)));
  const types = document.swagger ? await v2.default(document) : v3.astToString(await v3.default(document));
  fs.writeFileSync(path.join(directory, file.replace(/\.json$/, ".ts")), types);
}

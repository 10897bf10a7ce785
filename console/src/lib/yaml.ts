// Objects as YAML lines, each with the path of its field. Strings that YAML could take for something else are quoted as
// JSON does it. Reading YAML is left to the server and the engine.

import { isExactNumber } from "./json";

export type Step = string | number;

export interface YamlLine {
  /** Spaces before the text. */
  indent: number;
  /** The key with its colon, or the dash of an item; may be empty. */
  key: string;
  /** The value on this line. */
  value: string;
  path: Step[];
}

const PLAIN = /^[A-Za-z_/.][A-Za-z0-9_./@%+-]*(?: [A-Za-z0-9_./@%+()-]+)*$/;
const WORDS = /^(?:y|n|yes|no|on|off|true|false|null|~|\.nan|[-+]?\.inf|=|<<)$/i;
const NUMBER = /^[-+]?[.0-9][\d_.,:eExXobBA-Fa-f+-]*$/;

export function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  if (PLAIN.test(value) && !WORDS.test(value) && !NUMBER.test(value)) return value;
  return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

const MOST_DEPTH = 200;

/** The lines of a value. */
export function yamlLines(value: unknown): YamlLine[] {
  const out: YamlLine[] = [];
  const walk = (value: unknown, indent: number, path: Step[]) => {
    const isItems = Array.isArray(value);
    const entries: [Step, unknown][] = isItems
      ? value.map((item, i): [Step, unknown] => [i, item])
      : Object.entries(value as Record<string, unknown>).filter(([, member]) => member !== undefined);
    for (const [step, member] of entries) {
      const below = [...path, step];
      const key = isItems ? "-" : `${scalar(String(step))}:`;
      if (typeof member !== "object" || member === null || isExactNumber(member)) {
        if (typeof member === "string" && /^[^\r\t\u0000-\u0008\ufeff]*\n/.test(member) && isBlock(member)) {
          block(member, indent, key, below);
        } else {
          out.push({ indent, key, value: scalar(member), path: below });
        }
      } else if (isEmpty(member)) {
        out.push({ indent, key, value: Array.isArray(member) ? "[]" : "{}", path: below });
      } else if (indent > MOST_DEPTH) {
        out.push({ indent, key, value: JSON.stringify(member), path: below });
      } else if (isItems) {
        // The first line of an item stands behind its dash.
        const first = out.length;
        walk(member, indent + 2, below);
        const line = out[first];
        if (line) out[first] = { ...line, indent, key: `- ${line.key}`.trimEnd() };
      } else {
        out.push({ indent, key, value: "", path: below });
        walk(member, Array.isArray(member) ? indent : indent + 2, below);
      }
    }
  };
  const block = (text: string, indent: number, key: string, path: Step[]) => {
    const chomp = text.endsWith("\n\n") ? "|+" : text.endsWith("\n") ? "|" : "|-";
    out.push({ indent, key, value: chomp, path });
    const rows = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
    for (const row of rows) out.push({ indent: row ? indent + 2 : 0, key: "", value: row, path });
  };
  if (typeof value !== "object" || value === null || isEmpty(value)) {
    return [{ indent: 0, key: "", value: Array.isArray(value) ? "[]" : isEmpty(value) ? "{}" : scalar(value), path: [] }];
  }
  walk(value, 0, []);
  return out;
}

/** Whether a text can stand as a block: printable, and not beginning with blanks that would count as indentation. */
function isBlock(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return !/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/.test(text) && !/^[ \n]/.test(text) && !/\n\n$/.test(text) && !/ $/m.test(text);
}

export function toYaml(value: unknown): string {
  return yamlLines(value).map(lineText).join("\n") + "\n";
}

export function lineText(line: YamlLine): string {
  return " ".repeat(line.indent) + [line.key, line.value].filter(Boolean).join(" ");
}

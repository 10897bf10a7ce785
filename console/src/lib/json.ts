// JSON whose numbers keep their digits: integers beyond 2^53 would be rounded, and "1.0" would become 1.

/** A number whose text JavaScript would change; JSON.stringify writes it as it was. */
export interface ExactNumber {
  readonly rawJSON: string;
}

// Browsers have these since 2023 to 2025; TypeScript's library does not yet. Without them numbers are those of JavaScript.
interface ExactJson {
  rawJSON?: (text: string) => ExactNumber;
  isRawJSON?: (value: unknown) => boolean;
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown;
}
const exact = JSON as unknown as ExactJson;

/** Numbers that may lose digits: long ones, fractions and exponents. Others are parsed without a look at each. */
const RISKY = /[:,[\s]-?(?:\d{16}|\d+\.\d|\d+(?:\.\d+)?[eE])/;

export function parseJson<T>(text: string): T {
  if (!exact.rawJSON || !RISKY.test(text)) return JSON.parse(text) as T;
  const { rawJSON } = exact;
  const revive = (_: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source ? rawJSON.call(JSON, source) : value;
  };
  return exact.parse(text, revive) as T;
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return exact.isRawJSON?.call(JSON, value) ?? false;
}

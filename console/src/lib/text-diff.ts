// Lines of two texts that differ, with a little of what is around them.

export interface DiffLine {
  mark: " " | "+" | "-" | "…";
  text: string;
}

/** Larger texts are compared without looking for the shortest difference. */
const MOST_CELLS = 4_000_000;
const AROUND = 2;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.trimEnd().split("\n"), after.trimEnd().split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const all: DiffLine[] = [
    ...a.slice(0, start).map((text): DiffLine => ({ mark: " ", text })),
    ...middle(x, y),
    ...a.slice(a.length - end).map((text): DiffLine => ({ mark: " ", text })),
  ];
  return shortened(all);
}

function middle(x: string[], y: string[]): DiffLine[] {
  const out: DiffLine[] = [];
  if (x.length * y.length > MOST_CELLS) {
    return [...x.map((text): DiffLine => ({ mark: "-", text })), ...y.map((text): DiffLine => ({ mark: "+", text }))];
  }
  // The longest common subsequence, from the end.
  const width = y.length + 1;
  const table = new Uint32Array((x.length + 1) * width);
  const at = (i: number, j: number) => table[i * width + j] ?? 0;
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      table[i * width + j] = x[i] === y[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      out.push({ mark: " ", text: x[i] ?? "" });
      i++;
      j++;
    } else if (i < x.length && (j >= y.length || at(i + 1, j) >= at(i, j + 1))) {
      out.push({ mark: "-", text: x[i++] ?? "" });
    } else {
      out.push({ mark: "+", text: y[j++] ?? "" });
    }
  }
  return out;
}

function shortened(lines: DiffLine[]): DiffLine[] {
  const keep = new Set<number>();
  lines.forEach((line, i) => {
    if (line.mark !== " ") for (let k = i - AROUND; k <= i + AROUND; k++) keep.add(k);
  });
  const out: DiffLine[] = [];
  lines.forEach((line, i) => {
    if (keep.has(i)) out.push(line);
    else if (out.at(-1)?.mark !== "…") out.push({ mark: "…", text: "" });
  });
  return out;
}

// Runs the engine in WebAssembly apart from the page, so that a long computation can be ended.

interface Exports {
  memory: WebAssembly.Memory;
  pleach_input(length: number): number;
  pleach_answer(): number;
  pleach_output(): number;
}

let engine: Promise<Exports> | undefined;

async function load(url: string): Promise<Exports> {
  const { instance } = await WebAssembly.instantiateStreaming(fetch(url, { credentials: "same-origin" }), {});
  return instance.exports as unknown as Exports;
}

function answer(exports: Exports, question: string): string {
  const bytes = new TextEncoder().encode(question);
  const at = exports.pleach_input(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.pleach_answer();
  return new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.pleach_output(), length));
}

self.onmessage = async ({ data }: MessageEvent<{ wasm?: string; id?: number; question?: string }>) => {
  if (data.wasm) {
    engine = load(data.wasm);
    return;
  }
  try {
    if (!engine) throw new Error("no engine");
    self.postMessage({ id: data.id, answer: answer(await engine, data.question ?? "") });
  } catch (error) {
    self.postMessage({ id: data.id, error: String(error) });
  }
};

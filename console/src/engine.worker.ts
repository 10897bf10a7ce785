// Runs the engine in WebAssembly apart from the page, so that a long computation can be ended.

interface Exports {
  memory: WebAssembly.Memory;
  pleach_input(length: number): number;
  pleach_answer(): number;
  pleach_output(): number;
}

/** An instance that has grown beyond this is replaced: memory of WebAssembly never shrinks. */
const MOST_BYTES = 256 << 20;

let module: Promise<WebAssembly.Module> | undefined;
let instance: Exports | undefined;

async function engine(): Promise<Exports> {
  if (!module) throw new Error("no engine");
  if (!instance || instance.memory.buffer.byteLength > MOST_BYTES) {
    instance = (await WebAssembly.instantiate(await module, {})).exports as unknown as Exports;
  }
  return instance;
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
    module = WebAssembly.compileStreaming(fetch(data.wasm, { credentials: "same-origin" }));
    // The first question has the error.
    module.catch(() => {});
    return;
  }
  let exports: Exports;
  try {
    exports = await engine();
  } catch (error) {
    self.postMessage({ id: data.id, unusable: String(error) });
    return;
  }
  try {
    self.postMessage({ id: data.id, answer: answer(exports, data.question ?? "") });
  } catch (error) {
    // A trap, such as the end of the stack: its memory cannot be used any more.
    instance = undefined;
    self.postMessage({ id: data.id, error: String(error) });
  }
};

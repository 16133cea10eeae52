import { fromBase64 } from './link';

/** The WebAssembly of the reader of shell scripts, which is loaded with the first script. */
export default async function wasmBytes(name: string): Promise<Uint8Array> {
  const { default: modules } = await import('terapipe:wasm');
  return fromBase64(new Map(Object.entries(modules)).get(name) ?? '');
}

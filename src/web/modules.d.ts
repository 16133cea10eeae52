/** Made by `web.mjs`. */
declare module 'terapipe:wasm' {
  /** The WebAssembly that reads shell scripts, by file name, in base64. */
  const modules: Readonly<Record<string, string>>;
  export default modules;
}

declare module 'terapipe:samples' {
  /** Samples by what they are called: texts of files by name, what is opened first. */
  const samples: Readonly<Record<string, Readonly<Record<string, string>>>>;
  export default samples;
}

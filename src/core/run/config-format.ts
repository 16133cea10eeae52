/** Formats by who defines them; `launchers/registry.ts` adds those of launchers, a name for each of its rows. */
export interface Formats {
  readonly model: 'huggingface' | 'onnx';
  readonly plan: 'terapipe';
}

export type ConfigFormat = Formats[keyof Formats];

export type LauncherFormat = Exclude<ConfigFormat, Formats['model' | 'plan']>;

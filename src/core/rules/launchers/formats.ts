import type { ConfigFormat, LauncherFormat } from '../../formats/config-format';

/** Launchers that run Megatron-LM's training loop and check its arguments. */
export const megatronFormats: readonly LauncherFormat[] = ['megatron-shell', 'megatron-yaml', 'nemo', 'megatron-bridge'];

/** Those whose argument checks also rule Megatron-LM's own scripts alone. */
export const megatronLmFormats: readonly LauncherFormat[] = ['megatron-shell', 'megatron-yaml'];

export const withTorchtitan: readonly LauncherFormat[] = [...megatronFormats, 'torchtitan'];

/** What is planned without a launcher: findings tell what would be refused or wasted, not what one launcher checks. */
export const runFormats: readonly ConfigFormat[] = ['terapipe', 'huggingface'];

export const megatronAndRuns: readonly ConfigFormat[] = [...megatronFormats, ...runFormats];

/** In what launchers differ that the same rules judge. */
export interface LauncherTraits {
  /** A parallel size that a file leaves out is 1; otherwise a recipe in Python decides, or the planner. */
  readonly silentSizesAreOne: boolean;
  /** Fewer key/value heads than tensor-parallel ranks are repeated, not refused. */
  readonly repeatsKeyValueHeads: boolean;
  /** Tensor parallelism divides the sequence between blocks even when nobody asks. */
  readonly alwaysDividesSequence: boolean;
}

const megatron: LauncherTraits = { silentSizesAreOne: true, repeatsKeyValueHeads: true, alwaysDividesSequence: false };
const chosen: LauncherTraits = { ...megatron, silentSizesAreOne: false };

export const launcherTraits: Readonly<Record<ConfigFormat, LauncherTraits>> = {
  'megatron-shell': megatron,
  'megatron-yaml': megatron,
  'megatron-bridge': chosen,
  nemo: megatron,
  'gpt-neox': megatron,
  deepspeed: megatron,
  torchtitan: { silentSizesAreOne: true, repeatsKeyValueHeads: false, alwaysDividesSequence: true },
  terapipe: chosen,
  huggingface: chosen,
  onnx: megatron,
};

/** Whether a config is planned without a launcher that has a say. */
export function isPlannedAlone(format: ConfigFormat): boolean {
  return runFormats.includes(format);
}

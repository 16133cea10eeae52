import type { ConfigFormat, LauncherFormat } from '../../formats/config-format';

/** Launchers that run Megatron-LM's training loop and check its arguments. */
export const megatronFormats: readonly LauncherFormat[] = ['megatron-shell', 'megatron-yaml', 'nemo', 'megatron-bridge'];

/** Those whose argument checks also rule Megatron-LM's own scripts alone. */
export const megatronLmFormats: readonly LauncherFormat[] = ['megatron-shell', 'megatron-yaml'];

export const withTorchtitan: readonly LauncherFormat[] = [...megatronFormats, 'torchtitan'];

/** What is planned without a launcher: findings tell what would be refused or wasted, not what one launcher checks. */
export const runFormats: readonly ConfigFormat[] = ['terapipe', 'huggingface'];

export const megatronAndRuns: readonly ConfigFormat[] = [...megatronFormats, ...runFormats];

/** Whether a config is planned without a launcher that has a say. */
export function isPlannedAlone(format: ConfigFormat): boolean {
  return runFormats.includes(format);
}

import type { ConfigFormat, LauncherFormat } from '../run/config-format';
import { launcherFormats, launchers } from '../launchers/registry';
import type { LauncherTraits } from '../launchers/launcher';

function launchersThat(have: (traits: LauncherTraits) => boolean): readonly LauncherFormat[] {
  return launcherFormats.filter((format) => have(launchers[format].traits));
}

/** Launchers that run Megatron-LM's training loop and check its arguments. */
export const megatronFormats = launchersThat(({ runtime }) => runtime === 'megatron');

/** Those whose argument checks also rule Megatron-LM's own scripts alone. */
export const megatronLmFormats = launchersThat(({ takesMegatronArguments }) => takesMegatronArguments);

export const withTorchtitan = launchersThat(({ runtime }) => runtime === 'megatron' || runtime === 'torchtitan');

export const torchtitanFormats = launchersThat(({ runtime }) => runtime === 'torchtitan');

export const deepspeedFormats = launchersThat(({ runtime }) => runtime === 'deepspeed');

/** What is planned without a launcher: findings tell what would be refused or wasted, not what one launcher checks. */
export const runFormats: readonly ConfigFormat[] = ['terapipe', 'huggingface'];

export const megatronAndRuns: readonly ConfigFormat[] = [...megatronFormats, ...runFormats];

/** Whether a config is planned without a launcher that has a say. */
export function isPlannedAlone(format: ConfigFormat): boolean {
  return runFormats.includes(format);
}

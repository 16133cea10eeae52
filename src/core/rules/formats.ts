import type { ConfigFormat, LauncherFormat } from '../run/config-format';
import { launcherFormats, launchers } from '../launchers/registry';
import type { LauncherTraits } from '../launchers/traits';

function launchersThat(have: (traits: LauncherTraits) => boolean): readonly LauncherFormat[] {
  return launcherFormats.filter((format) => have(launchers[format].traits));
}

/** Launchers that run Megatron-LM's training loop and check its arguments. */
export const megatronFormats = launchersThat(({ runtime, accelerator }) => runtime === 'megatron' && accelerator === undefined);

/** Launchers whose arguments Megatron-LM's own checks apply to. */
export const megatronLmFormats = launchersThat(({ takesMegatronArguments }) => takesMegatronArguments);

export const withTorchtitan = launchersThat(
  ({ runtime, accelerator }) => (runtime === 'megatron' && accelerator === undefined) || runtime === 'torchtitan',
);

/** Launchers that split and shard with PyTorch's own device mesh, too. */
export const withFsdp = [...withTorchtitan, ...launchersThat(({ runtime }) => runtime === 'fsdp1')];

/** Launchers on other accelerators than GPUs, whose ranks multiply as those of any launcher. */
export const acceleratorFormats = launchersThat(({ accelerator }) => accelerator !== undefined);

export const torchtitanFormats = launchersThat(({ runtime }) => runtime === 'torchtitan');

export const deepspeedFormats = launchersThat(({ runtime }) => runtime === 'deepspeed');

/** Configs without a launcher: findings report what any launcher would refuse or waste, not the checks of one. */
export const runFormats: readonly ConfigFormat[] = ['terapipe', 'huggingface'];

export const megatronAndRuns: readonly ConfigFormat[] = [...megatronFormats, ...runFormats];

import { isLikeMegatron } from '../domain/runtime-habits';
import type { ConfigFormat, LauncherFormat } from '../run/config-format';
import { launcherFormats, launchers } from '../launchers/registry';
import type { LauncherTraits } from '../launchers/traits';

function launchersThat(have: (traits: LauncherTraits) => boolean): readonly LauncherFormat[] {
  return launcherFormats.filter((format) => have(launchers[format].traits));
}

/** Launchers whose ranks multiply as those of any, and whose program has checks of its own or runs on something else than GPUs. */
const isApart = ({ accelerator, hasOwnChecks }: LauncherTraits): boolean => accelerator !== undefined || hasOwnChecks === true;

/** Whether ranks and sizes are as Megatron-LM's, on GPUs and without checks of its own. */
const hasMegatronSizes = (traits: LauncherTraits): boolean => isLikeMegatron(traits.runtime) && !isApart(traits);

/** Launchers that run Megatron-LM's training loop, and nanotron, which has its sizes and not its arguments. */
export const megatronFormats = launchersThat(hasMegatronSizes);

/** Launchers whose arguments Megatron-LM's own checks apply to. */
export const megatronLmFormats = launchersThat(({ takesMegatronArguments }) => takesMegatronArguments);

export const withTorchtitan = launchersThat((traits) => hasMegatronSizes(traits) || traits.runtime === 'torchtitan');

/** Launchers that split and shard with PyTorch's own device mesh, or replicate with DDP, too. */
export const withFsdp = [...withTorchtitan, ...launchersThat(({ runtime }) => runtime === 'fsdp1' || runtime === 'ddp')];

/** Launchers that only what holds for all of them is held to. */
export const acceleratorFormats = launchersThat(isApart);

export const torchtitanFormats = launchersThat(({ runtime }) => runtime === 'torchtitan');

export const deepspeedFormats = launchersThat(({ runtime }) => runtime === 'deepspeed');

/** Configs without a launcher: findings report what any launcher would refuse or waste, not the checks of one. */
export const runFormats: readonly ConfigFormat[] = ['terapipe', 'huggingface'];

export const megatronAndRuns: readonly ConfigFormat[] = [...megatronFormats, ...runFormats];

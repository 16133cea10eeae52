import type { Runtime } from '../domain/runtime';
import type { LauncherFile } from '../run/facts';
import type { LauncherFormat } from '../run/config-format';
import { programTraits, settingOfDeepSpeed } from '../launchers/as-launched';
import { isLauncher } from '../launchers/registry';
import { deepspeedCheckpoints } from './deepspeed';
import { fsdpCheckpoints, replicatedCheckpoints } from './fsdp';
import type { CheckpointKind } from './verdict';
import { bridgeCheckpoints, legacyCheckpoints, megatronCheckpoints } from './megatron';
import { nemoCheckpoints } from './nemo';
import { titanCheckpoints } from './torchtitan';

/** Launchers with checkpoints of their own. */
const ofLaunchers: Readonly<Partial<Record<LauncherFormat, CheckpointKind>>> = {
  nemo: nemoCheckpoints,
  'megatron-bridge': bridgeCheckpoints,
  'bridge-python': bridgeCheckpoints,
  'primus-bridge': bridgeCheckpoints,
};

/** Of all others the runtime writes them. */
const ofRuntimes: Readonly<Partial<Record<Runtime, CheckpointKind>>> = {
  megatron: megatronCheckpoints,
  torchtitan: titanCheckpoints,
  deepspeed: deepspeedCheckpoints,
  fsdp1: fsdpCheckpoints,
  ddp: replicatedCheckpoints,
};

/** Formats whose checkpoints nobody has read the source for, though Megatron Core or FSDP trains. */
const unread: ReadonlySet<LauncherFormat> = new Set(['nanotron', 'nemo-rl', 'verl']);

/** How the checkpoints of a launcher's file survive a change of the layout; null: not known. */
export function checkpointKind(file: LauncherFile): CheckpointKind | null {
  const { format, program } = file;
  if (!isLauncher(format) || unread.has(format)) return null;
  if (settingOfDeepSpeed(file) !== undefined) return deepspeedCheckpoints;
  if (program?.name === 'Megatron-LM before Megatron Core') return legacyCheckpoints;
  return ofLaunchers[format] ?? ofRuntimes[programTraits(file).runtime] ?? null;
}

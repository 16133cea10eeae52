import { accelerate } from './accelerate';
import { deepspeed } from './deepspeed';
import type { ConfigFormat, LauncherFormat } from '../run/config-format';
import { megatronTraits, type Launcher, type LauncherTraits } from './launcher';
import { megatronShell, megatronYaml } from './megatron';
import { bridgePython, megatronBridge } from './megatron-bridge';
import { hfTrainer } from './hf-trainer';
import { nanotron } from './nanotron';
import { nemo } from './nemo';
import { nemoRl } from './nemo-rl';
import { gptNeox } from './neox';
import { flagScale } from './flagscale';
import { primus, primusBridge, primusTorchtitan } from './primus';
import { torchtitan, torchtitanPython } from './torchtitan';
import { trainerShell } from './trainer-shell';
import { verl } from './verl';

/** Every launcher, by the format of its files. One that might take the files of another comes after it. */
export const launchers: Readonly<Record<LauncherFormat, Launcher>> = {
  deepspeed,
  primus,
  'primus-torchtitan': primusTorchtitan,
  'primus-bridge': primusBridge,
  flagscale: flagScale,
  'nemo-rl': nemoRl,
  nanotron,
  'hf-trainer': hfTrainer,
  accelerate,
  'megatron-yaml': megatronYaml,
  nemo,
  'megatron-bridge': megatronBridge,
  'bridge-python': bridgePython,
  'gpt-neox': gptNeox,
  torchtitan,
  'torchtitan-python': torchtitanPython,
  'megatron-shell': megatronShell,
  verl,
  'trainer-shell': trainerShell,
};

export const launcherFormats = Object.keys(launchers) as readonly LauncherFormat[];

/** Whether a format is one of launchers' files. */
export function isLauncher(format: ConfigFormat): format is LauncherFormat {
  return Object.hasOwn(launchers, format);
}

/** What is planned without a launcher is held to Megatron-LM's habits, and what it leaves out the planner chooses. */
const plannedAlone: LauncherTraits = { ...megatronTraits, leavesOpen: true };

export function launcherTraitsOf(format: ConfigFormat): LauncherTraits {
  return isLauncher(format) ? launchers[format].traits : plannedAlone;
}

import { accelerate } from './accelerate';
import { deepspeed } from './deepspeed';
import { automodel } from './automodel';
import type { ConfigFormat, LauncherFormat } from '../run/config-format';
import type { Launcher } from './launcher';
import { megatronTraits, type LauncherTraits } from './traits';
import { megatronShell, megatronYaml } from './megatron';
import { bridgePython, megatronBridge } from './megatron-bridge';
import { hfTrainer } from './hf-trainer';
import { cerebras } from './cerebras';
import { internevo } from './internevo';
import { levanter } from './levanter';
import { llmFoundry } from './llm-foundry';
import { maxtext, maxtextShell } from './maxtext';
import { megatronSwift, megatronSwiftYaml } from './megatron-swift';
import { mlperf } from './mlperf';
import { moeModelZoo } from './moe-modelzoo';
import { nanochat } from './nanochat';
import { nanotron } from './nanotron';
import { nemo } from './nemo';
import { nemoRl } from './nemo-rl';
import { openRlhf } from './openrlhf';
import { gptNeox } from './neox';
import { nxdt } from './nxdt';
import { flagScale } from './flagscale';
import { picotron } from './picotron';
import { primus, primusBridge, primusTorchtitan } from './primus';
import { torchtitan, torchtitanPython } from './torchtitan';
import { torchtune } from './torchtune';
import { trainerShell } from './trainer-shell';
import { veomni } from './veomni';
import { areal } from './areal';
import { arcticTraining } from './arctic-training';
import { lingua } from './lingua';
import { primeRl } from './prime-rl';
import { chatlearn } from './chatlearn';
import { fastLlm } from './fast-llm';
import { roll } from './roll';
import { verl } from './verl';

/** Every launcher, by the format of its files. One that might take the files of another comes after it. */
export const launchers = {
  deepspeed,
  picotron,
  primus,
  'primus-torchtitan': primusTorchtitan,
  'primus-bridge': primusBridge,
  flagscale: flagScale,
  'nemo-rl': nemoRl,
  nanotron,
  veomni,
  lingua,
  roll,
  chatlearn,
  'fast-llm': fastLlm,
  areal,
  'prime-rl': primeRl,
  'arctic-training': arcticTraining,
  'llm-foundry': llmFoundry,
  'hf-trainer': hfTrainer,
  accelerate,
  'megatron-yaml': megatronYaml,
  nxdt,
  nemo,
  'megatron-bridge': megatronBridge,
  'bridge-python': bridgePython,
  'gpt-neox': gptNeox,
  automodel,
  internevo,
  torchtune,
  torchtitan,
  'torchtitan-python': torchtitanPython,
  'megatron-shell': megatronShell,
  nanochat,
  'moe-modelzoo': moeModelZoo,
  maxtext,
  levanter,
  cerebras,
  'maxtext-shell': maxtextShell,
  'megatron-swift': megatronSwift,
  'megatron-swift-yaml': megatronSwiftYaml,
  verl,
  openrlhf: openRlhf,
  'trainer-shell': trainerShell,
  mlperf,
} satisfies Readonly<Record<string, Launcher>>;

declare module '../run/config-format' {
  interface Formats {
    readonly launcher: keyof typeof launchers;
  }
}

export const launcherFormats = Object.keys(launchers) as readonly LauncherFormat[];

/** Whether a format is one of launchers' files. */
export function isLauncher(format: ConfigFormat): format is LauncherFormat {
  return Object.hasOwn(launchers, format);
}

/** Configs without a launcher are planned as Megatron-LM runs them; the planner chooses what they leave out. */
const traitsWithoutLauncher: LauncherTraits = { ...megatronTraits, leavesOpen: true };

export function launcherTraits(format: ConfigFormat): LauncherTraits {
  return isLauncher(format) ? launchers[format].traits : traitsWithoutLauncher;
}

/** Whether plans are written into files of a format. */
export function isEditable(format: ConfigFormat): format is LauncherFormat {
  return isLauncher(format) && launchers[format].editor !== undefined;
}

/** Whether layouts are written into files of a format. */
export function isApplied(format: ConfigFormat): boolean {
  return format === 'terapipe' || isEditable(format);
}

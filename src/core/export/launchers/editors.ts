import type { LauncherFormat } from '../../formats/config-format';
import type { Program } from '../../formats/facts';
import { deepspeedSettings } from './deepspeed-settings';
import type { DesiredSetting } from './desired-setting';
import { jsonSyntax } from './json-syntax';
import type { LaunchSettings } from './launch-settings';
import { recomputeSetting } from './megatron-recompute';
import { megatronSettings } from './megatron-settings';
import { rlSettings } from './nemo-rl-settings';
import { shellSyntax } from './shell-syntax';
import { nanotronSettings, neoxSettings } from './small-settings';
import type { Syntax } from './syntax';
import { titanSettings } from './titan-settings';
import { tomlSyntax } from './toml-syntax';
import { trainerSettings } from './trainer-settings';
import { yamlSyntax } from './yaml-syntax';

/** How plans are written into the files of one launcher. */
export interface Editor {
  /** The settings that a file should have for a plan. @param program the one that the file starts, of several. */
  readonly settings: (plan: LaunchSettings, program?: Program) => readonly DesiredSetting[];
  /** How one of them is written. */
  readonly syntax: Syntax;
}

/** Of each launcher that plans are written for. */
export const editors = {
  'megatron-shell': {
    settings: (plan: LaunchSettings, program?: Program) =>
      megatronSettings(plan, 'megatron-shell', recomputeSetting(plan, program?.traits.wholeRecomputeFlag)),
    syntax: shellSyntax,
  },
  'megatron-yaml': { settings: (plan) => megatronSettings(plan, 'megatron-yaml'), syntax: yamlSyntax('megatron-yaml') },
  nemo: { settings: (plan) => megatronSettings(plan, 'nemo'), syntax: yamlSyntax('nemo') },
  'megatron-bridge': { settings: (plan) => megatronSettings(plan, 'megatron-bridge'), syntax: yamlSyntax('megatron-bridge') },
  primus: { settings: (plan) => megatronSettings(plan, 'primus'), syntax: yamlSyntax('primus') },
  'primus-bridge': { settings: (plan) => megatronSettings(plan, 'primus-bridge'), syntax: yamlSyntax('primus-bridge') },
  'primus-torchtitan': { settings: titanSettings, syntax: yamlSyntax('primus-torchtitan') },
  flagscale: { settings: (plan) => megatronSettings(plan, 'flagscale'), syntax: yamlSyntax('flagscale') },
  'nemo-rl': { settings: rlSettings, syntax: yamlSyntax('nemo-rl') },
  'gpt-neox': { settings: neoxSettings, syntax: yamlSyntax('gpt-neox') },
  'hf-trainer': { settings: trainerSettings, syntax: yamlSyntax('hf-trainer') },
  nanotron: { settings: nanotronSettings, syntax: yamlSyntax('nanotron') },
  torchtitan: { settings: titanSettings, syntax: tomlSyntax },
  deepspeed: { settings: deepspeedSettings, syntax: jsonSyntax },
} as const satisfies Partial<Record<LauncherFormat, Editor>>;

/** Formats that a plan can be written into. */
export type EditableFormat = keyof typeof editors;

/** Whether files of a format can be edited to match a plan. */
export function isEditable(format: LauncherFormat): format is EditableFormat {
  return Object.hasOwn(editors, format);
}

import type { LauncherFormat } from '../../formats/config-format';
import { deepspeedSettings } from './deepspeed-settings';
import type { DesiredSetting } from './desired-setting';
import { jsonSyntax } from './json-syntax';
import type { LaunchSettings } from './launch-settings';
import { megatronSettings } from './megatron-settings';
import { shellSyntax } from './shell-syntax';
import type { Syntax } from './syntax';
import { titanSettings } from './titan-settings';
import { tomlSyntax } from './toml-syntax';
import { yamlSyntax } from './yaml-syntax';

/** How plans are written into the files of one launcher. */
export interface Editor {
  /** The settings that a file should have for a plan. */
  readonly settings: (plan: LaunchSettings) => readonly DesiredSetting[];
  /** How one of them is written. */
  readonly syntax: Syntax;
}

/** Of each launcher that plans are written for. */
export const editors = {
  'megatron-shell': { settings: (plan) => megatronSettings(plan, 'megatron-shell'), syntax: shellSyntax },
  'megatron-yaml': { settings: (plan) => megatronSettings(plan, 'megatron-yaml'), syntax: yamlSyntax('megatron-yaml') },
  nemo: { settings: (plan) => megatronSettings(plan, 'nemo'), syntax: yamlSyntax('nemo') },
  'megatron-bridge': { settings: (plan) => megatronSettings(plan, 'megatron-bridge'), syntax: yamlSyntax('megatron-bridge') },
  torchtitan: { settings: titanSettings, syntax: tomlSyntax },
  deepspeed: { settings: deepspeedSettings, syntax: jsonSyntax },
} as const satisfies Partial<Record<LauncherFormat, Editor>>;

/** Formats that a plan can be written into. */
export type EditableFormat = keyof typeof editors;

/** Whether files of a format can be edited to what a plan says. */
export function isEditable(format: LauncherFormat): format is EditableFormat {
  return Object.hasOwn(editors, format);
}

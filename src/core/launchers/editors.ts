import type { LauncherFormat } from '../run/config-format';
import { deepspeedEditor } from './deepspeed/write';
import { flagScaleEditor } from './flagscale/write';
import { trainerEditor } from './hf-trainer/write';
import { bridgeEditor } from './megatron-bridge/write';
import { megatronShellEditor, megatronYamlEditor } from './megatron/write';
import { nanotronEditor } from './nanotron/write';
import { nemoRlEditor } from './nemo-rl/write';
import { nemoEditor } from './nemo/write';
import { neoxEditor } from './neox/write';
import { primusBridgeEditor, primusEditor, primusTorchtitanEditor } from './primus/write';
import { titanEditor } from './torchtitan/write';
import type { Editor, NewFile } from './writing/editor';

/** Of each launcher whose files plans are written into. Apart from `registry`, so that reading loads nothing that writes. */
export const editors = {
  'megatron-shell': megatronShellEditor,
  'megatron-yaml': megatronYamlEditor,
  nemo: nemoEditor,
  'megatron-bridge': bridgeEditor,
  primus: primusEditor,
  'primus-bridge': primusBridgeEditor,
  'primus-torchtitan': primusTorchtitanEditor,
  flagscale: flagScaleEditor,
  'nemo-rl': nemoRlEditor,
  'gpt-neox': neoxEditor,
  'hf-trainer': trainerEditor,
  nanotron: nanotronEditor,
  torchtitan: titanEditor,
  deepspeed: deepspeedEditor,
} as const satisfies Partial<Record<LauncherFormat, Editor>>;

/** Formats that a plan can be written into. */
export type EditableFormat = keyof typeof editors;

/** Formats of which a file can be written from nothing. */
export type NewFormat = {
  [K in EditableFormat]: (typeof editors)[K] extends { readonly newFile: NewFile } ? K : never;
}[EditableFormat];

/** Whether files of a format can be edited to match a plan. */
export function isEditable(format: LauncherFormat): format is EditableFormat {
  return Object.hasOwn(editors, format);
}

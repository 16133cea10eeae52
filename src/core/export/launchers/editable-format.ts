import type { LauncherFormat } from '../../formats/config-format';

/** Formats that a plan can be written into. */
export type EditableFormat = Exclude<LauncherFormat, 'gpt-neox'>;

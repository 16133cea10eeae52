import type { FactName, LauncherFile, Program } from '../../run/facts';
import type { DesiredSetting, SettingEdit } from './desired-setting';
import type { KeyNames } from './key-names';
import type { LaunchSettings, Remark } from './launch-settings';

/** How settings are written in one kind of file. */
export interface Syntax {
  /** Settings that exist with a value that only a run (or whoever fills a template) knows, as written. */
  readonly open: (launcher: LauncherFile) => ReadonlyMap<FactName, string>;
  /**
   * Texts of the file with one setting written, best first; empty where there is no place for it. Unchecked: the caller reads them back.
   */
  readonly edit: (launcher: LauncherFile, edit: SettingEdit) => readonly string[];
}

/** How plans are written into the files of one launcher. */
export interface Editor {
  /** The settings that a file should have for a plan. @param program the one that the file starts, of several. */
  readonly settings: (plan: LaunchSettings, program?: Program) => readonly DesiredSetting[];
  /** How one of them is written. */
  readonly syntax: Syntax;
}

/** How a file is written from nothing. */
export interface NewFile {
  /** A name that the reader of the format knows it by. */
  readonly fileName: string;
  /** Where each setting is; what has no entry cannot be expressed. */
  readonly keys: KeyNames;
  readonly write: (plan: LaunchSettings, edits: readonly SettingEdit[], gaps: readonly Remark[]) => string;
}

import type { FactName, LauncherFile, Program } from '../../run/facts';
import type { ListedSettings } from '../../run/run-settings';
import type { DesiredSetting, SettingEdit } from './desired-setting';
import type { KeyNames } from './key-names';
import type { Sentence } from '../../sentence';
import type { LauncherTraits } from '../traits';
import type { LaunchSettings } from './launch-settings';
import type { ModelGap, Remark } from './remarks';

/** How settings are written in one kind of file. */
export interface Syntax {
  /** Settings that exist with a value that only a run (or whoever fills a template) knows, as written. */
  readonly open: (launcher: LauncherFile) => ReadonlyMap<FactName, string>;
  /**
   * Texts of the file with one setting written, best first; empty where there is no place for it. Unchecked: the caller reads them back.
   */
  readonly edit: (launcher: LauncherFile, edit: SettingEdit) => readonly string[];
  /** What whoever starts a file may give in place of what was written; absent: nothing. */
  readonly inputs?: (before: LauncherFile, after: LauncherFile) => readonly Remark[];
}

/** How plans are written into the files of one launcher. */
export interface Editor {
  /** The settings that a file should have for a plan. */
  readonly settings: (plan: LaunchSettings, starts: Started) => readonly DesiredSetting[];
  /** How one of them is written. */
  readonly syntax: Syntax;
  /** Why no layout is written into a file, before one is searched for it; null: some may be. Absent: into each. */
  readonly refuses?: (launcher: LauncherFile) => Sentence | null;
  /** How a file is written from nothing; absent: none is. */
  readonly newFile?: NewFile;
}

/** What a file starts: its launcher, by traits, and of several programs the one. */
export interface Started {
  readonly traits: LauncherTraits;
  readonly program?: Program;
}

/** How a file is written from nothing. */
export interface NewFile {
  /** A name that the reader of the format knows it by. */
  readonly fileName: string;
  /** Where each setting is; what has no entry cannot be expressed. */
  readonly keys: KeyNames;
  /** Each alternative is written, whether or not it has an entry: it brings its flag. */
  readonly takesFlags?: true;
  /** Facts that the file sets without an edit. */
  readonly sets?: readonly FactName[];
  /** The settings of the model in which the file differs from the plan. */
  readonly lacks: (plan: LaunchSettings) => readonly ModelGap[];
  /** What it takes over from the file of the planned run; absent: nothing. */
  readonly carries?: (source: ListedSettings, plan: LaunchSettings) => Carried;
  readonly write: (plan: LaunchSettings, edits: readonly SettingEdit[], gaps: readonly Remark[], carried: Carried) => string;
}

/** What a new file takes over from the file of the planned run that no plan has. */
export interface Carried {
  /** By name, as it is written. */
  readonly values: ReadonlyMap<string, string>;
  /** Settings of that file without a counterpart, as it writes them. */
  readonly left: readonly string[];
}

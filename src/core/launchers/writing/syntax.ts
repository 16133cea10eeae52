import type { FactName, LauncherFile } from '../../formats/facts';
import type { SettingEdit } from './desired-setting';

/** How settings are written in one kind of file. */
export interface Syntax {
  /** Settings that exist with a value that only a run (or whoever fills a template) knows, as written. */
  readonly open: (launcher: LauncherFile) => ReadonlyMap<FactName, string>;
  /**
   * Texts of the file with one setting written, best first; empty where there is no place for it. Unchecked: the caller reads them back.
   */
  readonly edit: (launcher: LauncherFile, edit: SettingEdit) => readonly string[];
}

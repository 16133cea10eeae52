import { sliceExports } from './slices/registry';
import type { SliceExport } from './slices/slice-export';
import { chosenCandidate, type Plan } from '../planner/plan';
import type { ConfigFormat } from '../run/config-format';
import { launcherFormats, launchers } from '../launchers/registry';

/**
 * Launchers for which new files are written, as they are offered: the most common first, which come last in the registry. `edits` are the
 * formats whose files are edited instead.
 */
export const newFileLaunchers = launcherFormats.toReversed().flatMap((format) => {
  const { exported } = launchers[format];
  return exported === undefined ? [] : [{ format, ...exported, edits: [format, ...(exported.into ?? [])] as readonly ConfigFormat[] }];
});

/** A launcher of a menu, and whether the planned file is one of it: then a copy of that is edited. */
type MenuLauncher = (typeof newFileLaunchers)[number] & { readonly isOwn: boolean };

/** What a plan can be written as, in the order of a menu. */
interface ExportMenu {
  /** The launcher of the planned file first, then the others. */
  readonly launchers: readonly MenuLauncher[];
  /** Runtimes of token slices on GPUs; none where the plan has no slices. */
  readonly slices: readonly SliceExport[];
}

/** @param format of the planned file. @param plan null: nothing is planned yet. */
export function exportMenu(format: ConfigFormat | null, plan: Plan | null): ExportMenu {
  const launchers = newFileLaunchers.map((each) => ({ ...each, isOwn: format !== null && each.edits.includes(format) }));
  const isSliced = plan !== null && chosenCandidate(plan).scheme.some(({ tokens }) => tokens.length > 1);
  return {
    launchers: [...launchers.filter(({ isOwn }) => isOwn), ...launchers.filter(({ isOwn }) => !isOwn)],
    slices: isSliced ? sliceExports.filter(({ hardware }) => hardware === null) : [],
  };
}

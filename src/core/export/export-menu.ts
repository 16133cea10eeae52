import { newFileLaunchers } from './launchers/new-launcher';
import { sliceExports } from './slices/registry';
import type { SliceExport } from './slices/slice-export';
import { chosenCandidate, type Plan } from '../planner/plan';
import type { ConfigFormat } from '../run/config-format';

/** What a plan can be written as, in the order of a menu. */
interface ExportMenu {
  /** The launcher of the planned file first, which is edited, then the others. */
  readonly launchers: typeof newFileLaunchers;
  /** Runtimes of token slices; none where the plan has no slices. */
  readonly slices: readonly SliceExport[];
}

/** @param format of the planned file. @param plan null: nothing is planned yet. */
export function exportMenu(format: ConfigFormat | null, plan: Plan | null): ExportMenu {
  const isOwn = ({ edits }: (typeof newFileLaunchers)[number]): boolean => format !== null && edits.includes(format);
  const isSliced = plan !== null && chosenCandidate(plan).scheme.some(({ tokens }) => tokens.length > 1);
  return {
    launchers: [...newFileLaunchers.filter(isOwn), ...newFileLaunchers.filter((each) => !isOwn(each))],
    slices: isSliced ? sliceExports : [],
  };
}

import { setting } from '../../base/view-state';

/** Columns that the found layouts can be ordered by. */
const layoutColumns = ['step', 'memory', 'bubble', 'tokens', 'mfu'] as const;
export type LayoutColumn = (typeof layoutColumns)[number];

/** View settings of the found layouts. */
export interface LayoutViewSettings {
  readonly by: LayoutColumn;
  readonly descending: boolean;
  /** Words that a layout must hold. */
  readonly text: string;
  /** The one schedule shown; null: all. */
  readonly schedule: string | null;
  /** Tokens to train on, for GPU hours; null: those of the files, else of VS Code's settings. */
  readonly tokenBudget: number | null;
  /** The row picked, and the answer it is of; null: the best. */
  readonly picked: { readonly answer: string; readonly row: string } | null;
}

/** Fastest first, all of them. */
const initial: LayoutViewSettings = {
  by: 'step',
  descending: false,
  text: '',
  schedule: null,
  tokenBudget: null,
  picked: null,
};

/** Reads view settings that an older version may have saved, field by field. */
function readSettings(saved: unknown): LayoutViewSettings {
  if (typeof saved !== 'object' || saved === null) return initial;
  const { by, descending, text, schedule, tokenBudget, picked } = saved as Readonly<Record<string, unknown>>;
  return {
    by: layoutColumns.find((column) => column === by) ?? initial.by,
    descending: descending === true,
    text: typeof text === 'string' ? text : initial.text,
    schedule: typeof schedule === 'string' ? schedule : null,
    tokenBudget: typeof tokenBudget === 'number' && tokenBudget > 0 && Number.isFinite(tokenBudget) ? tokenBudget : null,
    picked: readPicked(picked),
  };
}

export const layoutSettings = setting('layoutSettings', readSettings, { formerKey: 'layoutLook', ofFile: true });

function readPicked(value: unknown): LayoutViewSettings['picked'] {
  if (typeof value !== 'object' || value === null || !('answer' in value) || !('row' in value)) return null;
  const { answer, row } = value;
  return typeof answer === 'string' && typeof row === 'string' ? { answer, row } : null;
}

/** The order after a press on a column's title: the better end first, or reversed where the column already orders the rows. */
export function pressedColumn(settings: LayoutViewSettings, column: LayoutColumn): Pick<LayoutViewSettings, 'by' | 'descending'> {
  return { by: column, descending: settings.by === column ? !settings.descending : column === 'tokens' || column === 'mfu' };
}

import { gutters } from './draw-frame';
import { nodeName, rowControls } from './row-names';
import { rangesText, type LaneRow, type RowList } from './rows';

/** Of a figure or letter of the labels, CSS px: their mean, and a little more. */
const letterPx = 6.2;

const known = new WeakMap<RowList, number>();

/** Room for the labels left of the lanes, CSS px. */
export function gutterPx(list: RowList): number {
  const px = known.get(list) ?? roomOf(list);
  known.set(list, px);
  return px;
}

function roomOf({ rows }: RowList): number {
  const letters = rows.reduce((most, row) => Math.max(most, lettersOf(row)), 0);
  return letters === 0 ? gutters.leftPx : Math.ceil(rowControls.namePx + letters * letterPx + 18);
}

function lettersOf({ node, stages }: LaneRow): number {
  return node === null ? 0 : nodeName(node).length + rangesText(stages).length;
}

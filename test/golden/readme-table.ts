import { makePlan } from '../../src/core/planner/make-plan';
import { chosenOf } from '../../src/core/planner/plan';
import { predictTeraPipe, terapipeRequest, terapipeSettings } from './rows';

const seconds = (ms: number): string => (ms / 1000).toFixed(3);
const signed = (predicted: number, measured: number): string => {
  const percent = Math.round(100 * (predicted / measured - 1));
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent)} %`;
};

/** README's table of TeraPipe's ten settings, one string per line: measured latency beside our prediction, seconds, whole and sliced as published; and our own plan. */
export function terapipeTable(): string[] {
  const rows = terapipeSettings.map((row) => {
    const whole = predictTeraPipe(row, [2048]).iterationMs;
    const slicedMs = row.slicedMs ?? row.wholeMs;
    const sliced = predictTeraPipe(row, row.lengths ?? [2048]).iterationMs;
    const plan = chosenOf(makePlan(terapipeRequest(row))).iterationMs;
    const gpus = row.data * row.pipeline * row.tensor;
    return [
      `(${row.setting}) ${row.model}`,
      `${row.data} × ${row.pipeline} × ${row.tensor} = ${gpus}`,
      seconds(row.wholeMs),
      `${seconds(whole)} (${signed(whole, row.wholeMs)})`,
      seconds(slicedMs),
      `${seconds(sliced)} (${signed(sliced, slicedMs)})`,
      seconds(plan),
    ];
  });
  const header = ['setting', 'data × stages × tensor', 'whole, measured', 'predicted', 'sliced, measured', 'predicted', 'our plan'];
  const table = [header, header.map((_, column) => (column < 2 ? '---' : '---:')), ...rows];
  return table.map((cells) => `| ${cells.join(' | ')} |`);
}

/** Cells of a Markdown table without the padding a formatter adds. */
export function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

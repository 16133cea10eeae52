// Prints our predictions beside every reference measurement: `npm run golden`. Nothing is fitted here; the constants stand in src/core.
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenOf } from '../../src/core/planner/plan';
import { predictPoints, terapipeTablePoints } from './terapipe-points';
import { b200Rows, errors, predictTeraPipe, ptdpRows, terapipeRequest, terapipeSettings, vtrainRows, type Row } from './rows';

function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)} %`;
}

function signed(row: { measured: number; predicted: number }): string {
  const error = row.predicted / row.measured - 1;
  return `${error >= 0 ? '+' : ''}${percent(error)}`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function print(title: string, header: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = header.map((cell, column) => Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, column) => cell.padStart(widths[column] ?? 0)).join(' | ')} |`;
  console.log(`\n${title}\n`);
  console.log(line(header));
  console.log(line(widths.map((width) => '-'.repeat(width))));
  for (const row of rows) console.log(line(row));
}

function summary(rows: readonly { measured: number; predicted: number }[]): string {
  const { mean, worst } = errors(rows);
  return `mean ${percent(mean)}, worst ${percent(worst)}, ${rows.length} rows`;
}

function times(title: string, rows: readonly Row[] | null): void {
  if (rows === null) {
    console.log(`\n${title}: skipped, reference file not found`);
    return;
  }
  print(
    `${title}: ${summary(rows)}`,
    ['row', 'measured s', 'predicted s', 'error'],
    rows.map((row) => [row.name, seconds(row.measured), seconds(row.predicted), signed(row)]),
  );
}

times('vTrain, A100, multi-node', vtrainRows('multi'));
const single = vtrainRows('single');
if (single !== null) console.log(`\nvTrain, A100, single node (composed from per-layer traces, for information): ${summary(single)}`);
times('PTD-P, Table 1', ptdpRows());

const b200 = b200Rows();
times('B200, dense, step time', b200);
if (b200 !== null) {
  const peaks = b200.flatMap((row) => row.peaks.map((peak, stage) => ({ name: `${row.name} stage ${stage}`, ...peak })));
  const distinct = [...new Map(peaks.map((peak) => [`${peak.measured.toFixed(0)} ${peak.predicted}`, peak])).values()];
  print(
    `B200, dense, peak memory: ${summary(peaks)}; ${distinct.length} distinct: ${summary(distinct)}`,
    ['row', 'measured MiB', 'counted MiB', 'error'],
    distinct.map((peak) => [peak.name, (peak.measured / 2 ** 20).toFixed(0), (peak.predicted / 2 ** 20).toFixed(0), signed(peak)]),
  );
}

const whole = terapipeSettings.map((row) => ({ measured: row.wholeMs, predicted: predictTeraPipe(row, [2048]).iterationMs }));
const sliced = terapipeSettings.flatMap((row) =>
  row.slicedMs === null || row.lengths === null
    ? []
    : [{ measured: row.slicedMs, predicted: predictTeraPipe(row, row.lengths).iterationMs }],
);
print(
  `TeraPipe, V100, ten settings. Whole: ${summary(whole)}. With the published slices: ${summary(sliced)}`,
  ['setting', 'whole measured', 'predicted', 'error', 'sliced measured', 'predicted', 'error', 'our plan'],
  terapipeSettings.map((row, index) => {
    const ours = whole[index] ?? { measured: 0, predicted: 0 };
    const cut =
      row.slicedMs === null || row.lengths === null
        ? null
        : { measured: row.slicedMs, predicted: predictTeraPipe(row, row.lengths).iterationMs };
    const plan = chosenOf(makePlan(terapipeRequest(row)));
    return [
      String(row.setting),
      seconds(ours.measured),
      seconds(ours.predicted),
      signed(ours),
      ...(cut === null ? ['as whole', '', ''] : [seconds(cut.measured), seconds(cut.predicted), signed(cut)]),
      seconds(plan.iterationMs),
    ];
  }),
);

print(
  'TeraPipe, uniform slices per sequence (Fig. 6)',
  ['setting', 'slices', 'measured s', 'predicted s', 'error'],
  terapipeTablePoints.map((point) => {
    const row = { measured: point.measuredMs, predicted: predictPoints(point) };
    return [String(point.setting), String(point.slices), seconds(row.measured), seconds(row.predicted), signed(row)];
  }),
);

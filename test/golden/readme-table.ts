import { b200Rows, type B200Row } from './b200';
import { nemoRows, nemoRowsByRelease } from './nemo';
import { recomputeRows } from './recompute';
import { errors, ptdpRows, vtrainRows, type Row } from './rows';
import { longerRows, planSpeedUps, speedUps, terapipePlanRows, terapipeRows, uniformRows } from './terapipe';
import type { Calibration } from './calibration';
import type { ElasticRow, LoggedEpoch, MicroBatchRow } from './elastic';
import type { LeftOutRun } from './fit/left-out';
import type { DrawnSource } from './drawn';
import { coverage, quantile, type Coverage } from './measured-kinds';
import type { WildRow } from './wild';
import { peakOf } from './wild-memory';

type Compared = Pick<Row, 'measured' | 'predicted'>;

const seconds = (ms: number): string => (ms / 1000).toFixed(3);

function signed({ measured, predicted }: Compared): string {
  const percent = Math.round(100 * (predicted / measured - 1));
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent)} %`;
}

function percent(fraction: number): string {
  const value = 100 * fraction;
  return `${value.toFixed(value < 1 ? 2 : value < 100 ? 1 : 0)} %`;
}

/** Every rank's peak memory of the B200 runs of these kinds. */
export function ranksOf(...kinds: readonly B200Row['kind'][]): B200Row['ranks'] {
  return b200Rows().flatMap(({ kind, ranks }) => (kinds.includes(kind) ? ranks : []));
}

function accuracyRows(): readonly (readonly [title: string, rows: readonly Compared[]])[] {
  const terapipe = terapipeRows();
  return [
    ["vTrain's A100 multi-node runs, 1F1B", vtrainRows()],
    ['PTD-P, Table 1: 1.7B to 1T parameters on 32 to 3,072 A100', ptdpRows()],
    ['arXiv 2205.05198, Table 5: full recompute, sequence parallelism with selective', recomputeRows()],
    ['Llama 3, DeepSeek-V2 and V3 cut down, on 8 B200', b200Rows()],
    ['TeraPipe on V100, whole sequences', terapipe.map(({ whole }) => whole)],
    ['TeraPipe on V100, with its token slices', terapipe.flatMap(({ sliced }) => sliced ?? [])],
    ['peak memory of every rank of the dense B200 runs, nothing fitted', ranksOf('dense', 'context')],
    ['peak memory of every rank of those with experts and latent attention', ranksOf('experts')],
    ['throughput published for Megatron-Bridge', nemoRows()],
    ['the same, with the recipe taken only from release and system', nemoRowsByRelease()],
  ];
}

function table(header: readonly string[], texts: number, rows: readonly (readonly string[])[]): string[] {
  const rule = header.map((_, column) => (column < texts ? '---' : '---:'));
  return [header, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

/** Fewest runs of a source that README names. */
export const fewestInReadme = 8;

/** Errors at which README's table begins another row, as fractions. */
const readmeBands = [0.2, 0.1, 0.05, 0] as const;

/** The ten settings in README's table: in no fit, but terms of the model are from the same paper. */
export const terapipeInReadme = 'TeraPipe, not left out';

/** README's table: every source of at least eight runs, left out whole or drawn after the constants, the worst first. */
export function readmeTable(runs: readonly LeftOutRun[], drawn: readonly DrawnSource[]): string[] {
  const settings = terapipeRows().map(({ whole }) => whole);
  const sources = [
    ...coverage(runs),
    ...drawn.filter(({ isAll }) => !isAll).map(({ source, errors: of }) => ({ source, rows: of.length, error: meanSize(of) })),
    { source: terapipeInReadme, rows: settings.length, error: errors(settings).mean },
  ];
  const shown = sources.filter(({ rows }) => rows >= fewestInReadme);
  const figure = (error: number): number => Math.round(1000 * error);
  const sorted = [...shown].sort((a, b) => figure(b.error) - figure(a.error) || (a.source < b.source ? -1 : 1));
  const rows = readmeBands.map((least, index) => {
    const most = readmeBands[index - 1];
    const inBand = sorted.filter(({ error }) => error >= least && (most === undefined || error < most));
    const band = most === undefined ? `over ${100 * least} %` : least === 0 ? `under ${100 * most} %` : `${100 * least} to ${100 * most} %`;
    return [band, inBand.map(({ source, error }) => `${source} (${percent(error)})`).join('; ')];
  });
  return table(['mean error', 'source'], 2, rows);
}

/** The table of mean and worst errors in docs/accuracy.md, one string per line. */
export function accuracyTable(): string[] {
  const rows = accuracyRows().map(([title, compared]) => {
    const { mean, worst } = errors(compared);
    return [title, String(compared.length), percent(mean), percent(worst)];
  });
  return table(['measured runs', 'rows', 'mean', 'worst'], 1, rows);
}

/** The table of published runs of other frameworks in docs/accuracy.md: step times and memory by family. */
export function publishedTable(rows: readonly WildRow[]): string[] {
  const families = [...new Set(rows.map((row) => row.case.family))];
  const cells = families.map((family) => {
    const times = timesOf(rows, family);
    const memory = memoryOf(rows, family);
    const bias = times.reduce((sum, { measured, predicted }) => sum + predicted / measured - 1, 0) / times.length;
    const { mean, worst } = errors(times);
    const ofMemory = memory.length === 0 ? '' : percent(errors(memory).mean);
    const step = [percent(mean), signed({ measured: 1, predicted: 1 + bias }), percent(worst)];
    return [family, String(times.length), ...step, String(memory.length), ofMemory];
  });
  const header = ['published runs', 'rows', 'step, mean error', 'mean of errors', 'worst', 'rows with memory', 'memory, mean error'];
  return table(header, 1, cells);
}

/** Step times of a family, ms. */
export function timesOf(rows: readonly WildRow[], family: string): readonly Row[] {
  return rows.flatMap(({ case: one, predicted }) =>
    one.family === family && one.seconds !== null ? [{ name: one.id, measured: 1e3 * one.seconds, predicted: predicted.iterationMs }] : [],
  );
}

/** Peak memory of a family, of the runs that did not run out of it. */
export function memoryOf(rows: readonly WildRow[], family: string): readonly Row[] {
  return rows.filter(({ case: one }) => one.family === family && one.memoryGiB !== null && one.outOfMemory !== true).map(peakOf);
}

/** The table of all sources, each left out of the constants and of the ranges. */
export function rangesTable(runs: readonly LeftOutRun[]): string[] {
  return sourcesTable(coverage(runs));
}

function sourcesTable(shares: readonly Coverage[]): string[] {
  const rows = shares.map(({ source, rows: count, error, bias, inside, width }) => [
    source,
    String(count),
    percent(error),
    signed({ measured: 1, predicted: 1 + bias }),
    percent(inside),
    `±${percent(width)}`,
  ]);
  return table(['source, left out whole', 'rows', 'step, mean error', 'mean of errors', 'inside', 'range'], 1, rows);
}

const meanSize = (errors: readonly number[]): number => errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length;

/** The table of runs that were drawn after the constants, one string per line. */
export function drawnTable(sources: readonly DrawnSource[]): string[] {
  const rows = sources.map(({ source, errors: of, inside, width, memory }) => {
    const sizes = of.map(Math.abs);
    return [
      source,
      String(of.length),
      percent(meanSize(of)),
      percent(
        quantile(
          [...sizes].sort((a, b) => a - b),
          0.5,
        ),
      ),
      signed({ measured: 1, predicted: 1 + of.reduce((sum, error) => sum + error, 0) / of.length }),
      percent(inside),
      `±${percent(width)}`,
      memory.length === 0 ? '' : `${percent(meanSize(memory))} of ${memory.length}`,
    ];
  });
  const header = ['drawn source', 'rows', 'step, mean error', 'median', 'mean of errors', 'inside', 'range', 'memory, mean error'];
  return table(header, 1, rows);
}

/** The table of PipeTransformer's speed-ups in docs/elastic.md, one string per line. */
export function elasticTable(rows: readonly ElasticRow[]): string[] {
  const range = (least: string, most: string): string => (least === most ? '–' : `${least} to ${most}`);
  const cells = rows.map(({ run, what, published, planned, least, most }) => [
    run,
    what,
    published.toFixed(2),
    planned.toFixed(2),
    range(least.toFixed(2), most.toFixed(2)),
  ]);
  return table(['PipeTransformer', 'speed-up by', 'published', 'planned', 'over what is assumed'], 2, cells);
}

/** The table of the CIFAR-10 log in docs/elastic.md, one string per line: seconds of training. */
export function loggedTable(epochs: readonly LoggedEpoch[]): string[] {
  const cells = epochs.map((epoch, index) => [
    `epoch ${index} of the CIFAR-10 log`,
    epoch.isSteady ? 'as the one before' : 'fills the cache',
    epoch.measured.toFixed(0),
    epoch.predicted.toFixed(1),
    signed(epoch),
  ]);
  return table(['seconds of', 'runs', 'logged', 'planned', 'error'], 2, cells);
}

/** The table of micro-batches in docs/elastic.md, one string per line. */
export function microBatchTable(rows: readonly MicroBatchRow[]): string[] {
  const cells = rows.map(({ study, microBatches, measured, predicted }) => [
    study,
    String(microBatches),
    percent(measured),
    percent(predicted),
  ]);
  return table(['pipeline', 'micro-batches', 'rate over the best, measured', 'planned'], 1, cells);
}

/** The table of calibrations in docs/accuracy.md, one string per line. */
export function calibrationTable(found: readonly Calibration[]): string[] {
  const rows = found.map(({ family, id, before, after, inside }) => [family, id, percent(before), percent(after), percent(inside)]);
  return table(['calibrated source', 'run that was measured', 'other runs before', 'other runs after', 'inside their range'], 2, rows);
}

/**
 * The table of TeraPipe's ten settings in docs/accuracy.md, one string per line: measured latency, seconds, and our predictions of whole
 * sequences, of the slices of the paper and of our own; and what slices gain. Its last row has the mean errors.
 */
export function terapipeTable(): string[] {
  const [plans, gains, ownGains] = [terapipePlanRows(), speedUps(), planSpeedUps()];
  const times = (ratio: number): string => `${ratio.toFixed(2)}x`;
  const predicted = (row: Row | undefined, text: (value: number) => string): string =>
    row === undefined ? '' : `${text(row.predicted)} (${signed(row)})`;
  const rows = terapipeRows().map(({ setting: { data, pipeline, tensor, recalled }, whole, sliced }, index) => {
    const measured = (row: Row, isRecalled: boolean): string => `${isRecalled ? 'recalled: ' : ''}${seconds(row.measured)}`;
    const isSlicedRecalled = recalled.includes('sliced_ms') || recalled.includes('lengths');
    return [
      whole.name,
      `${data} × ${pipeline} × ${tensor} = ${data * pipeline * tensor}`,
      measured(whole, recalled.includes('whole_ms')),
      predicted(whole, seconds),
      sliced === null ? 'as whole' : measured(sliced, isSlicedRecalled),
      sliced === null ? 'as whole' : predicted(sliced, seconds),
      predicted(plans[index], seconds),
      times(gains[index]?.measured ?? NaN),
      predicted(gains[index], times),
      predicted(ownGains[index], times),
    ];
  });
  const mean = (of: readonly Row[]): string => `${(100 * errors(of).mean).toFixed(1)} %`;
  const ofWhole = mean(terapipeRows().map(({ whole }) => whole));
  const ofSliced = mean(terapipeRows().flatMap(({ sliced }) => sliced ?? []));
  const columns = [
    'whole, measured',
    'predicted',
    'sliced, measured',
    "paper's slices",
    'our slices',
    'speed-up, measured',
    "paper's slices",
    'our slices',
  ];
  return table(['setting', 'data × stages × tensor', ...columns], 2, [
    ...rows,
    ['mean error', '', '', ofWhole, '', ofSliced, mean(plans), '', mean(gains), mean(ownGains)],
  ]);
}

/** The table of equal slices in docs/accuracy.md, one string per line: TeraPipe's Fig. 6, seconds. */
export function uniformTable(): string[] {
  const rows = uniformRows().map((row) => [
    String(row.setting),
    String(row.slices),
    seconds(row.measured),
    seconds(row.predicted),
    signed(row),
  ]);
  return table(['Fig. 6, setting', 'equal slices', 'measured', 'predicted', 'error'], 0, rows);
}

/** The table of longer sequences in docs/accuracy.md, one string per line: TeraPipe's Fig. 7, seconds. */
export function longerTable(): string[] {
  const rows = longerRows().map(({ tokens, whole, sliced }) => {
    const of = (row: Row): readonly string[] => [seconds(row.measured), `${seconds(row.predicted)} (${signed(row)})`];
    return [String(tokens), ...of(whole), ...of(sliced)];
  });
  return table(['Fig. 7, tokens', 'whole, measured', 'predicted', 'sliced, measured', 'our plan, predicted'], 0, rows);
}

/**
 * The least and the largest error of rows that all err to one side, in whole percent. `side` of predicted by measured is how far a row errs
 * to that side.
 */
function range(rows: readonly Compared[], side: (ratio: number) => number): string {
  const found = rows.map(({ measured, predicted }) => Math.round(100 * side(predicted / measured)));
  return `${Math.min(...found)} to ${Math.max(...found)} %`;
}

/** Sentences of docs/accuracy.md that hold figures of their own. */
export function accuracyClaims(): readonly string[] {
  const dense = nemoRows().filter(({ system, mixture }) => system === 'DGX-H100' && !mixture);
  const nemotron = nemoRows().filter(({ name }) => name.includes('Nemotron_3_Nano'));
  const tooFast = terapipeRows().filter(({ whole: { measured, predicted } }) => predicted < 0.85 * measured);
  const whole = tooFast.map(({ whole: row }) => row);
  if (nemotron.length !== 10) throw new Error(`${nemotron.length} rows of Nemotron 3 Nano, not ten`);
  if (tooFast.map(({ setting: { setting } }) => setting).join() !== '2,4') throw new Error('other settings than 2 and 4');
  const gained = [speedUps(), planSpeedUps()].map((rows) => `${(100 * errors(rows).mean).toFixed(1)} %`);
  return [
    `the speed-up errs by ${gained.join(' with the slices of the paper and by ')} with our own`,
    `dense models on H100 come out ${range(dense, (ratio) => 1 - ratio)} too slow`,
    `The ten rows of Nemotron 3 Nano, Mamba-2 with experts and a little attention, come out ${range(nemotron, (ratio) => ratio - 1)} too fast`,
    `Settings 2 and 4, with two replicas and tensor parallelism over 8, are predicted ${range(whole, (ratio) => 1 - ratio)} too fast`,
  ];
}

/** Cells of a Markdown table without the padding a formatter adds. */
export function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** Where the table whose first line has these cells is in a text, by lines; throws where it does not. */
function placeOf(lines: readonly string[], header: string): { readonly start: number; readonly end: number } {
  const start = lines.findIndex((line) => cellsOf(line).join('|') === cellsOf(header).join('|'));
  if (start < 0) throw new Error(`There is no table with the columns ${header}`);
  const length = lines.slice(start).findIndex((line) => !line.startsWith('|'));
  return { start, end: length < 0 ? lines.length : start + length };
}

/** The lines of a document's table that has the same columns. */
export function tableIn(document: string, table: readonly string[]): readonly string[] {
  const lines = document.split('\n');
  const { start, end } = placeOf(lines, table[0] ?? '');
  return lines.slice(start, end);
}

/** A document with its tables as they are now, for a formatter to pad. */
export function withTables(document: string, tables: readonly (readonly string[])[]): string {
  return tables.reduce((text, table) => {
    const lines = text.split('\n');
    const { start, end } = placeOf(lines, table[0] ?? '');
    return [...lines.slice(0, start), ...table, ...lines.slice(end)].join('\n');
  }, document);
}

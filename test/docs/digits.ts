// Tables and pictures of docs/elastic.md from what test/torch/digits.py measured (docs/elastic/digits.json).
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { markdownTable } from './markdown';

interface DigitsEpoch {
  readonly epoch: number;
  readonly frozenLayers: number;
  readonly pipelineLength: number;
  readonly replicas: number;
  readonly accuracy: number;
  readonly cache: { readonly state: string; readonly computed: number; readonly advanced: number; readonly read: number };
  readonly epochMs: number;
  readonly plannedMs: number;
  /** Of all processes together; planned only for runs with all mechanisms or none. */
  readonly processorMs: number;
  readonly plannedWorkMs?: number;
}

interface DigitsRun {
  readonly name: string;
  readonly alpha: string;
  /** What is switched on, as `terapipe elastic --json` names it. */
  readonly variant: string;
  readonly epochs: readonly DigitsEpoch[];
}

interface Digits {
  readonly machine: string;
  readonly torch: string;
  readonly date: string;
  readonly samples: number;
  readonly testSamples: number;
  readonly layers: number;
  readonly batch: number;
  readonly staticSamplesPerSecond: number;
  readonly runs: readonly DigitsRun[];
}

/** A file of docs/elastic. */
interface Picture {
  readonly name: string;
  readonly text: string;
}

interface Line {
  readonly name: string;
  readonly values: readonly number[];
  readonly isPlanned?: boolean;
  /** Of the color. */
  readonly number: number;
}

/** What was measured. */
export function readDigits(): Digits {
  return JSON.parse(readFileSync(path.join(import.meta.dirname, '../../docs/elastic/digits.json'), 'utf8')) as Digits;
}

const section = /(<!-- digits -->\n)[\s\S]*?(<!-- end of digits -->)/;

/** docs/elastic.md with the tables of the run. */
export function withDigits(document: string, digits: Digits): string {
  return document.replace(section, (_, start: string, end: string) => `${start}\n${tables(digits).join('\n')}\n\n${end}`);
}

export function digitsPictures({ runs }: Digits): readonly Picture[] {
  const byAlpha = runs.filter(({ variant }) => variant === 'none' || variant === 'all');
  const wrong = byAlpha.map(({ name, epochs }, number) => ({ name, number, values: epochs.map(({ accuracy }) => 100 * (1 - accuracy)) }));
  const times = byAlpha.flatMap(({ name, epochs }, number): Line[] => [
    { name, number, values: epochs.map(({ processorMs }) => processorMs / 1e3) },
    { name: `${name}, planned`, number, values: epochs.map(({ plannedWorkMs = NaN }) => plannedWorkMs / 1e3), isPlanned: true },
  ]);
  return [
    { name: 'digits-accuracy.svg', text: lineChart('Test images with a wrong class, %, by epoch', wrong) },
    { name: 'digits-epochs.svg', text: lineChart('Processor seconds of an epoch: measured, and planned (dashed)', times) },
    { name: 'digits-mechanisms.svg', text: barChart('Seconds of epochs 1 on: measured, and planned (outlined)', breakdown(runs)) },
  ];
}

/** The static run, and those of alpha 1/3 by what is switched on. */
function breakdown(runs: readonly DigitsRun[]): readonly DigitsRun[] {
  const order = ['none', 'freezing', 'pipe', 'pipe-cache', 'pipe-dp', 'all'];
  return order.flatMap((variant) =>
    runs
      .filter((run) => run.variant === variant && (variant !== 'all' || run.alpha === '1/3'))
      .map((run) => ({ ...run, name: variantName(run) })),
  );
}

function variantName({ variant, name }: DigitsRun): string {
  return variant === 'all' ? 'all' : name;
}

/** Seconds of the epochs after the first, in which PyTorch imports parts of itself. */
function seconds({ epochs }: DigitsRun, key: 'epochMs' | 'plannedMs' | 'processorMs' | 'plannedWorkMs'): number {
  return epochs.slice(1).reduce((sum, { [key]: ms = NaN }) => sum + ms, 0) / 1e3;
}

function tables(digits: Digits): readonly string[] {
  const { runs } = digits;
  const third = runs.find(({ name }) => name === 'alpha 1/3');
  const byAlpha = runs.filter(({ variant }) => variant === 'none' || variant === 'all');
  return [
    `Measured on ${digits.date}: ${digits.machine}, four processes on gloo, PyTorch ${digits.torch}. Planned from the rate of the static run, ${digits.staticSamplesPerSecond.toFixed(0)} images a second.`,
    '',
    ...runTable('static and elastic', byAlpha, runs[0]),
    '',
    ...runTable('alpha 1/3, mechanisms', breakdown(runs), runs[0]),
    '',
    ...(third === undefined ? [] : epochTable(third)),
    '',
    ...mechanismsTable(breakdown(runs)),
  ];
}

function runTable(title: string, rows: readonly DigitsRun[], baseline: DigitsRun | undefined): readonly string[] {
  return markdownTable(
    [title, 'accuracy', 'seconds', 'speed-up', 'planned, 4 GPUs', 'processor seconds', 'less by', 'planned'],
    rows.map((run) => {
      const gain = (key: 'epochMs' | 'plannedMs' | 'processorMs' | 'plannedWorkMs'): string => {
        const times = baseline === undefined ? NaN : seconds(baseline, key) / seconds(run, key);
        return Number.isNaN(times) ? '' : `${times.toFixed(2)}x`;
      };
      return [
        run.name,
        `${(100 * (run.epochs.at(-1)?.accuracy ?? NaN)).toFixed(1)} %`,
        seconds(run, 'epochMs').toFixed(1),
        gain('epochMs'),
        gain('plannedMs'),
        seconds(run, 'processorMs').toFixed(1),
        gain('processorMs'),
        gain('plannedWorkMs'),
      ];
    }),
  );
}

function epochTable({ epochs }: DigitsRun): readonly string[] {
  return markdownTable(
    ['epoch of alpha 1/3', 'frozen', 'pipelines', 'cache', 'seconds', 'planned, 4 GPUs', 'processor seconds', 'planned', 'error'],
    epochs.map(({ epoch, frozenLayers, replicas, pipelineLength, cache, epochMs, plannedMs, processorMs, plannedWorkMs = NaN }) => [
      String(epoch),
      String(frozenLayers),
      `${replicas} x ${pipelineLength}`,
      cache.advanced > 0 ? 'advanced' : cache.state === 'none' ? '' : cache.state,
      ...[epochMs, plannedMs, processorMs, plannedWorkMs].map((ms) => (ms / 1e3).toFixed(2)),
      `${plannedWorkMs > processorMs ? '+' : '−'}${Math.abs(100 * (plannedWorkMs / processorMs - 1)).toFixed(0)} %`,
    ]),
  );
}

/** Seconds of each epoch, and those that are planned, by what is switched on. */
function mechanismsTable(runs: readonly DigitsRun[]): readonly string[] {
  const epochs = runs[0]?.epochs ?? [];
  const cells = (index: number): readonly string[] =>
    runs.map((run) => {
      const { epochMs = NaN, plannedMs = NaN } = run.epochs[index] ?? {};
      return `${(epochMs / 1e3).toFixed(2)} (${(plannedMs / 1e3).toFixed(2)})`;
    });
  return markdownTable(
    ['seconds of an epoch (planned, 4 GPUs)', ...runs.map(({ name }) => name)],
    epochs.map(({ epoch }, index) => [String(epoch), ...cells(index)]),
  );
}

const [width, height, left, bottom, top, right] = [520, 320, 48, 36, 32, 190];
const colors = ['#59636e', '#0969da', '#1a7f37', '#bc4c00', '#8250df', '#9a6700'];
const style =
  'text{font:11px sans-serif;fill:#1f2328}.title{font-weight:600;font-size:13px}.paper{fill:#fff}.grid{stroke:#d1d9e0;fill:none}@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.paper{fill:#0d1117}.grid{stroke:#3d444d}}';

const inner = { width: width - left - right, height: height - bottom - top };

function lineChart(title: string, lines: readonly Line[]): string {
  const most = Math.max(...lines.flatMap(({ values }) => values));
  const count = Math.max(...lines.map(({ values }) => values.length));
  const x = (epoch: number): string => (left + (epoch / Math.max(1, count - 1)) * inner.width).toFixed(1);
  const drawn = lines.map(({ values, number, isPlanned = false }) => {
    const points = values.map((value, epoch) => `${x(epoch)} ${heightAt(value, most)}`);
    return `<path fill="none" stroke="${colors[number] ?? ''}" stroke-width="2"${isPlanned ? ' stroke-dasharray="4 4"' : ''} d="M${points.join('L')}"/>`;
  });
  const epochs = Array.from({ length: count }, (_, epoch) => text(x(epoch), height - bottom + 16, 'middle', String(epoch)));
  const names = lines.filter(({ isPlanned = false }) => !isPlanned).map(({ name, number }, index) => legend(index, number, name));
  return picture(title, [...grid(most), ...drawn, ...epochs, text(left + inner.width / 2, height - 6, 'middle', 'epoch'), ...names]);
}

function barChart(title: string, runs: readonly DigitsRun[]): string {
  const most = Math.max(...runs.flatMap((run) => [seconds(run, 'epochMs'), seconds(run, 'plannedMs')]));
  const step = inner.width / runs.length;
  const bar = (index: number, place: number, value: number, paint: string): string => {
    const y = heightAt(value, most);
    const depth = (height - bottom - Number(y)).toFixed(1);
    return `<rect x="${(left + step * (index + place)).toFixed(1)}" y="${y}" width="${(0.36 * step).toFixed(1)}" height="${depth}" ${paint}/>`;
  };
  const drawn = runs.flatMap((run, index) => [
    bar(index, 0.1, seconds(run, 'epochMs'), `fill="${colors[index] ?? ''}"`),
    bar(index, 0.5, seconds(run, 'plannedMs'), `fill="none" stroke="${colors[index] ?? ''}" stroke-width="2"`),
    text((left + step * (index + 0.5)).toFixed(1), height - bottom + 16, 'middle', String(index + 1)),
  ]);
  return picture(title, [...grid(most), ...drawn, ...runs.map(({ name }, index) => legend(index, index, `${index + 1} ${name}`))]);
}

function heightAt(value: number, most: number): string {
  return (height - bottom - (value / most) * inner.height).toFixed(1);
}

/** Five lines from 0 to about the largest value. */
function grid(most: number): readonly string[] {
  const rough = most / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5, 10].find((each) => each * unit >= rough) ?? 10);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step).flatMap((value) => [
    `<path class="grid" d="M${left} ${heightAt(value, most)}H${left + inner.width}"/>`,
    text(left - 6, Number(heightAt(value, most)) + 4, 'end', String(Number(value.toFixed(3)))),
  ]);
}

function legend(index: number, number: number, name: string): string {
  const y = top + 16 * index;
  const from = left + inner.width + 10;
  return `<path stroke="${colors[number] ?? ''}" stroke-width="3" d="M${from} ${y}h12"/>${text(from + 16, y + 4, 'start', name)}`;
}

function text(x: number | string, y: number, anchor: string, content: string): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${content}</text>`;
}

function picture(title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${title}</title>`,
    `<style>${style}</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...parts,
    `<text class="title" x="${left}" y="18">${title}</text>`,
    '</svg>',
    '',
  ].join('\n');
}

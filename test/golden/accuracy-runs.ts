import { statedRange, type ErrorRange } from '../../src/core/time-model/error-bars';
import { measuredKinds, unseenKinds } from '../../src/core/time-model/measured-kinds';
import { groupBy, type MeasuredRun } from './measured-runs';
import type { Row } from './rows';
import { longerRows, terapipePlan, terapipeRows, terapipeSettings, uniformRows, type TeraPipeSetting } from './terapipe';

/** A file of docs/accuracy, which `npm run golden -- --write-readme` writes. */
export interface AccuracyFile {
  readonly name: string;
  readonly text: string;
}

interface Compared extends Pick<MeasuredRun, 'source' | 'name' | 'link' | 'unit' | 'measured' | 'predicted'> {
  /** The range of what the run may take over its prediction. */
  readonly bar: Pick<ErrorRange, 'low' | 'high'>;
}

/** Every measured run: a page with a table for each source, and a picture for each, predicted over measured. */
export function accuracyFiles(runs: readonly MeasuredRun[]): readonly AccuracyFile[] {
  const ranges = { kinds: measuredKinds, unseen: unseenKinds };
  const bySource = groupBy(
    [...runs.map((run): Compared => ({ ...run, bar: statedRange(run.kind, ranges) })), ...terapipeRuns()],
    ({ source }) => source,
  );
  const sections = [...bySource].map(([source, same]) => section(source, same));
  const pictures = [...bySource].map(([source, same]) => ({ name: pictureName(source), text: picture(source, same) }));
  return [{ name: 'README.md', text: [...introduction, ...sections].join('\n') }, ...pictures];
}

/** All that the TeraPipe paper measured: its settings whole and sliced, Fig. 6 and Fig. 7, each with the range of its setting's plan. */
function terapipeRuns(): readonly Compared[] {
  const of = (name: string, setting: TeraPipeSetting, { measured, predicted }: Row): Compared => {
    const [low, high] = terapipePlan(setting).cost.range;
    const link = 'https://arxiv.org/abs/2102.07988';
    return { source: 'TeraPipe', name, link, unit: 's', measured: measured / 1e3, predicted: predicted / 1e3, bar: { low, high } };
  };
  const settingOf = (wanted: number): TeraPipeSetting => {
    const setting = terapipeSettings.find((row) => row.setting === wanted);
    if (setting === undefined) throw new Error(`no setting ${wanted}`);
    return setting;
  };
  const recalledIn = ({ recalled }: TeraPipeSetting, ...columns: readonly string[]): string =>
    columns.some((column) => recalled.includes(column)) ? ' (recalled)' : '';
  return [
    ...terapipeRows().flatMap(({ setting, whole, sliced }) => [
      of(`${whole.name}, whole${recalledIn(setting, 'whole_ms')}`, setting, whole),
      ...(sliced === null ? [] : [of(`${sliced.name}, sliced${recalledIn(setting, 'sliced_ms', 'lengths')}`, setting, sliced)]),
    ]),
    ...uniformRows().map((row) => of(`Fig. 6: (${row.setting}) in ${row.slices} equal slices`, settingOf(row.setting), row)),
    ...longerRows().flatMap(({ tokens, whole, sliced }) => [
      of(`Fig. 7: (5) with ${tokens} tokens, whole`, settingOf(5), whole),
      of(`Fig. 7: (5) with ${tokens} tokens, sliced, ours as we plan it`, settingOf(5), sliced),
    ]),
  ];
}

const introduction = [
  '# Every measured run and its prediction',
  '',
  'Written by `npm run golden -- --write-readme`. Each run links to where it was published. The range is what a plan states: it is made of what runs of the same framework, generation of GPU, kind of model and number format took over what is predicted of them without their source; that of TeraPipe is wider, as on any network as slow as theirs. In the pictures both axes are logarithmic, the line is where prediction and measurement agree, and a run whose range misses the measurement is drawn as a diamond.',
  '',
];

const pictureName = (source: string): string => `${source.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.svg`;

function section(source: string, runs: readonly Compared[]): string {
  const rows = runs.map((run) => {
    const { name, link, unit } = run;
    const error = run.predicted / run.measured - 1;
    return [
      `[${name.replaceAll('|', '\\|')}](${link})`,
      valueText(run.measured, unit),
      valueText(run.predicted, unit),
      rangeOf(run)
        .map((value) => valueText(value, unit))
        .join(' to '),
      `${error > 0 ? '+' : error < 0 ? '−' : ''}${Math.abs(100 * error).toFixed(1)} %`,
    ];
  });
  const [{ unit } = { unit: 's' }] = runs;
  const header = ['run', `measured, ${unit}`, 'predicted', 'range', 'error'];
  const lines = [header, ['---', '---:', '---:', '---:', '---:'], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return [`## ${source}`, '', `![${source}: predicted over measured](${pictureName(source)})`, '', ...lines, ''].join('\n');
}

const valueText = (value: number, unit: MeasuredRun['unit']): string =>
  unit === 's' ? (value < 1000 ? value.toPrecision(3) : value.toFixed(0)) : Math.round(value).toLocaleString('en-US');

/** What the run takes by its plan, from the least to the most. */
function rangeOf({ predicted, bar, unit }: Compared): [low: number, high: number] {
  const { low, high } = bar;
  return unit === 's' ? [predicted * low, predicted * high] : [predicted / high, predicted / low];
}

const [width, height, left, bottom, top, right] = [520, 380, 64, 48, 28, 16];

function picture(source: string, runs: readonly Compared[]): string {
  const values = runs.flatMap((run) => [run.measured, run.predicted, ...rangeOf(run)]);
  const [least, most] = [0.9 * Math.min(...values), 1.1 * Math.max(...values)];
  const share = (value: number): number => Math.log(value / least) / Math.log(most / least);
  const x = (value: number): string => (left + share(value) * (width - left - right)).toFixed(1);
  const y = (value: number): string => (height - bottom - share(value) * (height - bottom - top)).toFixed(1);
  const unit = runs[0]?.unit ?? 's';
  const ticks = ticksWithin(least, most);
  const grid = ticks.flatMap((tick) => [
    `<path class="grid" d="M${x(tick)} ${y(least)}V${y(most)}M${x(least)} ${y(tick)}H${x(most)}"/>`,
    `<text x="${x(tick)}" y="${height - bottom + 16}" text-anchor="middle">${tickText(tick)}</text>`,
    `<text x="${left - 6}" y="${y(tick)}" dy="4" text-anchor="end">${tickText(tick)}</text>`,
  ]);
  const points = runs.map((run) => {
    const [low, high] = rangeOf(run);
    const isInside = run.measured >= low && run.measured <= high;
    const bar = `<path class="bar" d="M${x(run.measured)} ${y(low)}V${y(high)}"/>`;
    const at = `${x(run.measured)} ${y(run.predicted)}`;
    const mark = isInside
      ? `<circle class="in" cx="${x(run.measured)}" cy="${y(run.predicted)}" r="3"/>`
      : `<path class="out" d="M${at}m0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>`;
    return bar + mark;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${source}: predicted over measured, ${unit}, both logarithmic</title>`,
    `<style>${style}</style>`,
    `<rect class="paper" width="${width}" height="${height}"/>`,
    ...grid,
    `<path class="equal" d="M${x(least)} ${y(least)}L${x(most)} ${y(most)}"/>`,
    ...points,
    `<text x="${left}" y="18" class="title">${source}</text>`,
    `<text x="${(left + width - right) / 2}" y="${height - 10}" text-anchor="middle">measured, ${unit}</text>`,
    `<text transform="translate(14 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">predicted, ${unit}</text>`,
    '</svg>',
    '',
  ].join('\n');
}

const tickText = (value: number): string => value.toLocaleString('en-US');

/** 1, 2 and 5 times powers of ten, or only the powers where there would be too many. */
function ticksWithin(least: number, most: number): readonly number[] {
  const decades = Array.from(
    { length: Math.ceil(Math.log10(most)) - Math.floor(Math.log10(least)) + 1 },
    (_, index) => Math.floor(Math.log10(least)) + index,
  );
  const all = decades.flatMap((decade) => [1, 2, 5].map((digit) => Number(`${digit}e${decade}`)));
  const within = all.filter((tick) => tick >= least && tick <= most);
  return within.length > 8 ? within.filter((tick) => Number.isInteger(Math.log10(tick))) : within;
}

const style = [
  'text{font:11px sans-serif;fill:#1f2328}.title{font-weight:600;font-size:13px}.paper{fill:#fff}.grid{stroke:#d1d9e0;fill:none}',
  '.equal{stroke:#59636e;fill:none}.bar{stroke:#0969da;stroke-opacity:.45;fill:none}.in{fill:#0969da}.out{fill:#bc4c00}',
  '@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.paper{fill:#0d1117}.grid{stroke:#3d444d}.equal{stroke:#9198a1}',
  '.bar{stroke:#4493f8}.in{fill:#4493f8}.out{fill:#f0883e}}',
].join('');

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fittedRates } from '../../../src/core/cluster/gpus/fitted-rates';
import { measuredKinds, unseenKinds } from '../../../src/core/time-model/measured-kinds';
import { maximum, minimum } from '../../../src/core/numbers';
import { measuredMemory, measuredMemoryOfAll } from '../../../src/core/memory-model/measured-memory';
import { memoryRuns, residualsOf, residualTable } from '../../golden/memory-residuals';
import { fit } from '../../golden/fit/left-out';
import { drawnRows, drawnSources } from '../../golden/drawn';
import { runtimeProfile } from '../../../src/core/domain/runtime';
import { coverage, rangesOf } from '../../golden/measured-kinds';
import {
  accuracyClaims,
  accuracyTable,
  calibrationTable,
  elasticTable,
  loggedTable,
  microBatchTable,
  cellsOf,
  drawnTable,
  fewestInReadme,
  longerTable,
  publishedTable,
  rangesTable,
  readmeTable,
  tableIn,
  terapipeInReadme,
  terapipeTable,
  uniformTable,
} from '../../golden/readme-table';
import { calibrations } from '../../golden/calibration';
import { alphaSweep, elasticRows, loggedEpochs, microBatchRows } from '../../golden/elastic';
import { groupBy, measuredRuns } from '../../golden/measured-runs';
import { errors } from '../../golden/rows';
import { wildRows } from '../../golden/wild';
import { accuracyFiles } from '../../golden/accuracy-runs';
import { readTeraPipeSamples } from '../../golden/terapipe';

const read = (file: string): string => readFileSync(path.join(import.meta.dirname, '../../..', file), 'utf8');
const accuracy = read('docs/accuracy.md');

const errorSize = (errors: readonly number[]): number => errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length;

describe('README, docs/accuracy.md and docs/elastic.md (npm run golden -- --write-readme writes their tables)', () => {
  before(readTeraPipeSamples);

  /** All but the rule below the header, whose width a formatter chooses. */
  const rowsOf = (lines: readonly string[]): string[][] => lines.filter((_, index) => index !== 1).map(cellsOf);

  it('shows the mean and worst error of every set of measured runs as they are now', () => {
    const now = accuracyTable();
    assert.equal(now.length, 2 + 10);
    assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
  });

  it('has ranges made of every run predicted without its source, which hold 75 to 90 %, at most 20 % wide to a side', async () => {
    const { runs } = await fit();
    const { kinds, unseen } = rangesOf(runs);
    assert.deepEqual([measuredKinds, unseenKinds], [kinds, unseen]);
    const shares = coverage(runs);
    const overall = (of: 'inside' | 'width'): number => shares.reduce((sum, share) => sum + (share.rows / runs.length) * share[of], 0);
    assert.ok(overall('inside') > 0.75 && overall('inside') < 0.9, String(overall('inside')));
    assert.ok(overall('width') <= 0.2, String(overall('width')));
  });

  it('has constants that a fit to all runs gives again, within half of their uncertainty', async () => {
    const { solution } = await fit();
    for (const [gpu, rates] of Object.entries(fittedRates))
      for (const [name, { value, percent }] of Object.entries<{ readonly value: number; readonly percent: number }>(rates)) {
        const again = Math.exp(solution.logs[`${gpu}.${name}`] ?? NaN);
        assert.ok(Math.abs(again / value - 1) <= percent / 200 + 0.005, `${gpu}.${name}: ${value}, now ${again}`);
      }
  });

  it('is what searches keep free by runtime, which nine of ten measured runs would need no more than', async () => {
    const runs = await memoryRuns();
    const { own, all } = residualsOf(runs);
    assert.deepEqual([measuredMemory, measuredMemoryOfAll], [own, all]);
    const now = residualTable(runs);
    assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
    for (const { runtime, over } of own) {
      const same = runs.filter((run) => run.runtime === runtime);
      const held = same.filter(({ ratio }) => ratio <= over).length / same.length;
      assert.ok(held >= 0.85 && held <= 0.95, `${runtime} ${held}`);
    }
  });

  it('shows the published runs of other frameworks, what the ranges hold, and every run with its picture as they are now', async () => {
    const { runs } = await fit();
    for (const now of [publishedTable(await wildRows()), rangesTable(runs), calibrationTable(await calibrations())])
      assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
    for (const { name, text } of accuracyFiles(runs)) assert.equal(read(`docs/accuracy/${name}`), text, name);
  });

  it('shows runs that were drawn after the constants as they are now', async () => {
    const now = drawnTable(drawnSources(await drawnRows()));
    assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
  });

  it('has in the reason for a range what drawn runs of a runtime took over the plan', async () => {
    const rows = (await drawnRows()).filter(({ case: { family } }) => family === 'nanotron');
    const ratios = rows.map(({ case: { seconds }, predicted: { iterationMs } }) => (1e3 * (seconds ?? NaN)) / iterationMs);
    const rounded = [minimum(ratios), maximum(ratios)].map((ratio) => Number(ratio.toFixed(1)));
    assert.deepEqual(rounded, runtimeProfile({ runtime: 'nanotron' }).publishedOverPredicted);
  });

  it('shows equal slices and longer sequences of TeraPipe as they are now', () => {
    for (const now of [uniformTable(), longerTable()]) assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
  });

  it("shows PipeTransformer's speed-ups compared with ours as they are now, those by alpha within 10 % in the mean", async () => {
    const rows = await elasticRows();
    const now = elasticTable(rows);
    assert.deepEqual(rowsOf(tableIn(read('docs/elastic.md'), now)), rowsOf(now));
    assert.ok(errors(alphaSweep(rows)).mean < 0.1);
    const { planned = NaN } = rows.find(({ run, what }) => run.startsWith('ImageNet') && what.startsWith('minutes')) ?? {};
    assert.ok(Math.abs(planned / 1590 - 1) < 0.1, 'nothing of the baseline of ImageNet is fitted, and yet it is met');
  });

  it('shows the epochs of the CIFAR-10 log as they are now: steady ones within 10 %, all within 20 %; and the micro-batches', async () => {
    const logged = await loggedEpochs();
    assert.deepEqual(rowsOf(tableIn(read('docs/elastic.md'), loggedTable(logged))), rowsOf(loggedTable(logged)));
    assert.equal(logged.filter(({ isSteady }) => isSteady).length, 6);
    assert.ok(errors(logged.filter(({ isSteady }) => isSteady)).worst < 0.1);
    assert.ok(errors(logged).worst < 0.2);
    const studied = microBatchTable(await microBatchRows());
    assert.deepEqual(rowsOf(tableIn(read('docs/elastic.md'), studied)), rowsOf(studied));
  });

  it('shows every source of at least eight runs in README, left out whole, the worst first', async () => {
    const now = readmeTable((await fit()).runs, drawnSources(await drawnRows()));
    assert.equal(now.length, 2 + 4);
    assert.deepEqual(rowsOf(tableIn(read('README.md'), now)), rowsOf(now));
  });

  it('names in README every source that the data has eight rows of, and the worst of them first', async () => {
    const { runs } = await fit();
    const sources = groupBy(await measuredRuns(), ({ source }) => source);
    const wanted = [...sources].filter(([, rows]) => rows.length >= fewestInReadme).map(([source]) => source);
    const drawn = drawnSources(await drawnRows());
    const wantedDrawn = drawn.filter(({ isAll, errors: of }) => !isAll && of.length >= fewestInReadme);
    const named = tableIn(read('README.md'), readmeTable(runs, drawn))
      .slice(2)
      .flatMap((line) => (cellsOf(line)[1] ?? '').split('; '))
      .map((text) => /^(.*) \(([\d.]+) %\)$/.exec(text));
    const names = named.map((match) => match?.[1]);
    assert.deepEqual([...names].sort(), [...wanted, ...wantedDrawn.map(({ source }) => source), terapipeInReadme].sort());
    const errorOf = new Map(coverage(runs).map(({ source, error }) => [source, 100 * error]));
    const shown = named.map((match) => Number(match?.[2]));
    assert.equal(shown[0], maximum(shown));
    for (const [index, name] of names.entries()) {
      const leftOut = errorOf.get(name ?? '');
      if (leftOut !== undefined)
        assert.ok(Math.abs((shown[index] ?? NaN) - leftOut) < 0.06, `${name}: ${shown[index]}, left out ${leftOut}`);
    }
  });

  it('names in README the worst sources of fewer rows, worse than 20 % as they are now', async () => {
    const left = coverage((await fit()).runs);
    const drawn = drawnSources(await drawnRows()).filter(({ isAll }) => !isAll);
    const all = [...left, ...drawn.map(({ source, errors: of }) => ({ source, rows: of.length, error: errorSize(of) }))];
    const worst = all.filter(({ rows, error }) => rows < fewestInReadme && error >= 0.2).sort((a, b) => b.error - a.error);
    const sentence = /^Sources of under 8 runs err by up to (.*?)\. \[/mu.exec(read('README.md'))?.[1] ?? '';
    const named = [...sentence.matchAll(/([\d.]+) % \(([^,]+), (\d+)/gu)].map(([, error, source, rows]) => [source, Number(rows), error]);
    assert.deepEqual(
      named,
      worst.map(({ source, rows, error }) => [source, rows, (100 * error).toFixed(1)]),
    );
  });

  it('shows the predictions of the ten TeraPipe settings as they are now', () => {
    const now = terapipeTable();
    assert.equal(now.length, 2 + 11);
    assert.deepEqual(rowsOf(tableIn(accuracy, now)), rowsOf(now));
  });

  it('names the errors of single groups as they are now', () => {
    const text = accuracy.replace(/\s+/g, ' ');
    for (const claim of accuracyClaims()) assert.ok(text.includes(claim), claim);
  });
});

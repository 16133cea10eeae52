import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import {
  column,
  formatBytes,
  formatUsage,
  formatCount,
  formatDuration,
  formatDurationRange,
  formatNumber,
  formatPercent,
  formatRate,
  plural,
} from '../../../src/core/format';
import { sameTime } from '../../../src/core/layout-search/search-problem';
import { slowdownText } from '../../../src/core/planner/explain/slower';
import { stepPartNames, stepParts, type StepPart } from '../../../src/core/planner/explain/step-part-names';
import { say } from '../../../src/core/sentence';
import { numberedRuns, searchedOf } from './numbered-runs';

interface FoundLayout {
  readonly name: string;
  /** Only on the front. */
  readonly row?: number;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly fits: boolean;
  readonly tie: boolean;
  readonly bubbleRate: number;
  readonly tokensPerSecond: number;
  readonly mfu: number;
  readonly budget: { readonly tokens: number; readonly gpuHours: number };
  readonly parts: Readonly<Record<StepPart, number>>;
  readonly why?: string;
}

/** A search as `terapipe plan --search --json` prints it, as far as its numbers depend on each other. */
interface SearchNumbers {
  readonly plan: FoundLayout & {
    readonly rangeMs: readonly [number, number];
    readonly memory: { readonly peakBytes: number; readonly usableBytes: number };
    readonly cost: { readonly errorPercent: number };
    readonly scenario: { readonly gpus: number; readonly sequenceLength: number; readonly globalBatch: number };
  };
  readonly search: {
    readonly launched: (FoundLayout & { readonly speedup: number; readonly says: string }) | null;
    readonly paretoFront: readonly FoundLayout[];
    readonly perSchedule: readonly FoundLayout[];
    readonly runnersUp: readonly FoundLayout[];
    readonly notFitting: readonly { readonly iterationMs: number; readonly why: string }[];
    readonly improvements: readonly { readonly speedup: number; readonly says: string; readonly plan: FoundLayout | null }[];
    readonly lowerBoundMs: number;
    readonly gap: number;
    readonly proved: boolean;
    readonly counts: Readonly<Record<'families' | 'opened' | 'considered' | 'bounded' | 'overMemory' | 'evaluated' | 'tooLarge', number>>;
  };
}

const near = (a: number, b: number, what: string): void =>
  assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${what}: ${a}, ${b}`);
/** Number where rows have one, `~` or a space, step, memory, bubble. */
const tableRow = /^ {2}(?: ?(\d+)\. {2})?([~ ]) ([\d.,]+ \S+) +([\d.,]+ \S+) +([\d.,]+ %) +/u;
const line = (text: string, name: string): string => new RegExp(`^ {2}${name} +(.*)$`, 'mu').exec(text)?.[1] ?? '';
const section = (text: string, title: string): string[] =>
  (new RegExp(`^${title}.*\n((?: {2}.*\n?)+)`, 'mu').exec(text)?.[1] ?? '').split('\n').filter((each) => each !== '');

/** What a sentence on a lost layout must say of its time, of parts of its step and of its memory. */
function checkWhy({ why = '', ...plan }: FoundLayout, best: FoundLayout): void {
  assert.ok(why.startsWith(`${plan.tie ? 'within error, ' : ''}${say(slowdownText(plan.iterationMs / best.iterationMs - 1))}`), why);
  for (const part of stepParts) {
    const by = plan.parts[part] - best.parts[part];
    const found = new RegExp(`([\\d.,]+ \\S+) (more|less) ${say(stepPartNames[part])}`, 'u').exec(why);
    if (found !== null) assert.deepEqual([found[1], found[2]], [formatDuration(Math.abs(by)), by > 0 ? 'more' : 'less'], why);
  }
  const [, bytes, way] = /([\d.,]+ [KMG]iB) (more|less) memory/u.exec(why) ?? [];
  const more = plan.peakBytes - best.peakBytes;
  if (bytes !== undefined) assert.deepEqual([bytes, way], [formatBytes(Math.abs(more)), more > 0 ? 'more' : 'less'], why);
}

describe('the numbers of a search', () => {
  for (const what of ['a dense model', 'a script that does not fit', 'a TOML of TorchTitan'] as const)
    it(`agree with each other, in JSON and in words: ${what}`, async () => {
      const { json, text } = await searchedOf(numberedRuns[what]);
      const { plan, search } = json as SearchNumbers;
      const { scenario, iterationMs } = plan;
      const { paretoFront, perSchedule, runnersUp, improvements, counts, launched } = search;
      const [fastest] = paretoFront;
      assert.ok(fastest !== undefined);

      const all = [plan, ...paretoFront, ...perSchedule, ...runnersUp, ...(launched === null ? [] : [launched])];
      for (const each of all) {
        near(stepParts.reduce((sum, part) => sum + each.parts[part], 0), each.iterationMs, 'parts of the step'); // prettier-ignore
        assert.ok(stepParts.every((part) => each.parts[part] >= 0));
        near(each.parts.bubble / each.iterationMs, each.bubbleRate, 'the bubble');
        near((1e3 * scenario.globalBatch * scenario.sequenceLength) / each.iterationMs, each.tokensPerSecond, 'tokens a second');
        near((1e12 / each.tokensPerSecond) * (scenario.gpus / 3600), each.budget.gpuHours, 'GPU hours');
        assert.equal(each.tie, each.iterationMs <= iterationMs * (1 + plan.cost.errorPercent / 100), 'within error of the best');
      }
      const fitting = all.filter(({ fits }) => fits);
      assert.equal(fastest.iterationMs, Math.min(...fitting.filter((each) => each !== launched).map((each) => each.iterationMs)));
      assert.ok(plan.fits && iterationMs <= sameTime * fastest.iterationMs && plan.peakBytes <= fastest.peakBytes);
      paretoFront.slice(1).forEach((each, index) => {
        assert.ok(each.iterationMs >= paretoFront[index]!.iterationMs && each.peakBytes < paretoFront[index]!.peakBytes);
      });
      near(search.gap, fastest.iterationMs / search.lowerBoundMs - 1, 'the gap');
      assert.equal(search.proved, search.gap === 0);

      const range = plan.rangeMs.map((ms) => ms / iterationMs) as [number, number];
      assert.equal(line(text, 'step'), `${formatDuration(iterationMs)} (${formatDurationRange(iterationMs, range)})`);
      const each = formatRate(plan.tokensPerSecond / scenario.gpus);
      const gpu = scenario.gpus === 1 ? '' : ` (${each} a GPU)`;
      assert.equal(line(text, 'throughput'), `${formatRate(plan.tokensPerSecond)} tokens/s${gpu}, MFU ${formatPercent(plan.mfu)}`);
      assert.ok(line(text, 'memory').startsWith(`${formatUsage(plan.memory.peakBytes, plan.memory.usableBytes)}, fits, `));
      assert.match(
        line(text, 'training'),
        new RegExp(`^${formatCount(plan.budget.tokens)} tokens in .* ${formatCount(Math.round(plan.budget.gpuHours))} GPU hours$`, 'u'),
      );
      for (const [, name = '', share = ''] of line(text, 'costs most').matchAll(/([a-zA-Z][a-zA-Z\-2 ]+?) ([\d.,]+ %)/gu)) {
        const part = stepParts.find((each) => say(stepPartNames[each]) === name.replace(/^of the step, /u, '').trim());
        assert.ok(part !== undefined, name);
        assert.equal(share, formatPercent(plan.parts[part] / iterationMs), name);
      }

      const tables = { 'Step time against memory': paretoFront.slice(0, 12), 'Best of each schedule': perSchedule };
      for (const [title, plans] of Object.entries(tables)) {
        const rows = section(text, title);
        assert.equal(rows.length, plans.length, title);
        rows.forEach((row, index) => {
          const { tie, iterationMs: ms, peakBytes, bubbleRate, row: number } = plans[index]!;
          const [, written, mark, ...numbers] = tableRow.exec(row) ?? [];
          assert.equal(written, number === undefined ? undefined : String(number), 'the number that --row takes');
          assert.deepEqual([mark, ...numbers], [tie ? '~' : ' ', column.duration(ms), column.bytes(peakBytes), column.percent(bubbleRate)]);
        });
        const names = rows.map((row) => row.replace(tableRow, ''));
        assert.equal(new Set(names).size, names.length, `two rows look alike: ${names.join('\n')}`);
      }
      for (const each of runnersUp) checkWhy(each, plan);
      for (const { iterationMs: ms, why } of search.notFitting)
        assert.ok(why.startsWith(`at best ${formatDuration(ms)}, ${say(slowdownText(ms / iterationMs - 1))}, but needs `), why);

      assert.ok(improvements.length > 0);
      for (const { speedup, says, plan: better } of improvements) {
        if (better === null) continue;
        near(speedup, better.tokensPerSecond / fastest.tokensPerSecond, says);
        const gain = speedup >= 1.1 ? `${formatNumber(speedup)}x the tokens` : `${formatPercent(speedup - 1)} more tokens`;
        assert.ok(says.includes(gain) && says.includes(`(${formatDuration(better.iterationMs)} a step`), says);
      }
      const over =
        iterationMs === fastest.iterationMs ? '' : `, compared with the fastest layout, ${formatDuration(fastest.iterationMs)} a step`;
      assert.ok(text.includes(`\nWhat would help, each searched again${over}\n`), text);

      if (launched !== null) {
        near(launched.speedup, launched.iterationMs / iterationMs, 'the speed-up over the launched layout');
        const title = launched.fits
          ? `: ${formatDuration(launched.iterationMs)}, best ${formatDuration(iterationMs)}, ${say(slowdownText(1 / launched.speedup - 1))}`
          : `: does not fit; best that fits: ${formatDuration(iterationMs)}`;
        assert.ok(text.includes(title), section(text, 'As launched').join('\n'));
        if (launched.fits) checkWhy({ ...launched, why: launched.says }, plan);
      }
      const { families, opened, considered, bounded, overMemory, evaluated, tooLarge } = counts;
      assert.equal(families + considered, opened + bounded + overMemory + evaluated + tooLarge);
      assert.ok(
        text.includes(
          `${plural(families, 'layout')}, ${formatCount(opened)} of them cut in ${plural(considered, 'way')}: ${formatCount(overMemory)} ruled out by memory, ${formatCount(bounded)} by time, ${formatCount(evaluated)} simulated`,
        ),
      );
      assert.doesNotMatch(text, /\b0 % (slower|faster)|\b1x (over|the time)/u);
    });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { planAnswer } from '../../../src/cli/answers/plan';
import { column, formatUsage, formatDuration, formatDurationRange, formatPercent, formatRate } from '../../../src/core/format';
import { costsText, stepCosts } from '../../../src/core/planner/explain/limit-labels';
import { largestLoss } from '../../../src/core/planner/explain/losses';
import { chosenCandidate } from '../../../src/core/planner/plan';
import { stepPartNames, stepParts, type StepPart } from '../../../src/core/planner/explain/step-part-names';
import { slowdownText } from '../../../src/core/planner/explain/slower';
import { say } from '../../../src/core/sentence';
import { launchedPageLayout } from '../../../src/protocol/layout';
import { numberedRuns, plannedOf } from './numbered-runs';

/** A plan as `terapipe plan --json` prints it, as far as its numbers depend on each other. */
interface PlanNumbers {
  readonly plan: {
    readonly scenario: { readonly gpus: number };
    readonly iterationMs: number;
    readonly rangeMs: readonly [number, number];
    readonly pipelineMs: number;
    readonly gradientExchangeMs: number;
    readonly optimizerMs: number;
    readonly bubbleRate: number;
    readonly tokensPerSecond: number;
    readonly mfu: number;
    readonly fits: boolean;
    readonly memory: {
      readonly peakBytes: number;
      readonly usableBytes: number;
      readonly stages: readonly { readonly peakBytes: number; readonly usableBytes: number }[];
    };
    readonly comparisons: readonly {
      readonly name: string;
      readonly iterationMs: number;
      readonly bubbleRate: number;
      readonly peakBytes: number;
      readonly schedule: string;
      readonly id: string;
    }[];
    readonly stepParts: Readonly<Record<StepPart, number>> | null;
    readonly partsByStage: readonly Readonly<Record<StepPart, number>>[] | null;
    readonly reasons: readonly string[];
    readonly training: { readonly globalBatch: number; readonly sequenceLength: number };
    readonly assumptions: readonly {
      readonly key: string;
      readonly moves?: readonly { readonly to: string; readonly slower: number }[];
    }[];
  };
  readonly remedies?: readonly { readonly change: string; readonly iterationMs: number; readonly slower: number }[];
}

const near = (a: number, b: number, what: string): void =>
  assert.ok(Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b)), `${what}: ${a}, ${b}`);
const total = (parts: Readonly<Record<StepPart, number>>): number => stepParts.reduce((sum, part) => sum + parts[part], 0);
const line = (text: string, name: string): string => new RegExp(`^ {2}${name} +(.*)$`, 'mu').exec(text)?.[1] ?? '';

describe('the numbers of a plan', () => {
  for (const [what, file] of Object.entries(numberedRuns))
    it(`agree with each other, in JSON and in words: ${what}`, async () => {
      const planned = await plannedOf(file);
      const { json, text } = planAnswer(planned, new Map([file]), { all: true });
      const { plan, remedies = [] } = json as PlanNumbers;
      const { iterationMs, bubbleRate } = plan;

      near(plan.pipelineMs + plan.gradientExchangeMs + plan.optimizerMs, iterationMs, 'parts of the step');
      near((1e3 * plan.training.globalBatch * plan.training.sequenceLength) / iterationMs, plan.tokensPerSecond, 'tokens a second');
      assert.ok(plan.rangeMs[0] <= iterationMs && iterationMs <= plan.rangeMs[1]);
      const { partsByStage, stepParts: parts } = plan;
      assert.ok(partsByStage !== null && parts !== null);
      for (const each of partsByStage) near(total(each), iterationMs, 'what the step of a stage goes to');
      near(total(parts), iterationMs, 'what the step goes to');
      near(parts.bubble / iterationMs, bubbleRate, 'the bubble');
      for (const part of stepParts)
        near(partsByStage.reduce((sum, each) => sum + each[part], 0) / partsByStage.length, parts[part], `mean of ${part}`);

      const range = plan.rangeMs.map((ms) => ms / iterationMs) as [number, number];
      assert.equal(line(text, 'step'), `${formatDuration(iterationMs)} (${formatDurationRange(iterationMs, range)})`);
      assert.equal(line(text, 'bubble'), bubbleRate > 0 && bubbleRate < 0.001 ? '< 0.1 %' : formatPercent(bubbleRate));
      const each = formatRate(plan.tokensPerSecond / plan.scenario.gpus);
      const gpu = plan.scenario.gpus === 1 ? '' : ` (${each} a GPU)`;
      assert.equal(line(text, 'throughput'), `${formatRate(plan.tokensPerSecond)} tokens/s${gpu}, MFU ${formatPercent(plan.mfu)}`);
      assert.ok(line(text, 'memory').startsWith(formatUsage(plan.memory.peakBytes, plan.memory.usableBytes)), line(text, 'memory'));
      assert.equal(
        plan.fits,
        plan.memory.stages.every(({ peakBytes, usableBytes }) => peakBytes <= usableBytes),
      );
      for (const [, name = '', share = ''] of line(text, 'costs most').matchAll(/([a-zA-Z][a-zA-Z\-2 ]+?) ([\d.,]+ %)/gu)) {
        const part = stepParts.find((each) => say(stepPartNames[each]) === name.replace(/^of the step, /u, '').trim());
        assert.ok(part !== undefined, name);
        assert.equal(share, formatPercent(parts[part] / iterationMs), name);
      }

      const rows = [...text.matchAll(/^ {2}([*~ ]) (\S.*?) {2,}([\d.,]+ \S+) +(< 0\.1 %|[\d.,]+ %) +([\d.,]+ \S+)(.*)$/gmu)];
      assert.equal(rows.length, plan.comparisons.length);
      for (const [index, [, , name, step, , memory]] of rows.entries()) {
        const compared = plan.comparisons[index];
        assert.deepEqual(
          [name, step, memory],
          [compared?.name, column.duration(compared?.iterationMs ?? 0), column.bytes(compared?.peakBytes ?? 0)],
        );
      }
      const chosen = rows.findIndex(([, mark]) => mark === '*');
      assert.deepEqual(
        [plan.comparisons[chosen]?.iterationMs, plan.comparisons[chosen]?.bubbleRate, plan.comparisons[chosen]?.peakBytes],
        [iterationMs, bubbleRate, plan.memory.peakBytes],
      );
      for (const reason of plan.reasons) {
        const [, ratio, way, ms] = /^([\d.]+)x (over|slower than) .* \(([\d.,]+ \S+?)[,)]/u.exec(reason) ?? [];
        if (ratio === undefined) continue;
        const other = plan.comparisons.find((each) => formatDuration(each.iterationMs) === ms);
        assert.ok(other !== undefined, reason);
        const exact = way === 'over' ? other.iterationMs / iterationMs : iterationMs / other.iterationMs;
        assert.ok(Math.abs(exact / Number(ratio) - 1) < 0.006, reason);
      }

      assert.equal(plan.fits, what !== 'a script that does not fit');
      assert.equal(plan.fits, remedies.length === 0);
      assert.deepEqual(remedies.map(({ slower }) => slower), remedies.map(({ slower }) => slower).toSorted((a, b) => a - b)); // prettier-ignore
      for (const { change, iterationMs: ms, slower } of remedies) {
        assert.match(
          text,
          new RegExp(`^ {2}${change.replaceAll(/[()]/gu, '.')} +${column.duration(ms)} +${say(slowdownText(slower))}$`, 'mu'),
        );
      }
      assert.doesNotMatch(text, /\b0 % (slower|faster)/u);
    });

  it('are the same in the verdict, the details and the layout of a page', async () => {
    const planned = await plannedOf(numberedRuns['a dense model']);
    const { plan } = planned;
    const chosen = chosenCandidate(plan);
    const loss = largestLoss(plan, chosen);
    assert.ok(loss !== null);
    assert.equal(new Map(stepCosts(plan, chosen)).get(loss.to), loss.share);
    const { text } = planAnswer(planned, new Map());
    assert.equal(line(text, 'costs most'), say(costsText(stepCosts(plan, chosen))));
    const page = launchedPageLayout(plan);
    assert.deepEqual(
      [page.iterationMs, page.bubbleRate, page.peakBytes, page.verdict.usableBytes],
      [
        chosen.iterationMs,
        chosen.bubbleRate,
        chosen.memory.stages[page.verdict.stage]?.peakBytes,
        chosen.memory.stages[page.verdict.stage]?.usableBytes,
      ],
    );
  });

  it('put what decides first among the assumptions, the network and the kernel always among it', async () => {
    const { json, text } = planAnswer(await plannedOf(numberedRuns['a dense model']), new Map(), { all: true });
    const { assumptions } = (json as PlanNumbers).plan;
    const keys = assumptions.map(({ key }) => key);
    for (const key of ['cluster.gpu', 'cluster.links.nicGBps', 'training.attentionKernel']) assert.ok(keys.indexOf(key) < 6, key);
    const effects = assumptions
      .slice(0, 6)
      .map(({ moves = [] }) => Math.max(0, ...moves.map(({ slower }) => Math.abs(Math.log1p(slower)))));
    assert.deepEqual(
      effects,
      effects.toSorted((a, b) => b - a),
    );
    for (const { to, slower } of assumptions.flatMap(({ moves = [] }) => moves)) assert.ok(text.includes(say(slowdownText(slower))), to);
  });
});

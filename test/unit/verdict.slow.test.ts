import assert from 'node:assert/strict';
import { memoryAnswer } from '../../src/cli/answers/memory';
import { planAnswer } from '../../src/cli/answers/plan';
import type { Run } from '../../src/core/formats/run';
import { planHtml } from '../../src/core/export/html/report';
import { bytesPerGiB } from '../../src/core/format';
import { fitsMemory, usablePeakBytes, verdictOf, verdictText, type MemoryVerdict } from '../../src/core/memory-model/verdict';
import { findingsOf } from '../../src/core/rules/run-findings';
import { searchFindings } from '../../src/core/rules/plan/search-findings';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenOf, peakBytesOf, type Plan } from '../../src/core/planner/plan';
import { resolveRun } from '../../src/core/resolve/resolve';
import { searchLayouts } from '../../src/core/layout-search/assemble';
import { searchProblemOf } from '../../src/core/layout-search/problem';
import { planItems } from '../../src/extension/views/explorer-items';
import { memoryText, summaryOf } from '../../src/extension/views/summary';
import { english } from '../../src/core/translate';
import { launchedLayoutOf, layoutAnswerOf } from '../../src/protocol/layout';
import { planContent } from '../../webview/tabs/layout/content';
import { rowsOf } from '../../webview/tabs/layout/rows';
import { loadObject } from './core/formats/files';
import { say } from '../../src/core/sentence';

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

/** A plan whose layout and schedule are given, on GPUs of so many GB. */
async function planOn(memoryGB: number): Promise<{ run: Run; plan: Plan }> {
  const run = await loadObject({
    model: { layers: 4, hidden: 2048, heads: 16, vocab: 32_000 },
    cluster: { gpu: { preset: 'A100-80GB', memoryGB }, nodes: 1, gpusPerNode: 4 },
    training: { sequenceLength: 2048, globalBatch: 8, microBatch: 1 },
    layout: { tensor: 1, pipeline: 2, data: 2 },
    schedule: '1F1B',
    slicing: { unit: 512 },
  });
  return { run, plan: makePlan(resolveRun(run, defaults)) };
}

/** What every face says of the memory of a plan. */
function facesOf(run: Run, plan: Plan): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  const findings = findingsOf(run, plan);
  const result = searchLayouts(searchProblemOf(run, plan.request, []));
  const answer = layoutAnswerOf(result, 'a');
  const dots = planContent(answer, rowsOf(answer, launchedLayoutOf(plan))).dots;
  const tree = planItems({ file: run.file, plan, elastic: null, error: null } as Parameters<typeof planItems>[0], english);
  const inTree = tree.find((item) => item.kind === 'number' && item.label === 'Memory');
  return {
    'lens and status bar': memoryText(summaryOf(plan), english),
    tree: inTree?.kind === 'number' ? inTree.value : '',
    'terapipe plan': planAnswer({ run, plan, findings }, texts).text,
    'terapipe memory': memoryAnswer({ run, plan, findings }, texts).text,
    report: planHtml(plan, []),
    'layout tab': say(verdictText(launchedLayoutOf(plan).verdict)),
    'layout chart': dots.flatMap((dot) => dot.lines()).join('\n'),
  };
}

describe('the verdict on memory', () => {
  let peakBytes: number;
  before(async () => {
    peakBytes = peakBytesOf(chosenOf((await planOn(80)).plan));
  });

  /** Cards on which the plan is just under what is usable, between that and what the card has, and over both. */
  const cards: readonly (readonly [name: string, fits: boolean, bytes: () => number])[] = [
    ['just under', true, () => 1.0001 * (peakBytes + 0.05 * peakBytes + bytesPerGiB)],
    ['just over', false, () => 0.9999 * (peakBytes + 0.05 * peakBytes + bytesPerGiB)],
    ['between what is usable and what the card has', false, () => peakBytes + 0.5 * bytesPerGiB],
    ['over what the card has', false, () => 0.8 * peakBytes],
  ];

  for (const [name, fits, bytes] of cards)
    it(`is the same on every face: ${name}`, async () => {
      const { run, plan } = await planOn(bytes() / bytesPerGiB);
      const chosen = chosenOf(plan);
      const verdict: MemoryVerdict = verdictOf(chosen.memory);
      assert.equal(chosen.memory.capacityBytes > peakBytes, !name.startsWith('over'));
      assert.deepEqual([verdict.fits, chosen.fits, fitsMemory(chosen.memory)], [fits, fits, fits]);
      assert.equal(verdict.roomBytes, usablePeakBytes(chosen.memory.capacityBytes) - verdict.peakBytes);
      assert.match(say(verdictText(verdict)), fits ? /^fits, .* to spare$/ : /^does not fit, .* too much$/);
      for (const [face, text] of Object.entries(facesOf(run, plan))) {
        const words = face === 'layout chart' && fits ? '' : say(verdictText(verdict)).toLowerCase();
        assert.ok(text.toLowerCase().includes(words), `${face} says not "${words}":\n${text}`);
        const other = /no margin|kept free, does|over capacity|into the margin/i.exec(text);
        assert.equal(other, null, `${face}: ${other?.[0]}`);
      }
      const problems = findingsOf(run, plan).filter(({ code }) => code === 'memory-over-capacity');
      assert.deepEqual(
        problems.map(({ severity }) => severity),
        fits ? [] : ['error'],
      );
      assert.ok(problems.every(({ message }) => say(message).endsWith(say(verdictText(verdict)))));
    });

  it('is the same of a layout that a search was made for', async () => {
    const { run, plan } = await planOn((peakBytes + 0.5 * bytesPerGiB) / bytesPerGiB);
    const result = searchLayouts(searchProblemOf(run, plan.request, ['tensor', 'pipeline', 'recompute', 'offloadOptimizer']));
    assert.ok(result.launched !== null && result.best.fits);
    assert.deepEqual(result.launched.verdict, verdictOf(chosenOf(plan).memory));
    const [finding] = searchFindings(run, result.launched, result);
    assert.deepEqual([finding?.code, finding?.severity], ['layout-too-large', 'error']);
    assert.equal(say(finding!.message), say(findingsOf(run, plan).find(({ code }) => code === 'memory-over-capacity')!.message));
  });
});

import assert from 'node:assert/strict';
import { memoryAnswer } from '../../src/cli/answers/memory';
import { planAnswer } from '../../src/cli/answers/plan';
import type { Run } from '../../src/core/run/run';
import { planJson } from '../../src/core/export/plan-json';
import { planHtml } from '../../src/core/export/html/report';
import { bytesPerGiB } from '../../src/core/format';
import {
  fitsMemory,
  mayFit,
  usablePeakBytes,
  memoryVerdict,
  verdictText,
  verdictWord,
  type MemoryVerdict,
} from '../../src/core/memory-model/verdict';
import { runFindings } from '../../src/core/rules/run-findings';
import { searchFindings } from '../../src/core/rules/plan/search-findings';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes, type Plan } from '../../src/core/planner/plan';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { searchLayouts } from '../../src/core/layout-search/assemble';
import { toSearchProblem } from '../../src/core/layout-search/problem';
import { configItems } from '../../src/extension/views/explorer-items';
import { memoryText, planSummary } from '../../src/host/plan-summary';
import { launchedPageLayout, toLayoutAnswer } from '../../src/protocol/layout';
import { planContent } from '../../webview/tabs/layout/content';
import { layoutRows } from '../../webview/tabs/layout/rows';
import { loadObject } from './core/config-files/files';
import { say, english } from '../../src/core/sentence';

const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

/** A plan whose layout and schedule are given, on GPUs of this many GB. */
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

/** The text of every face on the memory of a plan. */
function facesOf(run: Run, plan: Plan): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  const findings = runFindings(run, plan);
  const result = searchLayouts(toSearchProblem(run, plan.request, []));
  const answer = toLayoutAnswer(result, 'a');
  const dots = planContent(answer, layoutRows(answer, launchedPageLayout(plan))).dots;
  const tree = configItems(
    { file: run.file, launcher: null, plan, elastic: null, error: null } as Parameters<typeof configItems>[0],
    english,
  );
  const inTree = tree.find((item) => item.kind === 'number' && item.label === 'Memory');
  return {
    'lens and status bar': memoryText(planSummary(plan), english),
    tree: inTree?.kind === 'number' ? inTree.value : '',
    'terapipe plan': planAnswer({ run, plan, findings }, texts).text,
    'terapipe memory': memoryAnswer({ run, plan, findings }, texts).text,
    report: planHtml(plan, []),
    'layout tab': say(verdictText(launchedPageLayout(plan).verdict)),
    'layout chart': dots.flatMap((dot) => dot.lines()).join('\n'),
  };
}

describe('the verdict on memory', () => {
  let peakBytes: number;
  before(async () => {
    peakBytes = candidatePeakBytes(chosenCandidate((await planOn(80)).plan));
  });

  /** The text of each verdict, and the severity of its finding. */
  const words = {
    fits: { text: /^fits, .* free$/, severities: [] },
    'may not fit': { text: /^may not fit: uses .* of the safety margin$/, severities: ['warning'] },
    'does not fit': { text: /^does not fit, .* over$/, severities: ['error'] },
  } as const;

  /** Cards on which the plan is just under what is usable, within what fragmentation may leave, between that and the card, and over all. */
  const cards: readonly (readonly [name: string, word: keyof typeof words, bytes: () => number])[] = [
    ['just under', 'fits', () => 1.0001 * (peakBytes + 0.05 * peakBytes + bytesPerGiB)],
    ['just under what may run', 'may not fit', () => 1.0001 * (peakBytes + 0.01 * peakBytes + bytesPerGiB)],
    ['just over what may run', 'does not fit', () => 0.9999 * (peakBytes + 0.01 * peakBytes + bytesPerGiB)],
    ['over what the card has', 'does not fit', () => 0.8 * peakBytes],
  ];

  for (const [name, word, bytes] of cards)
    it(`is the same on every face: ${name}`, async () => {
      const { run, plan } = await planOn(bytes() / bytesPerGiB);
      const chosen = chosenCandidate(plan);
      const verdict: MemoryVerdict = memoryVerdict(chosen.memory);
      const fits = word === 'fits';
      assert.equal(chosen.memory.capacityBytes > peakBytes, !name.startsWith('over'));
      assert.deepEqual([verdict.fits, chosen.fits, fitsMemory(chosen.memory)], [fits, fits, fits]);
      assert.equal(verdict.roomBytes, usablePeakBytes(chosen.memory.capacityBytes) - verdict.peakBytes);
      assert.equal(say(verdictWord(verdict)), word);
      assert.deepEqual([chosen.tight, mayFit(chosen)], [word === 'may not fit', word !== 'does not fit']);
      assert.match(say(verdictText(verdict)), words[word].text);
      for (const [face, text] of Object.entries(facesOf(run, plan))) {
        const wanted = face === 'layout chart' && fits ? '' : say(verdictText(verdict)).toLowerCase();
        assert.ok(text.toLowerCase().includes(wanted), `${face} lacks "${wanted}":\n${text}`);
        const other = /no margin|kept free, does|over capacity|into the margin/i.exec(text);
        assert.equal(other, null, `${face}: ${other?.[0]}`);
      }
      const problems = runFindings(run, plan).filter(({ code }) => code === 'memory-over-capacity');
      assert.deepEqual(
        problems.map(({ severity }) => severity),
        [...words[word].severities],
      );
      const { plan: printed } = planJson(plan) as { plan: { fits: boolean; tight: boolean } };
      assert.deepEqual([printed.fits, printed.tight], [mayFit(verdict), verdict.tight]);
      assert.equal(planAnswer({ run, plan, findings: runFindings(run, plan) }, new Map()).exitCode, mayFit(verdict) ? 0 : 1);
      assert.ok(problems.every(({ message }) => say(message).endsWith(say(verdictText(verdict)))));
    });

  it('is the same of a layout that a search was made for', async () => {
    const { run, plan } = await planOn((peakBytes + 0.5 * bytesPerGiB) / bytesPerGiB);
    const result = searchLayouts(toSearchProblem(run, plan.request, ['tensor', 'pipeline', 'recompute', 'offloadOptimizer']));
    assert.ok(result.launched !== null && result.best.fits);
    assert.deepEqual(result.launched.verdict, memoryVerdict(chosenCandidate(plan).memory));
    assert.deepEqual(searchFindings(run, result.launched, result), [], 'the finding of the plan reports it');
    assert.deepEqual(runFindings(run, plan).map(({ code }) => code), ['memory-over-capacity']); // prettier-ignore
  });
});

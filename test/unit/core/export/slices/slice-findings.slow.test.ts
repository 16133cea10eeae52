import assert from 'node:assert/strict';
import { sliceFindings } from '../../../../../src/core/export/slices/slice-findings';
import type { LauncherReader } from '../../../../../src/core/run/facts';
import { loadConfig, type LoadedConfig } from '../../../../../src/core/config-files/load-config';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../../src/core/planner/plan';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { ExpectedError } from '../../../../../src/core/errors';
import { say, sentence } from '../../../../../src/core/sentence';
import { editable } from '../launchers/editors';
import { shellReader } from '../../launchers/shell/shell-reader';

const defaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;
const sizes =
  '--num-layers 16 --hidden-size 4096 --num-attention-heads 32 --seq-length 32768 --max-position-embeddings 32768 --use-flash-attn --bf16 ' +
  '--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 4';

describe('the finding that slices take longer than others', () => {
  let read: LauncherReader;

  before(async () => {
    read = await shellReader();
  });

  const script = (flags: string): string => `torchrun --nproc_per_node 8 pretrain_gpt.py ${sizes} \\\n  ${flags}\n`;
  async function planned(text: string): Promise<{ readonly config: LoadedConfig; readonly plan: Plan; readonly text: string }> {
    const config = await loadConfig('run.sh', text, {
      read: () => Promise.reject(new ExpectedError('config-unreadable', sentence`missing`, sentence`none`)),
      shell: () => Promise.resolve(read),
    });
    return { config, plan: makePlan(resolveRun(config.run!, defaults)), text };
  }

  it('shows the gain at the number of slices, and its fix writes the best split that the flags can give', async () => {
    const { config, plan, text } = await planned(script('--pipe-sp-splits 16'));
    const [finding, ...others] = sliceFindings(config.run!, plan, editable(config.launcher!, read));
    assert.deepEqual([finding?.code, finding?.severity, others], ['slices-slower', 'information', []]);
    const { start, end } = finding!.place.range;
    assert.equal(text.slice(start, end), '16');
    assert.match(say(finding!.message), /^Seq1F1B, 16 equal slices take .* a step; Seq1F1B, \d+ slices of equal work take .*, .* % less$/);
    assert.match(say(finding!.remedy), /^cut sequences into \d+ slices of equal work/);
    const [fix] = finding!.fixes;
    const edited = fix!.edits.reduceRight(
      (done, { place: { range }, newText }) => done.slice(0, range.start) + newText + done.slice(range.end),
      text,
    );
    const { facts } = read('run.sh', edited);
    const best = plan.candidates.find(({ id }) => id === 'best-split');
    assert.deepEqual([facts.slices?.value, facts.sliceRule?.value], [best?.scheme[0]?.tokens.length, 'equal-work']);
    const again = await planned(edited);
    assert.deepEqual(chosenCandidate(again.plan).scheme, best?.scheme);
    assert.ok(!sliceFindings(again.config.run!, again.plan, null).some(({ fixes }) => fixes.length > 0));
    assert.deepEqual(sliceFindings(config.run!, plan)[0]?.fixes, []);
  });

  it('leaves it open of whole sequences, and without a plan', async () => {
    const { config, plan } = await planned(script('--recompute-granularity selective'));
    assert.deepEqual(sliceFindings(config.run!, plan), []);
    assert.deepEqual(sliceFindings(config.run!, null), []);
  });
});

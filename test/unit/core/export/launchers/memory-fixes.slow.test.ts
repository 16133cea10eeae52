import assert from 'node:assert/strict';
import type { LauncherReader } from '../../../../../src/core/run/facts';
import { applyOverrides } from '../../../../../src/core/terapipe/overrides';
import type { Run } from '../../../../../src/core/run/run';
import { ExpectedError } from '../../../../../src/core/errors';
import { configFindings } from '../../../../../src/core/export/config-findings';
import type { EditableFile } from '../../../../../src/core/export/launchers/edit-launcher';
import { settingEdits } from '../../../../../src/core/export/launchers/memory-fixes';
import type { TextEdit } from '../../../../../src/core/findings';
import { loadConfig, type LoadedConfig } from '../../../../../src/core/config-files/load-config';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../../src/core/planner/plan';
import { findRemedies, mostTrials } from '../../../../../src/core/rules/plan/remedies';
import { remedyText, type Remedy } from '../../../../../src/core/rules/plan/remedy';
import { withSizes } from '../../../../../src/core/plan-request/with-sizes';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { editable } from './editors';
import { shellReader } from '../../launchers/shell/shell-reader';
import { say, sentence } from '../../../../../src/core/sentence';

const script = `#!/bin/bash
MICRO=4 # sequences
torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --micro-batch-size $MICRO --global-batch-size 32 \\
  --seq-length 4096 --max-position-embeddings 4096 --num-layers 40 --hidden-size 5120 --num-attention-heads 40 \\
  --bf16 --use-distributed-optimizer --swiglu --position-embedding-type rope
`;

describe("a launcher's file whose plan does not fit", () => {
  let read: LauncherReader;

  before(async () => {
    read = await shellReader();
  });

  const load = (text: string): Promise<LoadedConfig> =>
    loadConfig('train.sh', text, {
      shell: () => Promise.resolve(read),
      read: (from) =>
        Promise.reject(
          new ExpectedError('config-not-found', sentence`There is no such file`, sentence`fix the path`, {
            file: from,
            range: { start: 0, end: 0 },
          }),
        ),
    });

  /** Those on the plan, which the file's own rules do not report. */
  const findingsOn = (run: Run, plan: Plan, remedies: readonly Remedy[] = [], file: EditableFile | null = null) =>
    configFindings({ format: 'megatron-shell', launcher: null, findings: [] }, run, plan, remedies, file);

  const planOf = (run: Run): Plan => makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));

  const applied = (text: string, edits: readonly TextEdit[]): string =>
    [...edits].reverse().reduce((now, { place: { range }, newText }) => now.slice(0, range.start) + newText + now.slice(range.end), text);

  it('is reported at the pipeline size, as an error where the GPU is given, with the smallest changes that fit as edits', async () => {
    const { run, launcher } = await load(script);
    let plans = 0;
    const plan = planOf(run!);
    assert.equal(chosenCandidate(plan).fits, false);
    const remedies = findRemedies(run!, plan, (changed) => {
      plans += 1;
      return planOf(changed);
    });
    assert.ok(plans <= mostTrials);
    const [finding, ...others] = findingsOn(run!, plan, remedies, editable(launcher!, read));
    assert.deepEqual(others, []);
    assert.equal(finding?.code, 'memory-over-capacity');
    assert.equal(finding.severity, 'warning');
    const { start, end } = finding.place.range;
    assert.match(script.slice(start - 31, end), /--pipeline-model-parallel-size 2$/);
    const given = applyOverrides(run!, ['cluster.gpu=H100-80GB']);
    assert.equal(findingsOn(given, planOf(given))[0]?.severity, 'error');

    assert.ok(finding.fixes.length > 0);
    for (const { title, edits } of finding.fixes) {
      const text = applied(script, edits);
      const { run: changed, findings } = await load(text);
      assert.deepEqual(findings.filter(({ severity }) => severity === 'error'), []); // prettier-ignore
      const chosen = chosenCandidate(planOf(changed!));
      assert.ok(chosen.fits, say(title));
      const remedy = remedies.find((each) => say(remedyText(each)) === say(title));
      assert.equal(chosen.iterationMs, remedy?.iterationMs, say(title));
      assert.match(text, /# sequences/);
    }
  });

  it('takes a cut of its layers that was tried, in one flag', async () => {
    const { run, launcher } = await load(script);
    const sets = [['layout.stageLayers', [17, 23]]] as const;
    const edits = settingEdits({ sets, plan: planOf(withSizes(run!, sets)) }, editable(launcher!, read));
    const text = applied(script, edits ?? []);
    assert.match(text, /17/);
    const { run: changed } = await load(text);
    assert.deepEqual(changed?.layout.stageLayers?.value, [17, 23]);
    assert.deepEqual(text.split('\n').filter((line) => !script.includes(line)).length, 1, text);
  });

  it('has no finding where it fits, and no fixes without a file to edit', async () => {
    const small = await load(script.replace('--num-layers 40', '--num-layers 4'));
    assert.deepEqual(findingsOn(small.run!, planOf(small.run!)), []);
    const { run } = await load(script);
    assert.deepEqual(findingsOn(run!, planOf(run!))[0]?.fixes, []);
  });
});

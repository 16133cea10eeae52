import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { scenarioJson, settingsOfFound, settingsOfPlan, type PlanSettings } from '../../../../src/core/export/settings-of-plan';
import { applyOverrides, settingTexts } from '../../../../src/core/terapipe/overrides';
import type { Run } from '../../../../src/core/run/run';
import { answerSearch } from '../../../../src/core/layout-search/answer';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { readReferenced } from '../../../../src/cli/read-file';
import { shellReader } from '../launchers/shell/shell-reader';

const fixtures = path.join(import.meta.dirname, '../../../fixtures');
const defaults = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

async function runOf(name: string): Promise<Run> {
  const file = path.join(fixtures, name);
  const { run } = await loadConfig(file, readFileSync(file, 'utf8'), { read: readReferenced, shell: shellReader });
  assert.ok(run !== null, name);
  return run;
}

function planOf(run: Run, settings: PlanSettings = {}): Plan {
  return makePlan(resolveRun(applyOverrides(run, settingTexts(Object.entries(settings))), defaults));
}

describe('settings of a plan', () => {
  for (const name of [
    'configs/gpt2-tiny/config.json',
    'configs/llama-tiny/config.json',
    'configs/pipeline/terapipe.json',
    'launchers/hf/qwen-moe.json',
    'launchers/hf/t5.json',
    'launchers/gpt-neox.yml',
    'launchers/nanotron.yaml',
    'launchers/torchtitan-2025.toml',
    'launchers/shell/quoted.sh',
    'launchers/slices/seq1f1b.sh',
  ])
    it(`plan ${name} exactly so`, async () => {
      const run = await runOf(name);
      const plan = planOf(run);
      const again = planOf(run, settingsOfPlan(plan, {}));
      assert.equal(chosenCandidate(again).iterationMs, chosenCandidate(plan).iterationMs);
      assert.deepEqual(chosenCandidate(again).memory, chosenCandidate(plan).memory);
      assert.deepEqual(scenarioJson(again.request), scenarioJson(plan.request));
    });

  for (const name of ['configs/llama-tiny/config.json', 'launchers/shell/quoted.sh'])
    it(`plan each row of a search of ${name} as it was found`, async () => {
      const run = await runOf(name);
      const problem = { ...toSearchProblem(run, resolveRun(run, defaults)), schedules: ['1F1B', 'TeraPipe'] as const };
      const result = answerSearch(problem, { improvements: false });
      const rows = [result.best, ...result.paretoFront, ...result.perSchedule];
      assert.ok(new Set(rows).size > 1);
      for (const found of rows) {
        const { iterationMs } = chosenCandidate(planOf(run, settingsOfFound(result, found, {})));
        const words = `${JSON.stringify(settingsOfFound(result, found, {}))}: ${iterationMs}, not ${found.iterationMs}`;
        assert.ok(Math.abs(iterationMs / found.iterationMs - 1) < 1e-9, words);
      }
    });

  it('keep what the command line sets, a GPU before its figures', async () => {
    const run = await runOf('configs/llama-tiny/config.json');
    const own = { 'cluster.gpu': 'A100-40GB', 'cluster.gpu.memoryGB': '32', 'cluster.links.nicGBps': '12.5' };
    const plan = planOf(run, own);
    const again = planOf(run, settingsOfPlan(plan, own));
    assert.deepEqual(again.request.cluster, plan.request.cluster);
  });
});

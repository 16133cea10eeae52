import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import type { PrintedFinding } from '../../../src/cli/answer';
import { checkAnswer } from '../../../src/cli/answers/check';
import { checkPaths } from '../../../src/cli/checked';
import { defaults } from '../../../src/cli/common-options';
import { planNearby } from '../../../src/cli/planned';
import { readConfig } from '../../../src/cli/read-config';
import type { LoadedConfig } from '../../../src/core/config-files/load-config';
import { noMachine, type Machine } from '../../../src/core/plan-request/machine';
import { chosenCandidate, type Plan } from '../../../src/core/planner/plan';
import { makeLogReader } from '../../../src/features/compare/core/logs/read-log';
import { steadyOfLog } from '../../../src/features/compare/core/logs/steady';
import { shellReader } from '../core/launchers/shell/shell-reader';

/** Cases after public issues, each in a folder; README.md there names the issues. */
const folder = path.join(import.meta.dirname, '../../fixtures/reports');

function reading(machine: Partial<Machine> = {}): { sets: []; machine: Machine; shell: typeof shellReader } {
  return { sets: [], machine: { ...noMachine, ...machine }, shell: shellReader };
}

function load(name: string, machine?: Partial<Machine>): Promise<LoadedConfig> {
  const file = path.join(folder, name);
  return readConfig({ file, text: readFileSync(file, 'utf8') }, reading(machine), new Map());
}

async function planned(name: string, machine?: Partial<Machine>): Promise<Plan> {
  const { plan } = await planNearby(await load(name, machine), defaults, () => undefined, false);
  return plan;
}

/** Errors that `check` finds. */
async function errors(name: string): Promise<readonly string[]> {
  const answer = checkAnswer(await checkPaths([path.join(folder, name)], reading(), defaults, new Map()));
  const { findings } = answer.json as { readonly findings: readonly PrintedFinding[] };
  return findings.filter(({ severity }) => severity === 'error').map(({ code }) => code);
}

const gib = 2 ** 30;
const peakGiB = (plan: Plan): number => Math.max(...chosenCandidate(plan).memory.stages.map(({ peakBytes }) => peakBytes)) / gib;

describe('runs that people report', () => {
  const cards = { gpu: 'RTX4090', nodes: 1, gpusPerNode: 8 } as const;

  it('train a Llama-3-8B in full with LLaMA-Factory: no pipeline, layers recomputed, and only with offload on cards of 24 GB', async () => {
    const plan = await planned('trainer-zero3/sft.yaml', cards);
    const { layout, training } = plan.request;
    assert.deepEqual([layout.tensor, layout.pipeline, layout.data], [1, 1, 8]);
    assert.deepEqual([training.globalBatch, training.recompute, training.zeroStage], [16, 'full', 3]);
    assert.ok(!chosenCandidate(plan).fits);
    const offloaded = await planned('trainer-zero3/sft-offload.yaml', cards);
    assert.ok(chosenCandidate(offloaded).fits && peakGiB(offloaded) < 14, `${peakGiB(offloaded)} GiB`);
  });

  it('start the processes that Accelerate is asked for, on which 32B do not fit', async () => {
    const plan = await planned('accelerate-processes/sft.sh', { gpu: 'A100-80GB' });
    assert.deepEqual([plan.request.cluster.nodes, plan.request.cluster.gpusPerNode], [1, 4]);
    assert.ok(!chosenCandidate(plan).fits);
  });

  it("make a pipeline module of the model, which refuses ZeRO's stage 3", async () => {
    assert.deepEqual(await errors('deepspeed-pipeline-zero3/run.sh'), ['zero-with-pp']);
    assert.deepEqual(await errors('deepspeed-pipeline-zero3/run-pp2.sh'), ['zero-with-pp']);
  });

  for (const name of readdirSync(path.join(folder, 'arrays-in-bash-c')))
    it(`hand arrays of flags through quotes and other shells: ${name}`, async () => {
      const { run } = await load(`arrays-in-bash-c/${name}`);
      assert.deepEqual([run?.model.layers.value, run?.nodes?.value, run?.gpusPerNode?.value], [32, 16, 4]);
    });

  it('keep gradients in the type that a flag names', async () => {
    const { run } = await load('main-grads-dtype/run.sh');
    assert.equal(run?.training.gradAccumulationFp32?.value, false);
  });

  it('stop where interleaved stages outnumber the micro-batches', async () => {
    assert.deepEqual(await errors('few-micro-batches-vpp/run.sh'), ['vpp-microbatch-multiple']);
    assert.deepEqual(await errors('few-micro-batches-vpp/nemo.yaml'), ['vpp-microbatch-multiple']);
  });

  it('set a size of 0 for 1 in GPT-NeoX', async () => {
    const { run, findings } = await load('neox-size-0/1354.yml');
    assert.deepEqual([run?.layout.tensor?.value, run?.layout.pipeline?.value], [1, 1]);
    assert.ok(!findings.some(({ severity }) => severity === 'error'));
  });

  it('split heads and layers of a model that only its name gives', async () => {
    assert.deepEqual([...(await errors('names-and-sizes/meg.sh'))].sort(), ['heads-tp', 'pp-layers-not-divisible']);
  });

  it("divide the heads over Ulysses' ranks, whatever the length", async () => {
    assert.deepEqual(await errors('ulysses/sp40.sh'), []);
    assert.ok((await errors('ulysses/sp16.sh')).includes('cp-heads'));
  });

  it('train on a million tokens over 8 ranks of context parallelism', async () => {
    const { layout, training, cluster } = (await planned('million-tokens/sft.sh', { gpu: 'H100-80GB' })).request;
    assert.deepEqual([layout.context, layout.data, cluster.gpusPerNode], [8, 1, 8]);
    assert.deepEqual([training.sequenceLength, training.zeroStage, training.recompute], [1_048_576, 3, 'full']);
  });

  it('log steps long after the first, of which none is warm-up', () => {
    const reader = makeLogReader();
    reader.push(readFileSync(path.join(folder, 'log-of-another-run/train.log'), 'utf8'));
    const log = reader.end();
    assert.ok(log !== null);
    assert.deepEqual(
      log.steps.map(({ iteration }) => iteration),
      [85, 86, 87, 88],
    );
    // the lower median of all four
    assert.ok(Math.abs((steadyOfLog(log)?.medianMs ?? 0) - 5580.9) < 0.1);
    assert.deepEqual([log.facts['layout.tensor'], log.facts['layout.data']], [2, 8]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { planAnswer } from '../../../../src/cli/answers/plan';
import { planRun } from '../../../../src/core/export/planned-config';
import { readConfig, runConfig } from '../../../../src/cli/read-config';
import { say } from '../../../../src/core/sentence';
import { shellReader } from '../launchers/shell/shell-reader';

const script = (flags: string): string =>
  `torchrun --nproc-per-node 8 --nnodes 1 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 32 --bf16 --vocab-size 32000 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 ${flags}\n`;

async function planned(flags: string, ...sets: string[]) {
  const texts = new Map<string, string>();
  const config = await readConfig({ file: 'run.sh', text: script(flags) }, { sets, shell: shellReader }, texts);
  const line = {
    path: 'run.sh',
    sets,
    machine: null,
    profile: null,
    defaults: { gpu: 'A100-80GB', nodes: null, gpusPerNode: null },
  } as const;
  const { defaults } = line;
  const run = await runConfig(config, line as never, texts);
  return { plan: planRun(run, defaults), texts };
}

async function found(flags: string, ...sets: string[]) {
  const { plan } = await planned(flags, ...sets);
  return plan.findings.filter(({ code }) => code === 'checkpoint-layout');
}

describe('a plan of another layout than that of the file, which loads a checkpoint', () => {
  it('has no finding at the layout of the file, or without a checkpoint', async () => {
    assert.deepEqual(await found('--load $CKPT --use-distributed-optimizer'), []);
    assert.deepEqual(await found('--load $CKPT --use-distributed-optimizer', 'layout.tensor=2'), []);
    assert.deepEqual(await found('--use-distributed-optimizer', 'layout.tensor=4'), []);
  });

  it('is a warning at --load where the launcher stops, with its line and what helps: a file does not show whether there is a checkpoint', async () => {
    const flags = '--use-distributed-optimizer --load ckpt';
    const [finding, ...others] = await found(flags, 'layout.tensor=4');
    assert.deepEqual(others, []);
    assert.equal(finding?.severity, 'warning');
    const { start, end } = finding.place.range;
    assert.equal(script(flags).slice(start, end), 'ckpt');
    assert.match(
      say(finding.message),
      /^The optimizer state of a torch_dist checkpoint .* does not load with tensor 4 instead of 2, .*2649 to 2658\)$/,
    );
    assert.match(say(finding.remedy), /--dist-ckpt-optim-fully-reshardable/);
  });

  it('is a warning where layers are initialised, and information where it loads', async () => {
    const torch = await found('--load $CKPT --ckpt-format torch --finetune', 'layout.virtualStages=2');
    assert.deepEqual(
      torch.map(({ severity }) => severity),
      ['warning'],
    );
    assert.match(say(torch[0]!.message), /loads wrongly and without an error with virtual stages 2 instead of 1/);
    const [loads, ...others] = await found('--load $CKPT', 'layout.tensor=4');
    assert.deepEqual([loads?.severity, others.length], ['information', 0]);
    assert.match(say(loads!.message), /^A torch_dist checkpoint of this file's layout .*loads with tensor 4 instead of 2/);
  });

  it('is information where a condition decides whether a checkpoint is loaded', async () => {
    const flags = '--use-distributed-optimizer ${ARGS}';
    const conditional = `if [ -d "$CKPT" ]; then ARGS="--load $CKPT"; fi\n`;
    const texts = new Map<string, string>();
    const options = { sets: ['layout.tensor=4'], shell: shellReader };
    const config = await readConfig({ file: 'run.sh', text: conditional + script(flags) }, options, texts);
    const { findings } = planRun(config, { gpu: 'A100-80GB', nodes: null, gpusPerNode: null });
    const ofCheckpoint = findings.filter(({ code }) => code === 'checkpoint-layout');
    assert.deepEqual(
      ofCheckpoint.map(({ severity, message }) => [severity, say(message).includes('does not load')]),
      [['information', true]],
    );
  });

  it('is `checkpoint` in the JSON of a plan', async () => {
    const { plan, texts } = await planned('--load ckpt --use-distributed-optimizer', 'layout.pipeline=4');
    const { checkpoint } = planAnswer(plan, texts).json as { readonly checkpoint: Readonly<Record<string, unknown>> };
    assert.equal(checkpoint['verdict'], 'loads-after-conversion');
    assert.match(String(checkpoint['reason']), /buckets of each tensor and pipeline rank/);
    assert.match(String(checkpoint['command']), /--dist-ckpt-optim-fully-reshardable/);
    assert.deepEqual(checkpoint['changed'], ['pipeline', 'data']);
    const own = await planned('--load ckpt --use-distributed-optimizer');
    assert.ok(!('checkpoint' in planAnswer(own.plan, own.texts).json));
  });
});

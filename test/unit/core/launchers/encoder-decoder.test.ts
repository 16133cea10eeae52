import assert from 'node:assert/strict';
import { ExpectedError } from '../../../../src/core/errors';
import { writtenInto } from '../../../../src/core/export/launchers/edit-launcher';
import { toLaunchSettings } from '../../../../src/core/export/launchers/launch-settings';
import { newLauncher } from '../../../../src/core/export/launchers/new-launcher';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { editable, writerOf } from '../export/launchers/editors';
import { shellReader } from './shell/shell-reader';
import { say, sentence } from '../../../../src/core/sentence';

const defaults = { gpu: 'A100-80GB', nodes: null, gpusPerNode: null } as const;
const flags = [
  '--encoder-num-layers 12',
  '--decoder-num-layers 12',
  '--hidden-size 768',
  '--num-attention-heads 12',
  '--ffn-hidden-size 3072',
  '--encoder-seq-length 512',
  '--decoder-seq-length 128',
  '--max-position-embeddings 512',
  '--micro-batch-size 8',
  '--global-batch-size 512',
  '--bf16',
  '--vocab-size 30592',
  '--tensor-model-parallel-size 1',
  '--pipeline-model-parallel-size 4',
];

async function load(...more: readonly string[]) {
  const text = `torchrun --nnodes 1 --nproc_per_node 8 pretrain_t5.py \\\n  ${[...flags, ...more].join(' \\\n  ')}\n`;
  const read = await shellReader();
  return { read, ...(await loadConfig('run.sh', text, { read: notFound, shell: () => Promise.resolve(read) })) };
}

function notFound(): Promise<never> {
  return Promise.reject(new ExpectedError('not-found', sentence`no such file`, sentence`none`));
}

describe('a script that trains a T5', () => {
  it('is planned with both lengths, and its layers are divided by the split rank', async () => {
    const { run, findings } = await load('--pipeline-model-parallel-split-rank 1');
    const request = resolveRun(run!, defaults);
    assert.deepEqual(findings, []);
    assert.deepEqual(request.layout.stageLayers, [12, 4, 4, 4]);
    assert.deepEqual([request.training.sequenceLength, request.training.decoderSequenceLength], [512, 128]);
    assert.deepEqual([request.model.layers, request.model.stacks?.encoderLayers], [24, 12]);
  });

  it('is planned as well when it has one number of layers for both stacks', async () => {
    const text = flags.join(' ').replace('--encoder-num-layers 12 --decoder-num-layers 12', '--num-layers 6');
    const read = await shellReader();
    const { run } = await loadConfig('run.sh', `python pretrain_t5.py ${text}`, { read: notFound, shell: () => Promise.resolve(read) });
    assert.deepEqual([run?.model.layers.value, run?.model.encoderLayers.value], [12, 6]);
  });

  it('is reported when a stack cannot be divided over its stages', async () => {
    const { findings } = await load('--pipeline-model-parallel-split-rank 1', '--decoder-num-layers 10');
    assert.deepEqual(
      findings.map(({ code, message }) => [code, say(message)]),
      [['pp-layers-not-divisible', '10 layers of the decoder are not divisible by its 3 stages']],
    );
  });

  it('takes a plan back with the split rank, and gets no new file', async () => {
    const { run, launcher, read } = await load('--pipeline-model-parallel-split-rank 1');
    const request = resolveRun(run!, defaults);
    const plan = makePlan({ ...request, layout: { ...request.layout, stageLayers: [6, 6, 6, 6] } });
    const edited = writtenInto(toLaunchSettings(plan), editable(launcher!, read));
    assert.match(edited.text, /--pipeline-model-parallel-split-rank 2/);
    assert.doesNotMatch(edited.text, /pipeline-model-parallel-layout|first-pipeline/);
    assert.deepEqual(edited.gaps, []);
    assert.throws(() => newLauncher(toLaunchSettings(plan), writerOf('megatron-shell')), { code: 'export-encoder-decoder' });
  });
});

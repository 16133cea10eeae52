import assert from 'node:assert/strict';
import { writtenInto } from '../../../../../src/core/export/launchers/edit-launcher';
import type { LauncherReader } from '../../../../../src/core/run/facts';
import { shellReader } from '../../launchers/shell/shell-reader';
import { editable } from './editors';
import { planWith } from './plans';
import { toText } from '../../../sentence-text';

/** MindSpeed-LLM: 64 layers on 8 stages, three of which are not built. */
const noops = `torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 8 --sequence-parallel --use-distributed-optimizer \\
  --num-layers 64 --noop-layers 6,7,15 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 \\
  --micro-batch-size 1 --global-batch-size 16 --bf16 --use-fused-rmsnorm --num-layer-list NONE
`;

describe("a plan written into a script of MindSpeed-LLM's", () => {
  let read: LauncherReader;
  before(async () => {
    read = await shellReader();
  });

  const stagesIn = (text: string, stageLayers: readonly number[]): { readonly text: string; readonly gaps: readonly string[] } => {
    const pipeline = stageLayers.length;
    const layers = stageLayers.reduce((sum, count) => sum + count, 0);
    const plan = planWith({ tensor: 2, pipeline, data: 8 / pipeline, layers, stageLayers, sequenceParallel: true, globalBatch: 16 });
    const written = writtenInto(plan, editable(read('run.sh', text), read));
    return { text: written.text, gaps: written.gaps.map(({ what }) => toText(what)).filter((what) => what.includes('layers')) };
  };

  it('leaves out the layers that a stage has too many, and keeps the number of layers where it divides', () => {
    const script = noops.replace(' --num-layer-list NONE', '');
    const { text, gaps } = stagesIn(script, [31, 30]);
    assert.deepEqual(gaps, []);
    assert.match(text, /--num-layers 64 --noop-layers 31,62,63 /);
    assert.equal(read('run.sh', text).facts.layers?.value, 61);
    assert.match(stagesIn(script, [15, 16, 16, 14]).text, /--num-layers 64 --noop-layers 15,62,63 /);
  });

  it('writes the list of layers that a script has', () => {
    const script = noops.replace('--num-layers 64 --noop-layers 6,7,15', '--num-layers 61').replace('NONE', '8,8,8,8,8,8,8,5');
    const { text, gaps } = stagesIn(script, [16, 16, 15, 14]);
    assert.deepEqual(gaps, []);
    assert.match(text, /--num-layer-list 16,16,15,14$/m);
  });
});

import assert from 'node:assert/strict';
import type { Facts, LauncherReader } from '../../../../../src/core/run/facts';
import { runOfLauncher } from '../../../../../src/core/launchers/launcher-run';
import { readHuggingFace } from '../../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../../src/core/run/written-model';
import { writtenInto } from '../../../../../src/core/export/launchers/edit-launcher';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { launchFindings } from '../../../../../src/core/rules/launch-findings';
import { megatronStages } from '../../../../../src/core/launchers/megatron/stage-layers';
import { parameterCount } from '../../../../../src/core/model/parameters';
import type { ModelSpec } from '../../../../../src/core/domain/model';
import { shellReader } from '../../launchers/shell/shell-reader';
import { editable, writerOf } from './editors';
import { planWith } from './plans';
import { toText } from '../../../sentence-text';

function modelOf(config: object): ModelSpec {
  const { model, traits } = readHuggingFace('config.json', JSON.stringify(config));
  return toModelSpec(model, traits);
}

const nemotron = modelOf({
  model_type: 'nemotron_h',
  hybrid_override_pattern: 'M-M*-M-E',
  hidden_size: 1024,
  n_routed_experts: 8,
  vocab_size: 32000,
  layer_norm_epsilon: 1e-5,
});

describe('a hybrid handed to Megatron', () => {
  let read: LauncherReader;

  before(async () => {
    read = await shellReader();
  });

  const back = (facts: Facts, text: string): ModelSpec => {
    const launcher = { ...read('train.sh', text), facts };
    const { model, traits } = runOfLauncher(launcher, 'x', null);
    return toModelSpec(model, traits);
  };

  it('reads back as the same layers, sizes of the state included', () => {
    for (const config of [
      { model_type: 'nemotron_h', hybrid_override_pattern: 'M-M*-M-E', hidden_size: 1024, vocab_size: 32000 },
      {
        model_type: 'nemotron_h',
        hybrid_override_pattern: 'M-M*-M-',
        n_groups: 4,
        mamba_num_heads: 16,
        mamba_head_dim: 32,
        ssm_state_size: 32,
      },
      { model_type: 'mamba2', num_hidden_layers: 8 },
      { model_type: 'qwen3_next', num_hidden_layers: 8 },
    ]) {
      const model = modelOf(config);
      const { text, fileName, gaps } = newLauncher(planWith({ model, stageLayers: [model.layers] }), writerOf('megatron-shell'));
      const { facts, remarks } = read(fileName, text);
      assert.deepEqual(remarks.filter(({ severity }) => severity === 'error'), []); // prettier-ignore
      const again = back(facts, text);
      // Megatron-LM has chunks of its own.
      assert.deepEqual({ ...again.state, chunk: model.state?.chunk }, model.state, config.model_type);
      assert.deepEqual(again.layerKinds, model.layerKinds, config.model_type);
      assert.equal(again.outputGate, model.outputGate);
      const attends = model.layerKinds?.some(({ mixer }) => mixer === undefined) === true;
      if (attends) assert.deepEqual([again.heads, again.kvHeads, again.headDim], [model.heads, model.kvHeads, model.headDim]);
      const isShared = gaps.some(({ reason }) => toText(reason).includes('gate of the shared experts'));
      if (attends && !isShared) assert.equal(parameterCount(again), parameterCount(model), config.model_type);
    }
  });

  it('is read from a script of Nemotron-H 8B to its published count', () => {
    const pattern = 'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-';
    const text = `torchrun --nnodes 4 --nproc_per_node 8 pretrain_mamba.py --hybrid-override-pattern ${pattern} --num-layers 52 \\
      --hidden-size 4096 --ffn-hidden-size 21504 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128 \\
      --mamba-head-dim 64 --mamba-num-heads 128 --mamba-num-groups 8 --mamba-state-dim 128 --seq-length 8192 --vocab-size 131072 \\
      --tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --micro-batch-size 1 --global-batch-size 128 --bf16 \\
      --position-embedding-type none --normalization RMSNorm --disable-bias-linear --squared-relu --untie-embeddings-and-output-weights`;
    assert.equal(parameterCount(back(read('train.sh', text).facts, text)), 8_100_852_736);
  });

  it('runs the program of hybrids, and has nothing that its own rules find wrong', () => {
    const { text, fileName } = newLauncher(
      planWith({ model: nemotron, stageLayers: [4, 4], pipeline: 2, data: 4 }),
      writerOf('megatron-shell'),
    );
    assert.match(text, /pretrain_mamba\.py/);
    assert.match(text, /--hybrid-override-pattern "M-M\*-M-E"/);
    assert.deepEqual(launchFindings(read(fileName, text)).filter(({ severity }) => severity === 'error'), []); // prettier-ignore
  });

  it('cuts uneven and virtual stages by the ends or by bars in the pattern', () => {
    const stages = (stageLayers: readonly number[], virtualStages = 1) => {
      const pipeline = stageLayers.length / virtualStages;
      const { text, fileName, gaps } = newLauncher(
        planWith({ model: nemotron, stageLayers, pipeline, virtualStages, data: 8 / pipeline }),
        writerOf('megatron-shell'),
      );
      const openOnes = /^the config leaves open what Megatron-LM has a default for: coefficient of the load-balancing loss \(it takes 0\)$/;
      assert.deepEqual(gaps.filter(({ reason }) => !openOnes.test(toText(reason))), []); // prettier-ignore
      return { read: megatronStages(read(fileName, text).facts, 1, nemotron.layers), text };
    };
    assert.deepEqual(stages([3, 5]).read, [3, 5]);
    assert.match(stages([3, 5]).text, /--decoder-first-pipeline-num-layers 3/);
    assert.deepEqual(stages([1, 3, 2, 2]).read, [1, 3, 2, 2]);
    assert.match(stages([1, 3, 2, 2]).text, /--hybrid-layer-pattern "M\|-M\*\|-M\|-E"/);
    assert.deepEqual(stages([2, 2, 2, 2], 2).read, [2, 2, 2, 2]);
  });

  it('is edited in its own script, whose pattern keeps its letters', () => {
    const { text, fileName } = newLauncher(planWith({ model: nemotron, stageLayers: [8] }), writerOf('megatron-shell'));
    const file = read(fileName, text.replace('--hybrid-override-pattern', '--hybrid-layer-pattern').replace(/\s+--num-layers 8/, ''));
    const plan = planWith({ model: nemotron, stageLayers: [1, 3, 2, 2], pipeline: 4, data: 2 });
    const edited = writtenInto(plan, editable(file, read));
    assert.deepEqual(megatronStages(read(fileName, edited.text).facts, 1, 8), [1, 3, 2, 2]);
    const even = planWith({ model: nemotron, stageLayers: [4, 4], pipeline: 2, data: 4 });
    const whole = writtenInto(even, editable(read(fileName, edited.text), read));
    assert.deepEqual(megatronStages(read(fileName, whole.text).facts, 1, 8), [4, 4]);
  });

  it('reports that other layers with a state have no flags', () => {
    for (const model_type of ['mamba', 'jamba', 'bamba', 'falcon_h1', 'granitemoehybrid', 'minimax']) {
      const model = modelOf({ model_type, num_hidden_layers: 8 });
      const { gaps } = newLauncher(planWith({ model, stageLayers: [8] }), writerOf('megatron-shell'));
      assert.ok(
        gaps.some(({ reason }) => toText(reason).includes('SSM or linear-attention layers')),
        model_type,
      );
    }
  });
});

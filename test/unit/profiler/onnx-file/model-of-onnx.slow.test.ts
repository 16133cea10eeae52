import assert from 'node:assert/strict';
import { create } from '@bufbuild/protobuf';
import { FunctionProtoSchema, TensorProto_DataType as DataType } from 'onnx-buf';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../../../src/core/errors';
import type { ModelSpec } from '../../../../src/core/domain/model';
import { modelOfOnnx } from './whole-model';
import { graphWriter, inBranches, renamed, type Extent } from './graphs';
import { bert, bertSizes, fusedGpt2, gpt2, gpt2Sizes, llama, llamaSizes, packedLlama, packedSizes } from './models';
import { say } from '../../../../src/core/sentence';
import { toText } from '../../sentence-text';

const gpt2Spec: ModelSpec = {
  modelType: 'onnx',
  layers: gpt2Sizes.layers,
  hidden: gpt2Sizes.hidden,
  heads: gpt2Sizes.heads,
  kvHeads: gpt2Sizes.heads,
  headDim: 12,
  ffn: gpt2Sizes.ffn,
  gatedMlp: false,
  vocab: gpt2Sizes.vocab,
  tiedEmbeddings: true,
  maxPositions: gpt2Sizes.positions,
  positions: 'learned',
  norm: 'layernorm',
  qkvBias: true,
  attentionOutputBias: true,
  mlpBias: true,
  qkNorm: false,
  experts: null,
};

const { positions: packedPositions, ...packed } = packedSizes;
const llamaSpec: ModelSpec = {
  modelType: 'onnx',
  ...llamaSizes,
  gatedMlp: true,
  tiedEmbeddings: false,
  maxPositions: null,
  positions: 'rotary',
  norm: 'rmsnorm',
  qkvBias: false,
  attentionOutputBias: false,
  mlpBias: false,
  qkNorm: false,
  experts: null,
};

describe('modelOfOnnx', () => {
  describe('reads GPT-2', () => {
    for (const style of ['conv1d', 'linear'] as const)
      for (const past of [true, false])
        for (const norms of ['operator', 'pattern'] as const)
          it(`of ${style} layers ${past ? 'with' : 'without'} caches, norms as ${norms}`, () => {
            assert.deepEqual(modelOfOnnx(gpt2({ style, past, norms }).model(), 'gpt2.onnx').model, gpt2Spec);
          });

    it('when only the head size is in its reshapes', () => {
      assert.deepEqual(modelOfOnnx(gpt2({ past: false, reshapes: 'inferred' }).model(), 'gpt2.onnx').model, gpt2Spec);
    });

    it('whose equal vectors were merged and whose node names are gone', () => {
      const { model, doubts } = modelOfOnnx(gpt2({ style: 'linear', merged: true, nodeNames: false, past: false }).model(), 'gpt2.onnx');
      assert.deepEqual(model, gpt2Spec);
      assert.deepEqual(doubts, []);
    });

    it('whose layers were fused by the optimizer of ONNX Runtime', () => {
      const { model, precision, reason } = modelOfOnnx(fusedGpt2().model(), 'gpt2.onnx');
      assert.deepEqual(model, gpt2Spec);
      assert.equal(precision, 'fp16');
      assert.equal(toText(reason.heads), 'num_heads is 4 in the Attention nodes');
    });

    it('in the branches of a merged decoder, counting its layers once', () => {
      assert.deepEqual(
        modelOfOnnx(inBranches(gpt2({ nodeNames: false, style: 'linear', merged: true, past: false }).graph), 'merged.onnx').model,
        gpt2Spec,
      );
    });

    it('of 300 layers', () => {
      assert.deepEqual(modelOfOnnx(gpt2({ layers: 300, external: true }).model(), 'gpt2.onnx').model, { ...gpt2Spec, layers: 300 });
    });

    it('whose weights lie in another file', () => {
      assert.deepEqual(modelOfOnnx(gpt2({ external: true }).model(), 'gpt2.onnx').model, gpt2Spec);
    });
  });

  it('reads an encoder with norms after the sums', () => {
    const { positions, ...sizes } = bertSizes;
    assert.deepEqual(modelOfOnnx(bert().model(), 'bert.onnx').model, {
      ...gpt2Spec,
      ...sizes,
      kvHeads: 5,
      headDim: 8,
      maxPositions: positions,
    });
  });

  it('distinguishes tables when their names are gone', () => {
    const g = bert();
    const tables = ['word', 'token_type', 'position'].map(
      (name, index) => [`embeddings.${name}_embeddings.weight`, `table ${index}`] as const,
    );
    renamed(g.graph, Object.fromEntries(tables));
    const { model } = modelOfOnnx(g.model(), 'bert.onnx');
    assert.deepEqual([model.vocab, model.positions, model.maxPositions], [bertSizes.vocab, 'learned', bertSizes.positions]);
  });

  it('takes no table of segments for one of positions', () => {
    const g = gpt2();
    renamed(g.graph, { 'transformer.wpe.weight': 'token_type_embeddings.weight' });
    const { model, doubts } = modelOfOnnx(g.model(), 'gpt2.onnx');
    assert.deepEqual([model.positions, model.maxPositions, doubts.length], ['none', null, 1]);
  });

  it('reads a model that starts after its embedding', () => {
    for (const norms of ['operator', 'pattern'] as const) {
      const g = gpt2({ head: 'own', norms });
      g.input('inputs_embeds', ['batch', 'tokens', 'width']);
      const gather = g.graph.node.find(({ input }) => input[0] === 'transformer.wte.weight')!;
      Object.assign(gather, { opType: 'Identity', input: ['inputs_embeds'] });
      const { model, reason } = modelOfOnnx(g.model(), 'decoder.onnx');
      assert.deepEqual(model, { ...gpt2Spec, tiedEmbeddings: false });
      assert.equal(toText(reason.hidden), 'most norms are 48 wide, as transformer.h.0.ln_1.weight');
      assert.equal(toText(reason.vocab), 'lm_head.weight is a product of 48 x 211');
    }
  });

  it('reports that layers inside functions are not read', () => {
    const model = graphWriter().model();
    model.functions.push(create(FunctionProtoSchema, { name: 'Layer' }));
    assert.throws(() => modelOfOnnx(model, 'x.onnx'), { code: 'onnx-no-transformer', message: /functions/ });
  });

  it('reads caches of any layout', () => {
    const cached = (dims: readonly Extent[]) => {
      const g = gpt2();
      g.graph.input.splice(1);
      g.input('past_key_values.0.key', dims);
      const { layers, kvHeads, headDim } = modelOfOnnx(g.model(), 'gpt2.onnx').model;
      return { layers, kvHeads, headDim };
    };
    const expected = { layers: 3, kvHeads: 4, headDim: 12 };
    assert.deepEqual(cached(['batch', 4, 'past', 12]), expected);
    assert.deepEqual(cached(['batch', 'past', 4, 12]), expected);
    assert.deepEqual(cached([2, 'batch', 4, 'past', 12]), expected);
    assert.deepEqual(cached([1, 4, 32, 12]), expected);
  });

  it('shows which part of the graph each size was read from', () => {
    const { reason } = modelOfOnnx(gpt2().model(), 'gpt2.onnx');
    assert.equal(toText(reason.hidden), 'transformer.wte.weight is 211 x 48');
    assert.equal(toText(reason.maxPositions), 'transformer.wpe.weight is 96 x 48');
    assert.equal(toText(reason.layers), '3 layers have inputs for earlier keys and values');
    assert.equal(toText(reason.kvHeads), 'past_key_values.0.key is ? x 4 x ? x 12');
    assert.equal(toText(reason.ffn), 'transformer.h.0.mlp.c_proj.weight is a product of 160 x 48');
  });

  it('distinguishes a tied head from one of its own, and doubts a turned copy', () => {
    const tying = (head: 'table' | 'own' | 'copy' | 'none') => {
      const { model, doubts } = modelOfOnnx(gpt2({ head }).model(), 'gpt2.onnx');
      return [model.tiedEmbeddings, doubts.length];
    };
    assert.deepEqual(
      [tying('table'), tying('own'), tying('copy'), tying('none')],
      [
        [true, 0],
        [false, 0],
        [false, 1],
        [true, 1],
      ],
    );
  });

  it('finds a head that is wider than the embedding', () => {
    const { model, doubts } = modelOfOnnx(gpt2({ head: 'own', headWidth: 256 }).model(), 'gpt2.onnx');
    assert.deepEqual([model.vocab, model.tiedEmbeddings, doubts], [211, false, []]);
  });

  it('reports when its two ways to count layers differ', () => {
    const g = gpt2();
    renamed(g.graph, { 'past_key_values.2.key': 'other.2.key', 'past_key_values.2.value': 'other.2.value' });
    const { model, doubts } = modelOfOnnx(g.model(), 'gpt2.onnx');
    assert.equal(model.layers, 3);
    assert.deepEqual(
      doubts.map((doubt) => say(doubt)),
      ['Names count 3 layers under transformer.h, but 2 layers have inputs for earlier keys and values: 3 layers are taken'],
    );
  });

  it('reads the precision of the weights', () => {
    const precision = (type: DataType) => modelOfOnnx(gpt2({ type }).model(), 'gpt2.onnx').precision;
    assert.deepEqual([DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16].map(precision), ['fp32', 'fp16', 'bf16']);
  });

  describe('reads a Llama', () => {
    it('with grouped-query attention and queries wider than the model', () => {
      assert.deepEqual(modelOfOnnx(llama().model(), 'llama.onnx').model, llamaSpec);
      assert.deepEqual(modelOfOnnx(llama({ past: false }).model(), 'llama.onnx').model, llamaSpec);
    });

    it('with biases of queries, keys and values, and norms of heads', () => {
      const { model } = modelOfOnnx(llama({ qkvBias: true, qkNorm: true, past: false, reshapes: 'computed' }).model(), 'qwen.onnx');
      assert.deepEqual(model, { ...llamaSpec, qkvBias: true, qkNorm: true });
    });

    it('with experts', () => {
      const { model } = modelOfOnnx(llama({ experts: 5 }).model(), 'mixtral.onnx');
      assert.deepEqual(model, { ...llamaSpec, experts: { count: 5, active: 2 } });
    });

    it('of 4-bit weights, fused attention and a numbered last norm', () => {
      const { model, precision, doubts } = modelOfOnnx(packedLlama().model(), 'model.onnx');
      assert.deepEqual(model, { ...llamaSpec, ...packed, maxPositions: packedPositions });
      assert.equal(precision, 'fp16');
      assert.ok(
        doubts.some((doubt) => say(doubt) === 'Weights are stored in 4 bits: the layer is planned and profiled as a layer of floats'),
        doubts.map((doubt) => say(doubt)).join('\n'),
      );
    });
  });

  it('names what a graph does not show and where to set it', () => {
    const silent = gpt2({ past: false, reshapes: 'computed' }).model();
    assert.throws(
      () => modelOfOnnx(silent, '/models/gpt2.onnx'),
      (error) =>
        error instanceof ExpectedError &&
        error.code === 'onnx-incomplete' &&
        error.message === 'gpt2.onnx does not give the number of attention heads, the number of key/value heads or the head size' &&
        say(error.remedy).includes('config.json'),
    );
  });

  it('refuses a graph without attention', () => {
    const g = graphWriter();
    g.output(g.node('Relu', [g.node('MatMul', [g.input('x', ['batch', 8]), g.weight('w', [8, 8])])]), 'y', ['batch', 8]);
    assert.throws(() => modelOfOnnx(g.model(), 'mlp.onnx'), { code: 'onnx-no-transformer' });
  });

  it('prints names out of the file without their invisible characters', () => {
    const g = gpt2();
    renamed(g.graph, { 'transformer.wte.weight': 'wte\u202e\n.weight' });
    assert.equal(toText(modelOfOnnx(g.model(), 'x.onnx').reason.hidden), 'wte\\u{202e}\\u{a}.weight is 211 x 48');
  });
});

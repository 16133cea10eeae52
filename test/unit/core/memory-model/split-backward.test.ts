import assert from 'node:assert/strict';
import { scheduleOn } from '../../../../src/core/schedules/on-layout';
import { passMemory } from '../../../../src/core/memory-model/count';
import { usablePeakBytes } from '../../../../src/core/memory-model/verdict';
import { unitMemory } from '../../../../src/core/memory-model/chunk-memory';
import type { MemoryInputs, Layout, TrainingSpec } from '../../../../src/core/domain/request';
import { staticBytes, totalBytes } from '../../../../src/core/memory-model/static';
import { keptForWeights, matrixProducts } from '../../../../src/core/memory-model/split-backward';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { predict } from '../../../../src/core/planner/predict/predict';
import { deepseek, gpt, llama3, mixtral, request } from '../../../golden/requests';

const s = 2048;
const h = 4096;
const a = 32;
const whole = { microBatch: 0, slice: 0, batch: 1, tokens: s, context: 0 };
const middle = { layers: 1, first: false, last: false };
const last = { layers: 1, first: false, last: true };

function gptInputs(training: Partial<TrainingSpec> = {}, layout: Partial<Layout> = {}, vocab = 0): MemoryInputs {
  return request('A100-80GB', gpt(4, h, a, vocab), { training: { dropout: true, ...training }, layout });
}

describe('a backward in two halves', () => {
  it('saves s b h (34 + 5 a s / h) bytes a layer, of which 32 s b h remain for the weight gradient (arXiv 2401.10241, Table 1)', () => {
    const { activations, keptForWeights: kept } = unitMemory(gptInputs(), middle, whole, false, 1);
    assert.equal(activations, s * h * (34 + (5 * a * s) / h));
    assert.equal(kept, 32 * s * h);
  });

  it('keeps the input and the output gradient of each GEMM', () => {
    const perToken = matrixProducts(gptInputs(), whole).map(({ name, input, outputGradient }) => [
      name,
      input / s / h,
      outputGradient / s / h,
    ]);
    assert.deepEqual(perToken, [
      ['queries, keys and values', 2, 6],
      ['attention output', 2, 2],
      ['first feed-forward', 2, 8],
      ['second feed-forward', 8, 2],
    ]);
  });

  it('keeps inputs and output gradients gathered over the tensor parallel ranks, their other dimension divided', () => {
    const one = keptForWeights(gptInputs(), middle, whole).layers;
    const eight = keptForWeights(gptInputs({ sequenceParallel: true }, { tensor: 8 }), middle, whole).layers;
    assert.equal(one, s * h * 32);
    assert.equal(eight, s * h * (4 * 2 + 24 / 8));
  });

  it('keeps nothing of grouped-query and gated layers that a whole backward does not have', () => {
    const inputs = request('B200', llama3('70b', 4), { training: { attention: 'flash', dropout: false }, layout: {} });
    const [q, k, f] = [8192, 2 * 8 * 128, 28672];
    assert.equal(keptForWeights(inputs, middle, whole).layers, 2 * s * (3 * q + (q + k) + q + q + 2 * f + f));
  });

  it('keeps the rows of all visits of experts', () => {
    const dense = request('B200', { ...mixtral(1), experts: null }, { training: { dropout: false }, layout: {} });
    const experts = request('B200', mixtral(1), { training: { dropout: false }, layout: {} });
    const more = keptForWeights(experts, middle, whole).layers - keptForWeights(dense, middle, whole).layers;
    assert.equal(more, 2 * s * (2 * h + 3 * 14336));
  });

  it('keeps what compresses and projects in latent attention, and the shared experts', () => {
    const at = (layout: Partial<Layout>) =>
      request('B200', deepseek(2, 2), {
        training: { attention: 'flash', dropout: false, sequenceParallel: layout.tensor !== undefined },
        layout,
      });
    const sizes = (tensor: number) => {
      const compressed = (5120 + 1536 + 512 + 64) / tensor;
      const projected = 1536 + 512 + (128 * 192 + 128 * 256) / tensor;
      const output = (128 * 128) / tensor + 5120;
      const routed = 6 * (2 * 5120 + (3 * 1536) / tensor);
      const shared = 2 * 5120 + (3 * 3072) / tensor;
      return 2 * s * (compressed + projected + output + routed + shared);
    };
    assert.equal(keptForWeights(at({}), middle, whole).layers, sizes(1));
    assert.equal(keptForWeights(at({ tensor: 4 }), middle, whole).layers, sizes(4));
    const groups = [
      { kind: { feedForward: 'dense', window: null }, layers: 1 },
      { kind: { feedForward: 'experts', window: null }, layers: 1 },
    ] as const;
    const both = keptForWeights(at({}), { ...middle, layers: 2, groups }, whole).layers;
    assert.equal(both - sizes(1), sizes(1) - 2 * s * (6 * (2 * 5120 + 3 * 1536) + 2 * 5120 + 3 * 3072) + 2 * s * (2 * 5120 + 3 * 12288));
  });

  it('peaks in the layer that works with most, the later ones done, where layers differ', () => {
    const inputs = request('B200', deepseek(2, 2), { training: { attention: 'flash', dropout: false }, layout: {} });
    const [dense, experts] = (['dense', 'experts'] as const).map((feedForward) => ({ kind: { feedForward, window: null }, layers: 1 }));
    const at = (groups: (typeof dense)[]) =>
      unitMemory(inputs, { ...middle, layers: groups.length, groups: groups as never }, whole, false, 1);
    const [one, two] = [at([dense!]), at([experts!])];
    const { backwardInput } = at([dense!, experts!]);
    const last = one.activations + two.activations + two.backwardInput.working;
    const first = one.activations + two.keptForWeights + one.backwardInput.working;
    assert.equal(backwardInput.activations + backwardInput.keptForWeights + backwardInput.working, Math.max(last, first));
  });

  it('keeps of the head its input and the gradient of the logits', () => {
    const inputs = gptInputs({}, {}, 51200);
    const { logits, keptForWeights: kept } = unitMemory(inputs, last, whole, false, 1);
    assert.equal(kept - 32 * s * h, s * (2 * h + 2 * 51200));
    assert.equal(logits, s * (4 * h + 10 * 51200));
  });

  it('keeps with full recompute what the layers brought back, more than they saved', () => {
    const layers = { layers: 4, first: false, last: false };
    const { activations, keptForWeights: kept, backwardInput } = unitMemory(gptInputs({ recompute: 'full' }), layers, whole, false, 1);
    assert.equal(activations, 4 * 2 * s * h);
    assert.equal(kept, 4 * 32 * s * h);
    assert.deepEqual([backwardInput.activations, backwardInput.keptForWeights], [2 * s * h, 3 * 32 * s * h]);
  });

  it('peaks in its input gradient when every layer is still saved, unless layers leave more than they free', () => {
    const layers = { layers: 4, first: false, last: false };
    const { activations, backwardInput } = unitMemory(gptInputs(), layers, whole, false, 1);
    assert.deepEqual([backwardInput.activations, backwardInput.keptForWeights], [activations, 0]);
  });

  it("keeps the whole graph and the gradients of the products' outputs under PyTorch's own runtime, with no more than their factors under Megatron-LM", () => {
    const held = (runtime: 'megatron' | 'torchtitan') => {
      const inputs = gptInputs({ runtime });
      const { activations, keptForWeights: kept } = unitMemory(inputs, middle, whole, false, 1);
      const gradients = matrixProducts(inputs, whole).reduce((sum, { outputGradient }) => sum + outputGradient, 0);
      return { activations, kept, gradients };
    };
    const torch = held('torchtitan');
    assert.equal(torch.kept, torch.activations + torch.gradients);
    assert.equal(torch.gradients, 2 * s * (3 * h + h + 4 * h + h));
    const megatron = held('megatron');
    assert.ok(megatron.kept < megatron.activations);
  });

  it('holds as many micro-batches on every stage of a V under Megatron-LM, and more on the last under PyTorch, where weight gradients wait longest', () => {
    const perStage = (runtime: 'megatron' | 'torchtitan'): number[] => {
      const wanted = request(
        'H100-80GB',
        { ...llama3('70b', 8), vocab: 0 },
        {
          training: { runtime, compile: true, microBatch: 1, globalBatch: 16, attention: 'flash', dropout: false },
          layout: { pipeline: 4 },
        },
      );
      const scheme = Array.from({ length: 16 }, () => ({ batch: 1, tokens: [s] }));
      const spec = { id: 'ZBVZeroBubble', name: '', kind: scheduleOn('ZBVZeroBubble', wanted.layout), scheme, certificate: null } as const;
      const { memory } = predict(buildPipeline(wanted), spec);
      // by its layers, without what a pipeline keeps of what it sent
      const one = 2 * unitMemory({ ...wanted, layout: { ...wanted.layout, pipeline: 1 } }, middle, whole, false, 1).activations;
      return memory.stages.map(({ parts }) => (parts.activations + parts.keptForWeights) / one);
    };
    for (const held of perStage('megatron')) assert.ok(Math.abs(held - 4) < 0.01, `${held}`);
    const torch = perStage('torchtitan');
    assert.ok(torch[3]! > 5 && torch[3]! < 6, torch.join());
  });

  it('has room for the units that a planner may hold', () => {
    const inputs = gptInputs({}, { pipeline: 2 }, 51200);
    const shapes = [
      { layers: 2, first: true, last: false },
      { layers: 2, first: false, last: true },
    ];
    const capacity = 80 * 2 ** 30;
    const pass = passMemory(inputs, whole, shapes, Uint32Array.from([0, 1]), capacity);
    shapes.forEach((shape, stage) => {
      const memory = unitMemory(inputs, shape, whole, false, 1);
      assert.equal(pass.forward[stage], memory.activations + memory.logits);
      assert.equal(pass.forward[stage] + pass.backwardInput[stage]! + pass.backwardWeight[stage]!, 0);
      const always = totalBytes(staticBytes(inputs, shape));
      const working = Math.max(memory.forward.working, memory.backwardInput.working);
      assert.equal(pass.limit[stage], usablePeakBytes(capacity) - always - working);
    });
  });
});

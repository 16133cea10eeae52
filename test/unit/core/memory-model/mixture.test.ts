import assert from 'node:assert/strict';
import { countMemory } from '../../../../src/core/memory-model/count';
import { layerOperations, savedBytes } from '../../../../src/core/memory-model/activation-memory';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { evenStageContents } from '../../../../src/core/partition/stages';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { deepseek, llama3, request } from '../../../golden/requests';

const unit = { microBatch: 0, slice: 0, batch: 1, tokens: 4096, context: 0 };
const mib = 2 ** 20;
const training = {
  attention: 'flash',
  dropout: false,
  precision: 'bf16',
  zeroStage: 1,
  fusedCrossEntropy: true,
  sequenceLength: 4096,
} as const;
const at = (layout: object, changed: object = {}) => request('B200', deepseek(2, 4), { training: { ...training, ...changed }, layout });
const [first, last] = evenStageContents(4, 2, deepseek(2, 4));

describe('memory of a mixture with latent attention', () => {
  it('saves compressed tensors, projected queries, keys and values, the output, and for every visit its row and its network', () => {
    const routedLayer = { layers: 1, first: false, last: false };
    const hiddenSized = 4 * 2 * 5120;
    const attention = 2 * (2 * 1536 + 2 * 512 + 64) + 2 * (2 * 128 * 192 + 2 * 128 * 128) + 4 * 128;
    const networks = 2 * 6 * (5120 + 3 * 1536) + 2 * 3 * 3072 + 18 * 160;
    assert.equal(savedBytes(at({}), routedLayer, unit, false).activations / 4096, hiddenSized + attention + networks);
  });

  it('peaks where the experts are put together again, in forward, with the rows sent and received still named', () => {
    const { forward, backward } = layerOperations(at({ data: 4, expert: 4, pipeline: 2 }), last!, unit);
    const rows = 2 * 6 * 5120;
    const boundary = 2 * 5120;
    assert.equal(forward[0]!.bytes / 4096, 4 * rows + 2 * boundary + boundary);
    assert.ok(backward.every(({ bytes }) => bytes < forward[0]!.bytes));
    const unexchanged = layerOperations(at({}), { layers: 1, first: true, last: true }, unit).forward[0]!.bytes / 4096;
    assert.equal(unexchanged, 3 * rows + boundary, 'without an exchange what is sent is what is received');
  });

  it('takes less to work on experts that a later layer has not saved yet', () => {
    const groups = [
      { kind: { feedForward: 'experts', window: null }, layers: 1 },
      { kind: { feedForward: 'dense', window: null }, layers: 1 },
    ] as const;
    const shape = { layers: 2, first: false, last: false, groups };
    const [combination] = layerOperations(at({}), shape, unit).forward;
    const onlyExperts = layerOperations(at({}), { ...shape, layers: 1, groups: [groups[0]] }, unit).forward[0]!;
    const dense = savedBytes(at({}), { ...shape, layers: 1, groups: [groups[1]] }, unit, false).activations;
    assert.equal(combination!.bytes, onlyExperts.bytes - dense);
  });

  it('holds workspaces for every library that the stage uses', () => {
    const of = (inputs: ReturnType<typeof at>, shape: Parameters<typeof staticBytes>[1]) => staticBytes(inputs, shape).workspaces / mib;
    const dense = request('B200', llama3('70b', 4), { training, layout: { pipeline: 2 } });
    assert.equal(of(dense, { layers: 2, first: true, last: false }), 32);
    assert.equal(of(dense, { layers: 2, first: false, last: true }), 64);
    assert.equal(of(at({ pipeline: 2 }), first!), 32 + 32 + 128);
    assert.equal(of(at({ expert: 160, data: 160 }), first!), 64, 'one expert needs no grouped GEMM');
  });

  it('knows which layers each stage has', () => {
    const kinds = (shape: typeof first) => shape!.groups!.map(({ kind, layers }) => `${layers} ${kind.feedForward}`);
    assert.deepEqual([kinds(first), kinds(last)], [['1 dense', '1 experts'], ['2 experts']]);
    const inputs = at({ data: 4, expert: 4, pipeline: 2 });
    const scheme = Array.from({ length: 4 }, () => ({ batch: 1, tokens: [4096] }));
    const schedule = generateSchedule('1F1B', toScheduleProblem(scheme, 2));
    const { stages } = countMemory(inputs, schedule, [first!, last!], 192e9);
    assert.ok(stages[1]!.parts.weights > stages[0]!.parts.weights);
    assert.deepEqual(
      stages.map(({ peakOperation }) => peakOperation),
      ['expert combination', 'expert combination'],
    );
    for (const { peakBytes, reservedBytes, inUseBytes } of stages) assert.ok(peakBytes < reservedBytes && reservedBytes < inUseBytes);
  });
});

import assert from 'node:assert/strict';
import { stageCost } from '../../../../src/core/time-model/stage-cost';
import { chunkMemories } from '../../../../src/core/memory-model/chunk-memory';
import { countMemory } from '../../../../src/core/memory-model/count';
import { fitsMemory } from '../../../../src/core/memory-model/verdict';
import { liveCurve } from '../../../../src/core/memory-model/curve';
import { layerOperations, savedBytes } from '../../../../src/core/memory-model/activation-memory';
import type { MemoryInputs, TrainingSpec } from '../../../../src/core/domain/request';
import { staticBytes } from '../../../../src/core/memory-model/static';
import { memoryParts } from '../../../../src/core/memory-model/profile';
import { evenStageContents } from '../../../../src/core/partition/stages';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { schemeUnits, type Schedule } from '../../../../src/core/schedules/schedule';
import { noTransfers, simulate, wholeBackward } from '../../../../src/core/schedules/simulate/simulate';
import { gpt, llama3, mixtral, request } from '../../../golden/requests';

const whole = { microBatch: 0, slice: 0, batch: 1, tokens: 2048, context: 0 };
const middle = { layers: 1, first: false, last: false };

function chunks(count: number, tokens: readonly number[]) {
  return Array.from({ length: count }, () => ({ batch: 1, tokens }));
}

describe('saved activations', () => {
  const s = 2048;
  const h = 4096;
  const a = 32;

  it('are s b h (34 + 5 a s / h) bytes a layer with dropout and unfused attention (arXiv 2205.05198, eq. 1)', () => {
    const inputs: MemoryInputs = request('A100-80GB', gpt(4, h, a, 0), { training: { dropout: true }, layout: {} });
    assert.equal(savedBytes(inputs, middle, whole, false).activations, s * h * (34 + (5 * a * s) / h));
  });

  it('are divided by the tensor parallel size with sequence parallelism (eq. 4)', () => {
    const inputs: MemoryInputs = request('A100-80GB', gpt(4, h, a, 0), {
      training: { dropout: true, sequenceParallel: true },
      layout: { tensor: 8 },
    });
    assert.equal(savedBytes(inputs, middle, whole, false).activations, (s * h * (34 + (5 * a * s) / h)) / 8);
  });

  it('are only the layer input with full recompute', () => {
    const inputs: MemoryInputs = request('A100-80GB', gpt(4, h, a, 0), { training: { recompute: 'full' }, layout: {} });
    assert.equal(savedBytes(inputs, middle, whole, false).activations, 2 * s * h);
  });

  it('drop the attention scores with selective recompute', () => {
    const inputs: MemoryInputs = request('A100-80GB', gpt(4, h, a, 0), { training: { recompute: 'selective' }, layout: {} });
    assert.equal(savedBytes(inputs, middle, whole, false).activations, s * h * 34);
  });

  it('hold a whole key/value head on every rank when there are more ranks than heads', () => {
    const at = (tensor: number) =>
      request('B200', { ...llama3('70b', 1), kvHeads: 2 }, { training: { attention: 'flash' }, layout: { tensor } });
    const keysValues = (tensor: number) => savedBytes(at(tensor), middle, whole, true).keysValues;
    assert.equal(keysValues(2), keysValues(8));
    assert.equal(keysValues(1), 2 * keysValues(2));
  });

  it('of the token slices of a sequence add up to those of the whole with fused attention, plus the kept keys and values', () => {
    const inputs: MemoryInputs = request('A100-80GB', gpt(4, h, a, 0), { training: { attention: 'flash' }, layout: {} });
    const slice = (context: number) => savedBytes(inputs, middle, { ...whole, tokens: 1024, context }, true);
    assert.equal(slice(0).activations + slice(1024).activations, savedBytes(inputs, middle, whole, false).activations);
    assert.equal(slice(0).keysValues, 2 * 2 * 1024 * h);
  });
});

describe('what units hold', () => {
  it('is known apart for slices of one length after different contexts', () => {
    const inputs = request('A100-80GB', gpt(1, 1024, 16, 0), { training: {}, layout: {} });
    const units = schemeUnits(chunks(2, [512, 512]));
    const [table] = chunkMemories(inputs, units, [middle]);
    assert.deepEqual(Array.from(table!.unitKinds), [0, 1, 0, 1]);
    units.forEach((unit, index) => {
      assert.equal(table!.alike[table!.unitKinds[index]!]!.activations, savedBytes(inputs, middle, unit, true).activations);
    });
  });
});

describe('recompute', () => {
  const of = (recompute: 'none' | 'selective' | 'full', attention: 'flash' | 'unfused') => {
    const inputs = request('A100-80GB', gpt(2, 4096, 32, 0), { training: { recompute, attention }, layout: {} });
    const { forwardMs, backwardMs } = stageCost(inputs, 1, middle)(1, 2048, 0);
    return { bytes: savedBytes(inputs, middle, whole, false).activations, forwardMs, backwardMs };
  };

  it('in full saves only the layer input and takes its forward once more', () => {
    for (const attention of ['flash', 'unfused'] as const) {
      const [none, full] = [of('none', attention), of('full', attention)];
      assert.equal(full.bytes, 2 * 2048 * 4096);
      assert.ok(Math.abs(full.backwardMs - none.backwardMs - none.forwardMs) < 1e-9);
    }
  });

  it('of the attention core takes its forward once more, and saves bytes only where its scores are kept', () => {
    const [none, selective] = [of('none', 'unfused'), of('selective', 'unfused')];
    assert.ok(selective.bytes < none.bytes && selective.backwardMs > none.backwardMs);
    const [fused, again] = [of('none', 'flash'), of('selective', 'flash')];
    assert.equal(again.bytes, fused.bytes);
    const attentionMs = again.backwardMs - fused.backwardMs;
    assert.ok(attentionMs > 0 && attentionMs < fused.forwardMs);
  });
});

describe('static memory', () => {
  it('is 18 bytes a parameter with fp32 gradients and Adam, less what ZeRO shards', () => {
    const at = (zeroStage: 0 | 1 | 2 | 3) =>
      staticBytes(request('A100-80GB', gpt(1, 1024, 16, 0), { training: { zeroStage }, layout: { data: 4 } }), middle);
    const { weights, gradients, optimizer } = at(0);
    assert.equal((weights + gradients + optimizer) / weights, 9);
    assert.equal(at(1).optimizer, optimizer / 4);
    assert.equal(at(2).gradients, gradients / 4);
    assert.equal(at(3).weights, weights / 4);
  });

  it('has weights of products in FP8 with them, or instead of them, once or twice', () => {
    const weights = (training: Partial<TrainingSpec>) =>
      staticBytes(request('H100-80GB', gpt(1, 1024, 16, 0), { training: { precision: 'bf16', ...training }, layout: {} }), middle).weights;
    const matrices = 12 * 1024 ** 2;
    const inFp8 = { gemmPrecision: 'fp8' } as const;
    assert.equal(weights(inFp8) - weights({}), 2 * matrices);
    assert.equal(weights({ ...inFp8, narrowCopies: 1 }) - weights({}), matrices);
    assert.equal(weights({ ...inFp8, fp8ParamGather: true }), weights({}));
    assert.equal(weights({ ...inFp8, fp8ParamGather: true, narrowCopies: 1 }), weights({}) - matrices);
  });
});

describe('memory of a mixture of experts', () => {
  const at = (layout: object, training: object = {}): MemoryInputs =>
    request('B200', mixtral(1), { training: { attention: 'flash', dropout: false, precision: 'bf16', ...training }, layout });
  const experts = 8 * 3 * 4096 * 14336;

  it('holds every expert, or those of the rank with expert parallelism', () => {
    const bytes = (expert: number) => staticBytes(at({ data: 8, expert }, { zeroStage: 1 }), middle);
    assert.equal(bytes(1).weights - bytes(8).weights, 2 * experts * (7 / 8));
    assert.equal(bytes(1).gradients - bytes(8).gradients, 4 * experts * (7 / 8));
  });

  it('shards the optimizer of the experts over the replicas that hold the same: no expert twice, none in less', () => {
    const optimizer = (expert: number, data: number) => staticBytes(at({ data, expert }, { zeroStage: 1 }), middle).optimizer;
    assert.equal(optimizer(8, 8), optimizer(1, 8));
    assert.equal(optimizer(4, 16), optimizer(1, 16));
  });

  it('keeps one dummy gradient for all experts of a shape', () => {
    const attention = 4096 * (4096 + 2 * 1024) + 4096 * 4096;
    assert.equal(staticBytes(at({}), middle).dummyGradients, 2 * (attention + experts / 8));
    assert.equal(staticBytes(at({ tensor: 2, expert: 4, data: 4 }), middle).dummyGradients, attention + experts / 8);
  });

  it('saves for every visit the permuted row, both up projections and the activation, and the scores of all experts', () => {
    const dense = request('B200', { ...mixtral(1), experts: null }, { training: at({}).training, layout: {} });
    const saved = (inputs: MemoryInputs) => savedBytes(inputs, middle, whole, false).activations / 2048;
    assert.equal(saved(at({})) - saved(dense), 2 * 3 * 14336 + 2 * 2 * 4096 + 18 * 8);
    assert.equal(saved(at({ data: 8, expert: 8 })), saved(at({})));
    assert.equal(saved(at({}, { recompute: 'full' })), 2 * 4096);
  });

  it('peaks in backward at the gradients of all visits', () => {
    const operations = (layout: object) =>
      new Map(layerOperations(at(layout), middle, whole).backward.map(({ name, bytes }) => [name, bytes / 2048]));
    const onOneRank = operations({});
    assert.equal(onOneRank.get('second feed-forward backward'), 2 * 2 * (4096 + 14336));
    assert.equal(onOneRank.get('first feed-forward backward'), 2 * 2 * (4096 + 2 * 14336));
    assert.equal(onOneRank.get('expert exchange backward'), undefined);
    assert.equal(operations({ data: 2, expert: 2 }).get('expert exchange backward'), 2 * 2 * 2 * 4096);
  });
});

describe('peak memory', () => {
  const inputs = request('A100-80GB', llama3('70b', 8), {
    training: { sequenceLength: 4096, attention: 'flash', dropout: false, fusedCrossEntropy: true, sequenceParallel: true },
    layout: { tensor: 8, pipeline: 4 },
  });
  const shapes = evenStageContents(8, 4);
  const profileOf = (name: 'TeraPipe' | 'GPipe' | '1F1B', tokens: readonly number[], capacityBytes = 80 * 2 ** 30) =>
    countMemory(inputs, generateSchedule(name, toScheduleProblem(chunks(8, tokens), 4)), shapes, capacityBytes);

  it('is the sum of its named parts on every stage', () => {
    for (const stage of profileOf('TeraPipe', [2048, 2048]).stages) {
      const sum = memoryParts.reduce((total, part) => total + stage.parts[part], 0);
      assert.equal(sum, stage.peakBytes);
    }
  });

  it('holds p - stage micro-batches with 1F1B and all of them with GPipe', () => {
    assert.deepEqual(
      profileOf('1F1B', [4096]).stages.map((stage) => stage.unitsInFlight),
      [4, 3, 2, 1],
    );
    assert.deepEqual(
      profileOf('GPipe', [4096]).stages.map((stage) => stage.unitsInFlight),
      [8, 8, 8, 8],
    );
  });

  it('grows with interleaving as counted from the order of operations, on stage 0 by 1 + (p-1)/(p v) (arXiv 2205.05198)', () => {
    for (const [stages, virtualStages, rounds] of [
      [2, 2, 1],
      [4, 2, 1],
      [4, 2, 3],
      [4, 3, 2],
      [8, 2, 2],
    ] as const) {
      const layers = stages * virtualStages;
      const layout = { pipeline: stages, virtualStages };
      const interleaved = request('A100-80GB', gpt(layers, 1024, 16, 0), { training: {}, layout });
      const scheme = chunks(rounds * stages, [2048]);
      const activations = (schedule: Schedule): number[] =>
        countMemory(interleaved, schedule, evenStageContents(layers, schedule.stageOfChunk.length), 2 ** 40).stages.map(
          ({ parts }) => parts.activations,
        );
      const counted = activations(generateSchedule('Interleaved1F1B', toScheduleProblem(scheme, stages, virtualStages)));
      const formula = activations(generateSchedule('1F1B', toScheduleProblem(scheme, stages)));
      counted.forEach((bytes, stage) => assert.ok(Math.abs(bytes / formula[stage]! - 1) < 1e-12, `${bytes} against ${formula[stage]}`));
      if (rounds === 1) continue;
      const plain = savedBytes(interleaved, { layers: virtualStages, first: false, last: false }, whole, false).activations;
      assert.ok(Math.abs(formula[0]! / plain / stages - 1 - (stages - 1) / (stages * virtualStages)) < 1e-12);
    }
  });

  it('holds (s + p - 1) / s micro-batches on stage 0 under Seq1F1B, their keys and values, and the gradients of one sequence (arXiv 2406.03488)', () => {
    const flash = request('A100-80GB', gpt(4, 1024, 16, 0), { training: { attention: 'flash' }, layout: { pipeline: 4 } });
    const each = 8;
    const scheme = chunks(
      8,
      Array.from({ length: each }, () => 2048 / each),
    );
    const { parts } = countMemory(flash, generateSchedule('Seq1F1B', toScheduleProblem(scheme, 4)), evenStageContents(4, 4), 2 ** 40)
      .stages[0]!;
    // Keys and values of 2,048 tokens in one layer of width 1,024, 2 bytes each.
    const keysValues = 2048 * (1024 + 1024) * 2;
    assert.equal(parts.activations, (savedBytes(flash, middle, whole, false).activations * (each + 3)) / each);
    assert.equal(parts.keysValues, (keysValues * (each + 3)) / each + keysValues);
  });

  it('is where the timeline shows, and as high as the curve', () => {
    for (const [name, tokens] of [
      ['TeraPipe', [2048, 1024, 1024]],
      ['Seq1F1B', [2048, 1024, 1024]],
      ['1F1B', [4096]],
    ] as const) {
      const schedule = generateSchedule(name, toScheduleProblem(chunks(8, tokens), 4));
      const ms = new Float64Array(4 * schedule.units.length).fill(1);
      const timeline = simulate(schedule, wholeBackward(ms, ms), noTransfers(schedule.units.length));
      const profile = countMemory(inputs, schedule, shapes, 80 * 2 ** 30);
      for (const { stage, staticBytes: always, peakRow, peakBytes } of profile.stages) {
        const { timeMs, bytes } = liveCurve(timeline, profile.chunks, stage, always);
        const highest = bytes.reduce((most, value) => Math.max(most, value), 0);
        assert.ok(Math.abs(highest / peakBytes - 1) < 1e-12);
        assert.equal(timeMs[bytes.indexOf(highest)], timeline.startMs[peakRow]);
        assert.ok(Math.abs(bytes.at(-1)! / always - 1) < 1e-12);
      }
    }
  });

  it('is made by the head on the last stage and by the activation before it', () => {
    const names = profileOf('1F1B', [4096]).stages.map((stage) => stage.peakOperation);
    assert.equal(names.at(-1), 'head backward');
    assert.notEqual(names[0], 'head backward');
  });

  it('keeps keys and values, and their gradients in backward, only where sequences are sliced', () => {
    assert.equal(profileOf('GPipe', [4096]).stages[0]!.parts.keysValues, 0);
    assert.ok(profileOf('TeraPipe', [2048, 2048]).stages[0]!.parts.keysValues > 0);
  });

  it('fits only with its margin', () => {
    const profile = profileOf('1F1B', [4096]);
    const needed = 1.05 * Math.max(...profile.stages.map((stage) => stage.peakBytes)) + 2 ** 30;
    assert.equal(fitsMemory(profileOf('1F1B', [4096], needed + 1)), true);
    assert.equal(fitsMemory(profileOf('1F1B', [4096], needed - 1)), false);
  });
});

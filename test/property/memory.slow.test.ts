import assert from 'node:assert/strict';
import fc from 'fast-check';
import { chunkMemories, type BusiestMoment, type ChunkMemory } from '../../src/core/memory-model/chunk-memory';
import { countedVerdict, countMemory, fitsGpuMemory } from '../../src/core/memory-model/count';
import { liveCurve, liveParts, livingParts, maximumUnitsInFlight, stagePeak } from '../../src/core/memory-model/curve';
import { memoryParts } from '../../src/core/memory-model/profile';
import { fitsMemory, memoryVerdict } from '../../src/core/memory-model/verdict';
import type { MemoryInputs } from '../../src/core/domain/request';
import { evenStageContents } from '../../src/core/partition/stages';
import { generateSchedule, toScheduleProblem, scheduleKinds, scheduleNames } from '../../src/core/schedules/registry';
import { operationKind, type Schedule, type Timeline } from '../../src/core/schedules/schedule';
import { noTransfers, simulate } from '../../src/core/schedules/simulate/simulate';
import type { Scheme } from '../../src/core/domain/scheme';
import { pointAt } from '../../webview/charts/memory/curve';
import { gpt, llama3, mixtral, request } from '../golden/requests';
import { cases } from './cases';

const seed = 20261122;

/** Something in use from `fromMs` on, until before `toMs`. */
interface Interval {
  readonly fromMs: number;
  readonly toMs: number;
  readonly bytes: number;
}

/** Every tensor of one stage with its life, from the definitions in `UnitMemory` and nothing else. */
function intervalsOf(timeline: Timeline, chunks: readonly ChunkMemory[], stage: number): Interval[] {
  const { units, rowStart, kind, chunk, unit, startMs, endMs } = timeline;
  const rows = Array.from({ length: rowStart[stage + 1]! - rowStart[stage]! }, (_, index) => rowStart[stage]! + index);
  const find = (kinds: readonly number[], onChunk: number, ofUnit: number): number | undefined =>
    rows.find((row) => kinds.includes(kind[row]!) && chunk[row] === onChunk && unit[row] === ofUnit);
  const sizeOf = ({ activations, keysValues, logits, keptForWeights, working }: BusiestMoment): number =>
    activations + keysValues + logits + keptForWeights + working;
  const intervals: Interval[] = [];
  for (const forward of rows.filter((row) => kind[row] === operationKind.forward)) {
    const [c, u] = [chunk[forward]!, unit[forward]!];
    const own = chunks[c]!.alike[chunks[c]!.unitKinds[u]!]!;
    const back = find([operationKind.backward, operationKind.backwardInput], c, u)!;
    const saved = own.activations + own.keysValues + own.logits;
    const whole = kind[back] === operationKind.backward;
    intervals.push({ fromMs: startMs[forward]!, toMs: endMs[back]!, bytes: saved });
    intervals.push({ fromMs: startMs[forward]!, toMs: endMs[forward]!, bytes: sizeOf(own.forward) - saved });
    intervals.push({ fromMs: startMs[back]!, toMs: endMs[back]!, bytes: sizeOf(whole ? own.backward : own.backwardInput) - saved });
    let last = u;
    while (units[last + 1]?.microBatch === units[u]!.microBatch) last++;
    const backOfLast = find([operationKind.backward, operationKind.backwardInput], c, last)!;
    intervals.push({ fromMs: startMs[backOfLast]!, toMs: endMs[back]!, bytes: own.keyValueGradients });
    if (whole) continue;
    const weight = find([operationKind.backwardWeight], c, u)!;
    intervals.push({ fromMs: endMs[back]!, toMs: endMs[weight]!, bytes: own.keptForWeights });
    intervals.push({ fromMs: startMs[weight]!, toMs: endMs[weight]!, bytes: own.backwardWeight.working });
  }
  return intervals;
}

function inUse(intervals: readonly Interval[], ms: number): number {
  return intervals.reduce((sum, { fromMs, toMs, bytes }) => (fromMs <= ms && ms < toMs ? sum + bytes : sum), 0);
}

function close(actual: number, expected: number, scale: number): void {
  assert.ok(Math.abs(actual - expected) <= 1e-9 * scale + 1e-6, `${actual} against ${expected}`);
}

/** The same schedule with every full backward split, its weight gradient put off by up to `delay` operations. */
function splitBackward(schedule: Schedule, delay: number): Schedule {
  const columns: Record<'kind' | 'chunk' | 'unit', number[]> = { kind: [], chunk: [], unit: [] };
  const rowStart = [0];
  const push = (kind: number, chunk: number, unit: number): void => {
    columns.kind.push(kind);
    columns.chunk.push(chunk);
    columns.unit.push(unit);
  };
  for (let stage = 0; stage < schedule.stages; stage++) {
    const waiting: (readonly [number, number])[] = [];
    const finish = (keep: number): void => {
      while (waiting.length > keep) push(operationKind.backwardWeight, ...waiting.shift()!);
    };
    for (let row = schedule.rowStart[stage]!; row < schedule.rowStart[stage + 1]!; row++) {
      const [kind, chunk, unit] = [schedule.kind[row]!, schedule.chunk[row]!, schedule.unit[row]!];
      push(kind === operationKind.backward ? operationKind.backwardInput : kind, chunk, unit);
      if (kind === operationKind.backward) waiting.push([chunk, unit]);
      finish(delay);
    }
    finish(0);
    rowStart.push(columns.kind.length);
  }
  return {
    ...schedule,
    rowStart: Uint32Array.from(rowStart),
    kind: Uint8Array.from(columns.kind),
    chunk: Uint32Array.from(columns.chunk),
    unit: Uint32Array.from(columns.unit),
    overlapsNext: null,
  };
}

const inputsDrawn: fc.Arbitrary<MemoryInputs> = fc
  .record({
    model: fc.constantFrom(gpt(24, 1024, 16, 50304), gpt(24, 1024, 16, 0), llama3('70b', 24), mixtral(24)),
    recompute: fc.constantFrom('none' as const, 'selective' as const, 'full' as const),
    recomputeGroup: fc.constantFrom(1, 2, 5),
    activationOffloadLayers: fc.constantFrom(0, 3, 30),
    attention: fc.constantFrom('flash' as const, 'unfused' as const),
    dropout: fc.boolean(),
    fusedCrossEntropy: fc.boolean(),
    tensor: fc.constantFrom(1, 4),
    sequenceParallel: fc.boolean(),
  })
  .map(({ model, tensor, sequenceParallel, ...training }) =>
    request('B200', model, { training: { ...training, sequenceParallel: sequenceParallel && tensor > 1 }, layout: { tensor } }),
  );
const slices = fc.array(fc.constantFrom(128, 256, 512, 1024), { minLength: 1, maxLength: 4 });

/** A schedule of any kind without copies (BPipe, PO-H and PO-F have their own tests), as it is or split, with random times. */
const timelines: fc.Arbitrary<Timeline> = fc
  .record({
    kind: fc.constantFrom(...scheduleKinds.filter(({ copies }) => copies === undefined)),
    stages: fc.integer({ min: 2, max: 4 }),
    rounds: fc.integer({ min: 1, max: 2 }),
    schemes: fc.array(slices, { minLength: 16, maxLength: 16 }),
    delay: fc.option(fc.integer({ min: 0, max: 3 })),
    times: fc.array(fc.double({ min: 0.1, max: 10, noNaN: true }), { minLength: 3, maxLength: 7 }),
  })
  .map(({ kind, stages, rounds, schemes, delay, times }) => {
    const chunksPerStage = kind.chunksPerStage === 'several' ? 2 : kind.chunksPerStage;
    const scheme: Scheme = schemes
      .slice(0, 2 * stages * rounds)
      .map((tokens, index) => ({ batch: 1 + (index % 2), tokens: kind.slices ? tokens : [1024] }));
    const made = generateSchedule(kind.name, toScheduleProblem(scheme, stages, chunksPerStage));
    const schedule = delay === null ? made : splitBackward(made, delay);
    const cells = schedule.stageOfChunk.length * schedule.units.length;
    const column = (shift: number): Float64Array =>
      Float64Array.from({ length: cells }, (_, cell) => times[(cell + shift) % times.length]!);
    return simulate(
      schedule,
      { forwardMs: column(0), backwardInputMs: column(1), backwardWeightMs: column(2) },
      noTransfers(schedule.units.length),
    );
  });

describe('memory over time', () => {
  it('is at every moment the sum of all tensors alive then, under every schedule', () => {
    fc.assert(
      fc.property(timelines, inputsDrawn, (timeline, inputs) => {
        const chunks = chunkMemories(inputs, timeline.units, evenStageContents(inputs.model.layers, timeline.stageOfChunk.length));
        for (let stage = 0; stage < timeline.stages; stage++) {
          const intervals = intervalsOf(timeline, chunks, stage);
          const curve = liveCurve(timeline, chunks, stage, 0);
          const { bytes } = stagePeak(timeline, chunks, stage);
          const moments = [...new Set(intervals.flatMap(({ fromMs, toMs }) => [fromMs, toMs]))].sort((a, b) => a - b);
          let highest = 0;
          for (const ms of moments) {
            const expected = inUse(intervals, ms);
            close(curve.bytes[pointAt(curve, ms)]!, expected, bytes);
            highest = Math.max(highest, expected);
          }
          close(Math.max(...curve.bytes), highest, bytes);
          close(bytes, highest, bytes);
          close(curve.bytes.at(-1)!, 0, bytes);
          const { parts } = liveParts(timeline, chunks, stage, 0);
          curve.bytes.forEach((inUse, point) => {
            const sum = livingParts.reduce((total, part) => total + parts[part][point]!, 0);
            close(sum, inUse, bytes);
          });
        }
      }),
      { seed, numRuns: cases(30, 300) },
    );
  });

  it('fits or not, with the same verdict, without what splitting backward holds, where no backward is split', () => {
    let [fitting, over] = [0, 0];
    fc.assert(
      fc.property(timelines, inputsDrawn, fc.double({ min: 0.9, max: 1.4, noNaN: true }), (timeline, inputs, share) => {
        const shapes = evenStageContents(inputs.model.layers, timeline.stageOfChunk.length);
        const { stages } = countMemory(inputs, timeline, shapes, 2 ** 40);
        const capacityBytes = share * Math.max(...stages.map(({ peakBytes }) => peakBytes));
        const expected = fitsMemory(countMemory(inputs, timeline, shapes, capacityBytes));
        assert.equal(fitsGpuMemory(inputs, timeline, shapes, capacityBytes), expected);
        const verdict = memoryVerdict(countMemory(inputs, timeline, shapes, capacityBytes));
        assert.deepEqual(countedVerdict(inputs, timeline, shapes, capacityBytes), verdict);
        if (expected) fitting++;
        else over++;
      }),
      { seed, numRuns: cases(60, 600) },
    );
    assert.ok(fitting > 10 && over > 10, `${fitting} fit, ${over} do not`);
  });

  it('has a peak of named parts that add up, in a row of the stage', () => {
    fc.assert(
      fc.property(timelines, inputsDrawn, (timeline, inputs) => {
        const shapes = evenStageContents(inputs.model.layers, timeline.stageOfChunk.length);
        for (const { stage, parts, peakBytes, staticBytes, peakRow } of countMemory(inputs, timeline, shapes, 2 ** 40).stages) {
          const sum = memoryParts.reduce((total, part) => total + parts[part], 0);
          assert.equal(peakBytes, sum);
          assert.ok(peakRow >= timeline.rowStart[stage]! && peakRow < timeline.rowStart[stage + 1]!);
          for (const part of memoryParts) assert.ok(parts[part] >= -1e-6 * peakBytes, `${part} is ${parts[part]}`);
          const { bytes } = stagePeak(timeline, chunkMemories(inputs, timeline.units, shapes), stage);
          close(peakBytes, staticBytes + bytes, peakBytes);
        }
      }),
      { seed, numRuns: cases(30, 300) },
    );
  });
});

/**
 * Units that a stage holds at most when each slice of a micro-batch is one unit: whole slices on one layer, memory apart from what
 * operations work with.
 */
function mostActivations(
  name: string,
  stages: number,
  microBatches: number,
  slicesEach: number,
  stage: number,
  chunksPerStage = 1,
): number {
  const tokens = Array.from({ length: slicesEach }, () => 1024 / slicesEach);
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens }));
  const schedule = generateSchedule(name, toScheduleProblem(scheme, stages, chunksPerStage));
  return maximumUnitsInFlight(schedule, stage) / slicesEach / chunksPerStage;
}

describe('activations that schedules hold, in those of one micro-batch on one stage', () => {
  const sizes = fc.record({ stages: fc.integer({ min: 2, max: 12 }), microBatches: fc.integer({ min: 1, max: 40 }) });

  it('are min(m, p - r) under 1F1B and m under GPipe', () => {
    fc.assert(
      fc.property(sizes, ({ stages, microBatches }) => {
        for (let stage = 0; stage < stages; stage++) {
          assert.equal(mostActivations('1F1B', stages, microBatches, 1, stage), Math.min(microBatches, stages - stage));
          assert.equal(mostActivations('GPipe', stages, microBatches, 1, stage), microBatches);
        }
      }),
      { seed, numRuns: cases(25, 250) },
    );
  });

  it('are (s + p - 1) / s under Seq1F1B (arXiv 2406.03488)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 10 }), fc.integer({ min: 1, max: 8 }), (stages, each) => {
        assert.ok(Math.abs(mostActivations('Seq1F1B', stages, 2 * stages, each, 0) - (each + stages - 1) / each) < 1e-12);
      }),
      { seed, numRuns: cases(25, 250) },
    );
  });

  it('are p under ZBVZeroBubble and InterleavedZeroBubble, p + 1/2 under DualPipeV, on every stage, and m under LoopedBFS', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 2, max: 4 }), (stages, rounds) => {
        for (let stage = 0; stage < stages; stage++) {
          const most = (name: string): number => mostActivations(name, stages, rounds * stages, 1, stage, 2);
          assert.equal(most('ZBVZeroBubble'), stages);
          assert.equal(most('InterleavedZeroBubble'), stages);
          assert.equal(most('DualPipeV'), stages + 1 / 2);
          assert.equal(most('LoopedBFS'), rounds * stages);
        }
      }),
      { seed, numRuns: cases(15, 150) },
    );
  });

  for (const [name, formula, limit] of [
    ['ZB-H1', 'p', (stages: number) => stages],
    ['ZB-H2', '2 p - 1', (stages: number) => 2 * stages - 1],
  ] as const) {
    it(`are ${formula} under ${name}, on its fullest stage (arXiv 2401.10241)`, function () {
      if (!scheduleNames.includes(name)) {
        console.log(`      (there is no ${name}, skipped)`);
        this.skip();
      }
      fc.assert(
        fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 2, max: 4 }), (stages, rounds) => {
          const most = Array.from({ length: stages }, (_, stage) => mostActivations(name, stages, rounds * stages, 1, stage));
          assert.equal(Math.max(...most), limit(stages));
        }),
        { seed, numRuns: cases(20, 100) },
      );
    });
  }

  it('are p (1 + (p - 1) / (p v)) under Interleaved1F1B (arXiv 2205.05198)', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 2, max: 4 }), (stages, virtual) => {
        const most = mostActivations('Interleaved1F1B', stages, 2 * stages, 1, 0, virtual);
        assert.ok(Math.abs(most - (stages + (stages - 1) / virtual)) < 1e-12);
      }),
      { seed, numRuns: cases(15, 150) },
    );
  });
});

describe('activations in host memory', () => {
  it('leave the GPU in proportion to the layers of a chunk', () => {
    fc.assert(
      fc.property(timelines, inputsDrawn, fc.integer({ min: 0, max: 8 }), (timeline, inputs, layers) => {
        const shapes = evenStageContents(inputs.model.layers, timeline.stageOfChunk.length);
        const held = (activationOffloadLayers: number): ChunkMemory[] =>
          chunkMemories({ ...inputs, training: { ...inputs.training, activationOffloadLayers } }, timeline.units, shapes);
        const [none, some, more] = [held(0), held(layers), held(layers + 1)];
        none.forEach(({ alike }, chunk) => {
          alike.forEach((unit, kind) => {
            const [at, next] = [some[chunk]!.alike[kind]!, more[chunk]!.alike[kind]!];
            assert.ok(next.activations <= at.activations + 1e-9 * unit.activations);
            const share = Math.min(layers, shapes[chunk]!.layers) / Math.max(1, shapes[chunk]!.layers);
            if (inputs.training.recompute !== 'full') close(at.activations, (1 - share) * unit.activations, unit.activations + 1);
          });
        });
      }),
      { seed, numRuns: cases(30, 300) },
    );
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { busyTimes } from '../../src/core/schedules/simulate/idle';
import { readScheduleCsv } from '../../src/core/schedules/pytorch-csv/read';
import { writeScheduleCsv } from '../../src/core/schedules/pytorch-csv/write';
import { placeChunks, toScheduleProblem, scheduleKind } from '../../src/core/schedules/registry';
import type { Schedule } from '../../src/core/schedules/schedule';
import { noTransfers, simulate } from '../../src/core/schedules/simulate/simulate';
import { cellsOf, scheduleOf } from '../unit/core/schedules/pytorch-csv/schedules';
import { cases } from './cases';
import { say } from '../../src/core/sentence';

const seed = 20261121;
const multiChunk = ['Interleaved1F1B', 'LoopedBFS', 'InterleavedZeroBubble', 'ZBVZeroBubble', 'DualPipeV'] as const;
const names = [...multiChunk, 'GPipe', '1F1B', 'TeraPipe', 'Seq1F1B'] as const;

function chunkCounts(name: string): readonly number[] {
  const { chunksPerStage } = scheduleKind(name);
  return chunksPerStage === 'several' ? [2, 3, 4] : [chunksPerStage];
}

/** What PyTorch allows: whole rounds for the interleaved ones, two micro-batches for each stage for DualPipeV. */
function isAllowed(name: string, stages: number, microBatches: number): boolean {
  if (name === 'DualPipeV') return microBatches >= 2 * stages;
  return !name.startsWith('Interleaved') || microBatches % Math.max(1, Math.floor(microBatches / stages)) === 0;
}

function* grid(largestStages: number, largestMicroBatches: number, of: readonly string[]) {
  for (const name of of)
    for (let stages = 1; stages <= largestStages; stages++)
      for (let microBatches = 1; microBatches <= largestMicroBatches; microBatches++)
        for (const chunks of chunkCounts(name)) if (isAllowed(name, stages, microBatches)) yield { name, stages, microBatches, chunks };
}

/** Every chunk takes its share of 1 ms forward, 1 ms for each part of backward. */
function equalMakespan(schedule: Schedule): number {
  const ms = new Float64Array(schedule.stageOfChunk.length * schedule.units.length).fill(schedule.stages / schedule.stageOfChunk.length);
  const timeline = simulate(schedule, { forwardMs: ms, backwardInputMs: ms, backwardWeightMs: ms }, noTransfers(schedule.units.length));
  assert.equal(busyTimes(timeline).busyMs.length, schedule.stages);
  return timeline.makespanMs;
}

function assertClose(ms: number, expectedMs: number): void {
  assert.ok(Math.abs(ms - expectedMs) < 1e-9, `${ms} ms, not ${expectedMs} ms`);
}

describe("PyTorch's schedules", () => {
  it('run every pass of every micro-batch, without a deadlock, on any stages, chunks and micro-batches they allow', () => {
    for (const { name, stages, microBatches, chunks } of grid(6, 14, multiChunk)) {
      const where = `${name} p=${stages} m=${microBatches} v=${chunks}`;
      const schedule = scheduleOf(name, stages, microBatches, chunks);
      const { placement } = scheduleKind(name);
      assert.deepEqual(schedule.stageOfChunk, placeChunks(placement, stages, chunks), where);
      // Refuses missing and double passes, and those of other stages' chunks.
      assert.ok(equalMakespan(schedule) >= 3 * microBatches - 1e-9, where);
    }
  });

  it('are refused, with numbers that work, where they do not divide', () => {
    for (const name of multiChunk) {
      for (let stages = 1; stages <= 6; stages++) {
        for (let microBatches = 1; microBatches <= 16; microBatches++) {
          const unmet = scheduleKind(name).unmet(
            toScheduleProblem(
              Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [1] })),
              stages,
              2,
            ),
          );
          assert.equal(unmet === null, isAllowed(name, stages, microBatches), `${name} p=${stages} m=${microBatches}`);
          for (const [count] of unmet === null ? [] : say(unmet.remedy).matchAll(/\d+(?=.* micro-batches)/g))
            assert.ok(isAllowed(name, stages, Number(count)), count);
        }
      }
    }
  });

  it('have the bubbles of the literature where passes take the same time', () => {
    for (const stages of [2, 3, 4, 6]) {
      for (const rounds of [2, 3]) {
        const microBatches = stages * rounds;
        const bubbleOf = (name: string, chunks: number) => equalMakespan(scheduleOf(name, stages, microBatches, chunks)) - 3 * microBatches;
        const hops = stages - 1;
        for (const chunks of [2, 3]) {
          assertClose(bubbleOf('Interleaved1F1B', chunks), (hops * 3) / chunks); // (p - 1) (F + B) / v
          assertClose(bubbleOf('LoopedBFS', chunks), (hops * 3) / chunks);
          assertClose(bubbleOf('InterleavedZeroBubble', chunks), hops / chunks); // (p - 1) (F + I - W) / v
        }
        assertClose(bubbleOf('ZBVZeroBubble', 2), hops / 2); // none but the way of the first activations to the last stage
        assertClose(bubbleOf('DualPipeV', 2), hops); // (2p / 2 - 1) (F&B + B - 3W), chunks of half a stage
      }
    }
  });
});

describe('a schedule written and read again', () => {
  it('is the same, with passes only and with communication', () => {
    for (const { name, stages, microBatches, chunks } of grid(5, 9, names)) {
      const schedule = scheduleOf(name, stages, microBatches, chunks);
      for (const [format, version] of [['compute_only'], ['compute_comms', '2.14'], ['compute_comms', '2.15']] as const) {
        const read = readScheduleCsv(writeScheduleCsv(schedule, format, version), name, { ranks: stages, microBatches });
        assert.deepEqual(read.problems, []);
        assert.equal(read.version, version ?? null);
        assert.deepEqual({ ...read.schedule, units: microBatches }, { ...schedule, units: schedule.units.length });
      }
    }
  });

  it('keeps its slices', () => {
    for (const name of ['TeraPipe', 'Seq1F1B', 'GPipe', '1F1B']) {
      const schedule = scheduleOf(name, 3, 4, 1, 3);
      const { problems, schedule: read } = readScheduleCsv(writeScheduleCsv(schedule, 'compute_comms'), name, {
        slices: 3,
        microBatches: 4,
      });
      assert.deepEqual(problems, []);
      assert.deepEqual(
        read?.units.map(({ microBatch, slice }) => [microBatch, slice]),
        schedule.units.map(({ microBatch, slice }) => [microBatch, slice]),
      );
    }
  });
});

describe('lowering', () => {
  it('holds the weights of the next three chunks at each pass, and of no other', () => {
    for (const chunks of [2, 4, 5]) {
      for (const name of ['Interleaved1F1B', 'LoopedBFS', 'InterleavedZeroBubble']) {
        for (const cells of cellsOf(writeScheduleCsv(scheduleOf(name, 2, 6, chunks), 'compute_comms'))) {
          const gathered = new Set<number>();
          const passes = cells.map((cell) => (/^\d+[FBIW]\d+$/.test(cell) ? Number.parseInt(cell, 10) : -1));
          cells.forEach((cell, at) => {
            if (cell.endsWith('UNSHARD')) gathered.add(Number.parseInt(cell, 10));
            if (cell.endsWith('RESHARD')) gathered.delete(Number.parseInt(cell, 10));
            if (passes[at] === -1) return;
            const next = [...new Set(passes.slice(at).filter((chunk) => chunk !== -1))].slice(0, 3);
            assert.deepEqual([...gathered].sort(), [...next].sort(), `${name} v=${chunks} ${cell}`);
          });
          assert.equal(gathered.size, 0);
        }
      }
    }
  });
});

/** Whether the rows of a schedule of whole micro-batches can run, by trying every row again and again. */
function canRun(rows: readonly (readonly string[])[], lastChunk: number): boolean {
  const done = new Set<string>();
  const left = rows.map((row) => [...row]);
  const backwardDone = (chunk: number, unit: string) => done.has(`${chunk}B${unit}`) || done.has(`${chunk}I${unit}`);
  const isReady = (action: string) => {
    const [, written = '', type = '', unit = ''] = /^(\d+)([FBIW])(\d+)$/.exec(action) ?? [];
    const chunk = Number(written);
    if (type === 'F') return chunk === 0 || done.has(`${chunk - 1}F${unit}`);
    if (type === 'W') return done.has(`${chunk}I${unit}`);
    return done.has(`${chunk}F${unit}`) && (chunk === lastChunk || backwardDone(chunk + 1, unit));
  };
  for (let moved = true; moved;) {
    moved = false;
    for (const row of left) {
      const actions = row[0]?.match(/\d+[FBIW]\d+/g) ?? [];
      if (actions.length === 0 || !actions.every(isReady)) continue;
      for (const action of actions) done.add(action);
      row.shift();
      moved = true;
    }
  }
  return left.every((row) => row.length === 0);
}

describe('a schedule with cells moved about', () => {
  const moves = fc.array(fc.tuple(fc.nat(3), fc.nat(40), fc.nat(40)), { minLength: 1, maxLength: 3 });

  it('is refused when a plain search finds it stuck, and only then', () => {
    const tried = cases(120, 1600);
    const counts = { sound: 0, stuck: 0 };
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.integer({ min: 2, max: 4 }), moves, (name, stages, swaps) => {
        const [chunks = 1] = chunkCounts(name);
        const rows = cellsOf(writeScheduleCsv(scheduleOf(name, stages, 2 * stages, chunks), 'compute_only')).map((row) =>
          row.filter((cell) => cell !== ''),
        );
        for (const [rank, first, second] of swaps) {
          const row = rows[rank % stages]!;
          const [a, b] = [first % row.length, second % row.length];
          [row[a], row[b]] = [row[b]!, row[a]!];
        }
        const { problems, schedule } = readScheduleCsv(rows.map((row) => row.join(',')).join('\n'), 'mine.csv');
        const sound = canRun(rows, stages * chunks - 1);
        counts[sound ? 'sound' : 'stuck'] += 1;
        assert.equal(schedule !== null, sound);
        assert.ok(problems.every(({ code }) => code === 'order' || code === 'deadlock'));
        assert.equal(problems.length > 0, !sound);
      }),
      { seed, numRuns: tried },
    );
    assert.ok(counts.sound > tried / 10 && counts.stuck > tried / 10, JSON.stringify(counts));
  });

  it('or with any text in them is read without an error, its problems inside the text', () => {
    const piece = fc.constantFrom('0F0', '1F0', '0B0', '1B0', '1I0', '1W0', '0SEND_F0', '1RECV_F0', '0UNSHARD', '(0F0;1B0)OVERLAP_F_B', ',', '\n', '\r', '(', ';', '"', '999999F999999', '\uFEFF', ' '); // prettier-ignore
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.integer({ min: 1, max: 3 }), (pieces, slices) => {
        const text = pieces.join('');
        const { problems, schedule } = readScheduleCsv(text, 'mine.csv', { slices });
        assert.ok(schedule !== null || problems.length > 0);
        for (const { range, message, remedy } of problems) {
          assert.ok(
            0 <= range.start && range.end <= text.length && (range.start < range.end || text === ''),
            JSON.stringify([text, range]),
          );
          assert.ok(say(message) !== '' && say(remedy) !== '');
        }
      }),
      { seed, numRuns: cases(500, 8000) },
    );
  });
});

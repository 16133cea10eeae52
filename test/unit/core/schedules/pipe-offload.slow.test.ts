import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { maximumUnitsInFlight } from '../../../../src/core/memory-model/curve';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { operationKind, type Schedule } from '../../../../src/core/schedules/schedule';
import { deadlockedAt, noTransfers, simulate } from '../../../../src/core/schedules/simulate/simulate';

interface AuthorsCase {
  readonly stages: number;
  readonly microBatches: number;
  readonly chunks: number;
  readonly group: number;
  readonly orders: readonly string[];
}

const { cases } = JSON.parse(readFileSync(resolve('test/fixtures/schedules/pipe-offload-orders.json'), 'utf8')) as {
  cases: readonly AuthorsCase[];
};

function made(name: string, stages: number, chunks: number, microBatches: number, groupedMicroBatches?: number): Schedule {
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [1] }));
  return generateSchedule(name, { ...toScheduleProblem(scheme, stages, chunks), groupedMicroBatches });
}

function orderOn({ stages, rowStart, kind, chunk, unit }: Schedule, stage: number): string {
  const rows = Array.from({ length: rowStart[stage + 1]! - rowStart[stage]! }, (_, row) => rowStart[stage]! + row);
  const passes = rows.filter((row) => kind[row] !== operationKind.backwardWeight);
  const letter = (row: number): string => (kind[row] === operationKind.forward ? 'F' : 'B');
  return passes.map((row) => `${letter(row)}${Math.floor(chunk[row]! / stages)}.${unit[row]}`).join(' ');
}

/** Activations of the fullest stage, in those of a micro-batch on a whole stage, over those of 1F1B. */
function share(schedule: Schedule, chunks: number): number {
  const held = Array.from({ length: schedule.stages }, (_, stage) => maximumUnitsInFlight(schedule, stage) / chunks);
  return Math.max(...held) / schedule.stages;
}

/** F = I = W = 1 on each chunk, and copies of `ms`. */
function makespan(schedule: Schedule, ms: number): number {
  const cells = schedule.stageOfChunk.length * schedule.units.length;
  const copyMs = new Float64Array(schedule.copies?.before.length ?? 0).fill(ms);
  const pass = new Float64Array(cells).fill(1);
  const durations = { forwardMs: pass, backwardInputMs: pass, backwardWeightMs: pass };
  return simulate(schedule, durations, { ...noTransfers(schedule.units.length), copyMs }).makespanMs;
}

const shapes = [
  [2, 2, 4],
  [4, 2, 16],
  [5, 3, 7],
  [8, 3, 32],
  [8, 5, 64],
  [16, 3, 48],
] as const;

describe('schedules of PipeOffload', () => {
  it('are refused on one stage, where nothing interleaves', () => {
    for (const name of ['GIS', 'PO-H', 'PO-F']) assert.throws(() => made(name, 1, 2, 4), /the pipeline has 1 stage/);
  });

  it("have the orders of their authors' generator", () => {
    for (const { stages, microBatches, chunks, group, orders } of cases) {
      const own = made('GIS', stages, chunks, microBatches, group);
      assert.deepEqual(
        orders.map((_, stage) => orderOn(own, stage)),
        orders,
        `${stages} stages, ${chunks} chunks, groups of ${group}`,
      );
      if (group > 1) continue;
      for (const name of ['PO-H', 'PO-F']) {
        const offloaded = made(name, stages, chunks, microBatches);
        for (let stage = 0; stage < stages; stage++) assert.equal(orderOn(offloaded, stage), orders[stage]);
      }
    }
  });

  it('never deadlock, with groups of any size', () => {
    for (const [p, v, m] of shapes)
      for (const schedule of [1, 2, 3, p, p + 5]
        .map((group) => made('GIS', p, v, m, group))
        .concat(['PO-H', 'PO-F'].map((name) => made(name, p, v, m))))
        assert.deepEqual(deadlockedAt(schedule), [], `${schedule.name} of ${p} stages, ${v} chunks`);
  });

  // Table 1: M and (v + 1) / (2 v) M; Figure 15, GB over those of 1F1B: PO-H 3 / 12, 4 / 18 and 10 / 33; PO-F about 4 layers
  it('hold the shares of the memory of 1F1B that the paper has', () => {
    for (const [p, v, m, measured] of [
      [8, 5, 64, 3 / 12],
      [16, 3, 128, 4 / 18],
      [32, 2, 256, 10 / 33],
    ] as const) {
      assert.ok(Math.abs(share(made('GIS', p, v, m, p), v) - 1) < 1e-9);
      assert.ok(Math.abs(share(made('GIS', p, v, m, p / 2), v) - (v + 1) / (2 * v)) < 1e-9);
      const half = share(made('PO-H', p, v, m), v);
      assert.ok(Math.abs(half / measured - 1) < 0.16, `${p} stages: ${half}`);
      assert.ok(Math.abs(share(made('PO-F', p, v, m), v) * p * v - 4) < 1e-9);
    }
  });

  // Table 1: bubbles of (d - 1)(F + I) for GIS and below v (d - 1)(F + I + W) for the uniform ones, whose unit is a chunk
  it('have the bubbles that the paper has', () => {
    for (const [p, v, m] of [
      [8, 5, 64],
      [16, 3, 128],
    ] as const) {
      const bubble = (schedule: Schedule): number => makespan(schedule, 0) - 3 * v * m;
      assert.ok(Math.abs(bubble(made('GIS', p, v, m, p)) - 2 * (p - 1)) <= p, `GIS: ${bubble(made('GIS', p, v, m, p))}`);
      for (const name of ['PO-H', 'PO-F']) assert.ok(bubble(made(name, p, v, m)) < 3 * v * (p - 1));
    }
  });

  it('copy a chunk of a micro-batch out once and back once, each within the time between its passes', () => {
    for (const [p, v, m] of shapes)
      for (const name of ['PO-H', 'PO-F']) {
        const { copies, rowStart, kind, chunk, unit, stages } = made(name, p, v, m);
        for (let stage = 0; stage < p; stage++) {
          const rowOf = new Map<string, number>();
          for (let row = rowStart[stage]!; row < rowStart[stage + 1]!; row++) rowOf.set(`${kind[row]} ${chunk[row]} ${unit[row]}`, row);
          const seen = new Map<string, number>();
          for (let copy = copies!.start[stage]!; copy < copies!.start[stage + 1]!; copy++) {
            const cell = `${copies!.chunk[copy]} ${copies!.unit[copy]}`;
            const [after, before] = [copies!.after[copy]!, copies!.before[copy]!];
            const [forward, backward] = [
              rowOf.get(`${operationKind.forward} ${cell}`)!,
              rowOf.get(`${operationKind.backwardInput} ${cell}`)!,
            ];
            assert.ok(forward <= after && after < before && before <= backward);
            if (copies!.back[copy] === 1) assert.ok(before === backward && seen.get(cell)! <= after, 'comes back after it is gone');
            else assert.ok(!seen.has(cell));
            seen.set(cell, before);
            assert.ok(copies!.chunk[copy]! < (name === 'PO-F' ? v : Math.ceil(v / 2)) * stages);
          }
        }
      }
  });

  // Section 1: full offload is free where a round trip takes no longer than the passes of a chunk (k <= 1), half of it up to k = 2
  it('take no longer with copies up to k = 1 for all chunks and k = 2 for half of them, and longer beyond', () => {
    const slower = (name: string, k: number): number => {
      const schedule = made(name, 8, 4, 64);
      return makespan(schedule, (3 * k) / 2) / makespan(schedule, 0) - 1;
    };
    for (const [name, free] of [
      ['PO-F', 1],
      ['PO-H', 2],
    ] as const) {
      assert.ok(slower(name, free) < 0.02, `${name}: ${slower(name, free)}`);
      assert.ok(slower(name, 1.25 * free) > 0.2, `${name}: ${slower(name, 1.25 * free)}`);
    }
  });
});

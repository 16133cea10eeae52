// `node --import tsx test/torch/plans.ts FOLDER`: plans of a tiny Llama for the tests of src/runtime/torch, by file: every schedule on 2, 4
// and 8 stages with slices of several kinds, and random slices. Orders are those that the planner makes.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../src/core/errors';
import type { BatchSlice, Scheme } from '../../src/core/domain/scheme';
import { randomNumbers } from '../../src/core/numbers';
import { actionText } from '../../src/core/schedules/pytorch-csv/actions';
import { generateSchedule, scheduleKinds, toScheduleProblem } from '../../src/core/schedules/registry';
import type { ScheduleKind } from '../../src/core/schedules/kind';
import type { Schedule } from '../../src/core/schedules/schedule';
import training from './training.json';

const length = 24;
const layersAtLeast = 4;

/** Ways to cut each sequence; a schedule gets those that it can run. */
const slicings: Readonly<Record<string, readonly (readonly number[])[]>> = {
  whole: [[length]],
  halves: [[12, 12]],
  shrinking: [[11, 7, 4, 2]],
  single: [[23, 1]],
  mixed: [[12, 12], [length], [5, 9, 10]],
  equal: [Array.from({ length: 8 }, () => 3)],
};

function cutScheme(cuts: readonly (readonly number[])[], microBatches: number, batch: (index: number) => number): Scheme {
  return Array.from({ length: microBatches }, (_, index): BatchSlice => ({
    batch: batch(index),
    tokens: cuts[index % cuts.length] ?? [length],
  }));
}

/** An order for a scheme, or null where the schedule cannot run it. */
function orderFor(kind: ScheduleKind, stages: number, scheme: Scheme): Schedule | null {
  const chunks = kind.chunksPerStage === 'several' ? 2 : kind.chunksPerStage;
  try {
    return generateSchedule(kind.name, toScheduleProblem(scheme, stages, chunks));
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

function writtenPlan(schedule: Schedule): unknown {
  const chunks = schedule.stageOfChunk.length;
  const layers = Math.max(layersAtLeast, chunks);
  const end = (chunk: number) => Math.floor(((chunk + 1) * layers) / chunks);
  const batch = schedule.units.reduce((sum, unit) => sum + (unit.slice === 0 ? unit.batch : 0), 0);
  return {
    kind: 'terapipe-torch-plan',
    version: 1,
    title: 'tiny Llama',
    schedule: schedule.name,
    model: {
      modelType: 'llama',
      layers,
      hidden: 32,
      heads: 4,
      kvHeads: 2,
      headDim: 8,
      ffn: 48,
      gatedMlp: true,
      vocab: 64,
      tiedEmbeddings: layers % 8 === 0,
      positions: 'rotary',
      norm: 'rmsnorm',
      qkvBias: true,
    },
    layout: { pipeline: schedule.stages, tensor: 1, context: 1, data: 1, expert: 1, sequenceParallel: false, zeroStage: 0 },
    stages: Array.from(schedule.stageOfChunk, (rank, chunk) => ({
      rank,
      firstLayer: end(chunk - 1),
      layers: end(chunk) - end(chunk - 1),
      embedding: chunk === 0,
      head: chunk === chunks - 1,
    })),
    units: schedule.units.map(({ microBatch, slice, batch: sequences, tokens, context }) => ({
      microBatch,
      slice,
      batch: sequences,
      tokens,
      context,
    })),
    actions: Array.from({ length: schedule.stages }, (_, stage) => rowActions(schedule, stage)),
    training: { ...training, sequenceLength: length, globalBatch: batch },
  };
}

function rowActions({ rowStart, kind, chunk, unit }: Schedule, stage: number): string[] {
  const [from = 0, to = 0] = rowStart.subarray(stage, stage + 2);
  return Array.from({ length: to - from }, (_, index) =>
    actionText(kind[from + index] ?? 0, chunk[from + index] ?? 0, unit[from + index] ?? 0),
  );
}

function randomCut(next: () => number): number[] {
  const lengths: number[] = [];
  for (let left = length; left > 0;) {
    const tokens = Math.min(left, 1 + Math.floor(next() * 12));
    lengths.push(tokens);
    left -= tokens;
  }
  return lengths;
}

function* everySchedule(): Generator<[string, Schedule]> {
  for (const kind of scheduleKinds)
    for (const stages of [2, 4, 8]) {
      const cuts = kind.slices ? Object.entries(slicings) : [['whole', [[length]]] as const];
      for (const [name, lengths] of stages === 8 ? cuts.slice(-1) : cuts)
        for (const [label, batch] of [
          ['', () => 1],
          ['-wide', (index: number) => 1 + (index % 3)],
          ['-long', () => 2],
        ] as const) {
          if ((kind.slices || stages === 8) && label !== '') continue;
          const order = orderFor(kind, stages, cutScheme(lengths, label === '-long' ? 4 * stages : 2 * stages, batch));
          if (order !== null) yield [`${kind.name}-${stages}-${name}${label}`, order];
        }
    }
}

function* randomSlices(): Generator<[string, Schedule]> {
  const kinds = scheduleKinds.filter(({ slices }) => slices);
  const next = randomNumbers(38);
  for (let number = 0; number < 50; number++) {
    const kind = kinds[number % kinds.length];
    if (kind === undefined) continue;
    const stages = 2 + (number % 2);
    const scheme = Array.from({ length: 2 * stages }, (): BatchSlice => ({ batch: 1 + Math.floor(next() * 2), tokens: randomCut(next) }));
    const order = orderFor(kind, stages, scheme);
    if (order !== null) yield [`random-${String(number).padStart(2, '0')}-${kind.name}-${stages}`, order];
  }
}

const folder = process.argv[2];
if (folder === undefined) throw new Error('give a folder');
mkdirSync(folder, { recursive: true });
for (const [name, schedule] of [...everySchedule(), ...randomSlices()])
  writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(writtenPlan(schedule)));

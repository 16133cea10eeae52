import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { timedGraph, timedInputsGraph } from '../../../../src/profiler/graph/slice-graph';
import type { TimedPart } from '../../../../src/protocol/profiler';
import type { Operand } from './reference';
import { jobOf, run, variants } from './run-graph';

const cells = [
  { batch: 1, tokens: 16, context: 16 },
  { batch: 1, tokens: 3, context: 0 },
];

describe('timed graphs', () => {
  for (const { title, shape, attention } of variants()) {
    it(`run from three numbers and give one: ${title}`, async () => {
      for (const part of ['layer', 'layers2', 'embedding', 'head'] satisfies TimedPart[]) {
        for (const direction of ['forward', 'backward'] as const) {
          for (const make of [timedGraph, timedInputsGraph]) {
            const graph = make(jobOf(shape), attention, part, direction);
            for (const cell of cells) {
              const operands = new Map<string, Operand>();
              const outputs = await run(graph, operands, cell, { fetch: ['tiny'] });
              assert.equal(operands.size, 0);
              assert.ok(Number.isFinite(outputs.get('tiny')?.data[0]), `${part} ${direction}`);
            }
          }
        }
      }
    });
  }
});

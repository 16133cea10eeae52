import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { LayerShape } from '../../../../src/core/domain/profile';
import { attentionOperators } from '../../../../src/profiler/graph/attention';
import type { AttentionOperator } from '../../../../src/profiler/graph/emit';
import { checkedGraph, timedGraph } from '../../../../src/profiler/graph/slice-graph';
import type { ProfilerJob } from '../../../../src/protocol/profiler';
import { type Operand, referencePass } from './reference';
import { assertClose, type Cell, expertRows, gpt, jobOf, llama, openSession, run, shapes, variants } from './run-graph';

const tolerance = 1e-4;

describe('slice graph of a layer', () => {
  for (const { title, shape, attention, batch } of variants()) {
    it(`computes the textbook formula, forward and backward: ${title}`, async () => {
      await assertTextbook(shape, attention, { batch, tokens: 5, context: 3 });
    });
  }

  it('computes the textbook formula, whatever the shape and the slice', async () => {
    await fc.assert(
      fc.asyncProperty(anyShape, anyCell, fc.nat(), async (shape, cell, choice) => {
        const operators = attentionOperators(jobOf(shape, { attention: 'fused' }));
        await assertTextbook(shape, operators[choice % operators.length]!, cell);
      }),
      { numRuns: 25, seed: 3 },
    );
  });

  for (const [title, shape] of Object.entries(shapes)) {
    for (const gradAccumulationFp32 of [true, false]) {
      it(`computes nearly the same in fp16, gradients in ${gradAccumulationFp32 ? 'fp32' : 'fp16'}: ${title}`, async () => {
        const cell = { batch: 2, tokens: 5, context: 3 };
        for (const attention of attentionOperators(jobOf(shape, { attention: 'fused' }))) {
          const operands = new Map<string, Operand>();
          const wide = await bothPasses(jobOf(shape), attention, cell, operands);
          const narrow = await bothPasses(jobOf(shape, { precision: 'fp16', gradAccumulationFp32 }), attention, cell, operands);
          for (const [name, { data }] of wide)
            if (name !== 'routed') assertClose(narrow.get(name)!.data, data, 0.02, `${attention} ${name}`);
        }
      });
    }
  }

  it('is in bf16 for those providers that have it; the CPU reports that it has not', async () => {
    await assert.rejects(
      openSession(timedGraph(jobOf(gpt(), { precision: 'bf16' }), 'plain', 'layer', 'forward')),
      /implementation|NOT_IMPLEMENTED|type/i,
    );
  });
});

describe('attention operators', () => {
  it('are tried from the fused to the plain', () => {
    const one = { batch: 1, tokens: 8, sequence: 8 };
    assert.deepEqual(attentionOperators(jobOf(gpt(), { attention: 'fused' })), ['MultiHeadAttention', 'Attention', 'plain']);
    assert.deepEqual(attentionOperators(jobOf(llama(), { attention: 'fused' })), ['Attention', 'plain']);
    assert.deepEqual(attentionOperators(jobOf(llama(), { attention: 'fused', limits: one })), [
      'GroupQueryAttention',
      'Attention',
      'plain',
    ]);
    assert.deepEqual(attentionOperators(jobOf(gpt(), { attention: 'plain' })), ['plain']);
  });
});

const anyCell = fc.record({
  batch: fc.integer({ min: 1, max: 2 }),
  tokens: fc.integer({ min: 1, max: 6 }),
  context: fc.integer({ min: 0, max: 6 }),
});

const anyShape: fc.Arbitrary<LayerShape> = fc
  .record({
    hidden: fc.constantFrom(8, 20, 32),
    kvHeads: fc.integer({ min: 1, max: 2 }),
    group: fc.integer({ min: 1, max: 3 }),
    headDim: fc.constantFrom(8, 16, 24),
    ffn: fc.constantFrom(12, 32),
    gatedMlp: fc.boolean(),
    norm: fc.constantFrom('layernorm' as const, 'rmsnorm' as const),
    rotary: fc.boolean(),
    qkvBias: fc.boolean(),
    attentionOutputBias: fc.boolean(),
    mlpBias: fc.boolean(),
    qkNorm: fc.boolean(),
    experts: fc.constantFrom(null, { count: 2, active: 1 }, { count: 3, active: 3 }, { count: 8, active: 3 }),
  })
  .map(({ group, ...shape }) => ({ ...gpt(), ...shape, heads: shape.kvHeads * group }));

async function assertTextbook(shape: LayerShape, attention: AttentionOperator, cell: Cell): Promise<void> {
  const operands = new Map<string, Operand>();
  const results = await bothPasses(jobOf(shape), attention, cell, operands);
  const expected = referencePass(shape, operands, cell.batch, cell.tokens, cell.context);
  for (const name of ['y', 'presentKey', 'presentValue'] as const) assertClose(results.get(name)!.data, expected[name], tolerance, name);
  const isGradient = (name: string) => /^d(x|Past|\.)/.test(name);
  assert.deepEqual([...results.keys()].filter(isGradient).sort(), [...expected.gradients.keys()].sort());
  for (const [name, gradient] of expected.gradients) assertClose(results.get(name)!.data, gradient, tolerance, name);
}

/** Results of forward and, from what it saved, backward; operands that are missing yet are added. */
async function bothPasses(
  job: ProfilerJob,
  attention: AttentionOperator,
  cell: Cell,
  operands: Map<string, Operand>,
): Promise<Map<string, Operand>> {
  const forward = await run(checkedGraph(job, attention, 'layer', 'forward'), operands, cell, { seed: 7 });
  const given = new Map([...operands, ...forward]);
  const extents = { expertRows: expertRows(job.shape, cell) };
  const backward = await run(checkedGraph(job, attention, 'layer', 'backward'), given, cell, { seed: 8, extents });
  for (const [name, operand] of given) if (!forward.has(name)) operands.set(name, operand);
  return new Map([...forward, ...backward]);
}

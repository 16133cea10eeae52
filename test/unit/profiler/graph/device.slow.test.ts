import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { describe, it } from 'mocha';
import { ModelProtoSchema } from 'onnx-buf';
import * as ort from 'onnxruntime-node';
import { attentionOperators } from '../../../../src/profiler/graph/attention';
import type { AttentionOperator } from '../../../../src/profiler/graph/emit';
import { checkedGraph, timedGraph, timedInputsGraph, timedOperandsGraph } from '../../../../src/profiler/graph/slice-graph';
import type { TimedPart } from '../../../../src/protocol/profiler';
import type { LayerShape } from '../../../../src/core/domain/profile';
import { type Operand, range } from './reference';
import { assertClose, type Cell, expertRows, gpt, jobOf, llama, openSession, run, runSession, shapes, variants } from './run-graph';

const parts = ['layer', 'layers2', 'embedding', 'head'] as const satisfies TimedPart[];
const directions = ['forward', 'backward'] as const;

describe('timed graphs', () => {
  for (const { title, shape, attention, batch } of variants()) {
    it(`compute what the checked graphs do, for every slice that fits: ${title}`, async () => {
      const cells = [
        { batch, tokens: 16, context: 16 },
        { batch: 1, tokens: 3, context: 0 },
      ];
      for (const direction of directions) await assertSameComputation(shape, attention, 'layer', direction, cells);
    });
  }

  for (const title of ['GPT', 'Llama-like', 'mixture of experts']) {
    it(`compute what the checked graphs do in two layers and at both ends: ${title}`, async () => {
      const cells = [{ batch: 2, tokens: 7, context: 9 }];
      for (const part of parts.slice(1)) {
        for (const direction of directions) await assertSameComputation(shapes[title]!, 'plain', part, direction, cells);
      }
    });
  }

  it('give finite numbers in fp16', async () => {
    for (const [shape, gradAccumulationFp32] of [
      [gpt(), false],
      [llama({ qkNorm: true }), true],
      [llama({ experts: { count: 4, active: 2 } }), false],
    ] as const) {
      const job = jobOf(shape, { precision: 'fp16', gradAccumulationFp32, attention: 'fused' });
      for (const part of parts) {
        for (const direction of directions) {
          const graph = timedGraph(job, attentionOperators(job)[0]!, part, direction);
          for (const cell of [
            { batch: 2, tokens: 16, context: 16 },
            { batch: 1, tokens: 1, context: 0 },
          ]) {
            const outputs = await run(graph, new Map(), cell, { fetch: ['tiny'] });
            assert.ok(Number.isFinite(outputs.get('tiny')!.data[0]), `${part} ${direction}`);
          }
        }
      }
    }
  });

  it('leave nothing to be made at run time but the cuts', async () => {
    for (const [shape, attention] of [
      [gpt(), 'MultiHeadAttention'],
      [llama({ qkNorm: true }), 'plain'],
      [llama({ experts: { count: 4, active: 2 } }), 'plain'],
    ] as const) {
      for (const part of parts) {
        for (const direction of directions) {
          const operators = await optimizedOperators(timedGraph(jobOf(shape), attention, part, direction));
          for (const folded of ['Tile', 'Range', 'Cos', 'Sin', 'Mod'])
            assert.ok(!operators.includes(folded), `${folded} in ${part} ${direction}`);
          assert.ok(operators.includes('Slice'));
          // The largest kind of work is still there: nothing was computed beforehand.
          if (part !== 'embedding') assert.ok(operators.some((operator) => operator === 'Gemm' || operator === 'MatMul'));
          const cuts = await optimizedOperators(timedInputsGraph(jobOf(shape), attention, part, direction));
          const arithmetic = ['ConstantOfShape', 'Shape', 'Add', 'Mul', 'Div', 'Sub', 'Concat', 'Slice', 'Reshape', 'Cast', 'Identity'];
          assert.deepEqual(
            cuts.filter((operator) => !arithmetic.includes(operator)),
            [],
            `${part} ${direction}`,
          );
        }
      }
    }
  });

  it('stay small whatever the widths and whatever the type', () => {
    const gpt3 = gpt({ hidden: 12288, heads: 96, kvHeads: 96, headDim: 128, ffn: 49152, vocab: 50257 });
    for (const precision of ['fp32', 'fp16', 'bf16'] as const) {
      const job = jobOf(gpt3, { precision, attention: 'fused', limits: { batch: 4, tokens: 2048, sequence: 2048 } });
      for (const part of parts) {
        for (const direction of directions) {
          assert.ok(timedGraph(job, attentionOperators(job)[0]!, part, direction).bytes.length < 1e6, `${part} ${direction}`);
        }
      }
    }
  });

  it('give results of the extents of the slice', async () => {
    const graph = timedGraph(jobOf(llama()), 'plain', 'layer', 'backward');
    const outputs = await run(graph, new Map(), { batch: 2, tokens: 5, context: 4 });
    const dims = Object.fromEntries([...outputs].map(([name, operand]) => [name, operand.dims]));
    assert.deepEqual(dims, {
      tiny: [1],
      dx: [10, 32],
      dPastKey: [2, 2, 4, 8],
      dPastValue: [2, 2, 4, 8],
      'd.qkv': [32, 64],
      'd.output': [32, 32],
      'd.norm1': [32],
      'd.norm2': [32],
      'd.gate': [32, 48],
      'd.up': [32, 48],
      'd.down': [48, 32],
    });
  });
});

/** Takes the operands that the timed graph makes for itself, gives them to the checked graph, and compares every result. */
async function assertSameComputation(
  shape: LayerShape,
  attention: AttentionOperator,
  part: TimedPart,
  direction: (typeof directions)[number],
  cells: readonly Cell[],
): Promise<void> {
  const job = jobOf(shape);
  const graphs = [timedGraph, timedOperandsGraph, checkedGraph].map((make) => make(job, attention, part, direction));
  const sessions = await Promise.all(graphs.map((graph) => openSession(graph)));
  const [timed, made, checked] = graphs.map((graph, i) => ({ graph, session: sessions[i]! })) as [Opened, Opened, Opened];
  for (const cell of cells) {
    const operands = await runSession(made.session, made.graph, new Map(), cell);
    const known = new Set(operands.keys());
    const row = operands.get('logits');
    if (row !== undefined) operands.set('logits', repeatRow(row, cell.batch * cell.tokens));
    const extents = { expertRows: expertRows(shape, cell) };
    const expected = await runSession(checked.session, checked.graph, operands, cell, { extents });
    assert.deepEqual(
      [...operands.keys()].filter((name) => !known.has(name)),
      [],
      'operands that the timed graph does not have',
    );
    const nothing = new Map<string, Operand>();
    const actual = await runSession(timed.session, timed.graph, nothing, cell);
    assert.equal(nothing.size, 0, 'the timed graph takes three numbers');
    const fetched = await runSession(timed.session, timed.graph, nothing, cell, { fetch: ['tiny'] });
    assert.ok(Number.isFinite(fetched.get('tiny')!.data[0]));
    for (const name of timed.graph.outputs.slice(1))
      assertClose(actual.get(name)!.data, expected.get(name)!.data, 1e-5, `${part} ${direction} ${name}`);
    assertClose(fetched.get('tiny')!.data, [actual.get(timed.graph.outputs[1]!)!.data[0]!], 1e-5, 'tiny');
  }
  await Promise.all(sessions.map((session) => session.release()));
}

interface Opened {
  readonly graph: ReturnType<typeof timedGraph>;
  readonly session: ort.InferenceSession;
}

function repeatRow({ dims, data }: Operand, rows: number): Operand {
  return { dims: [rows, dims[1]!], data: range(rows).flatMap(() => Array.from(data)) };
}

/** Operators that remain when ONNX Runtime has optimized a graph. */
async function optimizedOperators(graph: ReturnType<typeof timedGraph>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'terapipe-graph-'));
  try {
    const path = join(folder, 'optimized.onnx');
    const session = await ort.InferenceSession.create(graph.bytes, {
      logSeverityLevel: 4,
      graphOptimizationLevel: 'all',
      optimizedModelFilePath: path,
    });
    await session.release();
    return (fromBinary(ModelProtoSchema, readFileSync(path)).graph?.node ?? []).map((node) => node.opType);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

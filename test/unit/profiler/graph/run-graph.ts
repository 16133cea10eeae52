import assert from 'node:assert/strict';
import { fromBinary } from '@bufbuild/protobuf';
import { ModelProtoSchema, TensorProto_DataType } from 'onnx-buf';
import * as ort from 'onnxruntime-node';
import type { LayerShape } from '../../../../src/core/domain/profile';
import { attentionOperators } from '../../../../src/profiler/graph/attention';
import type { AttentionOperator } from '../../../../src/profiler/graph/emit';
import type { timedGraph } from '../../../../src/profiler/graph/slice-graph';
import type { ProfilerJob } from '../../../../src/protocol/profiler';
import type { Operand } from './reference';

type SliceGraph = ReturnType<typeof timedGraph>;

export interface Cell {
  readonly batch: number;
  readonly tokens: number;
  readonly context: number;
}

/** GPT: LayerNorm, GELU, biases; what a test varies is given. */
export function gpt(change: Partial<LayerShape> = {}): LayerShape {
  return {
    hidden: 32,
    heads: 4,
    kvHeads: 4,
    headDim: 8,
    ffn: 48,
    gatedMlp: false,
    norm: 'layernorm',
    rotary: false,
    qkvBias: true,
    attentionOutputBias: true,
    mlpBias: true,
    qkNorm: false,
    experts: null,
    vocab: 50,
    learnedPositions: true,
    ...change,
  };
}

/** Llama-like: RMSNorm, SiLU gate, rotary, two heads a key, no biases. */
export function llama(change: Partial<LayerShape> = {}): LayerShape {
  const noBias = { qkvBias: false, attentionOutputBias: false, mlpBias: false, learnedPositions: false };
  return gpt({ norm: 'rmsnorm', gatedMlp: true, rotary: true, kvHeads: 2, ...noBias, ...change });
}

export const shapes: Readonly<Record<string, LayerShape>> = {
  GPT: gpt(),
  'GPT without biases': gpt({ qkvBias: false, attentionOutputBias: false, mlpBias: false }),
  'GPT with a head dimension of its own': gpt({ heads: 3, kvHeads: 3, headDim: 24 }),
  'Llama-like': llama(),
  'Llama-like with as many keys as queries': llama({ kvHeads: 4 }),
  'Llama-like with normed queries and keys and q, k, v biases': llama({ qkNorm: true, qkvBias: true, headDim: 24 }),
  'a tensor-parallel share of a Llama-like layer': llama({ hidden: 48, heads: 2, kvHeads: 1, ffn: 20 }),
  'mixture of experts': gpt({ experts: { count: 3, active: 2 }, ffn: 24 }),
  'mixture of gated experts': llama({ experts: { count: 5, active: 2 }, ffn: 24 }),
};

export function jobOf(shape: LayerShape, change: Partial<ProfilerJob> = {}): ProfilerJob {
  return {
    shape,
    precision: 'fp32',
    gradAccumulationFp32: true,
    attention: 'plain',
    threads: 1,
    limits: { batch: 2, tokens: 16, sequence: 32 },
    ...change,
  };
}

export interface Variant {
  readonly title: string;
  readonly shape: LayerShape;
  readonly attention: AttentionOperator;
  readonly batch: number;
}

/** Every shape with every operator that can run its attention, on two sequences where the operator takes two. */
export function variants(): Variant[] {
  return Object.entries(shapes).flatMap(([title, shape]) => {
    const operators = new Set(
      [1, 2].flatMap((batch) => attentionOperators(jobOf(shape, { attention: 'fused', limits: { batch, tokens: 1, sequence: 1 } }))),
    );
    return [...operators].map((attention) => ({
      title: `${title}, ${attention} attention`,
      shape,
      attention,
      batch: attention === 'GroupQueryAttention' ? 1 : 2,
    }));
  });
}

/** Uniform numbers in [-1, 1), always the same for a seed (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2147483648 - 1;
  };
}

export function sizesOf({ batch, tokens, context }: Cell): Readonly<Record<string, number>> {
  return { batch, tokens, context, rows: batch * tokens, total: context + tokens };
}

/** Runs a graph once on CPU and adds its outputs to `operands`; operands that are missing yet are made up, and added too. */
export async function run(
  graph: SliceGraph,
  operands: Map<string, Operand>,
  cell: Cell,
  options: { readonly fetch?: readonly string[]; readonly seed?: number; readonly extents?: Readonly<Record<string, number>> } = {},
): Promise<Map<string, Operand>> {
  const session = await ort.InferenceSession.create(graph.bytes, {
    logSeverityLevel: 3,
    intraOpNumThreads: 1,
    graphOptimizationLevel: 'all',
  });
  try {
    return await runSession(session, graph, operands, cell, options);
  } finally {
    await session.release();
  }
}

export function openSession(graph: SliceGraph): Promise<ort.InferenceSession> {
  return ort.InferenceSession.create(graph.bytes, { logSeverityLevel: 4, intraOpNumThreads: 1, graphOptimizationLevel: 'all' });
}

/** Rows of each expert for a slice; 0 without experts. */
export function expertRows({ experts }: LayerShape, { batch, tokens }: Cell): number {
  return experts === null ? 0 : Math.ceil((batch * tokens * experts.active) / experts.count);
}

/** `run` on a session that is already open. */
export async function runSession(
  session: ort.InferenceSession,
  graph: SliceGraph,
  operands: Map<string, Operand>,
  cell: Cell,
  options: { readonly fetch?: readonly string[]; readonly seed?: number; readonly extents?: Readonly<Record<string, number>> } = {},
): Promise<Map<string, Operand>> {
  const next = random(options.seed ?? 1);
  const extents = { ...sizesOf(cell), ...options.extents };
  const feeds: Record<string, ort.Tensor> = {};
  for (const { name, dims, integer } of inputsOf(graph, extents)) {
    if (name in cell) {
      feeds[name] = new ort.Tensor('int64', BigInt64Array.of(BigInt(cell[name as keyof Cell])), [1]);
      continue;
    }
    const operand = operands.get(name) ?? madeUp(name, dims, next);
    assert.deepEqual(operand.dims, dims, `extents of ${name}`);
    operands.set(name, operand);
    feeds[name] = integer
      ? new ort.Tensor('int64', BigInt64Array.from(Array.from(operand.data), BigInt), dims)
      : new ort.Tensor('float32', Float32Array.from(operand.data), dims);
  }
  const fetched = await session.run(feeds, options.fetch ?? graph.outputs);
  const outputs = new Map<string, Operand>();
  for (const [name, tensor] of Object.entries(fetched)) {
    outputs.set(name, { dims: [...tensor.dims], data: Float64Array.from(tensor.data as Float32Array, Number) });
  }
  return outputs;
}

/** An operand of random numbers. */
export function madeUp(name: string, dims: readonly number[], next: () => number): Operand {
  const size = dims.reduce((product, extent) => product * extent, 1);
  return { dims, data: Float32Array.from({ length: size }, () => operandValue(name, next())) };
}

/** Gains are near 1, weights and all else near 0. */
function operandValue(name: string, uniform: number): number {
  if (/Norm$|^norm\d$|\.norm\d$/.test(name)) return 1 + uniform / 2;
  return /^(x|dy|past|d[KV])/.test(name) ? uniform : uniform / 2;
}

interface GraphInput {
  readonly name: string;
  readonly dims: readonly number[];
  readonly integer: boolean;
}

export function inputsOf(graph: SliceGraph, extents: Readonly<Record<string, number>>): GraphInput[] {
  const inputs = fromBinary(ModelProtoSchema, graph.bytes).graph?.input ?? [];
  return inputs.map(({ name, type }) => {
    assert.ok(type?.value.case === 'tensorType');
    const dims = (type.value.value.shape?.dim ?? []).map(({ value }) => {
      if (value.case === 'dimValue') return Number(value.value);
      const extent = extents[value.value ?? ''];
      assert.ok(extent !== undefined, `extent ${value.value} of ${name}`);
      return extent;
    });
    return { name, dims, integer: type.value.value.elemType === (TensorProto_DataType.INT64 as number) };
  });
}

/** Fails unless all numbers agree to `tolerance` of the largest expected one. */
export function assertClose(actual: ArrayLike<number>, expected: ArrayLike<number>, tolerance: number, what: string): void {
  assert.equal(actual.length, expected.length, `elements of ${what}`);
  const error = relativeError(actual, expected);
  assert.ok(error <= tolerance, `${what} is off by ${error.toExponential(2)} of its largest number`);
}

export function relativeError(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  let [most, worst] = [1e-12, 0];
  for (let i = 0; i < expected.length; i++) {
    most = Math.max(most, Math.abs(expected[i]!));
    const difference = Math.abs(actual[i]! - expected[i]!);
    worst = Number.isNaN(difference) ? Infinity : Math.max(worst, difference);
  }
  return worst / most;
}

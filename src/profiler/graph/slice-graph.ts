import type { ProfilerJob, TimedPart } from '../../protocol/profiler';
import type { AttentionOperator, Emit } from './emit';
import { embeddingBackward, embeddingForward, headBackward, headForward } from './ends';
import { layerBackward, layerForward } from './layer';
import { createGraph, type Graph, type GraphInput, type Value } from './onnx';
import { deviceSources, inputSources, type NamedTensor, type Sources } from './sources';

type Direction = 'forward' | 'backward';

/** A model as bytes, and the names of its outputs. Its inputs always include `batch`, `tokens` and `context`, int64 [1] each. */
interface SliceGraph {
  readonly bytes: Uint8Array;
  readonly outputs: readonly string[];
}

/**
 * The only output of a timed graph to fetch: one fp32 number of a result, so that the run waits for the device without moving data off it.
 */
export const fetchedOutput = 'tiny';

/**
 * The graph of one pass of `part`, to be timed. Its only inputs are `batch`, `tokens` and `context`; everything else is made on the
 * device. Every result is a declared output, hence computed; fetch `tiny` only.
 * @param attention one of `attentionOperators(job)`; the provider may refuse it when the session is created.
 */
export function timedGraph(job: ProfilerJob, attention: AttentionOperator, part: TimedPart, direction: Direction): SliceGraph {
  const graph = createGraph();
  const written = write(graph, deviceSources(graph, job.limits), { job, attention, part, direction, saves: false });
  return finish(graph, written, attention);
}

/**
 * Only those operators of the `timedGraph` of the same arguments that cut its operands to the size of the slice: their time is not a part
 * of the slice's.
 */
export function timedInputsGraph(job: ProfilerJob, attention: AttentionOperator, part: TimedPart, direction: Direction): SliceGraph {
  const graph = createGraph();
  const sources = deviceSources(graph, job.limits);
  write(graph, sources, { job, attention, part, direction, saves: false });
  return finish(graph, sources.tensors, attention);
}

/**
 * All operands of the `timedGraph` of the same arguments as outputs, named as `checkedGraph` wants them: to prove that both graphs compute
 * the same.
 */
export function timedOperandsGraph(job: ProfilerJob, attention: AttentionOperator, part: TimedPart, direction: Direction): SliceGraph {
  const graph = createGraph();
  const sources = deviceSources(graph, job.limits);
  write(graph, sources, { job, attention, part, direction, saves: false });
  return declare(graph, [...sources.tensors, ...sources.parameters], attention);
}

/**
 * The same computation with every operand a graph input and every saved activation and result an output, all fp32 but indices: what tests
 * check. Operands are named after what they are: weights (`qkv`, `qkvBias`), gradients to accumulate onto (`main.qkv`), activations as the
 * forward graph saves them; of the second of two layers with `second.` before.
 */
export function checkedGraph(job: ProfilerJob, attention: AttentionOperator, part: TimedPart, direction: Direction): SliceGraph {
  const graph = createGraph();
  const written = write(graph, inputSources(graph), { job, attention, part, direction, saves: true });
  const declared = written.map(({ name, value, type }) =>
    type === 'int64' ? { name, value, type } : { name, value: graph.cast(value, type, 'fp32'), type: 'fp32' as const },
  );
  return declare(graph, declared, attention);
}

/** A graph of a pass of a whole step. */
export interface StepGraph extends SliceGraph {
  /** In addition to `batch`, `tokens` and `context`. Weights and gradients to accumulate onto are those whose extents are all numbers. */
  readonly inputs: readonly GraphInput[];
}

/** Passes of a schedule, as its `kind` column has them. */
export type StepPass = 'forward' | 'backward' | 'backwardInput' | 'backwardWeight';

/**
 * The graph of one pass as a step of several slices runs it: operands, saved activations and results as in `checkedGraph`, but that
 * - the loss and its gradients are shares of those of the step: `lossTokens`, int64 [1], is its number of tokens;
 * - `dKeyIn` and `dValueIn` are of context and slice, so that `dPastKey` and `dPastValue` are what the slice before takes as such;
 * - `backwardInput` gives `dx`, the gradients of biases and gains, and what `backwardWeight` takes, named `w.WEIGHT`.
 *
 * Of the embedding there is only `forward`: its gradient is rows added to a table.
 */
export function stepGraph(job: ProfilerJob, attention: AttentionOperator, part: 'layer' | 'embedding' | 'head', pass: StepPass): StepGraph {
  const graph = createGraph();
  const direction = pass === 'forward' ? 'forward' : 'backward';
  const backward = pass === 'backwardInput' ? 'input' : pass === 'backwardWeight' ? 'weight' : 'whole';
  const step = { lossTokens: graph.input('lossTokens', 'int64', [1]) };
  const written = write(graph, inputSources(graph), { job, attention, part, direction, saves: true, backward, step });
  const results = backward === 'weight' ? written.filter(({ name }) => name.startsWith('d.')) : written;
  const made = declare(graph, results, attention);
  return { ...made, inputs: graph.inputs().filter(({ name }) => !Object.hasOwn({ batch: 0, tokens: 0, context: 0 }, name)) };
}

interface Pass {
  readonly job: ProfilerJob;
  readonly attention: AttentionOperator;
  readonly part: TimedPart;
  readonly direction: Direction;
  /** Saved activations are outputs too. */
  readonly saves: boolean;
  /** As in `Emit`; absent: whole, and by itself. */
  readonly backward?: Emit['backward'];
  readonly step?: Emit['step'];
}

/** Writes the pass and returns its results, that of the residual stream (or the loss) first. */
function write(graph: Graph, sources: Sources, pass: Pass): readonly NamedTensor[] {
  const { shape, precision, gradAccumulationFp32, limits } = pass.job;
  const others: NamedTensor[] = [];
  const emitAs = (prefix: string): Emit => ({
    graph,
    sources,
    shape,
    precision,
    gradientType: gradAccumulationFp32 ? 'fp32' : precision,
    attention: pass.attention,
    limits,
    prefix,
    saves: pass.saves,
    backward: pass.backward ?? 'whole',
    step: pass.step ?? null,
    save(name, value, type = precision) {
      if (pass.saves) others.push({ name: prefix + name, value, type });
    },
    result: (name, value, type = precision) => void others.push({ name: prefix + name, value, type }),
  });
  const name = pass.direction === 'backward' ? 'dx' : pass.part === 'head' ? 'loss' : 'y';
  const value = pass.direction === 'forward' ? writeForward(emitAs, pass.part) : writeBackward(emitAs, pass.part);
  return value === null ? others : [{ name, value, type: precision }, ...others];
}

type EmitAs = (prefix: string) => Emit;

function rows(emit: Emit, name: string): Value {
  return emit.sources.tensor(name, ['rows', emit.shape.hidden], emit.precision);
}

function writeForward(emitAs: EmitAs, part: TimedPart): Value {
  const emit = emitAs('');
  switch (part) {
    case 'layer':
      return layerForward(emit, rows(emit, 'x'));
    case 'layers2': {
      const middle = layerForward(emit, rows(emit, 'x'));
      const second = emitAs('second.');
      second.save('x', middle);
      return layerForward(second, middle);
    }
    case 'embedding':
      return embeddingForward(emit);
    case 'head':
      return headForward(emit, rows(emit, 'x'));
  }
}

function writeBackward(emitAs: EmitAs, part: TimedPart): Value | null {
  const emit = emitAs('');
  switch (part) {
    case 'layer':
      return layerBackward(emit, rows(emit, 'dy'));
    case 'layers2':
      return layerBackward(emit, layerBackward(emitAs('second.'), rows(emit, 'dy')));
    case 'embedding':
      embeddingBackward(emit, rows(emit, 'dy'));
      return null;
    case 'head':
      return headBackward(emit);
  }
}

/** Declares the results and the number to fetch, which is taken from the first. */
function finish(graph: Graph, results: readonly NamedTensor[], attention: AttentionOperator): SliceGraph {
  const [first] = results;
  if (first === undefined) throw new Error('a pass has results');
  const one = graph.node('Slice', [graph.reshape(first.value, [-1]), graph.integers([0]), graph.integers([1]), graph.integers([0])]);
  const tiny = { name: fetchedOutput, value: graph.cast(one, first.type, 'fp32'), type: 'fp32' as const };
  return declare(graph, [tiny, ...results.map((result) => computed(graph, result))], attention);
}

/** An output that needs `result` computed. The binding for Node.js takes no bfloat16 (ONNX Runtime 1.30.0): the shape stands for it. */
function computed(graph: Graph, result: NamedTensor): NamedTensor {
  return result.type === 'bf16' ? { ...result, value: graph.node('Shape', [result.value]), type: 'int64' } : result;
}

function declare(graph: Graph, outputs: readonly NamedTensor[], attention: AttentionOperator): SliceGraph {
  for (const { name, value, type } of outputs) graph.output(name, value, type);
  // Only ONNX's own attention needs the later operator set.
  return { bytes: graph.bytes(attention === 'Attention' ? 23 : 21), outputs: outputs.map(({ name }) => name) };
}

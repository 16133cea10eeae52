import type { Precision } from '../../core/domain/cluster';
import type { ProfilerJob } from '../../protocol/profiler';
import type { ElementType, Graph, Value } from './onnx';

/** Extents known only when a slice is run: batch * tokens, batch, tokens, context, and context + tokens. */
type SliceExtent = 'rows' | 'batch' | 'tokens' | 'context' | 'total';
/** An extent computed from those: its value, int64 [1], and its maximum. */
interface ComputedExtent {
  readonly name: string;
  readonly size: Value;
  readonly largest: number;
}
export type Dims = readonly (number | SliceExtent | ComputedExtent)[];

export interface NamedTensor {
  readonly name: string;
  readonly value: Value;
  readonly type: ElementType;
}

/**
 * Where a graph takes its operands from. The graphs are written once over this: `inputSources` makes every operand a graph input, for
 * tests; `deviceSources` makes them on the device, for timing. Both have the inputs `batch`, `tokens` and `context`, int64 [1].
 */
export interface Sources {
  readonly sizes: Readonly<Record<SliceExtent, Value>>;
  /** The same for every slice: a weight, or a gradient to accumulate onto. */
  parameter(name: string, dims: readonly number[], type: Precision): Value;
  /** A tensor of the slice. */
  tensor(name: string, dims: Dims, type: Precision): Value;
  /** A tensor [rows, width]; the device makes only one row and reads it again for each. */
  rowsFromOne(name: string, width: number, type: Precision): Value;
  /** Integers of [0, below), one for each row: int64 [rows]; some are equal. */
  indices(name: string, below: number | 'rows'): Value;
  /** Tensors and indices of the slice that were asked for so far. */
  readonly tensors: readonly NamedTensor[];
  /** Operands asked for so far that are the same for every slice. */
  readonly parameters: readonly NamedTensor[];
}

/** Elements of the block of pseudo-random numbers that all operands repeat: prime, so that rows of a matrix do not repeat each other. */
const blockElements = 65521;
/**
 * Rows a buffer has beyond the largest slice: tensors of equal extents are cut from one buffer at different rows, so that no two are equal.
 */
const spareRows = 32;
const weightDeviation = 0.02;

type Limits = ProfilerJob['limits'];

export function inputSources(graph: Graph): Sources {
  const made = new Map<string, Value>();
  const once = (name: string, make: () => Value) => {
    const value = made.get(name) ?? make();
    made.set(name, value);
    return value;
  };
  // Tensors cross in fp32 whatever the precision, so that a test needs no 16-bit arrays.
  const input = (name: string, dims: Dims, type: Precision) => {
    const extents = dims.map((extent) => (typeof extent === 'object' ? extent.name : extent));
    return once(name, () => graph.cast(graph.input(name, 'fp32', extents), 'fp32', type));
  };
  return {
    sizes: sliceSizes(graph),
    parameter: input,
    tensor: input,
    rowsFromOne: (name, width, type) => input(name, ['rows', width], type),
    indices: (name) => once(name, () => graph.input(name, 'int64', ['rows'])),
    tensors: [],
    parameters: [],
  };
}

/**
 * Operands that never leave the device: each is cut out of a constant by the sizes of the slice, so nothing that depends on them can be
 * computed beforehand. The constants are repetitions of one small block; ONNX Runtime evaluates them when it creates the session, so the
 * model stays small whatever the widths.
 */
export function deviceSources(graph: Graph, limits: Limits): Sources {
  const tensors: NamedTensor[] = [];
  const parameters: NamedTensor[] = [];
  const sizes = sliceSizes(graph);
  const block = graph.floats(pseudoRandomNormal(blockElements));
  const smallBlock = graph.node('Mul', [block, graph.scalar(weightDeviation, 'fp32')]);
  const constants = new Map<string, Value>();
  const named = new Map<string, Value>();
  const once = (name: string, make: () => Value) => {
    const value = named.get(name) ?? make();
    named.set(name, value);
    return value;
  };
  const uses = new Map<string, number>();
  const track = (name: string, value: Value, type: ElementType, list = tensors) => {
    list.push({ name, value, type });
    return value;
  };
  const nextUse = (key: string) => {
    const use = uses.get(key) ?? 0;
    uses.set(key, use + 1);
    return use;
  };
  const constant = (values: Value, dims: readonly number[], offset: number, type: Precision) => {
    const key = `${values} ${dims.join()} ${offset} ${type}`;
    const made = constants.get(key) ?? repeated(graph, values, dims, offset, type);
    constants.set(key, made);
    return made;
  };

  return {
    sizes,
    parameter(name, dims, type) {
      // Gradients to accumulate onto are read once and never changed: those of equal extents can be one constant, unlike weights.
      const offset = () => (name.startsWith('main.') ? 1 : 2 + nextUse(`weight ${dims.join()}`));
      return once(name, () => track(name, constant(smallBlock, dims, offset(), type), type, parameters));
    },
    tensor(name, dims, type) {
      const first = dims.findIndex((extent) => typeof extent !== 'number' && extent !== 'batch');
      const largest = dims.map((extent, axis) => largestExtent(extent, limits) + (axis === first ? spareRows : 0));
      const use = nextUse(`${largest.join()} ${type}`);
      if (use >= spareRows) throw new Error(`more than ${spareRows} tensors of extents ${largest.join()}`);
      return track(name, cut(graph, constant(block, largest, 0, type), dims, sizes, first, use), type);
    },
    rowsFromOne: (name, width, type) => track(name, constant(block, [1, width], 0, type), type, parameters),
    indices(name, below) {
      const made = integersBelow(graph, below, largestExtent('rows', limits), nextUse('indices'));
      return track(name, cut(graph, made, ['rows'], sizes, 0, 0), 'int64');
    },
    tensors,
    parameters,
  };
}

/** Int64 [rows] scattered over [0, below); for `rows`, entry i is at most i, whatever the rows of the slice. */
function integersBelow(graph: Graph, below: number | 'rows', rows: number, seed: number): Value {
  const integer = (value: number) => graph.scalar(value, 'int64');
  const row = graph.node('Range', [integer(0), integer(rows), integer(1)]);
  const scattered = graph.node('Add', [graph.node('Mul', [row, integer(40503)]), integer(12345 + 977 * seed)]);
  if (below !== 'rows') return graph.node('Mod', [scattered, integer(below)]);
  const back = graph.node('Mod', [scattered, integer(64)]);
  return graph.node('Max', [graph.node('Sub', [row, back]), integer(0)]);
}

/** The first `extents` of `value` along its dynamic axes, shifted by `offset` along axis `shifted`. */
function cut(graph: Graph, value: Value, dims: Dims, sizes: Sources['sizes'], shifted: number, offset: number): Value {
  const axes: number[] = [];
  const starts: number[] = [];
  const ends: Value[] = [];
  for (const [axis, extent] of dims.entries()) {
    if (typeof extent === 'number') continue;
    const size = typeof extent === 'object' ? extent.size : sizes[extent];
    const start = axis === shifted ? offset : 0;
    axes.push(axis);
    starts.push(start);
    ends.push(start > 0 ? graph.node('Add', [size, graph.integers([start])]) : size);
  }
  const end = ends.length === 1 ? (ends[0] ?? '') : graph.node('Concat', ends, { axis: 0 });
  return graph.node('Slice', [value, graph.integers(starts), end, graph.integers(axes)]);
}

/** `values` repeated, from `offset` on, in the given extents. fp32 up to the last step: CPU kernels, which fold it, lack 16-bit ones. */
function repeated(graph: Graph, values: Value, dims: readonly number[], offset: number, type: Precision): Value {
  const elements = dims.reduce((product, extent) => product * extent, 1);
  const start = (offset * 1009) % blockElements;
  const tiled = graph.node('Tile', [values, graph.integers([Math.ceil((start + elements) / blockElements)])]);
  const exact = graph.node('Slice', [tiled, graph.integers([start]), graph.integers([start + elements]), graph.integers([0])]);
  return graph.cast(graph.reshape(exact, dims), 'fp32', type);
}

function largestExtent(extent: Dims[number], limits: Limits): number {
  if (typeof extent === 'number') return extent;
  if (typeof extent === 'object') return extent.largest;
  switch (extent) {
    case 'rows':
      return limits.batch * limits.tokens;
    case 'batch':
      return limits.batch;
    case 'tokens':
      return limits.tokens;
    case 'context':
    case 'total':
      return limits.sequence;
  }
}

/**
 * Sizes of the slice, int64 [1] each. They pass through a shape because ONNX Runtime keeps arithmetic that starts from shapes on the CPU,
 * where Slice and Reshape want their arguments; arithmetic on graph inputs would go to the GPU and back, once for every cut.
 */
function sliceSizes(graph: Graph): Sources['sizes'] {
  const size = (name: string) => graph.node('Shape', [graph.node('ConstantOfShape', [graph.input(name, 'int64', [1])])]);
  const [batch, tokens, context] = [size('batch'), size('tokens'), size('context')];
  return { batch, tokens, context, rows: graph.node('Mul', [batch, tokens]), total: graph.node('Add', [context, tokens]) };
}

/** Standard normal numbers, always the same: Box-Muller over a multiplicative generator (Park and Miller 1988). */
function pseudoRandomNormal(count: number): Float32Array {
  let state = 20211;
  const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
  return Float32Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
}

import type { Tensor } from 'onnxruntime-node';
import type { LayerShape } from '../../../core/domain/profile';
import type { WorkUnit } from '../../../core/schedules/schedule';
import type { Runtime } from '../../../profiler/sessions';
import { initialWeights } from './parameters';

/** Tensors by name. */
export type Bag = ReadonlyMap<string, Tensor>;

/** What a run of ONNX Runtime gives. */
export type Results = Readonly<Record<string, Tensor>>;

/** Tensors that many passes share, made once. */
export interface SharedTensors {
  readonly integers: (values: readonly number[]) => Tensor;
  readonly zeros: (dims: readonly number[]) => Tensor;
  /** Keys or values of no context. */
  readonly noKeys: (shape: LayerShape, batch: number) => Tensor;
  /** Inputs `batch`, `tokens` and `context`. */
  readonly sizes: (unit: WorkUnit) => Readonly<Record<string, Tensor>>;
}

export function sharedTensors(runtime: Runtime): SharedTensors {
  const zeros = new Map<string, Tensor>();
  const sizes = new Map<string, Record<string, Tensor>>();
  const integers = (values: readonly number[]): Tensor => new runtime.Tensor('int64', BigInt64Array.from(values, BigInt), [values.length]);
  const zerosTensor = (dims: readonly number[]): Tensor => {
    const made = zeros.get(dims.join()) ?? new runtime.Tensor('float32', new Float32Array(product(dims)), dims);
    zeros.set(dims.join(), made);
    return made;
  };
  return {
    integers,
    zeros: zerosTensor,
    noKeys: ({ kvHeads, headDim }, batch) => zerosTensor([batch, kvHeads, 0, headDim]),
    sizes({ batch, tokens, context }) {
      const key = `${batch},${tokens},${context}`;
      const made = sizes.get(key) ?? { batch: integers([batch]), tokens: integers([tokens]), context: integers([context]) };
      sizes.set(key, made);
      return made;
    },
  };
}

/** Initial numbers of a weight, by its name in the model and its kind. */
export type InitialWeights = (name: string, kind: string, elements: number) => Float32Array;

/** Weights of the model, each made when it is first asked for. */
export function weightTensors(
  runtime: Runtime,
  tied: boolean,
  initial: InitialWeights = initialWeights,
): (owner: string, kind: string, dims: readonly number[]) => Tensor {
  const made = new Map<string, Tensor>();
  return (owner, kind, dims) => {
    const name = `${owner} ${kind}`;
    const found = made.get(name);
    if (found !== undefined) return found;
    const [rows = 0, columns = 0] = dims;
    const values =
      tied && name === 'head head'
        ? transposed(initial('embedding tokenTable', 'tokenTable', rows * columns), columns, rows)
        : initial(name, kind, product(dims));
    const tensor = new runtime.Tensor('float32', values, dims);
    made.set(name, tensor);
    return tensor;
  };
}

/** [rows, columns] to [columns, rows]. */
function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const turned = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) turned[column * rows + row] = values[row * columns + column] ?? 0;
  return turned;
}

/** @throws Error when it is missing. */
export function requireTensor(bag: Bag, name: string): Tensor {
  const tensor = bag.get(name);
  if (tensor === undefined) throw new Error(`there is no ${name}`);
  return tensor;
}

function product(dims: readonly number[]): number {
  return dims.reduce((elements, extent) => elements * extent, 1);
}

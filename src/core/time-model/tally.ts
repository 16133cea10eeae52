import type { DeviceRates } from './rates';

/** Sums of operations, seconds. */
export interface Tally {
  forward: number;
  backward: number;
  /** Of backward, the gradients of weights. */
  weight: number;
  /** Without the floor. */
  device: number;
  /** Of forward, what is not a product with a weight matrix. */
  elementwise: number;
  /** How many times the issue floor an operation of forward takes at least. */
  readonly forwardFloors: number;
}

/** Nothing added yet. */
export function emptyTally(forwardFloors = 1): Tally {
  return { forward: 0, backward: 0, weight: 0, device: 0, elementwise: 0, forwardFloors };
}

/** Takes away all that was added. */
export function clearTally(sum: Tally): void {
  sum.forward = sum.backward = sum.weight = sum.device = sum.elementwise = 0;
}

/** Adds one operation and its backward operations, none, one or two, each at least the issue floor. */
export function addOperation(sum: Tally, floor: number, forward: number, backward?: number, second?: number): void {
  const issued = Math.max(forward, floor * sum.forwardFloors);
  sum.elementwise += issued;
  sum.forward += issued;
  sum.device += forward;
  if (backward !== undefined) addBackward(sum, floor, backward);
  if (second !== undefined) addBackward(sum, floor, second);
}

/** Sizes of a GEMM, [rows x inner][inner x columns]. */
export type Product = readonly [rows: number, columns: number, inner: number];

/**
 * Adds `batch` products with weight matrices: backward is one product for the gradient of the input, one for that of weights that are not
 * frozen; quantised ones are dequantised for each. In a narrow format the gradient of the output is cast before both, and so is the input
 * where `castInput` is set (no norm before it writes it cast) or the runtime's norms never write it so.
 */
export function addProduct(sum: Tally, rates: DeviceRates, product: Product, batch = 1, castInput = true): void {
  // An index each: destructuring an array iterates over it, which counts in the first thousand calls of a process.
  const rows = product[0];
  const columns = product[1];
  const inner = product[2];
  const { floor, linear, weightGradient, cast, castsApart } = rates;
  const input = castInput || castsApart ? cast(batch * rows * inner) : 0;
  const before = sum.elementwise;
  const { unpack } = rates;
  if (unpack !== null) addOperation(sum, floor, unpack(batch * columns * inner), unpack(batch * columns * inner));
  addOperation(sum, floor, linear(rows, columns, inner, batch) + input, linear(rows, inner, columns, batch) + cast(batch * rows * columns));
  sum.elementwise = before + input;
  if (!rates.frozen) addWeightGradient(sum, floor, weightGradient(inner, columns, rows, batch));
}

/** Adds an operation of backward that only makes gradients of weights. */
export function addWeightGradient(sum: Tally, floor: number, seconds: number): void {
  addBackward(sum, floor, seconds);
  sum.weight += Math.max(seconds, floor);
}

/** Adds an operation of backward that nothing in forward answers to. */
export function addBackward(sum: Tally, floor: number, seconds: number): void {
  sum.backward += Math.max(seconds, floor);
  sum.device += seconds;
}

/** Adds time in which the device waits. */
export function addWait(sum: Tally, forward: number, backward: number): void {
  sum.forward += forward;
  sum.backward += backward;
}

/** Seconds that the floor added. */
export function idleOnFloor({ forward, backward, device }: Tally): number {
  return forward + backward - device;
}

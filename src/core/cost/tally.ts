/** Sums of operations, seconds. */
export interface Tally {
  forward: number;
  backward: number;
  /** Without the floor. */
  device: number;
}

export function emptyTally(): Tally {
  return { forward: 0, backward: 0, device: 0 };
}

/** Adds one operation and its backward operations, each at least the issue floor. */
export function addOperation(sum: Tally, floor: number, forward: number, ...backward: readonly number[]): void {
  sum.forward += Math.max(forward, floor);
  sum.device += forward;
  for (const seconds of backward) addBackward(sum, floor, seconds);
}

export function addBackward(sum: Tally, floor: number, seconds: number): void {
  sum.backward += Math.max(seconds, floor);
  sum.device += seconds;
}

/** Seconds that the floor added. */
export function idleOnFloor({ forward, backward, device }: Tally): number {
  return forward + backward - device;
}

/** What a web worker that shares memory with us is sent first: one Int32, the id of the request to give up. */
interface SharedFlag {
  readonly cancelFlag: SharedArrayBuffer;
}

/** Time for a worker without a flag to end a plan that is given up, ms: most plans take less, and another worker takes more to start. */
export const patienceWithoutFlagMs = 1000;

/** Whether memory can be shared with web workers: only on a page that is isolated from other sites. */
export function canShareMemory(): boolean {
  return Reflect.get(globalThis, 'crossOriginIsolated') === true;
}

/** Gives a worker its flag, where it can have one. @returns what gives up a request by its id. */
export function shareCancelFlag(post: (message: SharedFlag) => void): (id: number) => void {
  if (!canShareMemory()) return () => undefined;
  const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  post({ cancelFlag: flag.buffer });
  return (id) => Atomics.store(flag, 0, id);
}

/** The worker's end: whether a request is given up, and what takes the flag out of its messages. */
export function receiveCancelFlag(): { readonly isGivenUp: (id: number) => boolean; readonly take: (message: unknown) => boolean } {
  let flag: Int32Array | null = null;
  return {
    isGivenUp: (id) => flag !== null && Atomics.load(flag, 0) === id,
    take: (message) => {
      if (!isSharedFlag(message)) return false;
      flag = new Int32Array(message.cancelFlag);
      return true;
    },
  };
}

function isSharedFlag(message: unknown): message is SharedFlag {
  return typeof message === 'object' && message !== null && 'cancelFlag' in message && message.cancelFlag instanceof SharedArrayBuffer;
}

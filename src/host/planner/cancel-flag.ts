/** What a web worker that shares memory with us is sent first: one Int32, the id of the request to give up. */
interface SharedFlag {
  readonly cancelFlag: SharedArrayBuffer;
}

/** What a worker that hears of nothing while it plans may take to end, ms: most plans take less, and another worker more to start. */
export const deafPatienceMs = 1000;

/** Whether a web worker can hear while it plans that a request is given up: only a page isolated from other sites may share memory. */
export function hearsWhilePlanning(): boolean {
  return Reflect.get(globalThis, 'crossOriginIsolated') === true;
}

/** Gives a worker its flag, where it can have one. @returns what gives up a request by its id. */
export function shareCancelFlag(post: (message: SharedFlag) => void): (id: number) => void {
  if (!hearsWhilePlanning()) return () => undefined;
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

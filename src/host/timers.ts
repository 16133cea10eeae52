/** Lets a process of Node.js end while a timer runs; nothing else has to wait for one. @returns the timer. */
export function heldByNobody<T>(timer: T): T {
  (timer as { readonly unref?: () => void }).unref?.();
  return timer;
}

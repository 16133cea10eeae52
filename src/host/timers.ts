/** Lets a process of Node.js end while a timer runs; nothing else has to wait for one. @returns the timer. */
export function heldByNobody<T>(timer: T): T {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') timer.unref();
  return timer;
}

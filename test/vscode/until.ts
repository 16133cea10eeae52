/** Long enough for a machine several times slower than any we know; a wait that can come true ends as soon as it does. */
export const patienceMs = 270_000;

/** Asks again and again until there is an answer. @throws when there is none within the limit; the message names what was waited for */
export async function until<T>(what: string, ask: () => T | undefined | Promise<T | undefined>, limitMs = patienceMs): Promise<T> {
  const pauseMs = 100;
  // Counts its own pauses, not the clock: what a machine does not get round to does not use up the limit.
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += pauseMs) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  throw new Error(`no ${what} after ${limitMs / 1000} s`);
}

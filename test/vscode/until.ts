/** Asks again and again until there is an answer. @throws when there is none within the limit, saying what was waited for */
export async function until<T>(what: string, ask: () => T | undefined | Promise<T | undefined>, limitMs = 20_000): Promise<T> {
  const giveUpMs = performance.now() + limitMs;
  while (performance.now() < giveUpMs) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no ${what} within ${limitMs / 1000} s`);
}

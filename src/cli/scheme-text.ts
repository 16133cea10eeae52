import type { Scheme } from '../core/spec/scheme';

/** A scheme in the paper's notation with repeats counted: `(1, [120 x 4, 112]) x 2`. */
export function schemeText(scheme: Scheme): string {
  const chunks = scheme.map(({ batch, tokens }) => `(${batch}, [${counted(tokens.map(String)).join(', ')}])`);
  return counted(chunks).join(', ');
}

function counted(items: readonly string[]): string[] {
  const runs: { item: string; times: number }[] = [];
  for (const item of items) {
    const last = runs.at(-1);
    if (last?.item === item) last.times += 1;
    else runs.push({ item, times: 1 });
  }
  return runs.map(({ item, times }) => (times === 1 ? item : `${item} x ${times}`));
}

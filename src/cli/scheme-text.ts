import { chunksPerRound, type Scheme } from '../core/domain/scheme';

/** A scheme in the paper's notation with repeats counted: `(1, [120 x 4, 112]) x 2`; equal rounds in braces. */
export function schemeText(scheme: Scheme): string {
  let first = 0;
  const rounds = chunksPerRound(scheme).map((chunks) => roundText(scheme.slice(first, (first += chunks))));
  return counted(rounds, (round) => `{${round}}`).join(' | ');
}

function roundText(round: Scheme): string {
  return counted(round.map(({ batch, tokens }) => `(${batch}, [${counted(tokens.map(String)).join(', ')}])`)).join(', ');
}

/** @param grouped how an item is written that is repeated. */
function counted(items: readonly string[], grouped = (item: string): string => item): string[] {
  const runs: { item: string; times: number }[] = [];
  for (const item of items) {
    const last = runs.at(-1);
    if (last?.item === item) last.times += 1;
    else runs.push({ item, times: 1 });
  }
  return runs.map(({ item, times }) => (times === 1 ? item : `${grouped(item)} x ${times}`));
}

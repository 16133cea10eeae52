import { orList } from '../../../core/text';
import { sentence } from '../../../core/sentence';
import { defineCommand, parseChoice, parseCount, usage, type Line } from '../../../cli/command';
import { configOptions } from '../../../cli/common-options';
import { largestKinds, type LargestKind } from '../core/kinds';

export const maxCommand = defineCommand({
  takes: 'FILE WHAT',
  description: 'the largest sequence, micro-batch, ... that fits, or the fewest GPUs',
  options: {
    ...configOptions,
    search: { help: 'choose the layout and schedule again for each size' },
    most: { value: 'N', help: 'the largest size that is tried' },
  },
  notes: `WHAT of max is sequence, micro-batch, layers, lora-rank, experts or fewest-gpus.`,
  start: (asked, given) => {
    const { line, what } = splitWhat(asked);
    const most = parseCount('--most', given.most, 2 ** 24) ?? undefined;
    const isSearched = given.search === true;
    return async (terminal, texts) => (await import('./answer')).maxAnswer(line, { what, isSearched, most }, terminal, texts);
  },
});

/** FILE and WHAT, in either order. @throws ExpectedError `usage`. */
function splitWhat(line: Line): { readonly line: Line; readonly what: LargestKind } {
  const isWhat = (word: string): boolean => (largestKinds as readonly string[]).includes(word);
  const [first, second, ...more] = line.paths;
  if (first === undefined || second === undefined || more.length > 0)
    throw usage(sentence`max takes FILE and what is to be the most`, sentence`give one of ${orList(largestKinds)}`);
  const [path, word] = isWhat(first) && !isWhat(second) ? [second, first] : [first, second];
  return { line: { ...line, path, paths: [path] }, what: parseChoice(largestKinds, word, 'nothing that max finds') };
}

import type { Line } from '../../../cli/command';

/** The option of `terapipe plan` that compares. */
export const compareOptions = {
  compare: {
    value: 'OTHER',
    help: "compare FILE with another config or a measured run: a Chrome trace (PyTorch's, Megatron-LM's timers, our export), step times as CSV or JSON, or a training log",
    also: {
      value: 'best',
      help: 'compare the layout of FILE with the best one, as --search finds it; launched: the other way round',
    },
  },
} as const;

/** What `--compare` may name instead of a file: sides of a search. */
const searchedSides = ['launched', 'best'] as const;
export type SearchedSide = (typeof searchedSides)[number];

/** Whether `--compare` asks for a search; a file of that name is `./best`. */
export function isSearchedSide(name: string): name is SearchedSide {
  return (searchedSides as readonly string[]).includes(name);
}

/** Both files of `plan A --compare B`, which may be written `plan --compare A B`, in the order of the command line. */
export function comparedFiles({ path, beforePath }: Line, other: string | undefined): readonly [string, string | undefined] {
  return other !== undefined && !isSearchedSide(other) && beforePath.has('compare') ? [other, path] : [path, other];
}

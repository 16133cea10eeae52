import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { planNearby } from '../../../cli/planned';
import { readConfig, runConfig, type RunConfig } from '../../../cli/read-config';
import type { Terminal } from '../../../cli/terminal';
import type { SearchKey } from '../../../core/domain/layout-choices';
import { comparedPlansAnswer, comparedRunAnswer } from './answer';
import { readOther } from './read-measured';
import { comparedSearchAnswer, isSearchedSide } from './search-answer';

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

/** A plan compared with another config's, planned with the same settings and defaults, a measured run, or what a search finds. */
export async function comparedAnswer(
  config: RunConfig,
  line: Line,
  { other, free }: { readonly other: string; readonly free: readonly SearchKey[] | null },
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<Answer> {
  const { sets, machine, defaults, profile } = line;
  if (isSearchedSide(other)) return comparedSearchAnswer(config, other, { defaults, free }, terminal, texts);
  const read = await readOther(other, texts, terminal.signal);
  const planned = await planNearby(config, defaults, terminal.status);
  if (read.kind !== 'config') return comparedRunAnswer(planned, read, other, texts);
  const otherConfig = await readConfig(read.source, { sets, machine, shell: terminal.shell, withProfile: profile === null }, texts);
  return comparedPlansAnswer(planned, await planNearby(await runConfig(otherConfig, line, texts), defaults, terminal.status), texts);
}

/** Both files of `plan A --compare B`, which may be written `plan --compare A B`, in the order of the command line. */
export function comparedFiles({ path, beforePath }: Line, other: string | undefined): readonly [string, string | undefined] {
  return other !== undefined && !isSearchedSide(other) && beforePath.has('compare') ? [other, path] : [path, other];
}

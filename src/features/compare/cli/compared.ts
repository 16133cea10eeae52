import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { planNearby } from '../../../cli/planned';
import { readConfig, runConfig, type RunConfig } from '../../../cli/read-config';
import type { Terminal } from '../../../cli/terminal';
import type { SearchKey } from '../../../core/domain/layout-choices';
import { comparedPlansAnswer, comparedRunAnswer } from './answer';
import { readOther } from './read-measured';
import { isSearchedSide } from './option';
import { comparedSearchAnswer } from './search-answer';

/** A plan compared with another config's, planned with the same settings and defaults, a measured run, or what a search finds. */
export async function comparedAnswer(
  config: RunConfig,
  line: Line,
  { other, free }: { readonly other: string; readonly free: readonly SearchKey[] | null },
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<Answer> {
  const { sets, machine, model, defaults, profile } = line;
  if (isSearchedSide(other)) return comparedSearchAnswer(config, other, { defaults, free }, terminal, texts);
  const read = await readOther(other, texts, terminal.signal);
  const planned = await planNearby(config, defaults, terminal.status);
  if (read.kind !== 'config') return comparedRunAnswer(planned, read, other, texts);
  const reading = { sets, machine, model, shell: terminal.shell, withProfile: profile === null };
  const otherConfig = await readConfig(read.source, reading, texts);
  return comparedPlansAnswer(planned, await planNearby(await runConfig(otherConfig, line, texts), defaults, terminal.status), texts);
}

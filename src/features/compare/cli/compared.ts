import type { Answer, Texts } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { planNearby } from '../../../cli/planned';
import { readConfig, runConfig, type RunConfig } from '../../../cli/read-config';
import type { Terminal } from '../../../cli/terminal';
import type { SearchKey } from '../../../core/domain/layout-choices';
import { comparedPlansAnswer, comparedRunAnswer } from './answer';
import { readOther } from './read-measured';
import { isSearchedSide, type SearchedSide } from './option';
import type { LoadedConfig } from '../../../core/config-files/load-config';
import { makePlan } from '../../../core/planner/make-plan';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import { toPlanRequest } from '../../../core/layout-search/request-of';
import { layoutText } from '../../../core/layout-search/labels';
import { foundCheckpoint, judgedFinding } from '../../../core/rules/plan/checkpoint-findings';
import { judgedFindings, placed, requireRun } from '../../../core/export/planned-config';
import { searchLayouts } from '../../../cli/answers/search';
import { say } from '../../../core/sentence';

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

/**
 * `terapipe plan FILE --compare best`: the layout that FILE launches, or is planned with where it names none, compared with the best that a
 * search finds; `launched`: the other way round.
 * @param free choices that are searched although FILE sets them; null: as `toSearchProblem` has it.
 * @throws ExpectedError of the planner and the search, placed; CancelledError.
 */
async function comparedSearchAnswer(
  config: LoadedConfig,
  side: SearchedSide,
  { defaults, free }: { readonly defaults: ResolveDefaults; readonly free: readonly SearchKey[] | null },
  watcher: Parameters<typeof searchLayouts>[3],
  texts: Texts,
): Promise<Answer> {
  const run = requireRun(config);
  const { request, launched, best } = await searchLayouts(config, defaults, { improvements: false, tables: false, free }, watcher);
  const asked = {
    own: launched === null ? request : toPlanRequest(request, launched),
    best: toPlanRequest(request, best),
  };
  try {
    const findings = judgedFindings(config, run, null);
    const own = { run, plan: makePlan(asked.own), findings };
    const checkpoint = foundCheckpoint(config, run, asked.best);
    const found = { run, plan: makePlan(asked.best), findings: judgedFinding(config, checkpoint), checkpoint };
    const names = {
      own: `${launched === null ? 'as planned' : 'as launched'}: ${say(layoutText(asked.own))}`,
      best: `best layout: ${say(layoutText(asked.best))}`,
    };
    return side === 'best'
      ? comparedPlansAnswer(own, found, texts, { a: names.own, b: names.best })
      : comparedPlansAnswer(found, own, texts, { a: names.best, b: names.own });
  } catch (error) {
    throw placed(error, run, () => judgedFindings(config, run, null));
  }
}

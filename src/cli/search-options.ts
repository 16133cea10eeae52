import { currentName } from '../core/terapipe/renamed-keys';
import { freeNames, searchKeys, type SearchKey } from '../core/domain/layout-choices';
import { namedSchedules } from '../core/domain/schedule-names';
import { parseChoice, type Line, parseCount, usage, type Given } from './command';
import { ExpectedError } from '../core/errors';
import { sameWord } from '../core/domain/settings/rules';
import { plural } from '../core/format';
import type { FoundPlan, SearchResult } from '../core/layout-search/result';
import { say, sentence } from '../core/sentence';
import { orList, quoted } from '../core/text';

/** Which layout of a search is meant, where it is not the best. */
export const searchChoice = {
  candidate: { value: 'NAME', help: 'this candidate of the plan instead of the best; with --search, the best layout of this schedule' },
  row: { value: 'N', help: 'with --search, row N of its step times against memory instead of the best layout' },
} as const;

/** A row of the front, from 1, or a schedule. */
export type SearchChoice = { readonly row: number } | { readonly candidate: string };

/** The layout that options choose; null: the best. @throws ExpectedError `usage`. */
export function parseSearchChoice({ candidate, row }: Given<typeof searchChoice>): SearchChoice | null {
  if (candidate !== undefined && row !== undefined)
    throw usage(sentence`--candidate and --row each choose a layout`, sentence`give one of them`);
  const number = parseCount('--row', row);
  if (number !== null) return { row: number };
  return candidate === undefined ? null : { candidate };
}

/** The layout of an answer that is chosen. @throws ExpectedError `search-no-row` and `search-no-candidate`, which list what exists. */
export function chosenLayout({ paretoFront, perSchedule }: SearchResult, choice: SearchChoice): FoundPlan {
  if ('row' in choice) {
    const found = paretoFront[choice.row - 1];
    if (found !== undefined) return found;
    throw new ExpectedError(
      'search-no-row',
      sentence`The search has no row ${choice.row}`,
      sentence`its step times against memory have ${plural(paretoFront.length, 'row')}; plan --search lists them`,
    );
  }
  const found = perSchedule.find(({ name, point }) => [say(name), point.schedule].some((each) => sameWord(each, choice.candidate)));
  if (found !== undefined) return found;
  throw new ExpectedError(
    'search-no-candidate',
    sentence`The search has no layout of the schedule ${quoted(choice.candidate)}`,
    sentence`use ${orList([...new Set(perSchedule.map(({ point }) => point.schedule))])}, or search it with --schedules`,
  );
}

/** What a search chooses though FILE sets it. */
export const free = {
  value: 'KEY,...',
  help: "with --search, choose these though FILE sets them: none, layout (sizes of groups, micro-batch, stages, schedule), all (recompute, ZeRO, sequence parallelism and context parallelism's exchange too), or keys as tensor,pipeline,data; and show where FILE's own layout ranks. offloadOptimizer lets the optimizer go to the host, which is not tried unless named",
} as const;

/** What a plan or a search chooses its schedule from. */
export const schedules = {
  value: 'NAME,...',
  help: 'choose among these schedules, in a search too, not among those that the runtime runs; a schedule that FILE names stays if it is one of them',
  also: { value: 'all', help: 'choose among all schedules that plans compare' },
} as const;

/** The line with its schedules as a setting overriding the files. */
export function withSchedules(line: Line, written: string | undefined): Line {
  if (written === undefined) return line;
  const names = written === 'all' ? written : written.split(',').map((part) => parseChoice(namedSchedules, part.trim(), 'not a schedule'));
  return { ...line, sets: [...line.sets, `schedules=${JSON.stringify(names)}`] };
}

/** Choices named one by one, or by what stands for several. */
export function parseFreeKeys(written: string): SearchKey[] {
  const names = [...(Object.keys(freeNames) as (keyof typeof freeNames)[]), ...searchKeys];
  const keys = written.split(',').flatMap((part): readonly SearchKey[] => {
    const name = parseChoice(names, currentName(part.trim()), 'nothing that a search chooses');
    return Object.hasOwn(freeNames, name) ? freeNames[name as keyof typeof freeNames] : [name as SearchKey];
  });
  return [...new Set(keys)];
}

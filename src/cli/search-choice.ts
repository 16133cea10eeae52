import { ExpectedError } from '../core/errors';
import { sameWord } from '../core/domain/settings/rules';
import { plural } from '../core/format';
import type { FoundPlan, SearchResult } from '../core/layout-search/result';
import { say, sentence } from '../core/sentence';
import { orList, quoted } from '../core/text';
import { parseCount, usage, type Given } from './command';

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

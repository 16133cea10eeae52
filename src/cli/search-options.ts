import { currentName } from '../core/terapipe/renamed-keys';
import { freeNames, searchKeys, type SearchKey } from '../core/domain/layout-choices';
import { namedSchedules } from '../core/domain/schedule-names';
import { parseChoice, type Line } from './command';

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

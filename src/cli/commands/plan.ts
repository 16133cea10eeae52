import { parseAmount } from '../../core/amounts';
import { quoted } from '../../core/text';
import { compareOptions, comparedFiles, isSearchedSide } from '../../features/compare/cli/option';
import { parseLoss, recoveryOptions } from '../../features/recovery/cli/options';
import { defineCommand, refuseBoth, usage, type Given, type Line } from '../command';
import { parseSearchChoice, searchChoice, free, parseFreeKeys, schedules, withSchedules } from '../search-options';
import { all, configOptions, measured, ofWholeRun, refuseSet, schedule, withSchedule } from '../common-options';
import { sentence } from '../../core/sentence';

export const planCommand = defineCommand({
  takes: 'FILE',
  description: 'the best schedule that fits, with its step time, bubble and memory',
  options: {
    ...configOptions,
    measured,
    schedule,
    search: {
      help: "choose the layout too: tensor, pipeline, data, context and expert sizes, stages, micro-batch, schedule, recompute; of a launcher's file all that it can express, of others what FILE leaves open; with measured times what they were measured for stays",
    },
    free,
    schedules,
    ...searchChoice,
    ...recoveryOptions,
    ...ofWholeRun,
    all,
    quick: { help: 'with --search, without what would help most, which is searched for --all and --json' },
    ...compareOptions,
  },
  start: (plainLine, given) => {
    const line = withPrices(withSchedule(withSchedules(plainLine, given.schedules), given.schedule), given);
    const { compare, search, free: written, quick = false, all: isAll = false } = given;
    refuseBoth(given, 'search', 'compare');
    refuseBoth(given, 'measured', 'compare');
    refuseBoth(given, 'without', 'slow');
    refuseBoth(given, 'lengths', 'search');
    for (const option of ['without', 'slow'] as const) for (const other of ['search', 'compare'] as const) refuseBoth(given, option, other);
    const loss = parseLoss(given.without, given.slow);
    const isFreeCompared = compare !== undefined && isSearchedSide(compare);
    const choice = parseSearchChoice(given);
    const searched = (['quick', 'free', 'row', 'candidate'] as const).filter((option) => option !== 'free' || !isFreeCompared);
    const misplaced = search === true ? undefined : searched.find((option) => given[option] !== undefined);
    if (misplaced !== undefined) throw usage(sentence`--${misplaced} is an option of plan --search`, sentence`give --search too`);
    const free = written === undefined ? null : parseFreeKeys(written);
    const options = { improvements: !quick && (isAll || line.json), free };
    const [path, other] = comparedFiles(line, compare);
    const asked = { lengths: given.lengths, measured: given.measured, isSearch: search === true, choice, loss, other, isAll, options };
    return async (terminal, texts) => (await import('../answers/plan-named')).planNamed({ ...line, path }, asked, terminal, texts);
  },
});

/** The line with the tokens of the run and the price of a GPU as settings. @throws ExpectedError `usage`. */
function withPrices(line: Line, { tokens, price }: Given<typeof ofWholeRun>): Line {
  refuseSet('tokens', tokens, ['training.tokens'], line.sets);
  refuseSet('price', price, ['cluster.pricePerGpuHour'], line.sets);
  const count = parsed('--tokens', tokens, [1, 1e18, '1e18'], 'as 15T or 15.6e12');
  const perHour = parsed('--price', price, [1e-6, 1e6, '1,000,000'], 'as 2.5');
  const sets = [
    ...(count === null ? [] : [`training.tokens=${count}`]),
    ...(perHour === null ? [] : [`cluster.pricePerGpuHour=${perHour}`]),
  ];
  return { ...line, sets: [...line.sets, ...sets] };
}

function parsed(
  option: string,
  written: string | undefined,
  [least, most, mostText]: readonly [number, number, string],
  example: string,
): number | null {
  if (written === undefined) return null;
  const number = parseAmount(written, 'decimal');
  if (number !== null && number >= least && number <= most) return number;
  throw usage(sentence`${option} is ${quoted(written)}`, sentence`give it a number from ${least} to ${mostText}, ${example}`);
}

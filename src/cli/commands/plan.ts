import { parseAmount } from '../../core/amounts';
import { quoted } from '../../core/text';
import { compareOptions, comparedFiles, isSearchedSide } from '../../features/compare/cli/option';
import { parseLoss, recoveryOptions } from '../../features/recovery/cli/options';
import { defineCommand, refuseBoth, usage } from '../command';
import { parseSearchChoice, searchChoice } from '../search-choice';
import { free, parseFreeKeys, schedules, withSchedules } from '../search-options';
import { configOptions, measured, schedule, withSchedule } from '../common-options';
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
    lengths: {
      value: 'PATH',
      help: 'documents of many lengths: a number a line, JSON lines with "tokens", or one object of counts by length; what a step of them takes padded, packed and in chunks (training.lengths)',
    },
    tokens: { value: 'N', help: 'with --search, tokens to train on (15.6e12, 15T), for GPU hours' },
    quick: { help: 'with --search, without what would help most' },
    ...compareOptions,
  },
  start: (plainLine, given) => {
    const line = withSchedule(withSchedules(plainLine, given.schedules), given.schedule);
    const { compare, search, free: written, tokens, quick = false } = given;
    refuseBoth(given, 'search', 'compare');
    refuseBoth(given, 'measured', 'compare');
    refuseBoth(given, 'without', 'slow');
    refuseBoth(given, 'lengths', 'search');
    for (const option of ['without', 'slow'] as const) for (const other of ['search', 'compare'] as const) refuseBoth(given, option, other);
    const loss = parseLoss(given.without, given.slow);
    const isFreeCompared = compare !== undefined && isSearchedSide(compare);
    const choice = parseSearchChoice(given);
    const searched = (['quick', 'tokens', 'free', 'row', 'candidate'] as const).filter((option) => option !== 'free' || !isFreeCompared);
    const misplaced = search === true ? undefined : searched.find((option) => given[option] !== undefined);
    if (misplaced !== undefined) throw usage(sentence`--${misplaced} is an option of plan --search`, sentence`give --search too`);
    const free = written === undefined ? null : parseFreeKeys(written);
    const options = { tokens: parseTokenCount(tokens), quick, free };
    const [path, other] = comparedFiles(line, compare);
    const asked = { lengths: given.lengths, measured: given.measured, isSearch: search === true, choice, loss, other, options };
    return async (terminal, texts) => (await import('../answers/plan-named')).planNamed({ ...line, path }, asked, terminal, texts);
  },
});

function parseTokenCount(written: string | undefined): number | null {
  if (written === undefined) return null;
  const count = parseAmount(written, 'decimal');
  if (count !== null && count >= 1 && count <= 1e18) return count;
  throw usage(sentence`--tokens is ${quoted(written)}`, sentence`give it a number from 1 to 1e18, as 15T or 15.6e12`);
}

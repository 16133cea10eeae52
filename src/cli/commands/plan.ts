import { parseAmount } from '../../core/amounts';
import { quoted } from '../../core/text';
import { compareOptions, comparedAnswer, comparedFiles } from '../../features/compare/cli/option';
import { isSearchedSide } from '../../features/compare/cli/search-answer';
import { planAnswer } from '../answers/plan';
import { parseLoss, recoveryAnswer, recoveryOptions, findStraggler } from '../../features/recovery/cli';
import { plannedChoice, searchAnswer } from '../answers/search';
import { defineCommand, refuseBoth, usage, type Line } from '../command';
import { parseSearchChoice, searchChoice } from '../search-choice';
import { free, parseFreeKeys, schedules, withSchedules } from '../search-options';
import { configOptions, measured, schedule, settingsOfLine, withSchedule } from '../common-options';
import { planNearby } from '../planned';
import { measuredConfig, sayDifferences } from '../../features/compare/cli/measured-config';
import { readInto } from '../read-config';
import { readLengths, writtenLengths } from '../problems/lengths';
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
    return async (terminal, texts) => {
      const named = await withLengths({ ...line, path }, given.lengths, texts);
      const read = await measuredConfig(named, given.measured, terminal, texts, search === true);
      const { config, line: asked, used } = read;
      if (search === true || loss !== null) sayDifferences(read, terminal);
      if (other !== undefined) return comparedAnswer(config, asked, { other, free }, terminal, texts);
      const own = settingsOfLine(asked);
      if (choice !== null) {
        const chosen = await plannedChoice(config, asked.defaults, { ...options, own, choice }, terminal);
        return planAnswer(chosen.planned, texts, chosen.settings, used);
      }
      if (search === true) return searchAnswer(config, asked.defaults, { ...options, own }, terminal);
      const planned = await planNearby(config, asked.defaults, terminal.status);
      if (loss === null) return planAnswer(planned, texts, own, used);
      return recoveryAnswer(planned, typeof loss === 'string' ? await findStraggler(planned, loss, terminal, texts) : loss, texts);
    };
  },
});

function parseTokenCount(written: string | undefined): number | null {
  if (written === undefined) return null;
  const count = parseAmount(written, 'decimal');
  if (count !== null && count >= 1 && count <= 1e18) return count;
  throw usage(sentence`--tokens is ${quoted(written)}`, sentence`give it a number from 1 to 1e18, as 15T or 15.6e12`);
}

/** The line with lengths of documents as a setting overriding the files. @throws ExpectedError as `readInto` and `readLengths`. */
async function withLengths(line: Line, file: string | undefined, texts: Map<string, string>): Promise<Line> {
  if (file === undefined) return line;
  const lengths = writtenLengths(readLengths(await readInto(texts, file)));
  return { ...line, sets: [...line.sets, `training.lengths=${JSON.stringify(lengths)}`] };
}

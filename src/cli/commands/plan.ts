import { parseAmount } from '../../core/amounts';
import { compareWithTimes } from '../../features/compare/core/against-times';
import { compareWithTrace } from '../../features/compare/core/against-trace';
import { ExpectedError } from '../../core/errors';
import type { SearchKey } from '../../core/domain/layout-choices';
import { lowMedian } from '../../core/numbers';
import type { Failure } from '../../features/recovery/core';
import { quoted } from '../../core/text';
import type { Answer } from '../answer';
import { comparedPlansAnswer, comparedRunAnswer } from '../../features/compare/cli/answer';
import { comparedSearchAnswer, isSearchedSide } from '../../features/compare/cli/search-answer';
import { planAnswer } from '../answers/plan';
import { recoveryAnswer } from '../../features/recovery/cli';
import { searchAnswer } from '../answers/search';
import { defineCommand, refuseBoth, usage, type Line } from '../command';
import { free, freeOf, schedules, withSchedules } from '../search-options';
import { configOptions, measured, schedule, settingsOfLine, withSchedule } from '../common-options';
import { planNearby, type Planned } from '../planned';
import { measuredConfig, sayDifferences } from '../../features/compare/cli/measured-config';
import { readConfig, readInto, runConfig, type RunConfig } from '../read-config';
import { readLengths, writtenLengths } from '../problems/lengths';
import { readOther } from '../../features/compare/cli/read-measured';
import type { Terminal } from '../terminal';
import { sentence } from '../../core/sentence';

export const planCommand = defineCommand({
  takes: 'FILE',
  description: 'the best schedule that fits, with its step time, bubble and memory',
  options: {
    ...configOptions,
    measured,
    schedule,
    search: {
      help: "choose the layout too: tensor, pipeline, data, context and expert sizes, stages, micro-batch, schedule, recompute; of a launcher's file all that it can say, of others what FILE leaves open; with measured times what they were measured for stays",
    },
    free,
    schedules,
    without: {
      value: 'nodeN',
      help: "what to do when a node, counted from 0, is lost: other replicas do its stages' work, their layers spread over the rest, or fewer replicas; each priced",
    },
    slow: {
      value: 'stageN=F',
      help: 'the same when a stage of one replica takes F times as long (stage5=1.2)',
      also: { value: 'RUN', help: 'the straggler that a Chrome trace or step times show' },
    },
    lengths: {
      value: 'PATH',
      help: 'documents of many lengths: a number a line, JSON lines with "tokens", or one object of counts by length; what a step of them takes padded, packed and in chunks (training.lengths)',
    },
    tokens: { value: 'N', help: 'with --search, tokens to train on (15.6e12, 15T), for GPU hours' },
    quick: { help: 'with --search, without what would help most' },
    compare: {
      value: 'OTHER',
      help: "compare FILE with another config or a measured run: a Chrome trace (PyTorch's, Megatron-LM's timers, our export), step times as CSV or JSON, or a training log",
      also: {
        value: 'best',
        help: 'compare the layout of FILE with the best one, as --search finds it; launched: the other way round',
      },
    },
  },
  start: (plainLine, given) => {
    const line = withSchedule(withSchedules(plainLine, given.schedules), given.schedule);
    const { compare, search, free: written, tokens, quick = false } = given;
    refuseBoth(given, 'search', 'compare');
    refuseBoth(given, 'measured', 'compare');
    refuseBoth(given, 'without', 'slow');
    refuseBoth(given, 'lengths', 'search');
    for (const option of ['without', 'slow'] as const) for (const other of ['search', 'compare'] as const) refuseBoth(given, option, other);
    const loss = lossOf(given.without, given.slow);
    const isFreeCompared = compare !== undefined && isSearchedSide(compare);
    const searched = (['quick', 'tokens', 'free'] as const).filter((option) => option !== 'free' || !isFreeCompared);
    const alone = search === true ? undefined : searched.find((option) => given[option] !== undefined);
    if (alone !== undefined) throw usage(sentence`--${alone} is an option of plan --search`, sentence`give --search too`);
    const free = written === undefined ? null : freeOf(written);
    const options = { tokens: tokenCountOf(tokens), quick, free };
    const [path, other] = comparedFiles(line, compare);
    return async (terminal, texts) => {
      const named = await withLengths({ ...line, path }, given.lengths, texts);
      const read = await measuredConfig(named, given.measured, terminal, texts, search === true);
      const { config, line: asked, used } = read;
      if (search === true || loss !== null) sayDifferences(read, terminal);
      if (other !== undefined) return compared(config, asked, { other, free }, terminal, texts);
      if (search === true) return searchAnswer(config, asked.defaults, { ...options, own: settingsOfLine(asked) }, terminal);
      const planned = await planNearby(config, asked.defaults, terminal.status);
      if (loss === null) return planAnswer(planned, texts, settingsOfLine(asked), used);
      return recoveryAnswer(planned, typeof loss === 'string' ? await stragglerOf(planned, loss, terminal, texts) : loss, texts);
    };
  },
});

/** What was lost; a path of a measured run whose straggler is meant. @throws ExpectedError `usage`. */
function lossOf(without: string | undefined, slow: string | undefined): Failure | string | null {
  if (without !== undefined) {
    const [, node] = /^(?:node)?(\d{1,6})$/.exec(without) ?? [];
    if (node === undefined) throw usage(sentence`--without is ${quoted(without)}`, sentence`name a node, counted from 0, as node3`);
    return { kind: 'without', node: Number(node) };
  }
  if (slow === undefined) return null;
  const [, stage, written] = /^(?:stage)?(\d{1,6})=(\d+(?:\.\d+)?)$/.exec(slow) ?? [];
  if (stage === undefined) return slow;
  const factor = Number(written);
  if (factor > 1 && factor <= 100) return { kind: 'slow', stage: Number(stage), factor };
  throw usage(sentence`--slow is ${quoted(slow)}`, sentence`give a factor above 1, at most 100, as stage5=1.2`);
}

/** The stage that a measured run shows to be slow, over the others. @throws ExpectedError `recovery-straggler` when it shows none. */
async function stragglerOf(planned: Planned, path: string, terminal: Terminal, texts: Map<string, string>): Promise<Failure> {
  const read = await readOther(path, texts, terminal.signal);
  if (read.kind === 'config') throw usage(sentence`--slow is ${quoted(path)}`, sentence`give stage5=1.2, a trace or step times`);
  const { straggler, stages } =
    read.kind === 'trace' ? compareWithTrace(planned.plan, read.trace, path) : compareWithTimes(planned.plan, read.times);
  const slow = stages.find(({ stage }) => stage === straggler);
  const others = lowMedian(stages.filter(({ stage }) => stage !== straggler).map(({ ratio }) => ratio));
  if (slow === undefined)
    throw new ExpectedError(
      'recovery-straggler',
      sentence`The run shows no straggler`,
      sentence`name a stage and how slow it is, as --slow stage5=1.2`,
    );
  return { kind: 'slow', stage: slow.stage, factor: slow.ratio / (stages.length > 1 ? others : 1) };
}

/** A plan compared with another config's, planned with the same settings and defaults, a measured run, or what a search finds. */
async function compared(
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
  const beside = await readConfig(read.source, { sets, machine, shell: terminal.shell, withProfile: profile === null }, texts);
  return comparedPlansAnswer(planned, await planNearby(await runConfig(beside, line, texts), defaults, terminal.status), texts);
}

/** Both files of `plan A --compare B`, which may be written `plan --compare A B`, in the order of the command line. */
function comparedFiles({ path, beforePath }: Line, other: string | undefined): readonly [string, string | undefined] {
  return other !== undefined && !isSearchedSide(other) && beforePath.has('compare') ? [other, path] : [path, other];
}

function tokenCountOf(written: string | undefined): number | null {
  if (written === undefined) return null;
  const count = parseAmount(written, 'decimal');
  if (count !== null && count >= 1 && count <= 1e18) return count;
  throw usage(sentence`--tokens is ${quoted(written)}`, sentence`give it a number from 1 to 1e18, as 15T or 15.6e12`);
}

/** The line with lengths of documents as a setting overriding the files. @throws ExpectedError as `readInto` and `readLengths`. */
async function withLengths(line: Line, file: string | undefined, texts: Map<string, string>): Promise<Line> {
  if (file === undefined) return line;
  const lengths = writtenLengths(readLengths((await readInto(texts, file)).text));
  return { ...line, sets: [...line.sets, `training.lengths=${JSON.stringify(lengths)}`] };
}

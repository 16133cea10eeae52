import { currentName } from '../../core/formats/terapipe/renamed-keys';
import { freeNames } from '../../core/layout-search/problem';
import { searchKeys, type SearchKey } from '../../core/layout-search/search-problem';
import { namedSchedules } from '../../core/spec/schedule-names';
import { quoted } from '../../core/text';
import type { Answer } from '../answer';
import { comparedPlansAnswer, comparedRunAnswer } from '../answers/compare';
import { comparedSearchAnswer, isSearchedSide } from '../answers/compare-search';
import { planAnswer } from '../answers/plan';
import { searchAnswer } from '../answers/search';
import { defineCommand, oneOf, refuseBoth, usage, type Line } from '../command';
import { configOptions, measured } from '../common-options';
import { planNearby } from '../planned';
import { namedConfig, readConfig, runConfig, withMeasured, type RunConfig } from '../read-config';
import { readOther } from '../read-measured';
import type { Terminal } from '../terminal';
import { sentence } from '../../core/sentence';

export const planCommand = defineCommand({
  takes: 'FILE',
  description: 'the best schedule that fits, with its step time, bubble and memory',
  options: {
    ...configOptions,
    measured,
    search: {
      help: 'choose the layout too: tensor, pipeline, data, context and expert sizes, stages, micro-batch, schedule, recompute; what FILE sets stays, and with measured times what they were measured for',
    },
    free: {
      value: 'KEY,...',
      help: "with --search, choose these though FILE sets them: layout (sizes of groups, micro-batch, stages, schedule), all (recompute, ZeRO, sequence parallelism and context parallelism's exchange too), or keys as tensor,pipeline,data; and say where FILE's own layout stands. offloadOptimizer lets the optimizer go to the host, which is not tried unless named",
    },
    schedules: {
      value: 'NAME,...',
      help: "choose among these schedules alone, in a search too: also those that FILE's launcher has no setting for; a schedule that FILE names stays if it is one of them",
    },
    tokens: { value: 'N', help: 'with --search, tokens to train on (15.6e12), for GPU hours' },
    quick: { help: 'with --search, without what would help most' },
    compare: {
      value: 'OTHER',
      help: "set FILE beside another config, or beside a measured run: a Chrome trace (PyTorch's, Megatron-LM's timers, our export), step times as CSV or JSON, or a log of Megatron-LM",
      also: {
        value: 'best',
        help: "set the layout of FILE beside the best one, as --search finds it (of a launcher's file with --free all); launched: the other way round",
      },
    },
  },
  start: (plainLine, given) => {
    const line = withSchedules(plainLine, given.schedules);
    const { compare, search, free: written, tokens, quick = false } = given;
    refuseBoth(given, 'search', 'compare');
    refuseBoth(given, 'measured', 'compare');
    const isFreeCompared = compare !== undefined && isSearchedSide(compare);
    const searched = (['quick', 'tokens', 'free'] as const).filter((option) => option !== 'free' || !isFreeCompared);
    const alone = search === true ? undefined : searched.find((option) => given[option] !== undefined);
    if (alone !== undefined) throw usage(sentence`--${alone} is an option of plan --search`, sentence`give --search too`);
    const free = written === undefined ? [] : freeOf(written);
    const options = { tokens: tokenCountOf(tokens), quick, free };
    const [path, other] = comparedFiles(line, compare);
    return async (terminal, texts) => {
      const asked = await withMeasured({ ...line, path }, given.measured, terminal.signal, texts);
      const config = await runConfig(await namedConfig(asked, terminal, texts), asked, texts);
      if (other !== undefined) return compared(config, asked, { other, free }, terminal, texts);
      if (search === true) return searchAnswer(config, asked.defaults, options, terminal);
      return planAnswer(await planNearby(config, asked.defaults, terminal.status), texts);
    };
  },
});

/** A plan beside another config's, planned with the same settings and defaults, beside a measured run, or beside what a search finds. */
async function compared(
  config: RunConfig,
  line: Line,
  { other, free }: { readonly other: string; readonly free: readonly SearchKey[] },
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<Answer> {
  const { sets, defaults, profile } = line;
  if (isSearchedSide(other)) return comparedSearchAnswer(config, other, { defaults, free }, terminal, texts);
  const read = await readOther(other, texts, terminal.signal);
  const planned = await planNearby(config, defaults, terminal.status);
  if (read.kind !== 'config') return comparedRunAnswer(planned, read, other, texts);
  const beside = await readConfig(read.source, { sets, shell: terminal.shell, withProfile: profile === null }, texts);
  return comparedPlansAnswer(planned, await planNearby(await runConfig(beside, line, texts), defaults, terminal.status), texts);
}

/** Both files of `plan A --compare B`, which may be written `plan --compare A B`, in the order of the command line. */
function comparedFiles({ path, beforePath }: Line, other: string | undefined): readonly [string, string | undefined] {
  return other !== undefined && !isSearchedSide(other) && beforePath.has('compare') ? [other, path] : [path, other];
}

function tokenCountOf(written: string | undefined): number | null {
  if (written === undefined) return null;
  const count = Number(written);
  if (count >= 1 && count <= 1e18) return count;
  throw usage(sentence`--tokens is ${quoted(written)}`, sentence`give it a number from 1 to 1e18, as 15.6e12`);
}

/** The line with its schedules as a setting over what the files say. */
function withSchedules(line: Line, written: string | undefined): Line {
  if (written === undefined) return line;
  const names = written.split(',').map((part) => oneOf(namedSchedules, part.trim(), 'no schedule'));
  return { ...line, sets: [...line.sets, `schedules=${JSON.stringify(names)}`] };
}

/** Choices named one by one, or by what stands for several. */
function freeOf(written: string): SearchKey[] {
  const names = [...(Object.keys(freeNames) as (keyof typeof freeNames)[]), ...searchKeys];
  const keys = written.split(',').flatMap((part): readonly SearchKey[] => {
    const name = oneOf(names, currentName(part.trim()), 'nothing that a search chooses');
    return name in freeNames ? freeNames[name as keyof typeof freeNames] : [name as SearchKey];
  });
  return [...new Set(keys)];
}

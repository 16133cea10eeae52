import { placed, requireRun } from '../../../core/export/planned-config';
import { formatBytes, formatCount, formatDuration } from '../../../core/format';
import { runFindings } from '../../../core/rules/run-findings';
import { say, sentence } from '../../../core/sentence';
import { printable } from '../../../core/text';
import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { namedConfig, runConfig } from '../../../cli/read-config';
import { indented, table } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { largestThatFits, type Largest } from '../core/largest';
import { largestUnits, type LargestKind } from '../core/sizes';

interface MaxQuestion {
  readonly what: LargestKind;
  readonly isSearched: boolean;
  readonly most: number | undefined;
}

/** `terapipe max`: the most of one size that fits. @throws ExpectedError of the files and the planner; CancelledError. */
export async function maxAnswer(
  line: Line,
  { what, isSearched, most }: MaxQuestion,
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<Answer> {
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const run = requireRun(config);
  const { signal, status } = terminal;
  const onTry = (value: number): void => status(`trying ${counted(value, what)}`);
  const found = foundIn(() =>
    largestThatFits(run, what, { defaults: line.defaults, isSearched, signal, onTry, ...(most === undefined ? {} : { most }) }),
  );
  return {
    json: maxJson(run.title, found, isSearched),
    text: [headline(found), indented(table(rows(found), [1])), ...found.notes.map((note) => `${say(note)}.`)]
      .filter((part) => part !== '')
      .join('\n'),
    exitCode: found.value === null ? 1 : 0,
  };

  function foundIn(work: () => Largest): Largest {
    try {
      return work();
    } catch (error) {
      throw placed(error, run, () => runFindings(run, null));
    }
  }
}

function headline({ what, value, next, because }: Largest): string {
  if (value !== null) return `${what === 'fewest-gpus' ? 'Fewest that fit' : 'Most that fits'}: ${counted(value, what)}`;
  if (next === null) return printable(`No size can be planned${because === null ? '' : `: ${say(because)}`}`);
  return `None fits: ${counted(next.value, what)} need ${formatBytes(next.overBytes)} too much`;
}

function rows({ what, plan, next, sets, step }: Largest): string[][] {
  const limit = plan?.limit ?? next?.limit;
  return [
    ...(plan === null
      ? []
      : [
          ['layout', printable(say(sentence`${formatCount(plan.gpus)} GPUs, ${plan.layout}, ${plan.schedule}`))],
          ['step', `${formatDuration(plan.iterationMs)}, ${formatCount(plan.tokensPerSecond)} tokens/s`],
        ]),
    ...(limit === undefined
      ? []
      : [
          [
            'limit',
            `stage ${limit.stage} of ${limit.stages}, ${formatBytes(limit.peakBytes)} of ${formatBytes(limit.usableBytes)} usable, most of it ${limit.part} (${formatBytes(limit.partBytes)})`,
          ],
        ]),
    ...(plan === null || next === null
      ? []
      : [
          [
            what === 'fewest-gpus' ? 'fewer' : 'next',
            `${counted(next.value, what)}: does not fit, ${formatBytes(next.overBytes)} over on stage ${next.limit.stage}`,
          ],
        ]),
    ...(plan !== null && next === null && what !== 'fewest-gpus' ? [['next', 'nothing larger was refused']] : []),
    ...(step !== null && step > 1 ? [['steps of', counted(step, what)]] : []),
    ...(sets === null ? [] : [['settings', printable(sets.join(' '))]]),
  ];
}

function counted(value: number, what: LargestKind): string {
  return `${value.toLocaleString('en-US')} ${largestUnits[what]}${value === 1 ? '' : 's'}`;
}

function maxJson(title: string, { because, notes, plan, ...found }: Largest, isSearched: boolean): object {
  return {
    version: 1,
    title,
    ...found,
    searched: isSearched,
    plan: plan === null ? null : { ...plan, layout: say(plan.layout), schedule: say(plan.schedule) },
    because: because === null ? null : say(because),
    notes: notes.map((note) => say(note)),
  };
}

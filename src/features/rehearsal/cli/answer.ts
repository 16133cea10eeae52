import { ExpectedError } from '../../../core/errors';
import { chromeTrace } from '../../../core/export/chrome-trace';
import { rankedSchemesJson, rehearsalJson } from '../json';
import { column, formatBytes, formatCount, formatDuration, formatNumber, formatPercent, plural } from '../../../core/format';
import type { RehearsalDesign, Scale } from '../core/design';
import { isRightGradient, gradientTolerance } from '../core/gradient-error';
import type { RankedSchemes } from '../core/schemes';
import { comparedRehearsal, isDisturbed, kindWords, type Rehearsal, type RehearsalComparison } from '../core/result';
import type { ProviderName } from '../../../core/domain/profile';
import { printable } from '../../../core/text';
import { prepareRehearsal, rehearse, rehearseSchemes, type RehearsalProgress } from '../profiler/run';
import type { Answer } from '../../../cli/answer';
import type { Planned } from '../../../core/export/planned-config';
import { indented, table } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { beforeWriteOut, writeOut } from '../../../cli/write-file';
import { sentence } from '../../../core/sentence';

/** What a command line sets for a rehearsal. */
interface RehearseOptions {
  readonly scale: Scale;
  readonly steps: number;
  readonly provider: ProviderName;
  readonly clock: Rehearsal['clock'] | null;
  /** Where to write the measured step as a Chrome trace; null: nowhere. */
  readonly out: string | null;
  /** Rank cuts of the sequence instead. */
  readonly schemes: boolean;
  /** However long it takes. */
  readonly yes: boolean;
}

/** Kinds of passes that the text shows. */
const mostRows = 32;
/** How many times as long several cuts take as one, about. */
const manyCuts = 6;
/** Longer than this is asked for. */
const longMs = 60_000;

/**
 * `terapipe rehearse`: runs the plan's step on this machine. Progress goes to `terminal.err`.
 * @throws ExpectedError as `prepareRehearsal` and `rehearse`, `rehearsal-long`; CancelledError.
 */
export async function rehearseAnswer({ plan, run }: Planned, options: RehearseOptions, terminal: Terminal): Promise<Answer> {
  const { design, estimatedMs: onceMs } = prepareRehearsal(plan, options.scale, options);
  const estimatedMs = (options.schemes ? manyCuts : 1) * onceMs;
  if (estimatedMs > longMs && !options.yes)
    throw new ExpectedError(
      'rehearsal-long',
      sentence`The rehearsal may take ${formatDuration(estimatedMs)}`,
      sentence`give it --yes, or make it smaller with --layers, --hidden, --sequence, --batch or --stages`,
      run.place,
    );
  const running = {
    ...options,
    childFile: terminal.profilerFile,
    libraryPath: [],
    signal: terminal.signal,
    now: terminal.clock,
    onProgress: ({ doing, fraction }: RehearsalProgress) => {
      terminal.progress(`${formatPercent(fraction)}: ${doing}`);
    },
  };
  if (options.schemes) return schemesAnswer(await rehearseSchemes(design, running), design);
  const { rehearsal, saved } = await beforeWriteOut(options.out, 'never', async () => {
    const done = await rehearse(design, running);
    const file = done.measured === null ? null : options.out;
    if (file !== null && done.measured !== null)
      await writeOut(file, chromeTrace(done.measured, { title: `${design.title}, rehearsed` }), 'never');
    return { rehearsal: done, saved: file };
  });
  const isRight = rehearsal.status === 'complete' && isRightGradient(rehearsal.gradients);
  return {
    json: { version: 1, rehearsal: rehearsalJson(rehearsal), out: saved },
    text: rehearsalText(rehearsal, saved),
    exitCode: isRight ? 0 : 1,
  };
}

function rehearsalText(rehearsal: Rehearsal, saved: string | null): string {
  const { design, error } = rehearsal;
  const compared = comparedRehearsal(rehearsal);
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [`${title}\n${indented(lines.map(printable).join('\n'))}`];
  return [
    printable(`${design.title}: ${design.scheduleName} rehearsed on ${plural(design.schedule.stages, 'stage')}`),
    indented(
      table(
        facts(rehearsal, compared).map((row) => row.map(printable)),
        [1],
      ),
    ),
    ...(compared === null ? [] : [indented(stageTable(rehearsal, compared)), indented(passTable(compared))]),
    ...section('Distrust', distrust(rehearsal)),
    ...section('Not as planned', design.notes),
    ...(error === null ? [] : [printable(`Stopped: ${error}`)]),
    ...(saved === null ? [] : [printable(`The measured step is in ${saved}: terapipe plan FILE --compare ${saved}, or the Compare tab`)]),
  ].join('\n\n');
}

function distrust(rehearsal: Rehearsal): string[] {
  const { waitedShare, othersShare, repeatedSteps } = rehearsal;
  if (!isDisturbed(rehearsal)) return [];
  const again = repeatedSteps === 0 ? '' : `, also after ${plural(repeatedSteps, 'step')} more`;
  return [
    `Other programs took ${formatPercent(othersShare ?? 0)} of the processor: passes waited for it for ${formatPercent(waitedShare ?? 0)} of their time${again}; rehearse again on an idle machine for times`,
  ];
}

function facts(rehearsal: Rehearsal, compared: RehearsalComparison | null): string[][] {
  const { design, clock, processes, gradients, lossError, steps, transferMs, provider } = rehearsal;
  const { shape, layers } = design;
  const ran =
    clock === 'real'
      ? `${plural(processes, 'process', 'processes')} in parallel`
      : 'stages one after the other, their times put on the clock of the schedule';
  return [
    ['ran', `${ran}, ${provider}, one thread each`],
    [
      'model',
      `${plural(layers, 'layer')}, hidden ${formatCount(shape.hidden)}, ${plural(shape.heads, 'head')}, ${plural(design.batch, 'sequence')} of ${plural(design.tokens, 'token')}`,
    ],
    ...(gradients === null
      ? []
      : [
          [
            'gradients',
            isRightGradient(gradients)
              ? `those of the unsliced step: off by ${gradients.error.toExponential(1)} of the largest number of a tensor at most`
              : `WRONG: ${gradients.tensor ?? ''} is off by ${gradients.error.toExponential(1)} of its largest number, over ${gradientTolerance}`,
          ],
        ]),
    ...(lossError === null ? [] : [['loss', `off by ${lossError.toExponential(1)}`]]),
    ...(compared === null
      ? []
      : [
          [
            'step',
            `${formatDuration(compared.measured.makespanMs)} measured (median of ${formatCount(steps.length)}), ${formatDuration(compared.predicted.makespanMs)} predicted: ${signed(compared.errors.step)}`,
          ],
          ...(compared.errors.worked === null || !isDisturbed(rehearsal)
            ? []
            : [
                [
                  'undisturbed',
                  `${formatDuration(rehearsal.workedMs ?? 0)} by the processor time of its passes, on the clock of the schedule: ${signed(compared.errors.worked)}`,
                ],
              ]),
          ['passes', `${signed(compared.errors.profile)} than timed by themselves`],
          ...(compared.errors.schedule === null
            ? []
            : [['schedule', `${signed(compared.errors.schedule)} than those passes on its clock`]]),
        ]),
    ...(transferMs === null ? [] : [['handing on', `${formatDuration(transferMs)} from process to process`]]),
  ];
}

/** A share as `+4 %`. */
function signed(share: number): string {
  return `${share < 0 ? '-' : '+'}${formatNumber(Math.abs(100 * share))} %`;
}

function stageTable({ memory }: Rehearsal, { stages }: RehearsalComparison): string {
  const rows = stages.map(({ stage, passes, busyMs, predictedBusyMs }) => {
    const { estimatedBytes = 0, peakRssBytes = null } = memory[stage] ?? {};
    return [
      formatCount(stage),
      formatCount(passes),
      column.duration(busyMs),
      column.duration(predictedBusyMs),
      signed(busyMs / predictedBusyMs - 1),
      formatBytes(estimatedBytes),
      peakRssBytes === null ? '' : formatBytes(peakRssBytes),
    ];
  });
  return table([['stage', 'passes', 'measured', 'predicted', '', 'memory estimated', 'measured'], ...rows], []);
}

/** Passes of one kind and cell together: their mean. */
function passTable({ operations }: RehearsalComparison): string {
  const groups = new Map<string, { readonly name: readonly string[]; count: number; ms: number; predictedMs: number }>();
  for (const { chunk, kind, tokens, context, startMs, endMs, predictedStartMs, predictedEndMs } of operations) {
    const name = [formatCount(chunk), kindWords[kind], formatCount(tokens), formatCount(context)];
    const group = groups.get(name.join()) ?? { name, count: 0, ms: 0, predictedMs: 0 };
    groups.set(name.join(), group);
    group.count += 1;
    group.ms += endMs - startMs;
    group.predictedMs += predictedEndMs - predictedStartMs;
  }
  const rows = [...groups.values()].map(({ name, count, ms, predictedMs }) => [
    ...name,
    formatCount(count),
    column.duration(ms / count),
    column.duration(predictedMs / count),
    signed(ms / predictedMs - 1),
  ]);
  const shown = rows.slice(0, mostRows);
  const more = rows.length > mostRows ? `\n${formatCount(rows.length - mostRows)} more with --json` : '';
  return table([['chunk', 'pass', 'tokens', 'context', 'passes', 'measured', 'predicted', ''], ...shown], [1]) + more;
}

/** How well predictions order the cuts. */
function orderText({ rankCorrelation, worked, noise, pairs }: RankedSchemes): string {
  const of = `${formatCount(pairs.right)} of ${plural(pairs.apart, 'pair')}`;
  return [
    `rank correlation ${formatNumber(rankCorrelation)}; without waiting for the processor ${formatNumber(worked.rankCorrelation)}`,
    `steps of one cut differ by up to ${formatPercent(noise)}; cuts that are further apart: ${of} in the predicted order`,
  ].join('\n');
}

/** Cuts of the sequence in the order of their predictions. */
function schemesAnswer(ranked: RankedSchemes, design: RehearsalDesign): Answer {
  const rows = ranked.schemes.map(({ name, tokens, predictedMs, measuredMs, workedMs, gradients }) => [
    name,
    column.duration(predictedMs),
    column.duration(measuredMs),
    signed(measuredMs / predictedMs - 1),
    column.duration(workedMs),
    signed(workedMs / predictedMs - 1),
    gradients === null ? '' : gradients.error.toExponential(1),
    tokens.join(', '),
  ]);
  const isRight = ranked.schemes.every(({ gradients }) => isRightGradient(gradients));
  return {
    json: { version: 1, rehearsal: rankedSchemesJson(ranked, design) },
    text: [
      printable(`${design.title}: cuts of the sequence rehearsed on ${plural(design.schedule.stages, 'stage')}, fastest predicted first`),
      indented(
        table(
          [
            ['cut', 'predicted', 'measured', '', 'without waiting', '', 'gradients off by', 'tokens'],
            ...rows.map((row) => row.map(printable)),
          ],
          [0, 7],
        ),
      ),
      indented(orderText(ranked)),
      ...(isRight ? [] : ['  WRONG: gradients are not those of the unsliced step']),
    ].join('\n\n'),
    exitCode: isRight ? 0 : 1,
  };
}

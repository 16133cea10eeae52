import { compareWithTimes, type TimesComparison } from '../core/against-times';
import { compareWithTrace, type PredictedMeasured, type TraceComparison } from '../core/against-trace';
import { passesAgainst, type PassAgainst } from '../core/passes-against';
import type { Measured } from '../core/measured';
import { comparePlans, type PlanComparison } from '../core/plans';
import { passText } from '../core/trace-labels';
import { comparisonJson, comparisonSentences, type Comparison } from '../json';
import { checkpointJson } from '../../../core/export/checkpoint-json';
import { planJson } from '../../../core/export/plan-json';
import { startErrors } from '../../../core/findings';
import { column, formatBytes, formatCount, formatDuration, formatPercent, formatRate } from '../../../core/format';
import { mayFit } from '../../../core/memory-model/verdict';
import { chosenCandidate } from '../../../core/planner/plan';
import type { Timeline } from '../../../core/schedules/schedule';
import { printable } from '../../../core/text';
import { printedFinding, type Answer, type Texts } from '../../../cli/answer';
import type { Planned } from '../../../core/export/planned-config';
import { exitCodeFor } from '../../../cli/planned';
import { indented, table } from '../../../cli/table';
import { say } from '../../../core/sentence';

/** Rows of stages printed at most: the others are in `--json`. */
const printedStages = 32;
/** Rows of passes printed at most. */
const printedPasses = 64;

/** `terapipe plan A --compare B`, B another config: two plans side by side. `labels` say which is which; without them their files do. */
export function comparedPlansAnswer(
  a: Planned,
  b: Planned,
  texts: Texts,
  labels: { readonly a: string; readonly b: string } = { a: a.run.place.file, b: b.run.place.file },
): Answer {
  const names = { a: 'A', b: 'B' };
  const comparison = comparePlans(a.plan, b.plan, names);
  const findings = [...a.findings, ...b.findings.filter((finding) => !a.findings.includes(finding))];
  return {
    json: {
      ...planJson(a.plan),
      other: planJson(b.plan).plan,
      comparison: comparisonJson(comparison),
      starts: startErrors(a.findings).length === 0,
      otherStarts: startErrors(b.findings).length === 0,
      ...checkpointJson(a.checkpoint ?? null),
      ...(b.checkpoint ? { otherCheckpoint: checkpointJson(b.checkpoint).checkpoint } : {}),
      findings: findings.map((finding) => printedFinding(finding, texts)),
    },
    text: [
      indented(table([['A', labels.a, a.plan.request.title], ['B', labels.b, b.plan.request.title]].map((row) => row.map(printable)), [1, 2])), // prettier-ignore
      sentences(comparison),
      plansText(comparison),
    ].join('\n\n'),
    exitCode: exitCodeFor(findings, mayFit(chosenCandidate(a.plan)) && mayFit(chosenCandidate(b.plan))),
  };
}

/** `terapipe plan A --compare B`, B a trace or measured times: the plan compared with the run. */
export function comparedRunAnswer(planned: Planned, measured: Measured, file: string, texts: Texts): Answer {
  const { plan, findings } = planned;
  const comparison = measured.kind === 'trace' ? compareWithTrace(plan, measured.trace, file) : compareWithTimes(plan, measured.times);
  const passes = comparison.kind === 'trace' ? comparedPasses(plan, comparison) : [];
  return {
    json: {
      ...planJson(plan),
      comparison: comparison.kind === 'trace' ? { ...comparisonJson(comparison), operations: passes } : comparisonJson(comparison),
      starts: startErrors(findings).length === 0,
      findings: findings.map((finding) => printedFinding(finding, texts)),
    },
    text: [
      printable(`${plan.request.title}, ${say(chosenCandidate(plan).name)}, compared with ${file}`),
      sentences(comparison),
      comparison.kind === 'trace' ? traceText(comparison, passes) : timesText(comparison),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
    exitCode: exitCodeFor(findings, mayFit(chosenCandidate(plan))),
  };
}

function comparedPasses({ candidates }: Planned['plan'], { candidate, placed }: TraceComparison): PassAgainst[] {
  const timeline = candidates.find(({ id }) => id === candidate)?.timeline ?? null;
  return timeline === null ? [] : passesAgainst(timeline, placed.measured);
}

function sentences(comparison: Comparison): string {
  return comparisonSentences(comparison)
    .map((sentence) => printable(say(sentence)))
    .join('\n');
}

function section(title: string, rows: readonly (readonly string[])[], left: readonly number[] = []): string {
  return `${title}\n${indented(table(rows, left))}`;
}

function plansText({ a, b, requestDiff, parts, stages }: PlanComparison): string {
  const row = (name: string, of: (plan: typeof a) => string): string[] => [name, of(a), of(b)];
  const outcome = [
    ['', 'A', 'B'],
    row('step', ({ iterationMs }) => formatDuration(iterationMs)),
    row('bubble', ({ bubbleRate }) => formatPercent(bubbleRate)),
    row('tokens/s', ({ tokensPerSecond }) => formatRate(tokensPerSecond)),
    row('MFU', ({ mfu }) => formatPercent(mfu)),
    row('peak memory', ({ peakBytes, peakStage }) => `${formatBytes(peakBytes)} on stage ${formatCount(peakStage)}`),
    row('runs', ({ candidate }) => say(candidate)),
  ];
  return [
    section('Outcome', outcome),
    section('Parts of the step, mean of all stages', [
      ['', 'A', 'B', 'B - A'],
      ...parts.map(({ name, aMs, bMs }) => [say(name), ms(aMs), ms(bMs), difference(bMs - aMs)]),
    ]),
    ...(requestDiff.length === 0
      ? []
      : [section('Requested', [['', 'A', 'B'], ...requestDiff.map(({ key, a: from, b: to }) => [key, from, to].map(printable))])]),
    section('Stages', [
      ['', 'A busy', 'peak', 'B busy', 'peak'],
      ...stages
        .slice(0, printedStages)
        .map(({ stage, a: left, b: right }) => [
          formatCount(stage),
          ...[left, right].flatMap((of) => (of === null ? ['', ''] : [ms(of.busyMs), column.bytes(of.peakBytes)])),
        ]),
      ...more(stages.length),
    ]),
  ].join('\n\n');
}

function traceText({ stages, transfers, exchange, optimizer, memory, placed }: TraceComparison, passes: readonly PassAgainst[]): string {
  const after = [['gradient exchange', exchange] as const, ['optimizer', optimizer] as const].flatMap(([name, times]) =>
    times === null ? [] : [[name, ...both(times)]],
  );
  const waited = transfers.map(({ from, to, waits, predictedMs, measuredMs }) => [
    `${formatCount(from)} to ${formatCount(to)}`,
    ms(predictedMs),
    ms(measuredMs),
    formatCount(waits),
  ]);
  return [
    section('Mean pass, predicted and measured', [
      ['stage', 'forward', '', 'backward', '', 'measured/predicted'],
      ...stages
        .slice(0, printedStages)
        .map(({ stage, forward, backward, ratio }) => [formatCount(stage), ...both(forward), ...both(backward), column.number(ratio)]),
      ...more(stages.length),
    ]),
    ...(after.length === 0 ? [] : [section('After the passes', [['', 'predicted', 'measured'], ...after])]),
    ...(memory.length === 0
      ? []
      : [
          section(printable(`Peak memory (${memory[0]?.counted ?? ''})`), [
            ['stage', 'predicted', 'measured'],
            ...memory
              .slice(0, printedStages)
              .map(({ stage, predictedBytes, measuredBytes }) => [
                formatCount(stage),
                column.bytes(predictedBytes),
                column.bytes(measuredBytes),
              ]),
            ...more(memory.length),
          ]),
        ]),
    ...(waited.length === 0
      ? []
      : [section('From a pass to the one that waits for it', [['stages', 'predicted', 'measured', 'waits'], ...waited.slice(0, printedStages), ...more(waited.length)])]), // prettier-ignore
    section(
      'Every pass, in the order in which it ran',
      [
        ['stage', 'pass', 'start', '', 'takes', '', 'measured/predicted'],
        ...passes.slice(0, printedPasses).map((pass) => passRow(pass, placed.measured)),
        ...more(passes.length, printedPasses),
      ],
      [1],
    ),
  ].join('\n\n');
}

function passRow(pass: PassAgainst, timeline: Timeline): string[] {
  const { stage, predicted, measured } = pass;
  const pair = (of: (times: typeof measured) => number): string[] => [predicted === null ? '' : ms(of(predicted)), ms(of(measured))];
  const ratio = predicted === null || predicted.ms === 0 ? '' : column.number(measured.ms / predicted.ms);
  return [formatCount(stage), say(passText(pass, timeline)), ...pair(({ startMs }) => startMs), ...pair((times) => times.ms), ratio];
}

function timesText({ stages }: TimesComparison): string {
  if (stages.length === 0) return '';
  return section('Mean pass, predicted and measured', [
    ['stage', 'forward', '', 'backward', '', 'measured/predicted'],
    ...stages
      .slice(0, printedStages)
      .map(({ stage, forward, backward, ratio }) => [formatCount(stage), ...both(forward), ...both(backward), column.number(ratio)]),
    ...more(stages.length),
  ]);
}

function both(times: PredictedMeasured | null): string[] {
  return times === null ? ['', ''] : [ms(times.predictedMs), ms(times.measuredMs)];
}

/** A time of a table; what rounding leaves of nothing is nothing. */
function ms(value: number): string {
  return column.duration(Math.abs(value) < 1e-6 ? 0 : value);
}

function difference(byMs: number): string {
  return Math.abs(byMs) < 1e-6 ? ms(0) : `${byMs < 0 ? '-' : '+'}${ms(Math.abs(byMs))}`;
}

function more(rows: number, printed = printedStages): string[][] {
  return rows > printed ? [[`and ${formatCount(rows - printed)} more, with --json`]] : [];
}

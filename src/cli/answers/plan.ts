import { runtimeProfile, sendsText } from '../../core/domain/runtime';
import { checkpointJson } from '../../core/export/checkpoint-json';
import { planJson } from '../../core/export/plan-json';
import type { PlanSettings } from '../../core/export/settings-of-plan';
import { startErrors, type Finding } from '../../core/findings';
import {
  column,
  formatCount,
  formatDuration,
  formatDurationRange,
  formatNumber,
  formatPercent,
  formatTokens,
  plural,
} from '../../core/format';
import { placementText } from '../../core/cluster/groups';
import { tightestStage } from '../../core/memory-model/profile';
import { mayFit, usedText, memoryVerdict, verdictText, verdictWord } from '../../core/memory-model/verdict';
import { bestWay, drawsText, wayText } from '../../core/planner/lengths/length-reasons';
import type { OverLengths } from '../../core/planner/lengths/lengths-result';
import { chosenCandidate, candidatePeakBytes, type Plan } from '../../core/planner/plan';
import { mtpParameters } from '../../core/model/multi-token-prediction';
import { scenarioText } from '../../core/plan-request/scenario';
import { costsText, limitedBy, stepCosts } from '../../core/planner/explain/limit-labels';
import { adapterLine } from './adapter';
import type { UsedLog } from '../../features/compare/cli/measured-config';
import { comparedLog, differencesLines, logJson, logLines, type ComparedLog } from '../../features/compare/cli/measured-log';
import { isTie } from '../../core/planner/explain/reasons';
import { sum } from '../../core/numbers';
import type { CalibratedStep } from '../../core/domain/request';
import { stageLayersText } from '../../core/layout-search/labels';
import { stacksText } from '../../core/partition/stack-cut';
import { printable } from '../../core/text';
import { findingLine, printedFinding, type Answer, type Texts } from '../answer';
import { exitCodeFor, type Planned } from '../planned';
import type { Remedy } from '../../core/rules/plan/remedy';
import { weighedAssumptions } from '../../core/planner/explain/assumed';
import { movesText, type WeighedAssumption } from '../../core/planner/explain/assumption-texts';
import { slowdownText } from '../../core/planner/explain/slower';
import { schemeText } from '../scheme-text';
import { indented, table } from '../table';
import { say, sentence, type Value } from '../../core/sentence';

/** `terapipe plan`: the chosen way to run the step, compared with the others. */
export function planAnswer(
  { plan, findings, remedies = [], checkpoint = null }: Planned,
  texts: Texts,
  own: PlanSettings = {},
  used: UsedLog | null = null,
): Answer {
  const chosen = chosenCandidate(plan);
  const log = comparedLog(plan, used);
  const printed = findings.map((finding) => printedFinding(finding, texts));
  return {
    json: {
      ...planJson(plan, own),
      ...logJson(log),
      ...remediesJson(remedies),
      ...checkpointJson(checkpoint),
      starts: startErrors(findings).length === 0,
      findings: printed,
    },
    text: [
      ...differencesLines(used),
      planText(plan, findings, remedies, log),
      ...(printed.length > 0 ? [printed.map(findingLine).join('\n')] : []),
    ].join('\n\n'),
    exitCode: exitCodeFor(findings, mayFit(chosen)),
  };
}

function planText(plan: Plan, findings: readonly Finding[], remedies: readonly Remedy[], log: ComparedLog | null): string {
  const chosen = chosenCandidate(plan);
  const { request, cost, parameters } = plan;
  const { layout, model, training } = request;
  const verdict = memoryVerdict(chosen.memory);
  const { gpu } = tightestStage(chosen.memory.stages) ?? {};
  const sizes = (['tensor', 'pipeline', 'data', 'context'] as const)
    .filter((size) => size !== 'context' || layout.context > 1)
    .map((size) => `${size} ${formatCount(layout[size])}`)
    .join(' x ');
  const parts = [
    ['pipeline', chosen.pipelineMs],
    ['gradient exchange', chosen.gradientExchangeMs],
    ['optimizer', chosen.optimizerMs],
  ] as const;
  const exchange = parts.filter(([, ms]) => ms > 0).map(([name, ms]) => `${name} ${formatDuration(ms)}`);
  const limits = limitedBy(plan.limits);
  const further = mtpParameters(model);
  const facts = [
    ...startsLine(findings),
    ['step', `${formatDuration(chosen.iterationMs)} (${formatDurationRange(chosen.iterationMs, cost.range)})`],
    ...(exchange.length > 1 ? [['', exchange.join(' + ')]] : []),
    ...lengthsLine(plan),
    ...calibrationLines(plan),
    ...logLines(log),
    ['bubble', bubbleText(chosen.bubbleRate)],
    ['throughput', `${formatCount(chosen.tokensPerSecond)} tokens/s, MFU ${formatPercent(chosen.mfu)}`],
    [
      'memory',
      `${usedText(verdict)} on stage ${formatCount(verdict.stage)} of ${formatCount(layout.pipeline)}${gpu === undefined ? '' : `, ${gpu}`}, ${say(verdictText(verdict))}`,
    ],
    ...adapterLine(training),
    ...stagesLine(request),
    ...placementLines(request),
    ['costs most', say(costsText(stepCosts(plan, chosen)))],
    ...(limits === null ? [] : [['limited by', say(limits)]]),
    ['schedule', say(chosen.name)],
    ...(layout.pipeline > 1 ? [['sends', `${say(sendsText[runtimeProfile(training).sends])}: ${runtimeProfile(training).name}`]] : []),
    ['slices', schemeText(chosen.scheme)],
  ];
  const compared = plan.candidates.map((candidate) => [
    `${candidate.id === plan.chosen ? '*' : isTie(plan, candidate) ? '~' : ' '} ${say(candidate.name)}`,
    column.duration(candidate.iterationMs),
    bubbleText(candidate.bubbleRate, column.percent),
    column.bytes(candidatePeakBytes(candidate)),
    candidate.fits ? '' : say(verdictWord(candidate)),
  ]);
  const tied = plan.candidates.some((candidate) => isTie(plan, candidate));
  const assumed = weighedAssumptions(request, chosen).map((assumption) => [
    printable(assumption.key),
    printable(assumption.value),
    printable(say(assumptionSentence(assumption))),
  ]);
  const section = (title: string, body: string) => `${title}\n${indented(body)}`;
  return [
    printable(
      [
        `${request.title}: ${plural(model.layers, 'layer')}, ${formatCount(parameters)} parameters${further > 0 ? ` and ${formatCount(further)} for multi-token prediction` : ''}${model.vocab === 0 ? ' without embedding and head' : ''} on ${say(scenarioText(request))}:`,
        `${sizes}${expertText(plan.request)}`,
      ].join(' '),
    ),
    indented(table(facts, [1])),
    ...(remedies.length === 0 ? [] : [section('Fits with, cheapest first', remediesTable(remedies))]),
    section('Compared', table([['', 'step', 'bubble', 'memory', ''], ...compared], [4])),
    ...(plan.overLengths === undefined ? [] : [section(...lengthsSection(plan.overLengths))]),
    ...(plan.reasons.length > 0 ? [section('Why', plan.reasons.map((reason) => printable(say(reason))).join('\n'))] : []),
    section(
      'Times',
      `${printable(say(cost.description))}
±${formatNumber(cost.errorPercent)} %: ${printable(say(cost.errorBecause))}${tied ? '; those marked ~ are within error of the chosen' : ''}`,
    ),
    ...(assumed.length > 0 ? [section('Assumed', table(assumed, [1, 2]))] : []),
  ].join('\n\n');
}

/** Why a value is assumed, and what others would make of the step. */
function assumptionSentence(assumption: WeighedAssumption): Value {
  const moves = movesText(assumption);
  return moves === null ? assumption.reason : sentence`${assumption.reason}; ${moves}`;
}

function remediesTable(remedies: readonly Remedy[]): string {
  return table(
    remedies.map(({ label, iterationMs, slower }) => [printable(say(label)), column.duration(iterationMs), say(slowdownText(slower))]),
    [0],
  );
}

/** Changes with which the plan fits, cheapest first: what to set, and the step; nothing for a plan that fits. */
function remediesJson(remedies: readonly Remedy[]): object {
  if (remedies.length === 0) return {};
  return {
    remedies: remedies.map(({ label, sets, iterationMs, slower }) => ({
      change: say(label),
      set: Object.fromEntries(sets),
      iterationMs,
      slower,
    })),
  };
}

/** `, expert 8`: which GPUs of the others share out the experts; nothing for dense models. */
function expertText({ model, layout: { tensor, expert, expertTensor = tensor } }: Plan['request']): string {
  if (model.experts === null) return '';
  return `, expert ${formatCount(expert)}${expertTensor === tensor ? '' : `, expert tensor ${formatCount(expertTensor)}`}`;
}

/** The cut, where the files give one or the layers are of two stacks. */
function stagesLine(request: Plan['request']): string[][] {
  const { stageLayers } = request.layout;
  const stages = stacksText(request) ?? (stageLayers === undefined ? null : stageLayersText({ stageLayers }));
  return stages === null ? [] : [['stages', say(stages)]];
}

/** Which nodes the stages are on, where there are several kinds. */
function placementLines({ cluster, layout }: Plan['request']): string[][] {
  const text = placementText(cluster, layout);
  return text === null ? [] : [['placed', say(text)]];
}

/** First of all that it does not start: a step whose files a launcher refuses is planned all the same, so that one sees what it takes. */
function startsLine(findings: readonly Finding[]): [string, string][] {
  const errors = startErrors(findings).length;
  return errors === 0 ? [] : [['starts', `not as written: ${plural(errors, 'error')}, below; times are of this layout once it runs`]];
}

/** A share of idle time; what zero-bubble schedules leave of it is less than can be predicted. */
function bubbleText(rate: number, format = formatPercent): string {
  return rate > 0 && rate < 0.001 ? '< 0.1 %' : format(rate);
}

/** What measured steps made of the machine's constants, and what was predicted without them. */
function calibrationLines({ request: { calibration } }: Plan): string[][] {
  if (calibration === undefined) return [];
  const { iterationMs, predictedMs, before, gemmEfficiency, steps } = calibration;
  const gemms = `GEMMs at ${formatNumber(gemmEfficiency)} of peak, not ${formatNumber(before)}`;
  const own =
    iterationMs === null || predictedMs === null
      ? []
      : [`to a measured step of ${formatDuration(iterationMs)}, predicted ${formatDuration(predictedMs)} before: ${gemms}`];
  const others =
    steps.length === 0
      ? []
      : [
          `by ${plural(steps.length, 'measured step')} of other runs, off by ${stepErrors(steps, 'predictedMs')} before and ${stepErrors(steps, 'calibratedMs')} since: ${gemms}`,
        ];
  return [...own, ...others].map((line) => ['calibrated', line]);
}

/** Mean error of measured steps. */
function stepErrors(steps: readonly CalibratedStep[], of: 'predictedMs' | 'calibratedMs'): string {
  return formatPercent(sum(steps.map((one) => Math.abs(one[of] / one.iterationMs - 1))) / steps.length);
}

/** What a step takes in the best way to train documents of many lengths: the plan's own is of sequences that are all as long. */
function lengthsLine({ overLengths }: Pick<Plan, 'overLengths'>): string[][] {
  const best = bestWay(overLengths?.ways ?? []);
  return best === null ? [] : [['by lengths', `${formatDuration(best.expectedMs)} expected: ${say(wayText(best))}`]];
}

/** Title and body of what steps of documents of many lengths take: a line for each way. */
function lengthsSection(over: OverLengths): [string, string] {
  const { lengths, meanTokens, longestTokens, trainingTokens, cutShare, ways } = over;
  const best = bestWay(ways);
  const worst = over.exact || over.draws >= 100 ? '99 of 100' : 'longest';
  const rows = ways.map((way) => [
    `${way === best ? '*' : ' '} ${say(wayText(way))}`,
    column.duration(way.expectedMs),
    column.duration(way.worstMs),
    `${formatCount(way.tokensPerSecond)} tokens/s`,
    formatPercent(way.filled),
    column.bytes(way.peakBytes),
    way.fits ? '' : say(verdictWord(way)),
  ]);
  const cut = cutShare > 0 ? `; ${formatPercent(cutShare)} are longer than ${formatTokens(trainingTokens)} and cut` : '';
  return [
    'Lengths',
    [
      `${plural(lengths, 'length')} of documents, ${formatTokens(Math.round(meanTokens))} on average, ${formatTokens(longestTokens)} at most${cut}; ${say(drawsText(over))}`,
      table([['', 'expected', worst, 'throughput', 'filled', 'memory', ''], ...rows], [6]),
    ].join('\n'),
  ];
}

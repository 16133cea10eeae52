import type { UsedLog } from '../../features/compare/cli/measured-config';
import { comparedLog, differencesLines, logJson, logLines, type ComparedLog } from '../../features/compare/cli/measured-log';
import { checkpointJson } from '../../core/export/checkpoint-json';
import { planJson } from '../../core/export/plan-json';
import type { PlanSettings } from '../../core/export/settings-of-plan';
import { gpusUsed, type CalibratedStep, type PlanRequest } from '../../core/domain/request';
import { startErrors, type Finding } from '../../core/findings';
import { formatCount, formatDuration, formatDurationRange, formatNumber, formatPercent, plural } from '../../core/format';
import { layoutText, stageLayersText } from '../../core/layout-search/labels';
import { tightestStage } from '../../core/memory-model/profile';
import { mayFit, memoryVerdict, usedText, verdictText } from '../../core/memory-model/verdict';
import { mtpParameters } from '../../core/model/multi-token-prediction';
import { sum } from '../../core/numbers';
import { stacksText } from '../../core/partition/stack-cut';
import { scenarioText } from '../../core/plan-request/scenario';
import { weighedAssumptions } from '../../core/planner/explain/assumed';
import { weightiestText, type WeighedAssumption } from '../../core/planner/explain/assumption-texts';
import { costsText, stepCosts } from '../../core/planner/explain/limit-labels';
import { neededRow, throughputText } from '../answer-rows';
import { bestWay, wayText } from '../../core/planner/lengths/length-reasons';
import { chosenCandidate, type Candidate, type Plan } from '../../core/planner/plan';
import { trainingCost, trainingCostText } from '../../core/planner/training-cost';
import { neededFor } from '../../core/schedules/runtimes';
import { say, sentence } from '../../core/sentence';
import { printable } from '../../core/text';
import { findingLine, printedFinding, type Answer, type PrintedFinding, type Texts } from '../answer';
import type { Line } from '../command';
import { nextCommand } from '../next-command';
import type { Planned } from '../../core/export/planned-config';
import { exitCodeFor } from '../planned';
import { schemeText } from '../scheme-text';
import { indented, table } from '../table';
import { adapterLine } from './adapter';
import { planDetails, planLengths, remediesSection, remediesJson } from './plan-details';

/** How a plan is printed. */
interface PlanPrinting {
  /** Settings that the command line gives. */
  readonly own?: PlanSettings;
  /** A log that calibrates the plan. */
  readonly used?: UsedLog | null;
  /** Everything in words, not only the answer. */
  readonly all?: boolean;
  /** The command line, from which the next one is made; absent: none is printed. */
  readonly line?: Line;
}

/** `terapipe plan`: the answer in ten lines; with `all` how it compares with others, and what it rests on. */
export function planAnswer(
  { plan, findings, remedies = [], checkpoint = null }: Planned,
  texts: Texts,
  { own = {}, used = null, all = false, line }: PlanPrinting = {},
): Answer {
  const chosen = chosenCandidate(plan);
  const log = comparedLog(plan, used);
  const printed = findings.map((finding) => printedFinding(finding, texts));
  const assumed = weighedAssumptions(plan.request, chosen);
  const next = line === undefined ? null : nextText(line, { plan, findings, remedies });
  const sections = all
    ? planDetails({ plan, remedies, assumed })
    : [...remediesSection(remedies.slice(0, shownRemedies)), ...planLengths(plan)];
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
      titleText(plan),
      indented(table([...answerRows(plan, findings, log), ...assumedRow(assumed), ...(next === null ? [] : [['next', next]])], [1])),
      ...sections,
      ...(printed.length > 0 ? [findingLines(printed, all).join('\n')] : []),
    ].join('\n\n'),
    exitCode: exitCodeFor(findings, mayFit(chosen)),
  };
}

/** Of what is printed without `--all`. */
const shownRemedies = 3;
const shownWarnings = 3;

function titleText({ request, parameters }: Plan): string {
  const { model, title } = request;
  const further = mtpParameters(model);
  const mtp = further > 0 ? ` and ${formatCount(further)} for multi-token prediction` : '';
  const size = `${formatCount(parameters)} parameters${mtp}${model.vocab === 0 ? ' without embedding and head' : ''}`;
  return printable(`${title}: ${plural(model.layers, 'layer')}, ${size} on ${say(scenarioText(request))}`);
}

/** What runs, how long a step takes, whether it fits, and what that makes of the whole run. */
function answerRows(plan: Plan, findings: readonly Finding[], log: ComparedLog | null): (readonly string[])[] {
  const chosen = chosenCandidate(plan);
  const { request, cost } = plan;
  const run = trainingCost(request, chosen.tokensPerSecond);
  return [
    ...startsRow(findings),
    ['runs', runsText(request, chosen)],
    ...neededRow(neededFor(chosen.schedule, request)),
    ...stagesRow(request),
    ...(chosen.scheme.some(({ tokens }) => tokens.length > 1) ? [['slices', schemeText(chosen.scheme)]] : []),
    ['step', `${formatDuration(chosen.iterationMs)} (${formatDurationRange(chosen.iterationMs, cost.range)})`],
    ...lengthsRow(plan),
    ...calibrationRows(plan),
    ...logLines(log),
    ['memory', memoryText(plan, chosen)],
    ...adapterLine(request.training),
    ['throughput', throughputText(chosen, gpusUsed(request.layout))],
    ...(run === null ? [] : [['training', say(trainingCostText(run))]]),
    ['costs most', say(costsText(stepCosts(plan, chosen)))],
  ];
}

/** First of all that it does not start: a step whose files a launcher refuses is planned all the same, so that one sees what it takes. */
function startsRow(findings: readonly Finding[]): string[][] {
  const errors = startErrors(findings).length;
  return errors === 0 ? [] : [['starts', `not as written: ${plural(errors, 'error')}, below; times are of this layout once it runs`]];
}

/** `TP4 PP4 DP4, micro-batch 1, ZeRO 1, 1F1B`. The order of ranks is shown where a file sets it. */
function runsText({ layout, training, assumptions }: PlanRequest, { name }: Candidate): string {
  const { order, ...sizes } = layout;
  const isAssumed = order === undefined || assumptions.some(({ key }) => key === 'layout.order');
  return say(sentence`${layoutText({ layout: isAssumed ? sizes : layout, training })}, ${name}`);
}

/** The cut, where the files give one or the layers are of two stacks. */
function stagesRow(request: PlanRequest): string[][] {
  const { stageLayers } = request.layout;
  const stages = stacksText(request) ?? (stageLayers === undefined ? null : stageLayersText({ stageLayers }));
  return stages === null ? [] : [['stages', say(stages)]];
}

function memoryText({ request: { layout } }: Plan, { memory }: Candidate): string {
  const verdict = memoryVerdict(memory);
  const { gpu } = tightestStage(memory.stages) ?? {};
  const stage = `on stage ${formatCount(verdict.stage)} of ${formatCount(layout.pipeline)}${gpu === undefined ? '' : `, ${gpu}`}`;
  return `${usedText(verdict)} ${stage}, ${say(verdictText(verdict))}`;
}

/** What a step takes in the best way to train documents of many lengths: the plan's own is of sequences that are all as long. */
function lengthsRow({ overLengths }: Pick<Plan, 'overLengths'>): string[][] {
  const best = bestWay(overLengths?.ways ?? []);
  return best === null ? [] : [['by lengths', `${formatDuration(best.expectedMs)} expected: ${say(wayText(best))}`]];
}

/** What measured steps made of the machine's constants, and what was predicted without them. */
function calibrationRows({ request: { calibration } }: Plan): string[][] {
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

/** The two assumptions that move the step most. */
function assumedRow(assumed: readonly WeighedAssumption[]): string[][] {
  const text = weightiestText(assumed);
  return text === null ? [] : [['assumes', printable(say(text))]];
}

/** What to do next, and the command that does it. */
function nextText(line: Line, { plan, findings, remedies = [] }: Pick<Planned, 'plan' | 'findings' | 'remedies'>): string | null {
  const [refused] = startErrors(findings);
  if (refused !== undefined) return printable(say(refused.remedy));
  const [remedy] = remedies;
  if (remedy?.sets.length === 0) return printable(say(remedy.label));
  if (remedy !== undefined) return nextCommand(line, 'plan', { sets: remedy.sets });
  return plan.request.cluster.groups === undefined ? nextCommand(line, 'plan', { words: ['--search'] }) : null;
}

/** Findings in lines; in a short answer informations and most warnings are only counted. */
function findingLines(printed: readonly PrintedFinding[], all: boolean): string[] {
  if (all) return printed.map(findingLine);
  const warnings = printed.filter(({ severity }) => severity === 'warning').slice(0, shownWarnings);
  const shown = printed.filter((finding) => finding.severity === 'error' || warnings.includes(finding));
  const left = printed.length - shown.length;
  return [...shown.map(findingLine), ...(left === 0 ? [] : [`${plural(left, 'more finding')}: --all shows them`])];
}

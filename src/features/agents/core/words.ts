import { gpusUsed, type PlanRequest } from '../../../core/domain/request';
import type { Located } from '../../../core/domain/located';
import { startErrors, type Finding } from '../../../core/findings';
import { formatCount, formatDuration, formatDurationRange, formatPercent, formatRate, plural } from '../../../core/format';
import { layoutText } from '../../../core/layout-search/labels';
import { memoryVerdict, usedText, verdictText } from '../../../core/memory-model/verdict';
import { scenarioText } from '../../../core/plan-request/scenario';
import { weighedAssumptions } from '../../../core/planner/explain/assumed';
import { weightiestText } from '../../../core/planner/explain/assumption-texts';
import type { Candidate, Plan } from '../../../core/planner/plan';
import { remedyText, type Remedy } from '../../../core/rules/plan/remedy';
import type { Run } from '../../../core/run/run';
import { say, sentence } from '../../../core/sentence';
import { lineColumnAt } from '../../../core/text';
import { few, gib, rounded } from './tool';
import type { LoadedQuestion } from './load';

/*
 * Lines and data that several tools share.
 */

type Texts = LoadedQuestion['texts'];

/** `train.sh:12`. */
export function lineText(located: Located<unknown> | undefined, texts: Texts): string | null {
  if (located?.source.kind !== 'file') return null;
  const { file, range } = located.source.place;
  return `${file}:${lineColumnAt(texts.get(file) ?? '', range.start).line}`;
}

/** A finding in one line: where, what and what to do. */
export function findingText({ place, severity, message, remedy, code }: Finding, texts: Texts): string {
  const { line } = lineColumnAt(texts.get(place.file) ?? '', place.range.start);
  return `${place.file}:${line}: ${severity}: ${say(message)}; ${say(remedy)} [${code}]`;
}

/** A finding as data. */
export function findingData({ place, severity, code }: Finding, texts: Texts): object {
  return { code, severity, file: place.file, line: lineColumnAt(texts.get(place.file) ?? '', place.range.start).line };
}

/** `Llama: 80 layers, 70.6B parameters on 64 H100-80GB, ...`. */
export function titleText({ request, parameters }: Plan): string {
  return `${request.title}: ${plural(request.model.layers, 'layer')}, ${formatCount(parameters)} parameters on ${say(scenarioText(request))}.`;
}

/** `Runs as TP8 PP4 DP2, micro-batch 1, 1F1B.` */
export function runsText(request: PlanRequest, { name }: Pick<Candidate, 'name'>): string {
  return `Runs as ${say(sentence`${layoutText(request)}, ${name}`)}.`;
}

/** `A step takes 20.1 s (19.5 to 22.6 s), ...`. */
export function stepText({ request, cost }: Plan, chosen: Candidate): string {
  const gpus = gpusUsed(request.layout);
  const each = formatRate(chosen.tokensPerSecond / gpus);
  return `A step takes ${formatDuration(chosen.iterationMs)} (80 % of such runs: ${formatDurationRange(chosen.iterationMs, cost.range)}), bubble ${formatPercent(chosen.bubbleRate)}, ${formatRate(chosen.tokensPerSecond)} tokens/s (${each} a GPU), MFU ${formatPercent(chosen.mfu)}.`;
}

/** `Memory: 46.9 / 74.9 GiB on stage 0 of 4: fits, ...`. */
export function memoryText({ memory }: Candidate): string {
  const verdict = memoryVerdict(memory);
  return `Memory: ${usedText(verdict)} on stage ${verdict.stage} of ${verdict.stages}: ${say(verdictText(verdict))}.`;
}

/** The assumptions that move the step most. */
export function assumesText({ request }: Plan, chosen: Candidate): string | null {
  const text = weightiestText(weighedAssumptions(request, chosen), false);
  return text === null ? null : `Assumes ${say(text)}.`;
}

/** Whether a launcher refuses the files as they are written. */
export function startsText(findings: readonly Finding[], texts: Texts): string | null {
  const errors = startErrors(findings);
  const [first] = errors;
  if (first === undefined) return null;
  return `Does not start as written: ${plural(errors.length, 'error')}. ${findingText(first, texts)}`;
}

/** What changes make it fit. */
export function remediesText(remedies: readonly Remedy[]): string | null {
  if (remedies.length === 0) return null;
  return `To fit: ${few(remedies, 3)
    .map((remedy) => `${say(remedyText(remedy))}${setsText(remedy)}`)
    .join('; ')}.`;
}

function setsText({ sets }: Remedy): string {
  return sets.length === 0 ? '' : ` (set ${JSON.stringify(Object.fromEntries(sets))})`;
}

/** What the layout and the batch were read from, by line. */
export function readFromText(run: Run, texts: Texts): string | null {
  const { layout, training, gpu, nodes } = run;
  const named: readonly (readonly [string, Located<unknown> | undefined])[] = [
    ...Object.entries(layout),
    ...(['sequenceLength', 'microBatch', 'globalBatch', 'recompute', 'zeroStage'] as const).map((name) => [name, training[name]] as const),
    ['gpu', gpu],
    ['nodes', nodes],
  ];
  const read = named.flatMap(([name, located]) => {
    const line = lineText(located, texts);
    return line === null ? [] : [`${name} ${line}`];
  });
  return read.length === 0 ? null : `Read from: ${few(read, 8).join(', ')}.`;
}

/** The chosen candidate of a plan as data. */
export function planData({ request, cost, parameters }: Plan, chosen: Candidate): Record<string, unknown> {
  const { layout, training } = request;
  const verdict = memoryVerdict(chosen.memory);
  const [low, high] = cost.range;
  return {
    parameters,
    gpu: request.cluster.gpu.name,
    gpus: gpusUsed(layout),
    layout: { ...layout, ...(layout.stageLayers === undefined ? {} : { stageLayers: few(layout.stageLayers, 32) }) },
    sequenceLength: training.sequenceLength,
    microBatch: training.microBatch,
    globalBatch: training.globalBatch,
    recompute: training.recompute,
    schedule: chosen.schedule,
    stepMs: rounded(chosen.iterationMs),
    rangeMs: [rounded(chosen.iterationMs * low), rounded(chosen.iterationMs * high)],
    bubble: rounded(chosen.bubbleRate),
    tokensPerSecond: rounded(chosen.tokensPerSecond),
    mfu: rounded(chosen.mfu),
    memory: memoryData(verdict),
  };
}

/** A verdict on memory as data. */
export function memoryData({ stage, peakBytes, usableBytes, fits, tight }: ReturnType<typeof memoryVerdict>): object {
  return { fits, mayFit: fits || tight, stage, peakGiB: gib(peakBytes), usableGiB: gib(usableBytes) };
}

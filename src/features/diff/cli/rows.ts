import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent, formatRate, plural } from '../../../core/format';
import { layoutText } from '../../../core/layout-search/labels';
import { memoryVerdict, verdictText } from '../../../core/memory-model/verdict';
import { chosenCandidate } from '../../../core/planner/plan';
import { scheduleLabel, scheduleOn } from '../../../core/schedules/on-layout';
import { say } from '../../../core/sentence';
import { printable } from '../../../core/text';
import { relativeChange, type ConfigChange, type ConfigState } from '../core/change';
import type { SideChanges } from './compare-sides';

/** A change with the texts that its findings are in. */
export interface PlacedChange {
  readonly change: ConfigChange;
  readonly texts: SideChanges['texts'];
}

/** The figures of a state; null where it is not planned. Times ms, memory bytes. */
export function figures(state: ConfigState | null) {
  const plan = state?.plan ?? null;
  if (plan === null) return null;
  const { request } = plan;
  const chosen = chosenCandidate(plan);
  const verdict = memoryVerdict(chosen.memory);
  return {
    stepMs: chosen.iterationMs,
    tokensPerSecond: chosen.tokensPerSecond,
    peakBytes: verdict.peakBytes,
    usableBytes: verdict.usableBytes,
    fit: say(verdictText(verdict)),
    globalBatch: request.training.globalBatch,
    sequenceLength: request.training.sequenceLength,
    gpu: request.cluster.gpu.name,
    layout: say(layoutText(request)),
    schedule: chosen.schedule,
  };
}

/** The schedule of a state by its label: `interleaved 1F1B`; empty where it is not planned. */
function scheduleText(state: ConfigState | null): string {
  const plan = state?.plan ?? null;
  return plan === null ? '' : scheduleLabel(scheduleOn(chosenCandidate(plan).schedule, plan.request.layout));
}

/** `b.yaml`, `b.yaml: added`, `b.yaml, before a.yaml`. */
export function fileText({ file, renamedFrom, status }: ConfigChange): string {
  if (renamedFrom !== undefined) return `${file}, before ${renamedFrom}`;
  return status === 'changed' ? file : `${file}: ${status}`;
}

/** What changed of a config, cause first: a name and a text each. @param mostCauses settings that are listed. */
export function changeRows(change: ConfigChange, mostCauses: number): (readonly [name: string, text: string])[] {
  const [before, after] = [figures(change.base), figures(change.head)];
  if (before === null || after === null) return oneSideRows(change, before ?? after);
  const cell = (name: string, from: string, to: string): (readonly [string, string])[] => (from === to ? [] : [[name, `${from} -> ${to}`]]);
  const memory = relativeChange(before.peakBytes, after.peakBytes);
  return [
    ...causeRows(change, mostCauses),
    ...cell('gpu', before.gpu, after.gpu),
    ...(change.comparison?.requestDiff.some(({ key }) => key.startsWith('layout.')) === true
      ? cell('layout', before.layout, after.layout)
      : []),
    ...cell('schedule', scheduleText(change.base), scheduleText(change.head)),
    ...batchRows(change),
    ...speedRows(change),
    ...(memory === 0 && before.fit.startsWith('fits') === after.fit.startsWith('fits')
      ? []
      : [['memory', `${formatBytes(before.peakBytes)} -> ${formatBytes(after.peakBytes)} (${signed(memory)}): ${after.fit}`] as const]),
  ];
}

function oneSideRows(change: ConfigChange, only: ReturnType<typeof figures>): (readonly [string, string])[] {
  if (change.status !== 'changed') {
    if (only === null) return [];
    return [
      ['layout', `${only.layout}, ${scheduleText(change.base ?? change.head)}`],
      ['step', formatDuration(only.stepMs)],
      ['memory', `${formatBytes(only.peakBytes)}: ${only.fit}`],
    ];
  }
  const rows = batchRows(change);
  if (only === null) return rows;
  const isNow = (change.base?.plan ?? null) === null;
  const step = formatDuration(only.stepMs);
  return [...rows, ['step', isNow ? `now planned: ${step}, ${only.fit}` : `no longer planned, was ${step}`]];
}

/** Keys of what follows from others, or is shown in rows of its own. */
const ownRow = /^(microBatches|slices|chunksPerStage|schedule|layout\..*|training\.(globalBatch|sequenceLength)|cluster\.gpu(\..*)?)$/;

export function causeRows({ comparison, convergence }: ConfigChange, most: number): (readonly [string, string])[] {
  const sizes = convergence.map(({ size }) => `training.${size}`);
  const causes = comparison?.requestDiff.filter(({ key }) => !ownRow.test(key) && !sizes.includes(key)) ?? [];
  const shown = causes.slice(0, most).map(({ key, a, b }) => [key, `${valueText(key, a)} -> ${valueText(key, b)}`] as const);
  return causes.length > most ? [...shown, ['', `${plural(causes.length - most, 'more setting')}: --all lists them`]] : shown;
}

/** A value of a setting, which may be a list of a thousand layers. */
function valueText(key: string, value: string): string {
  if (!isText.test(key) && /^(?:0|[1-9]\d{0,14})$/.test(value)) return formatCount(Number(value));
  return printable(value.length > longestValue ? `${value.slice(0, longestValue)}…` : value);
}

const longestValue = 60;

/** Settings that are names or versions, which may consist of digits. */
const isText = /^(?:model\.modelType|cluster\.(?:groups\[\d+\]\.)?gpu|training\.runtimeVersion|cost\.profile)$/;

function batchRows({ convergence }: ConfigChange): (readonly [string, string])[] {
  return convergence.map(({ size, before, after }) => [
    sizeNames[size],
    `${formatCount(before)} -> ${formatCount(after)}: changes convergence`,
  ]);
}

export const sizeNames = { globalBatch: 'global batch', microBatch: 'micro-batch', sequenceLength: 'sequence' } as const;

/** The step where it is of as many tokens, else the throughput; nothing below 1 %. */
function speedRows({ comparison }: ConfigChange): (readonly [string, string])[] {
  if (comparison === null) return [];
  const { a, b, speedup } = comparison;
  if (relativeChange(1, speedup) === 0) return [];
  const words = speedup >= 1 ? `${factorText(speedup)} faster` : `${factorText(1 / speedup)} slower`;
  if (a.tokensPerStep === b.tokensPerStep)
    return [['step', `${formatDuration(a.iterationMs)} -> ${formatDuration(b.iterationMs)}: ${words}`]];
  return [
    [
      'step',
      `${formatDuration(a.iterationMs)} -> ${formatDuration(b.iterationMs)}, of ${formatCount(a.tokensPerStep)} -> ${formatCount(b.tokensPerStep)} tokens`,
    ],
    ['tokens/s', `${formatRate(a.tokensPerSecond)} -> ${formatRate(b.tokensPerSecond)}: ${words}`],
  ];
}

/** `7.8 %`, from two times on `2.3x`. */
function factorText(factor: number): string {
  return factor < 2 ? formatPercent(factor - 1) : `${formatNumber(factor)}x`;
}

/** `+7.8 %`. */
function signed(change: number): string {
  return `${change < 0 ? '-' : '+'}${formatPercent(Math.abs(change))}`;
}

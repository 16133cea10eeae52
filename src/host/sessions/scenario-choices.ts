import { gpuPresetNames, gpuPresets, type GpuPresetName } from '../../core/cluster/presets';
import type { Located } from '../../core/domain/located';
import { formatBytes, formatNumber } from '../../core/format';
import { scenarioNames } from '../../core/plan-request/scenario';
import type { Plan } from '../../core/planner/plan';
import type { Run } from '../../core/run/run';
import { sentence, type Sentence } from '../../core/sentence';
import type { ChosenKey } from './scenarios';

/** A number of a scenario that can be changed. */
export interface ScenarioChoice {
  readonly key: ChosenKey;
  readonly name: Sentence;
  readonly value: number;
  readonly maximum: number;
  /** Where a file sets it; undefined: it is assumed. */
  readonly given: Located<number> | undefined;
}

/** What is asked for without asking what first. */
export const askedAtOnce: ReadonlyMap<unknown, ChosenKey> = new Map([
  ['nodes', 'cluster.nodes'],
  ['sequence', 'training.sequenceLength'],
  ['batch', 'training.globalBatch'],
] as const);

/** Numbers of what a config is planned for. */
export function scenarioChoices({ nodes, gpusPerNode, training }: Run, { request }: Plan): readonly ScenarioChoice[] {
  const { cluster, training: planned } = request;
  const choice = (key: ChosenKey, value: number, maximum: number, given: Located<number> | undefined): ScenarioChoice => ({
    key,
    name: scenarioNames[key],
    value,
    maximum,
    given,
  });
  return [
    choice('cluster.nodes', cluster.nodes, mostNodes, nodes),
    choice('cluster.gpusPerNode', cluster.gpusPerNode, mostGpusPerNode, gpusPerNode),
    choice('training.sequenceLength', planned.sequenceLength, 100_000_000, training.sequenceLength),
    choice('training.globalBatch', planned.globalBatch, 10_000_000, training.globalBatch),
  ];
}

export const mostNodes = 100_000;
export const mostGpusPerNode = 1024;

/** Where a value of the scenario comes from. */
export function scenarioReason({ request }: Plan, key: string): Sentence {
  const assumption = request.assumptions.find((one) => one.key === key);
  return assumption === undefined ? sentence`in the files` : sentence`assumed: ${assumption.reason}`;
}

/** Whether a text is a whole number from 1 to `maximum`. */
export function isCount(text: string, maximum: number): boolean {
  const number = Number(text.trim());
  return /^\d{1,9}$/.test(text.trim()) && number >= 1 && number <= maximum;
}

/** A GPU to plan for. */
interface GpuChoice {
  readonly name: GpuPresetName;
  readonly about: Sentence;
  readonly source: string;
}

/** Known GPUs, the current one first. */
export function gpuChoices(current: string): readonly GpuChoice[] {
  const choices = gpuPresetNames.map((name) => {
    const { memoryBytes, memoryTBps, peakTflops, source } = gpuPresets[name].gpu;
    const half = peakTflops.fp16 > peakTflops.bf16 ? 'fp16' : 'bf16';
    const about = sentence`${formatBytes(memoryBytes)}, ${formatNumber(peakTflops[half])} TFLOP/s ${half}, ${formatNumber(memoryTBps)} TB/s`;
    return { name, about, source };
  });
  return [...choices].sort((a, b) => Number(b.name === current) - Number(a.name === current));
}

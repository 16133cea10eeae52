import { formatCount } from '../format';
import { gpusUsed, type Layout, type PlanRequest, type TrainingSpec } from '../domain/request';
import type { Fallback } from './defaults-recorder';
import { counted, sentence, type Sentence } from '../sentence';
import { gpusText } from '../cluster/groups';
import type { GpuPresetName } from '../cluster/presets';
import type { Runtime } from '../domain/runtime';
import type { ScheduleChoices } from '../domain/schedule-names';

/** What a scenario keeps of what no file sets, by its keys of terapipe.json, and the name of each. */
export const scenarioNames = {
  'cluster.gpusPerNode': sentence`GPUs per node`,
  'cluster.nodes': sentence`Nodes`,
  'training.sequenceLength': sentence`Sequence length`,
  'training.decoderSequenceLength': sentence`Decoder sequence length`,
  'training.globalBatch': sentence`Global batch`,
  'layout.tensor': sentence`TP`,
  'layout.pipeline': sentence`PP`,
  'layout.data': sentence`DP`,
  'layout.expert': sentence`EP`,
  'layout.expertTensor': sentence`ETP`,
} as const;

export type ScenarioKey = keyof typeof scenarioNames;
const scenarioKeys = Object.keys(scenarioNames) as readonly ScenarioKey[];

/**
 * What a config is planned for, which stays while the config is edited: resolving it again with the scenario of its last plan
 * (`ResolveDefaults.kept`) assumes the same wherever that still runs. What files say always holds. Plain JSON.
 */
export interface Scenario {
  /** Its name, as `H100-80GB`. */
  readonly gpu: string;
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly sequenceLength: number;
  readonly decoderSequenceLength?: number;
  readonly globalBatch: number;
  readonly layout: Layout;
  /** Why each value was assumed when it was first planned; a key that is absent was in the files, and is not kept. */
  readonly reasons: Readonly<Partial<Record<ScenarioKey, Sentence>>>;
  /** Why they are kept; absent: they were planned first. */
  readonly keptReason?: Sentence;
}

/** The scenario of a plan. */
export function planScenario({ cluster, training, layout, assumptions }: PlanRequest): Scenario {
  const { sequenceLength, decoderSequenceLength, globalBatch } = training;
  return {
    gpu: cluster.gpu.name,
    nodes: cluster.nodes,
    gpusPerNode: cluster.gpusPerNode,
    sequenceLength,
    ...(decoderSequenceLength === undefined ? {} : { decoderSequenceLength }),
    globalBatch,
    layout,
    reasons: Object.fromEntries(
      assumptions.filter(({ key }) => Object.hasOwn(scenarioNames, key)).map(({ key, reason, firstReason = reason }) => [key, firstReason]),
    ),
  };
}

/** A value that was assumed for the last plan, too, and is kept; null where it was not assumed then. */
export function keptFallback<T>(kept: Scenario | undefined, key: ScenarioKey, value: T): Fallback<T> | null {
  const firstReason = kept?.reasons[key];
  if (firstReason === undefined) return null;
  return { value, reason: kept?.keptReason ?? sentence`kept from the first plan: ${firstReason}`, firstReason };
}

/** A value of the scenario that the next plan has not kept, and why. */
export interface ScenarioChange {
  readonly key: ScenarioKey;
  readonly from: string;
  readonly to: string;
  /** Null where a file sets the new value. */
  readonly reason: Sentence | null;
}

/** The settings of a scenario that a plan made with it has not kept, in the order of `scenarioNames`. */
export function scenarioChanges(before: Scenario, request: PlanRequest): readonly ScenarioChange[] {
  const [from, to] = [scenarioValues(before), scenarioValues(planScenario(request))];
  return scenarioKeys
    .filter((key) => from[key] !== to[key])
    .map((key) => ({
      key,
      from: countText(from[key]),
      to: countText(to[key]),
      reason: request.assumptions.find((assumption) => assumption.key === key)?.reason ?? null,
    }));
}

function scenarioValues({ layout, ...scenario }: Scenario): Readonly<Record<ScenarioKey, number | undefined>> {
  return {
    'cluster.gpusPerNode': scenario.gpusPerNode,
    'cluster.nodes': scenario.nodes,
    'training.sequenceLength': scenario.sequenceLength,
    'training.decoderSequenceLength': scenario.decoderSequenceLength,
    'training.globalBatch': scenario.globalBatch,
    'layout.tensor': layout.tensor,
    'layout.pipeline': layout.pipeline,
    'layout.data': layout.data,
    'layout.expert': layout.expert,
    'layout.expertTensor': layout.expertTensor,
  };
}

function countText(value: number | undefined): string {
  return value === undefined ? '–' : formatCount(value);
}

/** What a plan is of, as every surface shows it: `8 x H100-80GB · 4,096 tokens · batch 32`. */
export function scenarioText({ cluster, training, layout }: Pick<PlanRequest, 'cluster' | 'training' | 'layout'>): Sentence {
  return sentence`${machineText({ cluster, layout })} · ${lengthsText(training)} · batch ${formatCount(training.globalBatch)}`;
}

/** The GPUs of a plan: `8 x H100-80GB`. */
export function machineText({ cluster, layout }: Pick<PlanRequest, 'cluster' | 'layout'>): string {
  const gpus = gpusUsed(layout);
  return cluster.groups === undefined ? `${formatCount(gpus)} x ${cluster.gpu.name}` : gpusText(cluster, gpus);
}

/** The length of a sequence in words; source and target, where there are both: `512 + 128 tokens`. */
export function lengthsText({
  sequenceLength,
  decoderSequenceLength,
}: Pick<TrainingSpec, 'sequenceLength' | 'decoderSequenceLength'>): Sentence {
  return decoderSequenceLength === undefined
    ? counted(sequenceLength, 'token')
    : sentence`${formatCount(sequenceLength)} + ${counted(decoderSequenceLength, 'token')}`;
}

/** The GPU of a plan where nothing names one, in the editor and on the terminal. */
export const assumedGpuName: GpuPresetName = 'H100-80GB';

/** What the face knows when the files leave it open. */
export interface ResolveDefaults {
  readonly gpu: GpuPresetName;
  readonly nodes: number | null;
  readonly gpusPerNode: number | null;
  /** The runtime of files that name none; absent: Megatron-LM. */
  readonly runtime?: Runtime;
  /** What there is to choose the schedule from where no file sets it; absent: what the runtime runs. */
  readonly schedules?: ScheduleChoices;
  /** The scenario of the config's last plan, which stays while it is edited; absent: it is planned for the first time. */
  readonly kept?: Scenario | undefined;
  /** Why each of them is taken, as the face shows it; absent: its settings say so. */
  readonly reasons?: Readonly<Record<'gpu' | 'nodes' | 'gpusPerNode', Sentence>>;
}

/** Why a default of the face is taken. */
export function reasonOfFace({ reasons }: ResolveDefaults, key: keyof NonNullable<ResolveDefaults['reasons']>): Sentence {
  return reasons?.[key] ?? sentence`the default of the settings`;
}

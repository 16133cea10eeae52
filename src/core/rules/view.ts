import type { ConfigFormat } from '../run/config-format';
import type { LauncherTraits } from '../launchers/traits';
import { launchedCapabilities, programTraits, settingOfDeepSpeed, unknownSizes } from '../launchers/as-launched';
import { launcherTraits } from '../launchers/registry';
import type { Fact, FactName, Facts, LauncherFile } from '../run/facts';
import { byDefault } from '../domain/located';
import type { Run } from '../run/run';
import { mostLayers } from '../domain/settings/setting';
import { readModelTraits } from '../run/traits';
import type { ModelTraits } from '../run/written-model';
import { runAbilities, namesRuntime } from '../layout-search/abilities';
import { recipeCut } from '../plan-request/recipe-cut';
import { gpuPresets } from '../cluster/presets';
import type { GpuSpec } from '../domain/cluster';
import type { Refusal } from '../domain/capabilities';
import type { Layout, PlanRequest } from '../domain/request';
import type { Scheme } from '../domain/scheme';
import { settingAt } from './settings';
import { sentence } from '../sentence';
import { minimum } from '../numbers';

/** What only a terapipe.json can express. */
interface OwnValues {
  readonly sliceUnit: number;
  readonly sliceScheme: Scheme;
  readonly runtime: string;
}

/** Everything that a config sets, under one name each. */
export type ViewFacts = Facts & { readonly [K in keyof OwnValues]?: Fact<OwnValues[K]> };

export type SettingName = keyof ViewFacts;

/** A loaded config as rules see it: plain values with their places, in one vocabulary whatever file they are in. */
export interface ConfigView {
  readonly facts: ViewFacts;
  readonly format: ConfigFormat;
  /** What is known of the launcher, or of the program of its family that the file starts. */
  readonly launcher: LauncherTraits;
  /** What it refuses with such settings, or the runtime of a run that no launcher starts. */
  readonly refusesWith: (facts: Facts) => readonly Refusal[];
  /** What the file sets and a plan leaves out, by its own names: absent facts may be set by these. */
  readonly leftOut: readonly string[];
  /** No file names a launcher or a runtime. */
  readonly assumesRuntime: boolean;
  /** What the model has beyond sizes: kinds of its layers, its second stack. */
  readonly traits: ModelTraits;
  /** A setting, the cluster or a recipe may divide the layers over the stages unevenly. */
  readonly mayBeUneven: boolean;
  /** Kinds of GPUs that files name. */
  readonly gpus: readonly GpuSpec[];
  /** GPUs that NVLink joins beyond a node, where files have it; 0: none are. */
  readonly nvlinkDomain: number;
  /** Sizes that the planner chose where no file gives them; null: nothing is planned yet. */
  readonly planned: Pick<Layout, 'tensor' | 'data'> | null;
}

/** Settings that divide layers unevenly. */
const unevenNames = ['firstStageLayers', 'lastStageLayers', 'pipelineLayout', 'stageLayers', 'emptyLayers', 'partitionMethod'] as const;

/** A launcher's file as rules see it. */
export function viewOfLauncher(file: Pick<LauncherFile, 'facts' | 'format' | 'program' | 'leftOut' | 'remarks' | 'openSizes'>): ConfigView {
  const { format, leftOut = [] } = file;
  const facts = { ...silentBiases(file), ...file.facts, ...unknownSizes(file) };
  const launcher = programTraits(file);
  const mayBeUneven = !launcher.refusesUnevenLayers || unevenNames.some((name) => facts[name] !== undefined);
  const traits = (facts.layers?.value ?? 0) <= mostLayers ? readModelTraits(facts) : {};
  const refusesWith: ConfigView['refusesWith'] = (given) => launchedCapabilities({ ...file, facts: given })?.refuses ?? [];
  const known = { traits, mayBeUneven, gpus: [], nvlinkDomain: 0, planned: null };
  return { facts, format, launcher, refusesWith, leftOut, assumesRuntime: false, ...known };
}

/** The biases that linear layers have where a file that describes the experts disables none. */
function silentBiases(file: Pick<LauncherFile, 'facts' | 'format' | 'program'>): Facts {
  const { experts, hidden } = file.facts;
  const isDescribed = experts?.source.kind === 'file' && hidden?.source.kind === 'file';
  if (file.program?.traits.hasSilentBiases !== true || !isDescribed || settingOfDeepSpeed(file) !== undefined) return {};
  return { bias: byDefault(true, sentence`Megatron-LM takes it when the flag is not given`) };
}

/** The key of terapipe.json with the same meaning as a fact, by the name of the fact. */
const settingKeys = {
  layers: 'model.layers',
  hidden: 'model.hidden',
  heads: 'model.heads',
  kvHeads: 'model.kvHeads',
  headDim: 'model.headDim',
  ffn: 'model.ffn',
  vocab: 'model.vocab',
  tiedEmbeddings: 'model.tiedEmbeddings',
  maxPositions: 'model.maxPositions',
  positions: 'model.positions',
  experts: 'model.experts',
  activeExperts: 'model.activeExperts',
  expertFfn: 'model.expertFfn',
  encoderLayers: 'model.encoderLayers',
  tensor: 'layout.tensor',
  pipeline: 'layout.pipeline',
  data: 'layout.data',
  context: 'layout.context',
  expert: 'layout.expert',
  expertTensor: 'layout.expertTensor',
  virtualStages: 'layout.virtualStages',
  sequenceLength: 'training.sequenceLength',
  decoderSequenceLength: 'training.decoderSequenceLength',
  microBatch: 'training.microBatch',
  globalBatch: 'training.globalBatch',
  precision: 'training.precision',
  zeroStage: 'training.zeroStage',
  recomputeGranularity: 'training.recompute',
  recomputeModules: 'training.recomputeModules',
  attention: 'training.attention',
  sequenceParallel: 'training.sequenceParallel',
  activationOffloadLayers: 'training.activationOffloadLayers',
  runtime: 'training.runtime',
  schedule: 'schedule',
  sliceUnit: 'slicing.unit',
  sliceScheme: 'slicing.scheme',
  nodes: 'cluster.nodes',
  gpusPerNode: 'cluster.gpusPerNode',
} as const satisfies Partial<Record<SettingName, string>>;

/** The key of terapipe.json with the same meaning as a fact; undefined: it has none. */
export function terapipeKey(name: SettingName): string | undefined {
  return (settingKeys as Partial<Record<SettingName, string>>)[name];
}

/** Sizes that the planner takes for 1 where a terapipe.json leaves it open; the other ones it chooses. */
const ones = ['context', 'microBatch'] as const;

/** A run of a terapipe.json or a model config as rules see it. @param planned what its plan is of, where there is one. */
export function viewOfRun(run: Run, planned: PlanRequest | null = null): ConfigView {
  const facts: Partial<Record<SettingName, Fact<unknown>>> = {};
  for (const name of ones) facts[name] = { value: 1, source: { kind: 'default', reason: sentence`the planner takes 1` } };
  for (const [name, key] of Object.entries(settingKeys)) {
    const given = settingAt(run, key);
    if (given !== undefined && given.value !== null) facts[name as FactName] = { ...given, name: key };
  }
  const traits = run.traits ?? {};
  if (traits.latent !== undefined) facts.latentAttention = { value: true, source: run.model.kvHeads.source };
  const { mlpBias } = run.model;
  if (mlpBias.value) facts.bias = { value: true, source: mlpBias.source };
  const perNode = presetGpusPerNode(run);
  if (perNode !== null)
    facts.gpusPerNode ??= { value: perNode, source: { kind: 'default', reason: sentence`as many as usual with this GPU` } };
  // whole layers on the host are Megatron-LM's way, which only its runtime is held to
  if (facts.activationOffloadLayers !== undefined && (facts.runtime?.value ?? 'megatron') === 'megatron')
    facts.cpuOffloading = { value: true, source: facts.activationOffloadLayers.source };
  const { value: layers } = run.model.layers;
  const isCutApart = run.groups !== undefined || run.model.encoderLayers.value !== null;
  const isCutByRecipe = recipeCut(run, { layers, experts: run.model.experts.value, ...traits }) !== null;
  const mayBeUneven = run.layout.stageLayers !== undefined || isCutByRecipe || (isCutApart && (run.layout.pipeline?.value ?? 1) <= layers);
  return {
    facts: facts as ViewFacts,
    format: run.format,
    launcher: launcherTraits(run.format),
    refusesWith: () => (planned?.capabilities ?? runAbilities(run, 'megatron').capabilities).refuses,
    leftOut: run.leftOut ?? [],
    assumesRuntime: !namesRuntime(run),
    traits,
    mayBeUneven,
    gpus: runGpus(run),
    nvlinkDomain: smallestNvlinkDomain(run),
    planned: planned?.layout ?? null,
  };
}

function runGpus({ gpu, groups }: Run): readonly GpuSpec[] {
  return groups?.value.map((group) => group.gpu) ?? (gpu === undefined ? [] : [gpu.value]);
}

function smallestNvlinkDomain({ links, groups }: Run): number {
  const all = groups?.value.map((group) => group.links) ?? (links === undefined ? [] : [links.value]);
  return all.length === 0 ? 0 : minimum(all.map(({ nvlinkDomain = 0 }) => nvlinkDomain));
}

/** GPUs of a node of the kind that files name, of the smallest where there are several; null: unknown. */
function presetGpusPerNode({ gpu, groups }: Run): number | null {
  if (groups !== undefined) return minimum(groups.value.map(({ gpusPerNode }) => gpusPerNode));
  return Object.values(gpuPresets).find((preset) => preset.gpu.name === gpu?.value.name)?.gpusPerNode ?? null;
}

import type { Facts } from '../../run/facts';
import { countOf, sameStageLayers } from '../counts';
import { scheduleOn } from '../../schedules/on-layout';
import { scheduleDescriptions } from '../../schedules/descriptions';
import { scheduleKinds } from '../../schedules/registry';
import { usualSchedule } from '../../domain/schedule-names';
import { runsSlices, type LaunchSettings } from '../writing/launch-settings';
import { titanStageLayers, titanStages, titanStagesPerRank } from './stage-layers';
import {
  never,
  countSetting,
  removed,
  isGiven,
  unsupported,
  narrowFormatSettings,
  optimizerOffloadSetting,
  sizeSettings,
  type SettingEdit,
  type Alternative,
  type DesiredSetting,
} from '../writing/desired-setting';
import { sum } from '../../numbers';
import { counted, sentence } from '../../sentence';
import type { Editor } from '../writing/editor';
import { namesIn, settingsByPath, spellingsIn, type KeyNames } from '../writing/key-names';
import { titanKeys } from './settings';
import { carriedInto } from '../megatron/carried-into';
import { titanTarget } from './carried-keys';
import { titanToml } from './new-toml';
import { flavorGaps } from './toml-model';
import { tomlSyntax } from './toml-syntax';

/** `JobConfig` of 2025-07. Keys of `parallelism` go where the file has the others. */
export const titanNames: KeyNames = {
  ...namesIn(titanKeys, [
    ...(['tensor', 'pipeline', 'context', 'expert', 'expertTensor', 'dataReplicate', 'dataShard', 'schedule', 'scheduleCsv'] as const),
    ...(['microBatch', 'layersPerStage', 'firstStageLessLayers', 'lastStageLessLayers', 'sequenceParallel'] as const),
    ...(['sequenceLength', 'localBatch', 'globalBatch', 'recomputeGranularity', 'recomputeOption'] as const),
  ]),
  microBatches: ['parallelism.pipeline_parallel_microbatches'],
  totalStages: ['parallelism.module_fqns_per_model_part', 'parallelism.pipeline_parallel_split_points'],
  precision: ['training.mixed_precision_param'],
};

export const titanSpellings = spellingsIn(titanKeys);

/** TorchTitan's TOML. */
export const titanEditor: Editor = {
  settings: titanSettings,
  syntax: tomlSyntax(titanNames, titanSpellings),
  newFile: {
    fileName: 'train.toml',
    keys: titanNames,
    lacks: ({ model }) => flavorGaps(model),
    carries: (source, { globalBatch }) => carriedInto(titanTarget(globalBatch), source),
    write: (plan, edits, gaps, carried) => titanToml(plan, settingsByPath(edits, titanNames, titanSpellings), gaps, carried),
  },
};

/** Schedules of `torch.distributed.pipelining` that TorchTitan takes by name. */
const known = scheduleKinds.filter(({ name }) => scheduleDescriptions[name].runtimes.includes('torchtitan'));

/** What a TorchTitan TOML needs for a plan. */
export function titanSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...sizeSettings(plan, { tensor: 1, pipeline: 1, context: 1, expert: 1 }),
    ...(plan.expertTensor === null ? [] : [countSetting(sentence`expert tensor parallel size`, 'expertTensor', plan.expertTensor, 1)]),
    ...dataSettings(plan),
    ...(plan.pipeline > 1 ? [...scheduleSettings(plan), stagesSetting(plan)] : []),
    ...sizeSettings(plan, { sequenceLength: 2048 }),
    ...batchSettings(plan),
    ...precisionSettings(plan),
    ...narrowFormatSettings(
      plan.gemmPrecision,
      [],
      sentence`add the float8 converter to model.converters yourself: its name depends on the version`,
    ),
    sequenceParallelSetting(plan),
    recomputeSetting(plan),
    optimizerOffloadSetting(plan.offloadOptimizer === true),
    ...unsupported(
      'activationOffloadLayers',
      sentence`activations on the host`,
      sentence`TorchTitan has no setting for it`,
      (plan.activationOffloadLayers ?? 0) > 0,
    ),
    ...unsupported(
      'recompute',
      sentence`layers recomputed together`,
      sentence`TorchTitan recomputes layer by layer`,
      (plan.recompute.group ?? 1) > 1,
    ),
    ...unsupported(
      'schedule',
      sentence`token slices (${plan.schedule})`,
      sentence`TorchTitan has no token slices`,
      runsSlices(plan) && plan.pipeline > 1,
    ),
  ];
}

/** FSDP2 shards over `data_parallel_shard_degree` GPUs, DDP and HSDP repeat over `data_parallel_replicate_degree`. */
function dataSettings({ data, context, zeroStage, dataReplicate = 1 }: LaunchSettings): readonly DesiredSetting[] {
  const [replicate, shard] = zeroStage === 0 ? [data, 1] : [dataReplicate, data / dataReplicate];
  const setting: DesiredSetting = {
    what:
      shard === 1
        ? sentence`data parallel size ${data}, replicated`
        : replicate > 1
          ? sentence`data parallel size ${data}, sharded in ${counted(replicate, 'group')}`
          : sentence`data parallel size ${data}, sharded`,
    facts: ['dataReplicate', 'dataShard'],
    isMet: ({ dataReplicate, dataShard }) => {
      const repeated = dataReplicate?.value ?? 1;
      const given = dataShard?.value ?? -1;
      // -1 is what the other sizes leave of the GPUs: the plan's, where it starts on as many.
      return repeated === replicate && (given === shard || (given === -1 && shard > 1));
    },
    alternatives: () => [
      [
        { fact: 'dataReplicate', value: replicate },
        { fact: 'dataShard', value: shard },
      ],
    ],
    reason: never,
  };
  const withContext = sentence`FSDP2 shards over the ranks of context parallelism`;
  const shards = sentence`FSDP2 shards everything; fsdp_reshard_after_forward "never" keeps gathered weights, as ZeRO 2`;
  const isOther = zeroStage === 0 ? context > 1 : zeroStage < 3 && data > 1;
  const ofOneGpu = zeroStage > 0 && replicate > 1 && shard === 1 && context === 1;
  const underDdp = sentence`TorchTitan runs groups of one GPU under DDP`;
  return [
    setting,
    ...(ofOneGpu
      ? [
          ...unsupported('zeroStage', sentence`ZeRO ${zeroStage}`, underDdp, true),
          ...unsupported('dataReplicate', sentence`${counted(replicate, 'group')} of HSDP`, underDdp, true),
        ]
      : unsupported('zeroStage', sentence`ZeRO ${zeroStage}`, zeroStage === 0 ? withContext : shards, isOther)),
  ];
}

/** Its schedule by name; instead of one that TorchTitan does not run, one that runs the virtual stages. */
function scheduleSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  const { schedule } = plan;
  const isLooped = plan.virtualStages > 1;
  const usual = scheduleOn(usualSchedule, plan).name;
  const isKnown = known.some((kind) => kind.name === schedule && (kind.chunksPerStage !== 1) === isLooped);
  const name = isKnown ? schedule : usual;
  const canRun = isKnown || schedule === usualSchedule || runsSlices(plan);
  const names = known.map((kind) => kind.name).join(', ');
  const missing = unsupported('schedule', sentence`schedule ${schedule}`, sentence`TorchTitan runs ${names}`, !canRun);
  const named: DesiredSetting = {
    what: sentence`schedule ${name}`,
    facts: ['schedule', 'scheduleCsv'],
    isMet: (facts) => sameSchedule(facts.schedule?.value ?? '1F1B', name) && facts.scheduleCsv === undefined,
    alternatives: () => [[...removed('scheduleCsv'), { fact: 'schedule', value: name }]],
    reason: never,
  };
  return canRun || isLooped ? [...missing, named] : missing;
}

/** `interleaved_1f1b` was a name of Interleaved1F1B. */
function sameSchedule(a: string, b: string): boolean {
  return a.replaceAll('_', '').toLowerCase() === b.replaceAll('_', '').toLowerCase();
}

function stagesSetting(plan: LaunchSettings): DesiredSetting {
  const { stageLayers, pipeline, virtualStages, model } = plan;
  const stages = pipeline * virtualStages;
  const withLayers = (facts: Facts): Facts => ({ ...facts, layers: { value: model.layers, source: { kind: 'override' } } });
  return {
    what: sentence`${stageLayers.length <= 8 ? stageLayers.join(', ') : `${stageLayers.slice(0, 3).join(', ')}, ...`} layers on ${counted(stages, 'stage')}`,
    facts: ['layersPerStage', 'firstStageLessLayers', 'lastStageLessLayers', 'totalStages'],
    isMet: (facts, text) => {
      const perRank = titanStagesPerRank(withLayers(facts)) ?? (facts.layersPerStage === undefined ? 1 : null);
      return perRank === virtualStages && sameStageLayers(titanStageLayers(facts, text, stages, model.layers), stageLayers);
    },
    alternatives: (facts) => {
      const weights = weightsFor(plan);
      const name = facts.totalStages?.name ?? (isOld(facts) ? 'split_points' : '');
      const listed: Alternative = [
        ...removed('layersPerStage'),
        { fact: 'totalStages', value: name.endsWith('split_points') ? splitPoints(stageLayers) : moduleNames(stageLayers) },
      ];
      return weights === null || name !== '' ? [listed] : [stageEdits(plan, weights, facts)];
    },
    reason: never,
  };
}

/** Files of 2024: local batches had another name, stages were cut at split points, batches into a number of micro-batches. */
function isOld({ localBatch, pipeline }: Facts): boolean {
  return localBatch?.name === 'training.batch_size' || pipeline?.name?.startsWith('experimental.') === true;
}

function stageEdits(
  { pipeline, virtualStages, model }: LaunchSettings,
  [first, last]: readonly [number, number],
  facts: Facts,
): Alternative {
  const edits: SettingEdit[] = [
    ...removed('totalStages'),
    { fact: 'firstStageLessLayers', value: first },
    { fact: 'lastStageLessLayers', value: last },
  ];
  const usual = virtualStages === 1 || (virtualStages === 2 && !isGiven(facts, 'layersPerStage'));
  const perStage = Math.ceil((model.layers + first + last) / (pipeline * virtualStages));
  return [...edits, usual ? { fact: 'layersPerStage' } : { fact: 'layersPerStage', value: perStage }];
}

/** The layers that embedding and head must count as, the fewest that give the plan's stages; TorchTitan's own 1 and 1 before others. */
function weightsFor({ stageLayers, pipeline, virtualStages, model }: LaunchSettings): readonly [number, number] | null {
  const stages = pipeline * virtualStages;
  const most = Math.ceil(model.layers / stages);
  const pairs = Array.from({ length: (most + 1) ** 2 }, (_, index) => [Math.floor(index / (most + 1)), index % (most + 1)] as const);
  const ordered = [[1, 1] as const, ...pairs.sort((a, b) => a[0] + a[1] - b[0] - b[1])];
  const perStage = (first: number, last: number): boolean =>
    virtualStages < 3 || Math.ceil((model.layers + first + last) / Math.ceil((model.layers + first + last) / stages)) === stages;
  return (
    ordered.find(
      ([first, last]) => perStage(first, last) && sameStageLayers(titanStages(model.layers, stages, first, last), stageLayers),
    ) ?? null
  );
}

/**
 * Without a pipeline a pass takes one micro-batch and gradients accumulate; with one a pass takes the whole batch of a replica and the
 * schedule cuts it.
 */
function batchSettings({ pipeline, data, microBatch, globalBatch }: LaunchSettings): readonly DesiredSetting[] {
  const local = pipeline === 1 ? microBatch : globalBatch / data;
  const cut: DesiredSetting = {
    what: sentence`micro-batch size ${microBatch}`,
    facts: ['microBatch', 'microBatches'],
    isMet: (facts) => facts.microBatch?.value === microBatch,
    alternatives: (facts) =>
      isGiven(facts, 'microBatches') || (isOld(facts) && !isGiven(facts, 'microBatch'))
        ? [[{ fact: 'microBatches', value: local / microBatch }], [{ fact: 'microBatch', value: microBatch }]]
        : [[{ fact: 'microBatch', value: microBatch }]],
    reason: never,
  };
  const all: DesiredSetting = {
    what: sentence`global batch size ${globalBatch}`,
    facts: ['globalBatch'],
    isMet: (facts) =>
      facts.globalBatch === undefined ? countOf(facts, 'localBatch') === globalBatch / data : facts.globalBatch.value === globalBatch,
    alternatives: () => [[{ fact: 'globalBatch', value: globalBatch }]],
    reason: never,
  };
  return [countSetting(sentence`local batch size`, 'localBatch', local, null), all, ...(pipeline > 1 ? [cut] : [])];
}

function precisionSettings({ precision }: LaunchSettings): readonly DesiredSetting[] {
  if (precision === 'fp16') return unsupported('precision', sentence`precision fp16`, sentence`TorchTitan computes in bfloat16 or float32`);
  return [
    {
      what: sentence`precision ${precision}`,
      facts: ['precision'],
      isMet: (facts) => {
        const given = facts.precision?.value ?? 'bf16';
        return given === precision || ((given === 'fp8' || given === 'nvfp4') && precision === 'bf16');
      },
      alternatives: () => [[{ fact: 'precision', value: precision }]],
      reason: sentence`the file converts linear layers to float8; take the converter out`,
    },
  ];
}

/**
 * Tensor parallelism comes with sequence parallelism in TorchTitan. Versions of 2026 can switch it off in Python; no version that reads
 * TOML has the key (`torchtitan/config/job_config.py` up to v0.2.2), and an unknown one stops it.
 */
function sequenceParallelSetting({ tensor, sequenceParallel }: LaunchSettings): DesiredSetting {
  return {
    what: sequenceParallel ? sentence`sequence parallelism on` : sentence`sequence parallelism off`,
    facts: ['sequenceParallel'],
    isMet: (facts) => tensor === 1 || (facts.sequenceParallel?.value ?? true) === sequenceParallel,
    alternatives: (facts) => (isGiven(facts, 'sequenceParallel') ? [[{ fact: 'sequenceParallel', value: sequenceParallel }]] : []),
    reason: sentence`this version of TorchTitan has it on wherever there is tensor parallelism`,
  };
}

function recomputeSetting({ recompute: { granularity, option, modules, layers } }: LaunchSettings): DesiredSetting {
  const isKnown = modules === undefined && layers === undefined && (granularity !== 'selective') === (option === undefined);
  return {
    what:
      option === undefined
        ? sentence`recompute ${granularity}`
        : option === 'op'
          ? sentence`recompute of operations`
          : sentence`recompute of every ${option} layers`,
    facts: ['recomputeGranularity', 'recomputeOption'],
    isMet: (facts) =>
      isKnown &&
      (facts.recomputeGranularity?.value ?? 'selective') === granularity &&
      (option === undefined || (facts.recomputeOption?.value ?? '2') === option),
    alternatives: () =>
      isKnown
        ? [
            [
              { fact: 'recomputeGranularity', value: granularity },
              ...(option === undefined ? [] : [{ fact: 'recomputeOption' as const, value: option }]),
            ],
          ]
        : [],
    reason: sentence`TorchTitan recomputes whole layers, every n-th layer, or by its own list of operations`,
  };
}

/** The layers that begin each stage but the first, as `pipeline_parallel_split_points` lists them (torchtitan 2024). */
function splitPoints(stageLayers: readonly number[]): readonly string[] {
  return stageLayers.slice(1).map((_, stage) => `layers.${sum(stageLayers.slice(0, stage + 1))}`);
}

/** The modules of each stage, as `module_fqns_per_model_part` lists them (torchtitan 2025-07). */
function moduleNames(stageLayers: readonly number[]): readonly (readonly string[])[] {
  const last = stageLayers.length - 1;
  return stageLayers.map((count, stage) => [
    ...(stage === 0 ? ['tok_embeddings'] : []),
    ...Array.from({ length: count }, (_, layer) => `layers.${sum(stageLayers.slice(0, stage)) + layer}`),
    ...(stage === last ? ['norm', 'output'] : []),
  ]);
}

import type { Fact, FactName } from '../../run/facts';
import { derive, type Settings, type Sheet } from '../tables/values';
import { sentence } from '../../sentence';

type Draft = Sheet['facts'];

/** What TorchTitan makes of the sizes that a file gives, by the rules of its own code; each with the sentence on how. */
export function deriveFacts(settings: Settings, facts: Draft): void {
  deriveBatches(settings, facts);
  deriveVirtualStages(facts);
  deriveData(facts);
  deriveExpertTensor(facts);
  deriveRecompute(facts);
  deriveLoss(settings, facts);
  deriveCheckpoint(settings, facts);
}

/** The first checkpoint is that of `initial_load_path`; only its weights are loaded by default. */
function deriveCheckpoint(settings: Settings, facts: Draft): void {
  const path = settings.get('checkpoint.initial_load_path');
  if (facts.loadCheckpoint === undefined || path === undefined || path.value === '') return;
  const { name, place, whole } = path;
  const source = { kind: 'file', place, key: name } as const;
  facts.loadCheckpoint = { value: true, source, name, whole };
  facts.loadOptimizerState = { value: settings.get('checkpoint.initial_load_model_only')?.value === false, source, name };
}

/** By default TorchTitan recomputes every second layer. */
function deriveRecompute(facts: Draft): void {
  derive(facts, 'recomputeGranularity', 'selective', sentence`TorchTitan default: activation_checkpoint.mode selective`);
  if (facts.recomputeGranularity?.value === 'selective')
    derive(facts, 'recomputeOption', '2', sentence`TorchTitan default: selective_ac_option 2, every second layer`);
}

/**
 * Versions with [parallelism], of 2025, compile the cross entropy with the model; since 2025-08 each where `compile.components` names it
 * (`model_compile_enabled`, models/llama3/infra/parallelize.py).
 */
function deriveLoss(settings: Settings, facts: Draft): void {
  if (facts.compile === undefined) return;
  const components = settings.get('compile.components')?.value;
  const isNew = [...settings.keys()].some((name) => /^(parallelism|compile)\./.test(name));
  const isCompiled = isNew && facts.compile.value && (!Array.isArray(components) || components.includes('loss'));
  if (Array.isArray(components) && !components.includes('model')) facts.compile = { ...facts.compile, value: false };
  derive(
    facts,
    'fusedCrossEntropy',
    isCompiled,
    isCompiled ? sentence`TorchTitan compiles its loss since 2025` : sentence`TorchTitan does not compile its loss here`,
  );
}

function deriveBatches(settings: Settings, facts: Draft): void {
  const { localBatch, pipeline } = facts;
  if (pipeline === undefined || pipeline.value === 1) {
    drop(facts, 'microBatch', 'microBatches');
    if (localBatch !== undefined) facts.microBatch = localBatch;
    return;
  }
  if (facts.microBatches === undefined && facts.microBatch === undefined) assumeMicroBatch(settings, facts, pipeline);
  const { microBatch, microBatches } = facts;
  if (localBatch === undefined) return;
  const reason = (other: Fact<number>) =>
    other.name === undefined
      ? sentence`${writtenName(localBatch)} ${localBatch.value} over the default of ${other.value}`
      : sentence`${writtenName(localBatch)} ${localBatch.value} over ${other.name} ${other.value}`;
  if (microBatch !== undefined && whole(localBatch.value / microBatch.value))
    derive(facts, 'microBatches', localBatch.value / microBatch.value, reason(microBatch));
  else if (microBatches !== undefined && whole(localBatch.value / microBatches.value))
    derive(facts, 'microBatch', localBatch.value / microBatches.value, reason(microBatches));
}

/**
 * Versions with [experimental] cut a batch into as many micro-batches as stages, those with `local_batch_size` into micro-batches of 1;
 * for versions between them the file does not show which.
 */
function assumeMicroBatch(settings: Settings, facts: Draft, pipeline: Fact<number>): void {
  if (settings.has('training.local_batch_size'))
    derive(facts, 'microBatch', 1, sentence`TorchTitan default: pipeline_parallel_microbatch_size 1`);
  else if (/^(experimental|training)\./.test(writtenName(pipeline)))
    derive(facts, 'microBatches', pipeline.value, sentence`TorchTitan default of 2024: as many micro-batches as pipeline_parallel_degree`);
}

/** `Interleaved1F1B`, `interleaved_1f1b`, `LoopedBFS`, `InterleavedZeroBubble`, `ZBVZeroBubble`, `DualPipeV`. */
const looped = /interleaved|looped|zbv|dualpipe/i;

function deriveVirtualStages(facts: Draft): void {
  const { pipeline, schedule, totalStages, layersPerStage } = facts;
  if (pipeline === undefined || pipeline.value === 1) return;
  if (totalStages !== undefined) {
    const each = totalStages.value / pipeline.value;
    if (whole(each)) derive(facts, 'virtualStages', each, sentence`${totalStages.value} stages on ${pipeline.value} ranks`);
  } else if (layersPerStage === undefined && schedule !== undefined && looped.test(schedule.value))
    derive(facts, 'virtualStages', 2, sentence`TorchTitan puts 2 stages on each rank under ${schedule.value.slice(0, 60)}`);
}

/**
 * Samples are spread over replicas and shards alike; shards of -1 are known only with the GPUs. Replicas of one shard, without context
 * parallelism, over whose ranks FSDP2 shards too, run under DDP (`dp_replicate_enabled` and `fsdp_enabled` of
 * torchtitan/distributed/parallel_dims.py).
 */
function deriveData(facts: Draft): void {
  const { dataReplicate, dataShard, context } = facts;
  if (dataShard === undefined || dataShard.value === -1) return;
  if (dataReplicate === undefined || dataReplicate.value === 1) facts.data = dataShard;
  else {
    derive(facts, 'data', dataReplicate.value * dataShard.value, sentence`${dataReplicate.value} replicas of ${dataShard.value} shards`);
    if (dataShard.value === 1 && (context?.value ?? 1) === 1)
      derive(facts, 'zeroStage', 0, sentence`TorchTitan runs replicas of one shard under DDP`);
  }
}

/** "No effect [...] when ep = 1" (JobConfig, expert_tensor_parallel_degree): experts are sharded as the rest is. */
function deriveExpertTensor(facts: Draft): void {
  const { expert, expertTensor, tensor } = facts;
  if (expertTensor !== undefined && (expert?.value ?? 1) === 1) facts.expertTensor = { ...expertTensor, value: tensor?.value ?? 1 };
}

function drop(facts: Draft, ...names: readonly FactName[]): void {
  for (const name of names) Reflect.deleteProperty(facts, name);
}

function writtenName({ name }: Fact<unknown>): string {
  return name ?? '';
}

function whole(value: number): boolean {
  return Number.isInteger(value);
}

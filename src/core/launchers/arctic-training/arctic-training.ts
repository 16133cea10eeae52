import { byDefault } from '../../domain/located';
import type { Facts, LauncherFile } from '../../run/facts';
import { count, on } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import { peftSection } from '../tables/adapters';
import { row, type Table } from '../tables/table';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, policyOnly } from '../tables/launcher-file';
import { attentionRows, knownWord, pathWord, whether, word } from '../tables/reads';
import { sentence } from '../../sentence';

const sharding = 'deepspeed.zero_optimization';
const precisions = { bf16: 'bf16', bfloat16: 'bf16', fp16: 'fp16', float16: 'fp16', fp32: 'fp32', float32: 'fp32' } as const;
const offloaded = knownWord({ cpu: 'cpu', nvme: 'nvme' });

/** Fields of `TrainerConfig`, and the keys of its `deepspeed` dict that matter. */
const keys: Table = {
  flavor: [row('model.name_or_path', pathWord)],
  sequenceLength: [row('data.max_length', count(1))],
  microBatch: [row('micro_batch_size', count(1))],
  gradientAccumulation: [row('gradient_accumulation_steps', count(1))],
  context: [row('sequence_parallel_size', count(1))],
  expert: [row('expert_parallel_size', count(1))],
  precision: [row('model.dtype', knownWord(precisions))],
  zeroStage: [row(`${sharding}.stage`, count(0, 3))],
  offloadOptimizer: [row(`${sharding}.offload_optimizer.device`, offloaded)],
  offloadParameters: [row(`${sharding}.offload_param.device`, offloaded)],
  optimizer: [row('optimizer.type', word)],
  recomputeGranularity: [row('model.disable_activation_checkpoint', whether('none', 'full'))],
  cpuCheckpointing: [row('activation_checkpoint_cpu_offload', on(true))],
  ...attentionRows('model.attn_implementation'),
  fusedCrossEntropy: [row('model.type', knownWord({ liger: true }))],
};

/** Trainers of ArcticTraining itself; a project brings others, which train something else than the model's own weights. */
const trainers: ReadonlySet<string> = new Set(['sft', 'causal', 'dpo']);

/**
 * A YAML of ArcticTraining (`arctic_training/config/trainer.py`). DeepSpeed's launcher finds the GPUs: all of the node, or of its hostfile.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readArcticTraining(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const written = reader.facts(keys);
  const base = launcherFile(document, 'arctic-training', { ...defaults(reader, written), ...written }, reader);
  const type = reader.one('type', word);
  const also = type?.value === 'dpo' ? [policyOnly(base.place, [{ name: 'reference' }])] : [];
  return {
    ...base,
    remarks: [...base.remarks, ...also],
    modelFiles: written.flavor === undefined ? [] : [written.flavor],
    ...readAdapters(reader),
    ...(reader.one('tiled_mlp_compute', on(true))?.value === true && { leftOut: ['tiled_mlp_compute'] }),
  };
}

function defaults(reader: KeyReader, { context, zeroStage }: Facts): Facts {
  const isLong = (context?.value ?? 1) > 1;
  const hasSection = reader.one('deepspeed.zero_optimization.offload_optimizer.device', word) !== undefined;
  return {
    ...(context && { contextCommunication: byDefault('ulysses', sentence`ArcticTraining has Ulysses for long sequences`) }),
    ...(isLong && { fusedCrossEntropy: byDefault(true, sentence`ArcticTraining computes the loss in tiles with sequence parallelism`) }),
    ...(zeroStage === undefined && hasSection && { zeroStage: byDefault(0, sentence`DeepSpeed's default where zero_optimization has no stage`) }), // prettier-ignore
  };
}

/** LoRA of peft, or what a trainer that a project brings trains instead of the model. */
function readAdapters(reader: KeyReader): Pick<LauncherFile, 'adapters'> {
  const type = reader.one('type', word);
  if (type?.source.kind === 'file' && !trainers.has(type.value)) {
    return { adapters: { place: type.source.place, name: `type: ${type.value}`, unlike: type.value } };
  }
  return peftSection(reader);
}

import type { GivenAdapters } from '../../run/adapters';
import { byDefault } from '../../domain/located';
import type { Facts, LauncherFile } from '../../run/facts';
import { count, fixed, names, on, share } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml } from '../../languages/yaml/document';
import { checkpointPath } from '../tables/checkpoint-facts';
import { row, type Table } from '../tables/table';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, notOfText, policyOnly } from '../tables/launcher-file';
import { attentionRows, knownWord, pathWord, sizeUnlessOpen, torchDtypes, whether, word } from '../tables/reads';
import { sentence } from '../../sentence';

const accelerator = 'train.accelerator';
const sharding = `${accelerator}.fsdp_config`;
const implementation = 'model.ops_implementation';

/** Fields of `VeOmniArguments`. */
const keys: Table = {
  flavor: [row('model.model_path', pathWord)],
  sequenceLength: [row('data.max_seq_len', count(1))],
  microBatch: [row('train.micro_batch_size', count(1))],
  globalBatch: [row('train.global_batch_size', count(1))],
  context: [row(`${accelerator}.ulysses_size`, count(1))],
  expert: [row(`${accelerator}.ep_size`, count(1))],
  dataReplicate: [row(`${accelerator}.dp_replicate_size`, sizeUnlessOpen)],
  dataShard: [row(`${accelerator}.dp_shard_size`, sizeUnlessOpen)],
  precision: [
    row(`${sharding}.mixed_precision.enable`, knownWord({ false: 'fp32' })),
    row(`${sharding}.mixed_precision.param_dtype`, knownWord(torchDtypes)),
  ],
  zeroStage: [row(`${sharding}.fsdp_mode`, knownWord({ ddp: 0 })), row(`${sharding}.reshard_after_forward`, whether(3, 2))],
  recomputeGranularity: [row('train.gradient_checkpointing.enable', whether('full', 'none'))],
  cpuCheckpointing: [row(`${accelerator}.offload_config.enable_activation`, on(true))],
  offloadOptimizer: [row(`${sharding}.offload`, fixed('cpu'))],
  offloadParameters: [row(`${sharding}.offload`, fixed('cpu'))],
  optimizer: [row('train.optimizer.type', word)],
  compile: [row('train.torch_compile.enable', on(true))],
  ...attentionRows(`${implementation}.attn_implementation`),
  fusedCrossEntropy: [row(`${implementation}.cross_entropy_loss_implementation`, knownWord({ eager: false }))],
  loadCheckpoint: [row('train.checkpoint.load_path', checkpointPath)],
};

/**
 * A YAML of VeOmni (`veomni/arguments/arguments_types.py`): `model`, `data` and `train`. A micro-batch is packed up to its number of
 * sequences times `max_seq_len` tokens (`dyn_bsz`). How many GPUs there are is up to torchrun.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readVeomni(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const written = reader.facts(keys);
  const config = reader.one('model.config_path', pathWord);
  const base = launcherFile(document, 'veomni', { ...defaults(written), ...written }, reader);
  const type = reader.one('data.data_type', word)?.value;
  const isOfImages = type === 'diffusion' || [config, written.flavor].some((name) => isDiffusion(name?.value ?? ''));
  const also = type === 'dpo' ? [policyOnly(base.place, [{ name: 'reference' }])] : isOfImages ? [notOfText(base.place)] : [];
  return {
    ...base,
    remarks: [...base.remarks, ...also],
    modelFiles: [config, written.flavor].filter((each) => each !== undefined),
    ...readAdapters(reader),
  };
}

/** Whether the last name in a path is of a model that makes images or video: `Wan2.1-T2V-14B`, `qwen_image`. */
function isDiffusion(path: string): boolean {
  const name = path.split('/').findLast((part) => part !== '') ?? '';
  return /(?:^|[_-])(?:wan|flux|ltx|qwen[-_]image)(?:[-_.\d]|$)/i.test(name);
}

function defaults({ context }: Facts): Facts {
  return {
    zeroStage: byDefault(3, sentence`VeOmni shards weights, gradients and optimizer state with FSDP2`),
    ...(context && { contextCommunication: byDefault('ulysses', sentence`VeOmni has Ulysses for long sequences`) }),
  };
}

/** Modules of the blocks that see (Qwen3-VL and 3.5), whose language model has `q_proj`; only that is planned. */
const ofVision: ReadonlySet<string> = new Set(['qkv', 'proj', 'linear_fc1', 'linear_fc2']);

/**
 * `lora_config` (veomni/lora/config.py): peft's LoRA under other names, and weights of experts by patterns, which have an adapter each or
 * share one.
 */
function readAdapters(reader: KeyReader): Pick<LauncherFile, 'adapters'> {
  const name = 'model.lora_config';
  const rank = reader.one(`${name}.rank`, count(1));
  if (rank?.source.kind !== 'file') return {};
  const modules = reader.one(`${name}.lora_modules`, names);
  const experts = reader.one(`${name}.target_parameters`, names);
  const dropout = reader.one(`${name}.dropout`, share);
  const shared = reader.one(`${name}.share_expert_lora`, on(true));
  const written = modules?.value ?? [];
  const own = written.includes('q_proj') ? written.filter((each) => !ofVision.has(each)) : written;
  const routed = (experts?.value ?? []).map((pattern) => /(?:(?<![^.*])(?:shared_)?experts?\.)?[^.]*$/.exec(pattern)?.[0] ?? pattern);
  const targets = [...new Set([...own, ...routed])];
  const source = modules?.source ?? experts?.source;
  const adapters: GivenAdapters = {
    place: rank.source.place,
    name,
    rank,
    ...(dropout && { dropout }),
    ...(targets.length > 0 && source && { targets: { value: targets, source } }),
    ...(routed.length > 0 && { sharedByExperts: shared?.value === true }),
  };
  return { adapters };
}

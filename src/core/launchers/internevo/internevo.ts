import { byDefault } from '../../domain/located';
import type { Fact, Facts, LauncherFile } from '../../run/facts';
import { count, fixed, positiveNumber } from '../../languages/reads';
import { upwards, type Layer } from '../../languages/layers';
import { toYamlDocument } from '../../languages/python/as-settings';
import { evaluateTopLevel } from '../../languages/python/evaluate';
import { modulePaths, parsePython } from '../../languages/python/module';
import { environmentOnly } from '../../languages/yaml/references';
import { sentence } from '../../sentence';
import type { Composition } from '../composition';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile } from '../tables/launcher-file';
import { anyOf, knownWord, sizeUnlessOpen, word } from '../tables/reads';
import { lenient, row, rows, type Table } from '../tables/table';

const dtypes = {
  'torch.bfloat16': 'bf16',
  'torch.float16': 'fp16',
  'torch.half': 'fp16',
  'torch.float32': 'fp32',
  'torch.tf32': 'fp32',
} as const;

/** A number among truths and others. */
const amount = lenient(positiveNumber);
const size = lenient(count(1));

/** A truth as Python writes it. */
const isTrue = anyOf((written) => (/^true$/i.test(written) ? true : /^false$/i.test(written) ? false : undefined));

const keys: Table = {
  layers: [row('model.num_layers', count(1))],
  hidden: [row('model.hidden_size', count(1))],
  heads: [row('model.num_attention_heads', count(1))],
  kvHeads: [row('model.num_kv_attention_heads', sizeUnlessOpen)],
  vocab: [row('model.vocab_size', count(1))],
  normEpsilon: [row('model.layer_norm_epsilon', positiveNumber)],
  rotaryBase: [row('model.rope_base', positiveNumber)],
  norm: [row('model.norm_type', knownWord({ rmsnorm: 'rmsnorm', layernorm: 'layernorm' }))],
  gatedMlp: [row('model.use_swiglu', isTrue)],
  experts: [
    row(
      'model.num_experts',
      anyOf((text) => (/^[1-9]\d{0,4}$/.test(text) && text !== '1' ? Number(text) : undefined)),
    ),
  ],
  activeExperts: [row('moe.top_k', count(1))],
  sequenceLength: [row('data.seq_len', count(1))],
  microBatch: [row('data.micro_bsz', count(1))],
  gradientAccumulation: rows(count(1), 'data.gradient_accumulation', 'data.micro_num'),
  precision: [row('model.dtype', knownWord(dtypes))],
  pipeline: rows(sizeUnlessOpen, 'parallel.pipeline.size', 'parallel.pipeline'),
  virtualStages: [row('model.num_chunks', sizeUnlessOpen)],
  attention: [row('model.use_flash_attn', fixed('flash'))],
  overlapGradReduce: [row('hybrid_zero_optimizer.overlap_sync_grad', isTrue)],
  overlapParamGather: [row('hybrid_zero_optimizer.overlap_sync_param', isTrue)],
};

/** `from configs._base_.models.internlm2_7B import *`, within `with read_base():`. */
const baseImport = /^[ \t]+from[ \t]+([\w.]{1,200})[ \t]+import[ \t]+\*/gm;

/**
 * A config of InternEvo: a module whose top level assigns `model`, `data` and `parallel`, over those of the bases that it reads. Values are
 * followed, not run. How many GPUs there are is up to torchrun or Slurm.
 * @throws ExpectedError as `parsePython`.
 */
export const internevoFiles: Composition = {
  findBases: ({ file, text }) =>
    [...text.slice(0, 20_000).matchAll(baseImport)].flatMap((found) => {
      const [whole, module = ''] = found;
      const range = { start: found.index, end: found.index + whole.length };
      return [
        { written: module, place: { file, range }, paths: [...modulePaths(module), ...upwards(`${module.replaceAll('.', '/')}.py`)] },
      ];
    }),
  read: readLayers,
};

function readLayers(layers: readonly Layer[]): LauncherFile {
  const modules = layers.map(parsePython);
  const own = modules.at(-1) ?? parsePython({ file: '', text: '' });
  const document = toYamlDocument(own, modules.slice(0, -1), evaluateTopLevel(modules, own));
  const reader = createKeyReader(document, environmentOnly);
  const written = reader.facts(keys);
  const mode = reader.one('parallel.tensor.mode', word)?.value ?? 'mtp';
  const ranks = reader.one('parallel.tensor.size', size) ?? reader.one('parallel.tensor', size);
  const facts = {
    ...blockFacts(reader, written),
    ...shardFacts(reader, mode, mode === 'isp' ? 1 : (ranks?.value ?? 1)),
    ...(ranks && splitFacts(ranks, mode)),
    ...recomputeFacts(reader, written),
    ...withoutIdleChunks(written),
  };
  const leftOut = [
    ...(mode === 'isp' ? ['parallel.weight'] : []),
    ...(facts.zeroStage?.value === 1 ? [zeroKey(reader)] : []),
    // its products in TF32 are faster than those of FP32, which are planned
    ...(reader.one('model.dtype', word)?.value === 'torch.tf32' ? ['model.dtype'] : []),
    ...(reader.one('model.moe_use_residual', isTrue)?.value === true ? ['model.moe_use_residual'] : []),
  ];
  return { ...launcherFile(document, 'internevo', facts, reader), ...(leftOut.length > 0 && { leftOut }) };
}

/** GPUs of a node in its examples. On nodes of another size a group of as many is planned as a node's, and named as left out. */
const gpusOfNode = 8;

/** The group of replicas that shards the optimizer, as the file gives it; -1 is all. */
function zeroSize(reader: KeyReader): Fact<string> | undefined {
  return reader.one('parallel.zero1.size', word) ?? reader.one('parallel.zero1', word);
}

/** Whether it is a group and not all replicas. */
function isGroup(reader: KeyReader): boolean {
  return Number(zeroSize(reader)?.value ?? '-1') > 1;
}

/**
 * The setting that shards the optimizer, which is named as left out, so that the range is wide: its own page has the 7B on 1,024 GPUs at
 * 7.21 s, tensor parallelism of 1 and shards over all, and 5.6 s are predicted (doc/en/train_performance.md of InternLM/InternEvo at
 * c628a8c). A group that does not fill a node is planned over all replicas.
 */
function zeroKey(reader: KeyReader): string {
  return reader.one('parallel.zero1.size', word) === undefined ? 'parallel.zero1' : 'parallel.zero1.size';
}

function withoutIdleChunks({ virtualStages, activeExperts, ...rest }: Facts): Facts {
  const isCut = (rest.pipeline?.value ?? 1) > 1 && (virtualStages?.value ?? 1) > 1;
  const active = activeExperts ?? byDefault(1, sentence`top_k of InternEvo's layers with experts`);
  return { ...rest, ...(isCut && { virtualStages }), ...(rest.experts !== undefined && { activeExperts: active }) };
}

/** What a layer of its kind has: a gated feed-forward in multiples of 256 (`new_feed_forward`), and biases by `no_bias` or the type. */
function blockFacts(reader: KeyReader, { hidden, experts }: Facts): Facts {
  const ratio = reader.one('model.mlp_ratio', positiveNumber)?.value ?? 4;
  const type = reader.one('model_type', word)?.value.toUpperCase() ?? 'INTERNLM';
  const withoutBias = reader.one('model.no_bias', isTrue)?.value;
  const hasBias = /^INTERNLM(?:_MOE)?$/.test(type) || withoutBias !== true;
  const why = sentence`InternEvo's code for ${type}`;
  const width = 256 * Math.ceil(Math.floor((hidden?.value ?? 0) * ratio) / 256);
  const ffn = byDefault(width, sentence`mlp_ratio ${Number(ratio.toFixed(4))} of the width, in multiples of 256`);
  return {
    ...(hidden && { ffn, ...(experts && { expertFfn: ffn }) }),
    gatedMlp: byDefault(true, why),
    norm: byDefault('rmsnorm', why),
    positions: byDefault('rotary', why),
    bias: byDefault(hasBias, why),
    mlpBias: byDefault(false, why),
    tiedEmbeddings: byDefault(false, why),
    attention: byDefault('flash', why),
    compile: byDefault(false, sentence`InternEvo fuses few element-wise operations`),
    gradAccumulationFusion: byDefault(false, sentence`autograd adds up InternEvo's weight gradients`),
  };
}

/** ZeRO 1 over all replicas, or a group of them (`zero1.size`) that fills a node; none for a size of 1; FSDP; `isp` shards weights too. */
function shardFacts(reader: KeyReader, mode: string, tensor: number): Facts {
  const fsdp = reader.one('parallel.zero1.fsdp', isTrue);
  if (fsdp?.value === true) return { zeroStage: { ...fsdp, value: 3 } };
  const written = zeroSize(reader);
  if (mode === 'isp' && reader.one('parallel.weight.size', lenient(count(2))) !== undefined)
    return { zeroStage: byDefault(3, sentence`weights are gathered layer by layer over the ranks of parallel.weight`) };
  if (written?.value === '1') return { zeroStage: byDefault(0, sentence`zero1 of InternEvo`) };
  const fillsNode = isGroup(reader) && Number(written?.value) * tensor === gpusOfNode;
  return {
    zeroStage: byDefault(1, sentence`zero1 of InternEvo`),
    optimizerShards: byDefault('tensors', sentence`InternEvo gives whole tensors to ranks, which broadcast them`),
    ...(written !== undefined && fillsNode && { hybridShard: { ...written, value: true } }),
  };
}

/** Megatron's tensor parallelism, without (`mtp`) and with sequences (`msp`, `fsp`); with `isp` the ranks share out sequences only. */
function splitFacts(ranks: Fact<number>, mode: string): Facts {
  const why = sentence`the mode of parallel.tensor`;
  if (mode === 'isp') return { context: ranks, contextCommunication: byDefault('ulysses', why) };
  return { tensor: ranks, sequenceParallel: byDefault(mode !== 'mtp', why) };
}

/** Layers that are recomputed whole: all, none, or this share of those of a stage. */
function recomputeFacts(reader: KeyReader, { layers, pipeline, virtualStages }: Facts): Facts {
  const all = reader.one('model.checkpoint', isTrue);
  const part = reader.one('model.checkpoint', amount);
  const why = sentence`InternEvo recomputes layer by layer`;
  if (all?.value === true || part?.value === 1)
    return { recomputeGranularity: byDefault('full', why), recomputeMethod: byDefault('uniform', why), recomputeLayers: byDefault(1, why) };
  if (part === undefined || part.value > 1 || layers === undefined) return { recomputeGranularity: byDefault('none', why) };
  const each = layers.value / ((pipeline?.value ?? 1) * (virtualStages?.value ?? 1));
  return {
    recomputeGranularity: { ...part, value: 'full' },
    recomputeMethod: byDefault('block', why),
    recomputeLayers: byDefault(Math.floor(each * part.value), sentence`checkpoint ${part.value} of the layers of a stage`),
  };
}

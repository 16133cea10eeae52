import { byDefault } from '../../domain/located';
import type { Facts } from '../../run/facts';
import type { ModelOfLauncher } from '../../huggingface/hub-models';
import { flagKey } from '../megatron/megatron-flags';
import { sentence } from '../../sentence';
import { own } from '../../records';

/** Layers, width, heads, tokens of a batch, tensor size: OPT's (metaseq/launcher/opt_job_constants.py at f7ffa5f; table 1 of the paper). */
type Size = readonly [layers: number, hidden: number, heads: number, batchTokens: number, tensor: number];

const million = 1024 * 1024;
const sizes: Readonly<Record<string, Size>> = {
  '8m_mp1': [4, 128, 2, million / 8, 1],
  '8m': [4, 128, 2, million / 8, 2],
  '125m': [12, 768, 12, million / 2, 2],
  '350m': [24, 1024, 16, million / 2, 2],
  '760m': [24, 1536, 16, million / 2, 2],
  '1.3b': [24, 2048, 32, million, 2],
  '2.7b': [32, 2560, 32, million, 4],
  '6.7b': [32, 4096, 32, 2 * million, 2],
  '13b': [40, 5120, 40, 4 * million, 2],
  '30b': [48, 7168, 56, 4 * million, 2],
  '66b': [64, 9216, 72, 2 * million, 8],
  '175b': [96, 12288, 96, 2 * million, 8],
};

const tokensOfSample = 2048;
const reason = sentence`opt_baselines of metaseq sets it for this size`;

function metaseqSize({ flavor }: Facts): Size | null {
  if (flavor === undefined || flagKey(flavor.name ?? '') !== 'model-size') return null;
  return own(sizes, flavor.value) ?? null;
}

/**
 * What `opt_baselines.py` computes of `--model-size` and the GPUs: one pass of a replica takes its share of the batch, rounded down to
 * whole sequences (`ddp_bsz`, `--update-freq 1`).
 */
export function metaseqFacts(facts: Facts): Facts {
  const size = metaseqSize(facts);
  if (size === null) return {};
  const [, , , batchTokens, tensor] = size;
  const wanted = batchTokens / tokensOfSample;
  const replicas = ((facts.nodes?.value ?? 1) * (facts.gpusPerNode?.value ?? 0)) / tensor;
  const share = Math.floor(wanted / replicas);
  const microBatch = Number.isInteger(replicas) && replicas > 0 && share > 0 ? share : null;
  return {
    sequenceLength: byDefault(tokensOfSample, reason),
    globalBatch: byDefault(microBatch === null ? wanted : microBatch * replicas, reason),
    tensor: byDefault(tensor, reason),
    precision: byDefault('fp16', reason),
    zeroStage: byDefault(2, sentence`metaseq shards gradients and optimizer state, and keeps gathered weights`),
    recomputeGranularity: byDefault('full', reason),
    recomputeMethod: byDefault('uniform', reason),
    recomputeLayers: byDefault(1, reason),
    ...(microBatch !== null && { microBatch: byDefault(microBatch, reason) }),
  };
}

/** The model that `--model-size` means, where metaseq is started. */
export function modelOfMetaseq(name: string, facts: Facts): ModelOfLauncher | null {
  const size = metaseqSize(facts);
  return size === null ? null : { name: `OPT ${name}`, home: { launcher: 'metaseq' }, config: optConfigJson(size) };
}

/** OPT by its name on the hub; but the one of 350M, which has norms elsewhere and a narrower embedding. */
export function optOfHub(name: string): ModelOfLauncher | null {
  const size = /^facebook\/opt-(?:iml-)?(\d[\d.]*[mb])$/.exec(name)?.[1] ?? '';
  const known = size === '350m' ? undefined : own(sizes, size);
  return known === undefined ? null : { name, home: 'hub', config: optConfigJson(known) };
}

function optConfigJson([layers, hidden, heads]: Size): string {
  return JSON.stringify({
    model_type: 'opt',
    num_hidden_layers: layers,
    hidden_size: hidden,
    ffn_dim: 4 * hidden,
    num_attention_heads: heads,
    max_position_embeddings: tokensOfSample,
    word_embed_proj_dim: hidden,
    vocab_size: 50272,
    tie_word_embeddings: true,
  });
}

import type { ConfigView } from '../view';
import { isLauncher, launcherTraits } from '../../launchers/registry';
import { formatNumber } from '../../format';
import { listDivisors } from '../../numbers';
import { countOf } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { megatronAndRuns, runFormats, withFsdp } from '../formats';
import { listed, many, nearestFitting, setTo, type Issue, type Rule } from '../rule';
import { attends, dividesHeads, dividesWidth, fitsTensor, knownJoinedGpus, ffnWidths } from './sizes';
import { sentence } from '../../sentence';

/** What the tensor size divides. */
export const tensorRules: readonly Rule[] = [
  {
    code: 'heads-tp',
    severity: 'error',
    formats: [...withFsdp, ...runFormats],
    check: headsOverTensor,
  },
  {
    code: 'kv-heads-tp',
    severity: 'warning',
    formats: [...withFsdp, ...runFormats],
    check: keyValueHeadsOverTensor,
  },
  {
    code: 'width-tensor',
    severity: 'error',
    formats: megatronAndRuns,
    check: widthsOverTensor,
  },
  {
    code: 'tensor-beyond-node',
    severity: 'warning',
    formats: runFormats,
    check: tensorBeyondNode,
  },
];

/**
 * @finding heads-tp
 * Megatron: "num_attention_heads must be a multiple of tensor_model_parallel_size". Tensor parallelism gives every GPU the same number of
 * attention heads. Choose a tensor size that divides them.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, line 1446; TorchTitan, `torchtitan/models/common/decoder.py`,
 * line 190
 */
function headsOverTensor(view: ConfigView): Issue | null {
  const { facts, format, traits } = view;
  const heads = countOf(facts, 'heads');
  const decoderHeads = traits.stacks?.decoderHeads ?? heads;
  const tensor = parallelSize(facts, format, 'tensor');
  if (heads === null || decoderHeads === null || tensor === null || !attends(traits) || facts.unevenTensor?.value === true) return null;
  if (heads % tensor === 0 && decoderHeads % tensor === 0) return null;
  const near = nearestFitting(listDivisors(heads), tensor, (size) => fitsTensor(view, size));
  const counted = heads % tensor === 0 ? sentence`The decoder's ${many(decoderHeads, 'attention head')}` : many(heads, 'attention head');
  return {
    at: ['tensor', 'heads'],
    message: sentence`${counted} are not divisible by a tensor size of ${formatNumber(tensor)}`,
    remedy: sentence`use a tensor size of ${listed(near)}`,
    changes: setTo('tensor', near),
  };
}

/**
 * @finding kv-heads-tp
 * Megatron: "num_query_groups must be a multiple or divisor of tensor parallel size"; TorchTitan refuses every tensor size that does not
 * divide the key/value heads. As a warning or information: there are fewer key/value heads than GPUs, so each is kept and computed more
 * than once, which costs memory and time.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, line 1462; TorchTitan, `torchtitan/models/common/decoder.py`,
 * line 195
 * @ignore the tensor size is what makes the model fit, and repeated key/value heads are the price.
 */
function keyValueHeadsOverTensor(view: ConfigView): Issue | null {
  const { facts, format, traits } = view;
  const heads = countOf(facts, 'kvHeads');
  const tensor = parallelSize(facts, format, 'tensor');
  if (heads === null || tensor === null || heads % tensor === 0 || facts.unevenTensor?.value === true) return null;
  if (!attends(traits) || heads === countOf(facts, 'heads') || facts.latentAttention?.value === true) return null;
  const queries = countOf(facts, 'heads') ?? 0;
  // heads that the tensor size does not divide are the cause, and so are those that cannot share key/value heads: `kv-heads-heads`
  if (queries % tensor !== 0 || (queries % heads !== 0 && megatronAndRuns.includes(format))) return null;
  const repeated = launcherTraits(format).repeatsKeyValueHeads && tensor % heads === 0;
  const sizes = listDivisors(heads).filter((size) => size <= tensor);
  const near = nearestFitting(sizes, tensor, (size) => fitsTensor(view, size)).slice(0, 1);
  const counted = many(heads, 'key/value head');
  return {
    at: ['tensor', 'kvHeads'],
    severity: !repeated ? 'error' : isLauncher(format) ? 'warning' : 'information',
    message: repeated
      ? sentence`${counted} on a tensor size of ${formatNumber(tensor)}: each is kept and computed by ${formatNumber(tensor / heads)} GPUs`
      : sentence`${counted} are not divisible by a tensor size of ${formatNumber(tensor)}`,
    remedy: sentence`use a tensor size of ${listed(near)}${repeated ? sentence` to keep each once` : ''}`,
    changes: setTo('tensor', near),
  };
}

/**
 * Megatron-LM divides the feed-forward width by the tensor size, and that of each expert by the expert tensor size (`ColumnParallelLinear`,
 * `RowParallelLinear`).
 *
 * @finding width-tensor
 * Tensor parallelism cuts feed-forward widths into equal parts: those of dense layers and of shared experts by the tensor size, that of
 * each expert by the expert tensor size (the tensor size, where none is given; at 1 an expert is not divided). Choose a size that divides
 * them.
 * @source Megatron-LM, `megatron/core/utils.py`, lines 590 and 595: `ensure_divisibility` and `divide`, which every divided layer calls
 */
function widthsOverTensor(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const tensor = parallelSize(facts, format, 'tensor');
  const expertTensor = facts.expertTensor === undefined ? tensor : countOf(facts, 'expertTensor');
  if (tensor === null || expertTensor === null || facts.unevenTensor?.value === true) return null;
  const uneven = ffnWidths(view).find(({ of, width }) => !dividesWidth(facts, of, width, tensor));
  if (uneven === undefined) return null;
  const isOfExperts = uneven.of === 'experts' && facts.expertTensor !== undefined;
  // heads that are not divided either are another finding, whose sizes divide the widths too
  if (!isOfExperts && !dividesHeads(view, tensor)) return null;
  const name = isOfExperts ? 'expertTensor' : 'tensor';
  const old = isOfExperts ? expertTensor : tensor;
  const splits = (size: number): boolean => (isOfExperts ? tensor % size === 0 || size % tensor === 0 : fitsTensor(view, size));
  const near = nearestFitting(listDivisors(uneven.width), old, splits);
  return {
    at: [name, uneven.fact],
    message: sentence`${uneven.text} of ${formatNumber(uneven.width)} is not divisible by ${isOfExperts ? sentence`an expert tensor size` : sentence`a tensor size`} of ${formatNumber(old)}`,
    remedy: sentence`use ${isOfExperts ? sentence`an expert tensor size` : sentence`a tensor size`} of ${listed(near)}`,
    changes: setTo(name, near),
  };
}

/**
 * @finding tensor-beyond-node
 * A tensor-parallel group waits for two all-reduces a layer, in forward and in backward. Across nodes they run at the network's speed. Keep
 * the group inside a node and use more pipeline stages instead.
 * @source The links of the GPU that the file names: NVLink ends at the node, except on GB200 and GB300.
 * @ignore NVLink joins your nodes; set `cluster.links.nvlinkDomain`.
 */
function tensorBeyondNode(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const tensor = parallelSize(facts, format, 'tensor');
  const joined = knownJoinedGpus(view);
  if (tensor === null || joined === null || tensor <= joined) return null;
  const inside = listDivisors(countOf(facts, 'heads') ?? 1).filter((size) => fitsTensor(view, size)).slice(-1); // prettier-ignore
  return {
    at: ['tensor'],
    message: sentence`A tensor size of ${formatNumber(tensor)} ${joined === countOf(facts, 'gpusPerNode') ? sentence`crosses nodes of ${many(joined, 'GPU')}` : sentence`leaves the ${many(joined, 'GPU')} that NVLink joins`}: every layer waits for the network`,
    remedy: sentence`use a tensor size of ${formatNumber(joined)} or less`,
    changes: setTo('tensor', inside),
  };
}

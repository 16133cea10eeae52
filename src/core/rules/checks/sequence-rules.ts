import type { ConfigView } from '../view';
import type { Facts } from '../../run/facts';
import type { ConfigFormat } from '../../run/config-format';
import { launcherTraits } from '../../launchers/registry';
import { formatNumber } from '../../format';
import { listDivisors, greatestCommonDivisor, leastCommonMultiple } from '../../numbers';
import { countOf, quotient } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { megatronFormats, runFormats, withTorchtitan } from '../formats';
import { dividesHeads, fitsWorld } from './sizes';
import { isWritten, listed, many, nearestFitting, remove, setTo, type Issue, type Rule } from '../rule';
import { sentence } from '../../sentence';

/** How a sequence is divided. */
export const sequenceRules: readonly Rule[] = [
  {
    code: 'cp-seq-multiple',
    severity: 'error',
    formats: [...withTorchtitan, ...runFormats],
    check: contextParts,
  },
  {
    code: 'cp-heads',
    severity: 'error',
    formats: megatronFormats,
    check: contextHeads,
  },
  {
    code: 'sp-tp-seq',
    severity: 'error',
    formats: [...withTorchtitan, ...runFormats],
    check: sequenceParallelParts,
  },
  {
    code: 'sp-no-effect',
    severity: 'information',
    formats: megatronFormats,
    check: sequenceParallelWithoutTensor,
  },
];

/**
 * @finding cp-seq-multiple
 * Megatron: "seq-length should be a multiple of 2 * context-parallel-size if context-parallel-size > 1." To balance causal attention each
 * rank gets one part from the front and one from the back.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 1337; TorchTitan, `torchtitan/distributed/parallel_dims.py`, line 668
 * @ignore sequences are padded by your own code before they are cut.
 */
function contextParts({ facts, format }: ConfigView): Issue | null {
  const tokens = countOf(facts, 'sequenceLength');
  const context = parallelSize(facts, format, 'context');
  if (tokens === null || context === null || context === 1 || tokens % (2 * context) === 0 || isUlysses(facts)) return null;
  const near = lengthsNear(facts, format, tokens, 2 * context);
  return {
    at: ['sequenceLength', 'context'],
    message: sentence`${many(tokens, 'token')} cannot be cut into 2 x ${formatNumber(context)} = ${formatNumber(2 * context)} equal parts for context parallelism`,
    remedy: sentence`use ${listed(near)} tokens`,
    changes: setTo('sequenceLength', near),
  };
}

/**
 * @finding sp-tp-seq
 * TorchTitan: "Sequence length must be divisible by tensor parallel degree". Sequence parallelism (in TorchTitan every tensor parallelism)
 * divides the tokens over the tensor-parallel GPUs. Choose a multiple of the tensor size.
 * @source Megatron-LM, `megatron/core/tensor_parallel/mappings.py`, lines 74 and 178; TorchTitan,
 * `torchtitan/distributed/parallel_dims.py`, line 665
 * @ignore sequences are padded by your own code before they are cut.
 */
function sequenceParallelParts(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const tokens = countOf(facts, 'sequenceLength');
  const tensor = parallelSize(facts, format, 'tensor');
  if (tokens === null || tensor === null || tokens % tensor === 0 || !dividesSequence(facts, format)) return null;
  // a tensor size that does not divide the heads either is the cause
  if (!dividesHeads(view, tensor)) return null;
  const near = lengthsNear(facts, format, tokens, tensor);
  return {
    at: ['sequenceLength', 'tensor'],
    message: sentence`${many(tokens, 'token')} are not divisible by a tensor size of ${formatNumber(tensor)}, as sequence parallelism requires`,
    remedy: sentence`use ${listed(near)} tokens`,
    changes: setTo('sequenceLength', near),
  };
}

/** TorchTitan's tensor parallelism always divides the sequence between blocks. */
function dividesSequence(facts: Facts, format: ConfigFormat): boolean {
  return launcherTraits(format).alwaysDividesSequence || facts.sequenceParallel?.value === true;
}

/** The next longer and the next shorter sequence that every division of this run accepts. */
function lengthsNear(facts: Facts, format: ConfigFormat, tokens: number, step: number): number[] {
  const tensor = dividesSequence(facts, format) ? (parallelSize(facts, format, 'tensor') ?? 1) : 1;
  const context = parallelSize(facts, format, 'context') ?? 1;
  const all = leastCommonMultiple(leastCommonMultiple(step, tensor), context > 1 ? 2 * context : 1);
  const below = Math.floor(tokens / all) * all;
  return [below + all, below].filter((length) => length > 0);
}

/**
 * A tensor size that the file leaves out may come from elsewhere.
 *
 * @finding sp-no-effect
 * Megatron: "Disabling sequence parallelism because tensor model parallelism is disabled". Only information.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 1436
 * @ignore one script starts runs of several tensor sizes, and the setting waits for the larger ones.
 */
function sequenceParallelWithoutTensor({ facts }: ConfigView): Issue | null {
  if (facts.sequenceParallel?.value !== true || countOf(facts, 'tensor') !== 1) return null;
  return {
    at: ['sequenceParallel'],
    message: sentence`Sequence parallelism divides activations over the tensor size, which is 1: it is turned off`,
    remedy: sentence`remove it, or use a tensor size of 2 or more`,
    changes: [...remove('sequenceParallel'), ...setTo('sequenceParallel', [false])],
  };
}

/** Ulysses without a ring: a rank holds one part of the sequence, so front and back need no balance. */
function isUlysses({ contextCommunication }: Facts): boolean {
  return contextCommunication?.value === 'ulysses';
}

/** Ranks over which all-to-all divides heads; null: it does not, or the file does not set it. */
function headsOver(facts: Facts, context: number): number | null {
  const kinds = (facts.contextCommunication?.value ?? '').split(/\s+/);
  if (kinds.includes('a2a') || kinds.includes('ulysses')) return context;
  return kinds.includes('a2a+p2p') ? (facts.contextLevels?.value[0] ?? null) : null;
}

/**
 * All-to-all turns a share of the sequence into a share of the heads.
 *
 * @finding cp-heads
 * All-to-all context parallelism (`--cp-comm-type a2a`, Ulysses) turns a share of the sequence into a share of the heads, so it divides the
 * heads of each tensor rank; in Megatron-LM the key/value heads too (Transformer Engine: "The number of attention heads needs to be
 * divisible by CP size!"). With `a2a+p2p` that holds for the first of `--hierarchical-context-parallel-sizes`. The ring (`p2p`) divides no
 * heads.
 * @source Megatron-LM, `megatron/core/extensions/transformer_engine.py`, line 2114, and the all-to-all of TransformerEngine that it calls
 */
function contextHeads({ facts, format }: ConfigView): Issue | null {
  const context = parallelSize(facts, format, 'context');
  const tensor = parallelSize(facts, format, 'tensor');
  const ranks = context === null ? null : headsOver(facts, context);
  const [heads, keyValue] = [quotient(countOf(facts, 'heads'), tensor), countOf(facts, 'kvHeads')];
  if (context === null || tensor === null || ranks === null || ranks === 1 || heads === null) return null;
  // verl repeats key/value heads for Ulysses; Transformer Engine asserts that they divide too
  const shared = keyValue === null || isUlysses(facts) || facts.latentAttention?.value === true ? heads : Math.max(1, keyValue / tensor);
  if (heads % ranks === 0 && shared % ranks === 0) return null;
  const fits = Number.isInteger(shared) ? greatestCommonDivisor(heads, shared) : heads;
  const isLevel = ranks !== context;
  const near = isLevel ? [] : nearestFitting(listDivisors(fits), context, (size) => fitsWorld(facts, format, 'context', size));
  const counted = heads % ranks === 0 ? many(shared, 'key/value head') : many(heads, 'attention head');
  const communication = isUlysses(facts) ? sentence`Ulysses` : sentence`all-to-all communication`;
  const size = isLevel
    ? sentence`use ${listed(listDivisors(fits))} ranks for the all-to-all`
    : sentence`use a context size of ${listed(near)}`;
  return {
    at: ['context', 'contextLevels', 'contextCommunication', 'heads'],
    message: sentence`${counted} on each tensor rank are not divisible by ${isLevel ? sentence`${formatNumber(ranks)} ranks` : sentence`a context size of ${formatNumber(ranks)}`}, as ${communication} requires`,
    remedy: isUlysses(facts) ? size : sentence`${size}, or p2p communication`,
    changes: [...setTo('context', near), ...(isWritten(facts, 'contextCommunication') ? setTo('contextCommunication', ['p2p']) : [])],
  };
}

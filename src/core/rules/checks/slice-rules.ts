import { findSliceRuntime } from '../../slice-runtimes/registry';
import type { SliceLimit } from '../../slice-runtimes/slice-runtime';
import { formatNumber } from '../../format';
import { listDivisors } from '../../numbers';
import { allOf, sentence, type Sentence } from '../../sentence';
import { countOf } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { megatronLmFormats } from '../formats';
import { isWritten, listed, many, nearestFitting, remove, setTo, type Change, type Issue, type Rule } from '../rule';
import type { ConfigView } from '../view';

/** What runtimes of token slices refuse. */
export const sliceRules: readonly Rule[] = [
  {
    code: 'slices-not-cut',
    severity: 'error',
    formats: megatronLmFormats,
    check: unequalSlices,
  },
  {
    code: 'slices-runtime',
    severity: 'error',
    formats: megatronLmFormats,
    check: settingsWithSlices,
  },
  {
    code: 'slices-flags',
    severity: 'error',
    formats: megatronLmFormats,
    check: missingFlags,
  },
];

/**
 * @finding slices-not-cut
 * Runtimes that cut sequences into equal slices (`--pipe-sp-strategy average`, `--seq1f1b-balance-method average`, `--num-seq-splits`)
 * divide the tokens and drop the rest, which leaves shapes that do not fit together; with sequence parallelism each slice is divided by the
 * tensor size too. Choose a number that divides both, or slices of equal work (`uniform_comp`), where the runtime has them.
 * @source thunlp/Seq1F1B at 68934661, `megatron/core/pipeline_parallel/sp_utils.py`, line 123; sail-sg/zero-bubble-pipeline-parallelism at
 * 39f2c186, `megatron/training/arguments.py`, line 422
 */
function unequalSlices({ facts, format }: ConfigView): Issue | null {
  const [tokens, slices] = [countOf(facts, 'sequenceLength'), countOf(facts, 'slices')];
  if (facts.sliceRuntime === undefined || facts.sliceRule?.value !== 'average' || tokens === null || slices === null) return null;
  const multiple = facts.sequenceParallel?.value === true ? (parallelSize(facts, format, 'tensor') ?? 1) : 1;
  if (tokens % (slices * multiple) === 0) return null;
  const near = nearestFitting(listDivisors(tokens), slices, (size) => tokens % (size * multiple) === 0);
  return {
    at: ['slices', 'sequenceLength'],
    message: sentence`${many(tokens, 'token')} cannot be cut into ${formatNumber(slices)} equal slices${multiple > 1 ? sentence` that a tensor size of ${formatNumber(multiple)} divides` : ''}`,
    remedy: sentence`use ${listed(near)} slices`,
    changes: setTo('slices', near),
  };
}

/**
 * @finding slices-runtime
 * A runtime of token slices is often made for one way to train: MindSpeed-LLM slices micro-batches of one sequence and no context
 * parallelism, and hcu-megatron does not recompute with slices. Both Seq1F1B and zero-bubble know neither context parallelism nor experts,
 * and zero-bubble no tied embeddings. thunlp/Seq1F1B on Megatron Core does not recompute the attention core, and Megatron-LM's chunked
 * pipeline has no latent attention.
 * @source MindSpeed-LLM's page on Seq1F1B and `get_span_info`; hcu-megatron's page on pipelines; thunlp/Seq1F1B at c62b9496,
 * `megatron/core/transformer/attention.py`, "no checkpointing"; NVIDIA/Megatron-LM, pull request 3116, its limitations;
 * sail-sg/zero-bubble-pipeline-parallelism at 39f2c186, `megatron/core/zbpp_utils.py`, line 73
 */
function settingsWithSlices({ facts, format }: ConfigView): readonly Issue[] {
  const runtime = findSliceRuntime(facts.sliceRuntime?.value ?? '');
  if (runtime === undefined) return [];
  const issues: Readonly<Record<SliceLimit, () => Issue | null>> = {
    'micro-batch': () => {
      const size = countOf(facts, 'microBatch');
      if (size === null || size === 1) return null;
      const message = sentence`${runtime.name} slices micro-batches of 1 sequence, not ${formatNumber(size)}`;
      return { at: ['microBatch', 'slices'], message, remedy: sentence`use a micro-batch of 1`, changes: setTo('microBatch', [1]) };
    },
    context: () => {
      const size = parallelSize(facts, format, 'context') ?? 1;
      return size === 1 ? null : withoutIt(['context', 'slices'], sentence`context parallelism`, setTo('context', [1]));
    },
    recompute: () => {
      const granularity = facts.recomputeGranularity?.value ?? 'none';
      const names = ['recomputeGranularity', 'recomputeMethod', 'recomputeLayers'] as const;
      return granularity === 'none'
        ? null
        : withoutIt([...names, 'slices'], sentence`recompute`, remove(...names.filter((name) => isWritten(facts, name))));
    },
    'core-recompute': () => {
      const modules = facts.recomputeModules?.value ?? ['core_attn'];
      const isOfCore = facts.recomputeGranularity?.value === 'selective' && modules.includes('core_attn');
      return isOfCore ? withoutIt(['recomputeGranularity', 'slices'], sentence`recompute of the attention core`, []) : null;
    },
    experts: () => (facts.experts === undefined ? null : withoutIt(['experts', 'slices'], sentence`experts`, [])),
    tied: () => (facts.tiedEmbeddings?.value === true ? withoutIt(['tiedEmbeddings', 'slices'], sentence`tied embeddings`, []) : null),
    latent: () => (facts.latentAttention?.value === true ? withoutIt(['latentAttention', 'slices'], sentence`latent attention`, []) : null),
    // flags of the attention kernel are the finding `slices-flags`
    unfused: () => null,
    // such a runtime takes its own width, whatever the script sets
    'gated-width': () => null,
  };
  const withoutIt = (at: Issue['at'], what: Sentence, changes: readonly Change[]): Issue => ({
    at,
    message: sentence`${runtime.name} runs no ${what} with token slices`,
    remedy: sentence`train without ${what}, or with whole sequences`,
    changes,
  });
  return runtime.limits.flatMap((limit) => issues[limit]() ?? []);
}

/**
 * @finding slices-flags
 * Slices keep keys and values of earlier ones, for which their runtime has only one kind of attention: it stops without the flags that
 * choose it.
 * @source thunlp/Seq1F1B at 68934661, `megatron/model/transformer.py`, line 855; sail-sg/zero-bubble-pipeline-parallelism at 39f2c186,
 * `megatron/training/arguments.py`, lines 418 to 421
 * @ignore the flags are given somewhere else than in this file.
 */
function missingFlags({ facts }: ConfigView): Issue | null {
  const { sliceRuntime, sliceNeeds } = facts;
  const name = findSliceRuntime(sliceRuntime?.value ?? '')?.name;
  if (name === undefined || sliceNeeds === undefined) return null;
  const missing = allOf(sliceNeeds.value);
  return {
    at: ['sliceNeeds', 'slices'],
    message: sentence`${name} stops at token slices without ${missing}`,
    remedy: sentence`add ${missing}`,
  };
}

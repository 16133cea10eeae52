import type { ConfigView } from '../view';
import { formatNumber } from '../../format';
import { listDivisors } from '../../numbers';
import { paddedVocab } from '../../model/parameters';
import { countOf } from '../../launchers/counts';
import { paddedVocabSize, parallelSize, vocabMultiple } from '../../launchers/layout-sizes';
import { isLauncher } from '../../launchers/registry';
import { megatronAndRuns, megatronFormats, megatronLmFormats, runFormats } from '../formats';
import { unevenHeads } from '../../planner/refusals';
import { listed, many, nearestFitting, remove, setTo, type Issue, type Rule } from '../rule';
import { dividesHeads } from './sizes';
import { sentence } from '../../sentence';

/** Sizes of the model against each other, and how it is stored. */
export const modelRules: readonly Rule[] = [
  {
    code: 'hidden-heads',
    severity: 'error',
    formats: megatronAndRuns,
    check: hiddenOverHeads,
  },
  {
    code: 'kv-heads-heads',
    severity: 'error',
    formats: megatronAndRuns,
    check: keyValueGroups,
  },
  {
    code: 'sequence-positions',
    severity: 'error',
    formats: [...megatronLmFormats, ...runFormats],
    check: positions,
  },
  {
    code: 'precision-twice',
    severity: 'error',
    formats: [...megatronFormats, 'gpt-neox'],
    check: precisionTwice,
  },
  {
    code: 'vocab-padding',
    severity: 'information',
    formats: megatronAndRuns,
    check: vocabPadding,
  },
];

/**
 * @finding hidden-heads
 * Without a head size of its own, a model's hidden size must be a multiple of its attention heads; the model classes refuse anything else.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, line 1456, which rounds the size of a head down; the attention of
 * transformers asserts the multiple
 * @ignore the size of a head is given somewhere else than in this file.
 */
function hiddenOverHeads({ facts }: ConfigView): Issue | null {
  const hidden = countOf(facts, 'hidden');
  const heads = countOf(facts, 'heads');
  if (hidden === null || heads === null || hidden % heads === 0 || facts.latentAttention?.value === true) return null;
  if (facts.headDim !== undefined && facts.headDim.source.kind !== 'default') return null;
  // a published model, which has the size of its heads
  if ([facts.hidden, facts.heads].every((fact) => fact?.source.kind === 'default')) return null;
  const near = nearestFitting(listDivisors(hidden), heads, () => true);
  return {
    at: ['heads', 'hidden'],
    message: unevenHeads(hidden, heads),
    remedy: sentence`use ${listed(near)} heads, or give the size of a head`,
    changes: setTo('heads', near),
  };
}

/**
 * @finding kv-heads-heads
 * With grouped-query attention every key/value head serves the same number of attention heads.
 * @source The attention of transformers repeats each key/value head `num_attention_heads // num_key_value_heads` times, and so does
 * Megatron-LM, `megatron/core/transformer/dot_product_attention.py`, lines 169 to 174: the shapes do not meet otherwise.
 */
function keyValueGroups({ facts }: ConfigView): Issue | null {
  const heads = countOf(facts, 'heads');
  const groups = countOf(facts, 'kvHeads');
  if (heads === null || groups === null || heads % groups === 0) return null;
  const near = nearestFitting(listDivisors(heads), groups, () => true);
  return {
    at: ['kvHeads', 'heads'],
    message: sentence`${many(heads, 'attention head')} cannot share ${many(groups, 'key/value head')} evenly`,
    remedy: sentence`use ${listed(near)} key/value heads`,
    changes: setTo('kvHeads', near),
  };
}

/** Lengths with the positions there are for them; in a model of two stacks each stack has its own. */
function checkedLengths({ facts, traits: { stacks }, format }: ConfigView): readonly Length[] {
  const most = countOf(facts, 'maxPositions');
  const isTable = facts.positions?.value === 'learned';
  if (isLauncher(format) || facts.encoderLayers === undefined) return [{ name: 'sequenceLength', most, isTable }];
  return [
    { name: 'sequenceLength', most: stacks?.maxSourcePositions ?? null, isTable: isTable && stacks?.sourcePositions === 'own' },
    { name: 'decoderSequenceLength', most, isTable },
  ];
}

interface Length {
  readonly name: 'sequenceLength' | 'decoderSequenceLength';
  readonly most: number | null;
  /** Positions are a table, which has no entry beyond its end; otherwise they are computed. */
  readonly isTable: boolean;
}

/**
 * @finding sequence-positions
 * The sequence is longer than the positions the model was made for. Megatron-LM refuses that whatever the positions are:
 * "max_position_embeddings must be greater than seq_length". Elsewhere a learned position table has no entries beyond them (an error);
 * rotary positions can be scaled (a warning).
 * @source Megatron-LM, `megatron/training/arguments.py`, lines 1354 and 1358
 * @ignore rotary positions are scaled (YaRN, NTK) by a setting that is not in this file.
 */
function positions(view: ConfigView): readonly Issue[] {
  const { facts, format } = view;
  return checkedLengths(view).flatMap(({ name, most, isTable }): Issue[] => {
    const tokens = countOf(facts, name);
    if (tokens === null || most === null || tokens <= most) return [];
    const shorter = setTo(name, [most]);
    return [
      {
        at: isLauncher(format) ? ['maxPositions', name] : [name],
        severity: isTable || isLauncher(format) ? 'error' : 'warning',
        message: sentence`A sequence of ${many(tokens, 'token')} is longer than the ${many(most, 'position')} of the model`,
        remedy: sentence`use ${formatNumber(tokens)} positions, or sequences of ${many(most, 'token')} or fewer`,
        remedySuffix: sentence` or less${facts.positions?.value === 'rotary' ? sentence`, or scale the rotary positions` : ''}`,
        changes: isLauncher(format) ? [...setTo('maxPositions', [tokens]), ...shorter] : shorter,
      },
    ];
  });
}

/**
 * @finding precision-twice
 * Megatron asserts that fp16 and bf16 are not both on. Keep one.
 * @source Megatron-LM, `megatron/training/arguments.py`, lines 1196 and 1205
 * @ignore one of the two is taken back on the command line.
 */
function precisionTwice({ facts }: ConfigView): Issue | null {
  const first = facts.precision?.value;
  const second = facts.secondPrecision?.value;
  if (second === undefined || first === undefined || first === second) return null;
  return {
    at: ['secondPrecision', 'precision'],
    message: sentence`Both ${first} and ${second} are on`,
    remedy: sentence`keep one: bf16 needs no loss scaling and an A100 or newer`,
    changes: remove('secondPrecision'),
  };
}

/**
 * @finding vocab-padding
 * Megatron: "padded vocab (size: ..) with .. dummy tokens". It pads to a multiple of `--make-vocab-size-divisible-by` (128) times the
 * tensor size, so that every GPU holds an equal and well aligned part. Only information.
 * @source Megatron-LM, `megatron/core/tokenizers/utils/build_tokenizer.py`, line 142
 * @ignore always: it only explains why checkpoints have more rows than the tokenizer.
 */
function vocabPadding(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const vocab = countOf(facts, 'vocab');
  const padded = paddedVocabSize(facts, format);
  const step = vocabMultiple(facts, format);
  if (vocab === null || padded === null || step === null || padded === vocab) return null;
  if (!dividesHeads(view, parallelSize(facts, format, 'tensor') ?? 1)) return null;
  const planned = paddedVocab(vocab, parallelSize(facts, format, 'tensor') ?? 1);
  return {
    at: ['vocab', 'tensor'],
    message: sentence`${isLauncher(format) ? sentence`The vocabulary of ${formatNumber(vocab)} is padded` : sentence`Megatron-LM pads a vocabulary of ${formatNumber(vocab)}`} to ${formatNumber(padded)}, a multiple of ${formatNumber(step)}: ${many(padded - vocab, 'dummy token')}`,
    remedy: isLauncher(format)
      ? sentence`checkpoints and parameter counts have ${formatNumber(padded)} rows`
      : sentence`planned with ${formatNumber(planned)}; give a vocabulary of ${formatNumber(padded)} to plan exactly that`,
    ...(isLauncher(format) ? { isNote: true } : {}),
  };
}

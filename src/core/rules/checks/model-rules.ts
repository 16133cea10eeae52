import type { ConfigView } from '../view';
import { formatNumber } from '../../format';
import { divisorsOf } from '../../numbers';
import { countOf, paddedVocabOf, vocabStepOf } from '../derived';
import { megatronAndRuns, megatronFormats, megatronLmFormats } from '../launchers/formats';
import { listed, many, nearestFitting, remove, setTo, type Issue, type Rule } from '../rule';

/** Sizes of the model against each other, and how it is stored. */
export const modelRules: readonly Rule[] = [
  {
    code: 'hidden-heads',
    severity: 'error',
    formats: megatronAndRuns,
    check: hiddenOverHeads,
    doc: "Without a head size of its own, a model's hidden size must be a multiple of its attention heads; the model classes refuse anything else.",
  },
  {
    code: 'kv-heads-heads',
    severity: 'error',
    formats: megatronAndRuns,
    check: keyValueGroups,
    doc: 'With grouped-query attention every key/value head serves the same number of attention heads.',
  },
  {
    code: 'sequence-positions',
    severity: 'error',
    formats: megatronLmFormats,
    check: positions,
    doc: 'The sequence is longer than the positions the model was made for.',
  },
  {
    code: 'precision-twice',
    severity: 'error',
    formats: [...megatronFormats, 'gpt-neox'],
    check: precisionTwice,
    doc: 'Megatron asserts that fp16 and bf16 are not both on. Keep one.',
  },
  {
    code: 'vocab-padding',
    severity: 'information',
    formats: megatronFormats,
    check: vocabPadding,
    doc: 'Megatron: "padded vocab (size: ..) with .. dummy tokens". It pads to a multiple of `--make-vocab-size-divisible-by` (128) times the tensor size. Only information.',
  },
];

function hiddenOverHeads({ facts }: ConfigView): Issue | null {
  const hidden = countOf(facts, 'hidden');
  const heads = countOf(facts, 'heads');
  if (hidden === null || heads === null || hidden % heads === 0 || facts.latentAttention?.value === true) return null;
  if (facts.headDim !== undefined && facts.headDim.source.kind !== 'default') return null;
  const near = nearestFitting(divisorsOf(hidden), heads, () => true);
  return {
    at: ['heads', 'hidden'],
    message: `A hidden size of ${formatNumber(hidden)} cannot be divided over ${many(heads, 'attention head')}`,
    remedy: `use ${listed(near)} heads, or give the size of a head`,
    changes: setTo('heads', near),
  };
}

function keyValueGroups({ facts }: ConfigView): Issue | null {
  const heads = countOf(facts, 'heads');
  const groups = countOf(facts, 'kvHeads');
  if (heads === null || groups === null || heads % groups === 0) return null;
  const near = nearestFitting(divisorsOf(heads), groups, () => true);
  return {
    at: ['kvHeads', 'heads'],
    message: `${many(heads, 'attention head')} cannot share ${many(groups, 'key/value head')} evenly`,
    remedy: `use ${listed(near)} key/value heads`,
    changes: setTo('kvHeads', near),
  };
}

function positions({ facts }: ConfigView): Issue | null {
  const tokens = countOf(facts, 'sequenceLength');
  const most = countOf(facts, 'maxPositions');
  if (tokens === null || most === null || tokens <= most) return null;
  return {
    at: ['maxPositions', 'sequenceLength'],
    message: `A sequence of ${many(tokens, 'token')} is longer than the ${many(most, 'position')} of the model`,
    remedy: `use ${formatNumber(tokens)} positions, or sequences of ${many(most, 'token')} or fewer`,
    changes: [...setTo('maxPositions', [tokens]), ...setTo('sequenceLength', [most])],
  };
}

function precisionTwice({ facts }: ConfigView): Issue | null {
  const first = facts.precision?.value;
  const second = facts.secondPrecision?.value;
  if (second === undefined || first === undefined || first === second) return null;
  return {
    at: ['secondPrecision', 'precision'],
    message: `Both ${first} and ${second} are on`,
    remedy: 'keep one: bf16 needs no loss scaling and an A100 or newer',
    changes: remove('secondPrecision'),
  };
}

function vocabPadding({ facts, format }: ConfigView): Issue | null {
  const vocab = countOf(facts, 'vocab');
  const padded = paddedVocabOf(facts, format);
  const step = vocabStepOf(facts, format);
  if (vocab === null || padded === null || step === null || padded === vocab) return null;
  return {
    at: ['vocab'],
    message: `The vocabulary of ${formatNumber(vocab)} is padded to ${formatNumber(padded)}, a multiple of ${formatNumber(step)}: ${many(padded - vocab, 'dummy token')}`,
    remedy: `nothing needs to be done; checkpoints and parameter counts have ${formatNumber(padded)} rows`,
  };
}

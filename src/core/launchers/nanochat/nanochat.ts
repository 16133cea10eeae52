import { byDefault, type Located } from '../../domain/located';
import { count, fixed, type FlagRead } from '../../languages/reads';
import type { Fact, Facts } from '../../run/facts';
import { sentence } from '../../sentence';
import type { ShellProgram } from '../shell/program';
import { flagFact, type LocatedFlag } from '../tables/located-flag';
import { anyOf, sizeUnlessOpen } from '../tables/reads';
import { factsOfTable, row, tableReads, type FlagTable } from '../tables/table';
import { isNanochatScript } from './recognise';

type Flags = ReadonlyMap<string, LocatedFlag>;

const sizes = count(1);

/** Arguments of `scripts/base_train.py`. */
const table: FlagTable = {
  layers: [row('depth', sizes)],
  headDim: [row('head-dim', sizes)],
  sequenceLength: [row('max-seq-len', sizes)],
  microBatch: [row('device-batch-size', sizes)],
  precision: [row('fp8', fixed('fp8'))],
  nodes: [row('nnodes', sizes)],
  gpusPerNode: [row('nproc-per-node', sizes)],
};

/** Sizes that others follow from and that are not settings themselves; and the name of the run, which every launch may have. */
const others: readonly (readonly [string, FlagRead<unknown>['words']])[] = [
  ['aspect-ratio', 'one'],
  ['window-pattern', 'one'],
  ['total-batch-size', 'one'],
  ['run', 'one'],
  ['fp8-recipe', 'one'],
];

const known = new Map<string, FlagRead<unknown>['words']>([
  ...tableReads(table).map(([key, { words }]): [string, FlagRead<unknown>['words']] => [key, words]),
  ...others,
]);

/** nanochat's pretraining: `torchrun ... -m scripts.base_train -- --depth=24`, from which the sizes of the model and the batch follow. */
export const nanochatProgram: ShellProgram = {
  format: 'nanochat',
  isIts: isNanochatScript,
  isPlainPython: true,
  settings: { words: (key) => known.get(key) },
  read: (flags) => {
    const written = factsOfTable(table, flags);
    const sized = { ...modelFacts(written, flags), ...written };
    const batch = batchFacts(sized, flags);
    // embeddings of values in every second layer, and what is mixed into the residual stream
    return { facts: { ...batch, ...sized }, modelFiles: [], leftOut: ['value_embeds'] };
  },
};

const reason = sentence`nanochat's code has it`;
const vocabulary = 32_768;
const firstDepth = 20;
/** Depths are of one digit or two; the width of the model is a product with them. */
const mostDepth = 1000;

/** The value of an argument, else what it has by default. */
function argument(flags: Flags, key: string, otherwise: number): number {
  return flagFact(flags.get(key), sizeUnlessOpen)?.value ?? otherwise;
}

/** The width is the depth times the aspect ratio, in whole heads (`build_model_meta` of scripts/base_train.py). */
function widthAt(depth: number, flags: Flags): number {
  const head = argument(flags, 'head-dim', 128);
  return head * Math.ceil((depth * argument(flags, 'aspect-ratio', 64)) / head);
}

/** The model of a depth. Feed-forward is four times as wide and has no gate; weights are in no norm. */
function modelFacts({ layers, headDim }: Facts, flags: Flags): Facts {
  const depth = Math.min(layers?.value ?? firstDepth, mostDepth);
  const width = widthAt(depth, flags);
  const head = headDim?.value ?? 128;
  const byDepth = sentence`nanochat: depth ${depth}, times the aspect ratio of ${argument(flags, 'aspect-ratio', 64)}`;
  return {
    layers: byDefault(firstDepth, reason),
    hidden: byDefault(width, byDepth),
    heads: byDefault(width / head, sentence`nanochat: as many heads as the width has`),
    kvHeads: byDefault(width / head, sentence`nanochat: as many heads as the width has`),
    headDim: byDefault(head, reason),
    ffn: byDefault(4 * width, reason),
    vocab: byDefault(vocabulary, sentence`the tokenizer that scripts.tok_train makes`),
    gatedMlp: byDefault(false, reason),
    norm: byDefault('rmsnorm', reason),
    qkNorm: byDefault(true, reason),
    positions: byDefault('rotary', reason),
    bias: byDefault(false, reason),
    tiedEmbeddings: byDefault(false, reason),
    sequenceLength: byDefault(2048, reason),
    microBatch: byDefault(32, reason),
    ...windows(depth, flags),
  };
}

/** Letters of `--window-pattern`, repeated: S is a quarter of the context in tiles of 128, L and the last layer see all of it. */
function windows(depth: number, flags: Flags): Pick<Facts, 'slidingWindow' | 'attentionKinds'> {
  const pattern = flagFact(flags.get('window-pattern'), letters)?.value ?? 'SSSL';
  const isWindow = (layer: number): boolean => layer < depth - 1 && pattern[layer % pattern.length] === 'S';
  const kinds = Array.from({ length: depth }, (_, layer) => (isWindow(layer) ? 'sliding_attention' : 'full_attention'));
  if (!kinds.includes('sliding_attention')) return {};
  const window = 128 * Math.ceil(argument(flags, 'max-seq-len', 2048) / 4 / 128);
  const byPattern = sentence`nanochat: --window-pattern ${pattern}`;
  return { slidingWindow: byDefault(window, byPattern), attentionKinds: byDefault(kinds, byPattern) };
}

const letters = anyOf((pattern) => (/^[SL]{1,100}$/i.test(pattern) ? pattern.toUpperCase() : undefined));

/** Parameters by which nanochat scales a run: those of the layers' products and of the head (`get_scaling_params`). */
function scalingParameters(depth: number, flags: Flags): number {
  const width = widthAt(depth, flags);
  const gates = Math.ceil(depth / 2) * 12 * (width / argument(flags, 'head-dim', 128));
  return depth * 12 * width * width + gates + vocabulary * width;
}

/**
 * The batch in tokens over the sequences of all ranks: `--total-batch-size`, else a power of two that grows with the parameters to the
 * power of 0.383 from 2^19 tokens at depth 12.
 */
function batchFacts(facts: Facts, flags: Flags): Pick<Facts, 'globalBatch'> {
  const sequence = facts.sequenceLength?.value ?? 2048;
  const depth = Math.min(facts.layers?.value ?? firstDepth, mostDepth);
  const given = flagFact(flags.get('total-batch-size'), sizeUnlessOpen);
  const growth = (scalingParameters(depth, flags) / scalingParameters(12, flags)) ** 0.383;
  const tokens = given?.value ?? 2 ** Math.round(Math.log2(2 ** 19 * growth));
  const sequences = tokens / sequence;
  if (!Number.isInteger(sequences)) return {};
  return { globalBatch: batchOfTokens(given, sequences, tokens) };
}

function batchOfTokens(given: Fact<number> | undefined, sequences: number, tokens: number): Located<number> & Pick<Fact<number>, 'name'> {
  if (given === undefined) return byDefault(sequences, sentence`nanochat: ${tokens} tokens, which grow with the parameters`);
  return { value: sequences, source: given.source, name: given.name ?? '--total-batch-size' };
}

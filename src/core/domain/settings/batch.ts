import * as v from 'valibot';
import { sentence } from '../../sentence';
import { namedSchedules } from '../schedule-names';
import type { SplitRule } from '../scheme';
import { count, flag, integer, list, numbers, positive, choiceRule, text, texts, valueOf } from './rules';
import { mostSequences, mostTokens, type SettingTable } from './setting';

/** What a step trains on, and in which order. Lengths in tokens, batches in sequences. */
export const batch = {
  /** Of an encoder-decoder model: of the source, which the encoder reads. */
  sequenceLength: {
    read: count(mostTokens),
    key: integer(1, mostTokens),
    assumed: true,
    title: sentence`sequence length`,
    compared: {},
    meaning: sentence`Tokens per sequence. TeraPipe cuts it into slices that are pipelined through the stages.`,
    fieldNames: ['seq', 'seqlen', 'seqlength', 'sequence'],
  },
  encoderSequenceLength: { read: count(mostTokens), meaning: sentence`Tokens that the encoder reads.` },
  /** Of an encoder-decoder model: of the target; absent for other models. */
  decoderSequenceLength: {
    read: count(mostTokens),
    key: integer(1, mostTokens),
    meaning: sentence`Decoder tokens per sequence. Cross-attention cost grows with both lengths.`,
  },
  /** TeraPipe chooses batch slices of its own. */
  microBatch: {
    type: integer(1, 1_000_000),
    assumed: { value: 1, reason: sentence`the least memory` },
    title: sentence`micro-batch size`,
    compared: {},
    meaning: sentence`Sequences per micro-batch. Larger ones run larger GEMMs, but fewer of them fill the pipeline.`,
    fieldNames: ['mbs', 'microbatchsize'],
  },
  /** TorchTitan: what one replica takes in one pass, before pipelining cuts it into micro-batches. */
  localBatch: {
    read: count(mostSequences),
    sets: ['microBatch', 'globalBatch'],
    meaning: sentence`Sequences that one replica takes in one pass; the pipeline cuts them into micro-batches.`,
  },
  /** Over all replicas. */
  globalBatch: {
    type: integer(1, mostSequences),
    assumed: true,
    title: sentence`global batch size`,
    compared: {},
    meaning: sentence`Sequences per step over all replicas. More of them make the bubble smaller.`,
    fieldNames: ['gbs', 'globalbatchsize'],
  },
  microBatches: {
    read: count(mostSequences),
    meaning: sentence`Micro-batches per step on each replica. More of them make the bubble smaller.`,
  },
  gradientAccumulation: {
    read: count(mostSequences),
    sets: ['globalBatch'],
    meaning: sentence`Micro-batches per step (gradient accumulation); with a pipeline, those that fill it.`,
  },
  /** Of the whole run, not of a step. */
  tokens: {
    key: positive(1e18),
    meaning: sentence`Tokens that the whole run trains on, for its days, GPU hours and, with a price, its cost.`,
    fieldNames: ['traintokens'],
  },
  batchSchedule: {
    read: text,
    meaning: sentence`Batch-size ramp-up: early steps have fewer micro-batches and a larger bubble.`,
  },
  /**
   * Documents of a step, where they are not all of `sequenceLength`: lengths in tokens with how often they come. A global batch has
   * `globalBatch` documents.
   */
  lengths: {
    key: list(
      v.tuple([v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(mostTokens)), v.pipe(v.number(), v.gtValue(0), v.maxValue(1e15))]),
      1,
      1_000_000,
      sentence`a list of [tokens, documents]`,
    ),
    meaning: sentence`Lengths of the documents of a step, and how often each occurs.`,
  },
  variableSequenceLengths: {
    read: flag,
    meaning: sentence`Sequences of different lengths: the size of P2P transfers differs from one micro-batch to the next.`,
  },
  schedule: {
    read: text,
    key: choiceRule(namedSchedules),
    keySection: '',
    meaning: sentence`Pipeline schedule. Default: the fastest that fits; within 5 %, the one with the least memory.`,
  },
  scheduleCsv: { read: text, meaning: sentence`A file with the order of operations on each GPU, in place of a schedule by name.` },
  /**
   * Of planned zero-bubble orders, counted as if each were as large as on the larger of the first two stages (sail-sg's
   * `--zero-bubble-max-pending-backward`: as many as stages is its ZB-1p, twice as many ZB-2p); absent: as many as fit the GPU.
   */
  maxPendingBackward: {
    type: integer(1, 1_000_000),
    meaning: sentence`Pending backwards per stage in planned zero-bubble schedules: more memory, less bubble.`,
  },
  /** Of kFkB and GIS; absent: the number with the shortest step that fits. */
  groupedMicroBatches: {
    key: integer(1, 100_000),
    meaning: sentence`Micro-batches of a group of kFkB and GIS. Default: up to 16, with the shortest step that fits.`,
  },
  /** Id of the runtime that cuts sequences (`slice-runtimes`), at the flag that turns it on. */
  sliceRuntime: { read: text, meaning: sentence`Sequences are cut into token slices, which run in the order of Seq1F1B.` },
  slices: { read: count(100_000), meaning: sentence`Token slices that every sequence is cut into; 1: it is whole.` },
  sliceRule: {
    read: valueOf<SplitRule | 'list'>(),
    meaning: sentence`How a sequence is cut: into equal slices, into slices of equal compute, or by a list.`,
  },
  sliceLengths: { read: numbers, meaning: sentence`Tokens of each slice of a sequence.` },
  /** Flags that the file does not give, as they are written. */
  sliceNeeds: { read: texts, meaning: sentence`Flags without which the runtime refuses token slices.` },
} as const satisfies SettingTable;

import { TensorProto_DataType as DataType, type ModelProto } from 'onnx-buf';
import * as v from 'valibot';
import type { Precision } from '../../core/domain/cluster';
import { modelFields, type WrittenModel } from '../../core/run/written-model';
import type { LocatedFields } from '../../core/domain/located';
import { onnxError } from './errors';
import { mostFrequent, shown, createGraphView, type GraphView } from './graph-view';
import { readExperts } from './experts';
import { readHeads } from './heads';
import { countLayers } from './layers';
import { findLinears, type Linear } from './linears';
import { findNorms } from './norms';
import { findEnds, rotaryCache, sized, type Ends, type Read } from './tables';
import { traceGraph, type TracedGraph } from './trace';
import { allOf, anyOf, type Sentence, sentence, type Value } from '../../core/sentence';

/** Sizes by field, each with the part of the graph it was read from; null for what the graph does not have. */
type ReadModel = { readonly [K in keyof WrittenModel]: Read<WrittenModel[K]> | null };

/** The same with nothing missing. */
type CompleteModel = { readonly [K in keyof WrittenModel]: Read<WrittenModel[K]> };

/** What the graph has of the model. */
export interface OnnxModel {
  readonly fields: ReadModel;
  /** What the layers compute in; null when the graph does not have it. */
  readonly precision: Precision | null;
  /** Sentences on what could be otherwise. */
  readonly doubts: readonly Sentence[];
}

/** Each size as a default whose reason names what it was read from in the graph. */
export function locatedFields(read: CompleteModel): LocatedFields<WrittenModel> {
  const located = Object.entries(read).map(([field, { value, reason }]) => [field, { value, source: { kind: 'default', reason } }]);
  return Object.fromEntries(located) as LocatedFields<WrittenModel>;
}

/** Where nothing shows whether embedding and head are tied, they are taken as two matrices, which is reported. */
export function settleTying(read: OnnxModel): OnnxModel {
  if (read.fields.tiedEmbeddings !== null) return read;
  return {
    ...read,
    fields: { ...read.fields, tiedEmbeddings: { value: false, reason: sentence`the graph has a weight of its own for the head` } },
    doubts: [...read.doubts, sentence`The weight of the head may be a turned copy of the embedding: it is planned as a matrix of its own`],
  };
}

/**
 * What the graph has of each size, null where it leaves it open.
 * @throws ExpectedError `onnx-no-transformer` for a graph without attention or a residual stream.
 */
export function fieldsOfOnnx(model: ModelProto, file: string): OnnxModel {
  const view = createGraphView(model);
  const linears = findLinears(view);
  const ends = findEnds(view, linears, findNorms(view));
  const graph = ends === null ? null : traceGraph(view, linears, ends.hidden.value);
  if (ends === null || graph === null || graph.attentionOutputs.length === 0) throw noTransformer(model, graph, file);
  const { layers, doubt: layerDoubt } = countLayers(graph);
  const heads = readHeads(graph);
  const tying = readTying(graph, ends);
  return {
    fields: {
      modelType: {
        value: 'onnx',
        reason:
          model.producerName === ''
            ? sentence`read from the graph of an ONNX file`
            : sentence`read from the graph of ${shown(model.producerName)}`,
      },
      layers,
      hidden: ends.hidden,
      heads: heads.heads,
      kvHeads: heads.kvHeads,
      headDim: heads.headDim,
      ...readFeedForward(graph),
      ...readExperts(view),
      encoderLayers: { value: null, reason: sentence`graphs of encoder-decoders are not recognised` },
      vocab: readVocab(ends),
      tiedEmbeddings: tying.read,
      ...readPositions(view, ends),
      ...readLayerTraits(graph),
    },
    precision: readPrecision(linears),
    doubts: [...[layerDoubt, tying.doubt].flatMap((doubt) => doubt ?? []), ...heads.doubts, ...otherDoubts(graph, ends)],
  };
}

/**
 * The same fields, none null. @throws ExpectedError `onnx-incomplete` naming those that are missing, `onnx-no-transformer` when one is out
 * of any range.
 */
export function requireComplete(fields: ReadModel, file: string): CompleteModel {
  const missing = Object.entries(fields).flatMap(([field, read]) => (read === null ? [fieldNames[field as keyof WrittenModel]] : []));
  if (missing.length > 0)
    throw onnxError(
      'onnx-incomplete',
      file,
      sentence`does not give ${anyOf(missing)}`,
      sentence`put the model's config.json next to it; the rest is read from there`,
    );
  for (const [field, rule] of Object.entries(modelFields))
    if (!v.is(rule.schema, fields[field as keyof WrittenModel]?.value)) {
      const what = fieldNames[field as keyof WrittenModel];
      throw onnxError(
        'onnx-no-transformer',
        file,
        sentence`gives an impossible value for ${what}`,
        sentence`name the .onnx file of a decoder, or its config.json`,
      );
    }
  return fields as CompleteModel;
}

/** Fields in a sentence. */
const fieldNames: Readonly<Record<keyof WrittenModel, Sentence>> = {
  modelType: sentence`its kind`,
  layers: sentence`the number of layers`,
  hidden: sentence`the hidden size`,
  heads: sentence`the number of attention heads`,
  kvHeads: sentence`the number of key/value heads`,
  headDim: sentence`the head size`,
  ffn: sentence`the feed-forward width`,
  gatedMlp: sentence`whether the feed-forward is gated`,
  experts: sentence`the number of experts`,
  activeExperts: sentence`the number of experts a token visits`,
  expertFfn: sentence`the width of an expert`,
  encoderLayers: sentence`the layers of the encoder`,
  vocab: sentence`the vocabulary`,
  tiedEmbeddings: sentence`whether embedding and head are tied`,
  maxPositions: sentence`the number of positions`,
  positions: sentence`the kind of positions`,
  norm: sentence`the kind of norm`,
  qkvBias: sentence`the biases of queries, keys and values`,
  attentionOutputBias: sentence`the bias after attention`,
  mlpBias: sentence`the biases of the feed-forward`,
  qkNorm: sentence`the norm of queries and keys`,
};

function readFeedForward({ downs, view }: TracedGraph): Pick<ReadModel, 'ffn' | 'gatedMlp' | 'mlpBias'> {
  const ffn = mostFrequent(downs.map(({ linear }) => linear.in));
  const example = downs.find(({ linear }) => linear.in === ffn);
  if (ffn === null || example === undefined) return { ffn: null, gatedMlp: null, mlpBias: null };
  const { linear, sources } = example;
  const [up] = sources;
  const fused = up?.out === 2 * ffn;
  const ups = allOf(sources.map(({ name }) => shown(name)));
  const biased = [linear, ...sources].filter(({ bias }) => bias);
  const packed =
    linear.weight === null
      ? sentence`${view.producer(linear.node.outputs[0] ?? '')?.operator ?? ''} with K ${linear.in} and N ${linear.out}`
      : null;
  return {
    ffn: {
      value: ffn,
      reason:
        packed === null
          ? sentence`${shown(linear.name)} is a product of ${ffn} x ${linear.out}`
          : sentence`${shown(linear.name)} is of ${packed}`,
    },
    gatedMlp: {
      value: fused || sources.length === 2,
      reason: fused ? sentence`${ups} is twice as wide` : sentence`${shown(linear.name)} comes after ${ups}`,
    },
    mlpBias: readBias(biased, sentence`${shown(linear.name)} and ${ups}`),
  };
}

function readBias(biased: readonly Linear[], names: Value): Read<boolean> {
  const [first] = biased;
  return first === undefined
    ? { value: false, reason: sentence`nothing is added to ${names}` }
    : { value: true, reason: sentence`${shown(first.name)} has a bias` };
}

/** What is the same in every layer: norms and biases around attention. */
function readLayerTraits({ attentionOutputs, norms }: TracedGraph): Pick<ReadModel, 'norm' | 'qkvBias' | 'attentionOutputBias' | 'qkNorm'> {
  const rms = norms.filter(({ kind }) => kind === 'rmsnorm').length;
  const [example] = attentionOutputs;
  const inside = new Set(attentionOutputs.flatMap(({ nodes }) => nodes));
  const headNorm = norms.find(({ node }) => inside.has(node));
  const sources = example?.sources ?? [];
  const biasedOutputs = attentionOutputs.filter(({ linear }) => linear.bias).map(({ linear }) => linear);
  const isRms = 2 * rms > norms.length;
  return {
    norm:
      norms.length === 0
        ? null
        : {
            value: isRms ? 'rmsnorm' : 'layernorm',
            reason: isRms ? sentence`the graph has ${rms} RMSNorms` : sentence`the graph has ${norms.length - rms} LayerNorms`,
          },
    qkvBias: readBias(
      sources.filter(({ bias }) => bias),
      sources.map(({ name }) => shown(name)).join(', '),
    ),
    attentionOutputBias: readBias(biasedOutputs, shown(example?.linear.name ?? '')),
    qkNorm: {
      value: headNorm !== undefined,
      reason:
        headNorm === undefined
          ? sentence`no norm lies inside attention`
          : sentence`${shown(headNorm.gain ?? headNorm.node.name)} lies inside attention`,
    },
  };
}

function readVocab({ tokens, head }: Ends): Read<number> {
  const rows = tokens?.dims[0];
  if (tokens !== null && rows !== undefined) return { value: rows, reason: sized(tokens) };
  if (head !== null) return { value: head.out, reason: sentence`${shown(head.name)} is a product of ${head.in} x ${head.out}` };
  return { value: 0, reason: sentence`the graph has neither embedding nor head` };
}

/** Whether the head's weight is the token table. Exporters that turn it round while exporting leave no trace of the tie. */
function readTying(
  { view }: TracedGraph,
  { tokens, head }: Ends,
): { readonly read: Read<boolean> | null; readonly doubt: Sentence | null } {
  if (tokens === null) return { read: { value: false, reason: sentence`the graph has no embedding` }, doubt: null };
  if (head === null)
    return {
      read: { value: true, reason: sentence`the graph has no head` },
      doubt: sentence`The graph ends before a vocabulary head: one that shares the embedding is planned`,
    };
  if (head.name === tokens.name)
    return { read: { value: true, reason: sentence`${shown(tokens.name)} serves embedding and head` }, doubt: null };
  const renamed = /^(onnx::|val_|_v_|\d+$)/i.test(head.name) || view.tensors.get(head.name) === undefined;
  return { read: renamed ? null : { value: false, reason: sentence`${shown(head.name)} serves only the head` }, doubt: null };
}

function readPositions(view: GraphView, { positions, rotary }: Ends): Pick<ReadModel, 'positions' | 'maxPositions'> {
  const rows = positions?.dims[0];
  if (positions !== null && rows !== undefined)
    return { positions: { value: 'learned', reason: sized(positions) }, maxPositions: { value: rows, reason: sized(positions) } };
  const cache = rotary === null ? null : rotaryCache(view);
  const cached = cache?.dims[0];
  return {
    positions:
      rotary === null
        ? { value: 'none', reason: sentence`the graph has neither learned nor rotary position embeddings` }
        : { value: 'rotary', reason: rotary },
    maxPositions:
      cache === null || cached === undefined
        ? { value: null, reason: sentence`the graph does not limit positions` }
        : { value: cached, reason: sized(cache) },
  };
}

const precisions: ReadonlyMap<number, Precision> = new Map([
  [DataType.FLOAT, 'fp32'],
  [DataType.FLOAT16, 'fp16'],
  [DataType.BFLOAT16, 'bf16'],
]);

function readPrecision(linears: readonly Linear[]): Precision | null {
  const type = mostFrequent(linears.flatMap(({ computedIn }) => (precisions.has(computedIn) ? [computedIn] : [])));
  return type === null ? null : (precisions.get(type) ?? null);
}

function otherDoubts({ view, linears, downs }: TracedGraph, ends: Ends): readonly Sentence[] {
  const doubts: Sentence[] = [];
  const bits = mostFrequent(linears.flatMap(({ quantizedBits }) => quantizedBits ?? []));
  if (bits !== null) doubts.push(sentence`Weights are stored in ${bits} bits: the layer is planned and profiled as a layer of floats`);
  if (ends.positions === null && ends.rotary === null)
    doubts.push(sentence`No learned or rotary position embeddings were found: positions are planned to cost nothing`);
  if (view.nodes.some(({ name }) => /encoder_attn|crossattention|EncDecAttention/i.test(name)))
    doubts.push(sentence`The graph attends to an encoder as well, which is not planned`);
  if (downs.length === 0) doubts.push(sentence`No feed-forward was found between the norms`);
  return doubts;
}

function noTransformer(model: ModelProto, graph: TracedGraph | null, file: string): Error {
  if (model.functions.length > 0)
    return onnxError(
      'onnx-no-transformer',
      file,
      sentence`keeps its layers in functions, which are not read`,
      sentence`export it with functions inlined, as onnx.inliner does`,
    );
  const what =
    graph === null || graph.attentions.size === 0
      ? sentence`has no attention`
      : sentence`has attention, but no layers that could be distinguished`;
  return onnxError(
    'onnx-no-transformer',
    file,
    sentence`is not a Transformer that can be read: its graph ${what}`,
    sentence`name the .onnx file of a decoder, or its config.json`,
  );
}

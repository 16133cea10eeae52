import { embeddingParameters } from './parameters';
import type { ModelSpec } from '../domain/model';

/** A GEMM of the head for one sample: `rows` of it (null: every token) times a matrix `inner` x `columns`. */
interface HeadProduct {
  readonly rows: number | null;
  readonly inner: number;
  readonly columns: number;
}

/** What lies before and after the layers of a model, and which way its layers attend. Parameters in elements. */
export interface ModelEnds {
  /** Every token sees only those before it. */
  readonly causal: boolean;
  /** Tokens of one sample where the model fixes them (patches and class token of an image); null: as many as the sequence has. */
  readonly tokens: number | null;
  readonly embeddingParameters: number;
  /** Values of one patch, for a model that embeds patches by a GEMM; null: a look-up. */
  readonly patchWidth: number | null;
  /** 0: the layers end in norms of their own. */
  readonly normParameters: number;
  readonly headParameters: number;
  readonly headProducts: readonly HeadProduct[];
}

/** What an encoder's config sets in addition to the sizes of its layers. */
export interface EncoderSizes {
  /** Pixels of a side of the image and of a patch, and colours; null: the model reads tokens. */
  readonly image: { readonly size: number; readonly patch: number; readonly channels: number } | null;
  /** Kinds of segments with an embedding of their own. */
  readonly tokenTypes: number;
  /** Whether the bare model ends in a pooler (a square matrix and its bias over the first token). */
  readonly pooler: boolean;
  /** Classes that a classifying head distinguishes. */
  readonly classes: number;
  /** First class that the config names, `BertForQuestionAnswering`; null: the bare model. */
  readonly architecture: string | null;
}

/** Ends of a decoder that predicts the next token. Source: as `parameterCount`. */
export function decoderEnds(model: ModelSpec): ModelEnds {
  const { hidden, vocab } = model;
  return {
    causal: true,
    tokens: null,
    embeddingParameters: embeddingParameters(model),
    patchWidth: null,
    normParameters: hidden * (model.norm === 'layernorm' ? 2 : 1),
    headParameters: model.tiedEmbeddings ? 0 : vocab * hidden,
    headProducts: vocab === 0 ? [] : [{ rows: null, inner: hidden, columns: vocab }],
  };
}

/**
 * Ends of a vision transformer or of a BERT. Source: the weight shapes of the ViT, BERT, RoBERTa and DistilBERT classes of transformers
 * 4.40: ViT-B/16 has 742,656 parameters before its layers; bert-large-uncased as `BertModel` 335,141,888 in all.
 */
export function encoderEnds(model: ModelSpec, sizes: EncoderSizes): ModelEnds {
  const { hidden } = model;
  const { image } = sizes;
  if (image === null) return { ...textEnds(model, sizes), causal: false, tokens: null, patchWidth: null };
  const tokens = Math.floor(image.size / image.patch) ** 2 + 1;
  const patchWidth = image.channels * image.patch ** 2;
  const pooled = sizes.architecture === 'ViTModel';
  return {
    causal: false,
    tokens,
    embeddingParameters: hidden * (patchWidth + 1) + hidden + tokens * hidden,
    patchWidth,
    normParameters: 2 * hidden,
    ...(pooled ? products(square(hidden, 1)) : products({ rows: 1, inner: hidden, columns: sizes.classes })),
  };
}

type TextEnds = Pick<ModelEnds, 'embeddingParameters' | 'normParameters' | 'headParameters' | 'headProducts'>;

function textEnds(model: ModelSpec, { tokenTypes, pooler, classes, architecture }: EncoderSizes): TextEnds {
  const { hidden, vocab } = model;
  const rows = vocab + (model.maxPositions ?? 0) + tokenTypes;
  const start = { embeddingParameters: rows * hidden + 2 * hidden, normParameters: 0 };
  const pooled = pooler ? [square(hidden, 1)] : [];
  const named = /(?:For([A-Z]\w*)|(LMHeadModel))$/.exec(architecture ?? '');
  const written = named?.[1] ?? named?.[2] ?? '';
  // a decoder's head on an encoder is that of the words it masks
  const head = written === 'CausalLM' || written === 'LMHeadModel' ? 'MaskedLM' : written;
  if (head === 'QuestionAnswering') return { ...start, ...products({ rows: null, inner: hidden, columns: 2 }) };
  if (head === 'TokenClassification') return { ...start, ...products({ rows: null, inner: hidden, columns: classes }) };
  if (head === 'SequenceClassification') return { ...start, ...products(...pooled, { rows: 1, inner: hidden, columns: classes }) };
  if (head !== 'MaskedLM') return { ...start, ...products(...pooled) };
  const tied = model.tiedEmbeddings ? 0 : vocab * hidden;
  const transform = hidden * hidden + hidden + 2 * hidden;
  return {
    ...start,
    headParameters: transform + vocab + tied,
    headProducts: [square(hidden, null), { rows: null, inner: hidden, columns: vocab }],
  };
}

function square(hidden: number, rows: number | null): HeadProduct {
  return { rows, inner: hidden, columns: hidden };
}

/** Linear layers with biases. */
function products(...headProducts: readonly HeadProduct[]): Pick<ModelEnds, 'headParameters' | 'headProducts'> {
  return { headParameters: headProducts.reduce((sum, { inner, columns }) => sum + (inner + 1) * columns, 0), headProducts };
}

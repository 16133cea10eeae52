import { byDefault } from '../../domain/located';
import { count, fixed, names, on, positiveNumber } from '../../languages/reads';
import { environmentOnly } from '../../languages/yaml/references';
import { parseYaml, type YamlDocument } from '../../languages/yaml/document';
import type { Facts, LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import { createKeyReader, type KeyReader } from '../tables/keys';
import { launcherFile, policyOnly } from '../tables/launcher-file';
import { anyOf, knownWord, sizeUnlessOpen, word } from '../tables/reads';
import { row, rows, under, type Table } from '../tables/table';

const model = 'trainer.init.model';
const loader = 'trainer.fit.train_dataloader';

/** What a decoder of the zoo is made of (`GPT2LMHeadModelConfig`, which the others extend). */
const modelKeys: Table = {
  layers: [row('num_hidden_layers', count(1))],
  hidden: [row('hidden_size', count(1))],
  heads: [row('num_heads', count(1))],
  kvHeads: [row('extra_attention_params.num_kv_groups', count(1))],
  ffn: [row('filter_size', count(1))],
  vocab: [row('vocab_size', count(1))],
  maxPositions: [row('max_position_embeddings', count(1))],
  tiedEmbeddings: [row('share_embedding_weights', on(true))],
  gatedMlp: [
    row(
      'nonlinearity',
      anyOf((name) => name.endsWith('glu')),
    ),
  ],
  norm: [
    row(
      'norm_type',
      anyOf((name) => (name.includes('rmsnorm') ? 'rmsnorm' : 'layernorm')),
    ),
  ],
  positions: [row('position_embedding_type', knownWord({ learned: 'learned', rotary: 'rotary', alibi: 'none', fixed: 'none' }))],
  rotaryBase: [row('rope_theta', positiveNumber)],
  slidingWindow: [row('attention_sliding_window_length', sizeUnlessOpen)],
  windowFrequency: [row('sliding_window_every_other_decoder_layer', fixed('2'))],
  qkvBias: [row('use_projection_bias_in_attention', on(true))],
  qkNorm: [
    row(
      'attention_qk_norm_layer',
      anyOf((name) => (name === '' ? undefined : true)),
    ),
  ],
  experts: rows(sizeUnlessOpen, 'moe_params.num_experts', 'moe.num_experts'),
  activeExperts: rows(sizeUnlessOpen, 'moe_params.top_k', 'moe.top_k'),
  sharedExperts: rows(sizeUnlessOpen, 'moe_params.num_shared_experts', 'moe.num_shared_experts'),
};

/** What its T5 is made of (`T5ForConditionalGenerationModelConfig`); a decoder of as many layers as the encoder unless set otherwise. */
const stackKeys: Table = {
  ...under([`${model}.`], {
    encoderLayers: [row('encoder_num_hidden_layers', count(1))],
    decoderLayers: rows(count(1), 'decoder_num_hidden_layers', 'encoder_num_hidden_layers'),
    hidden: [row('d_model', count(1))],
    heads: [row('num_heads', count(1))],
    headDim: [row('d_kv', count(1))],
    ffn: [row('d_ff', count(1))],
    vocab: [row('src_vocab_size', count(1))],
    tiedEmbeddings: [row('share_embedding_weights', on(true))],
    gatedMlp: [
      row(
        'encoder_nonlinearity',
        anyOf((name) => name.endsWith('glu')),
      ),
    ],
    norm: [
      row(
        'norm_type',
        anyOf((name) => (name.includes('rmsnorm') ? 'rmsnorm' : 'layernorm')),
      ),
    ],
  }),
  encoderSequenceLength: [row(`${loader}.src_max_sequence_length`, count(1)), row(`${model}.src_max_position_embeddings`, count(1))],
  decoderSequenceLength: [row(`${loader}.tgt_max_sequence_length`, count(1)), row(`${model}.tgt_max_position_embeddings`, count(1))],
};

const runKeys: Table = {
  globalBatch: [row(`${loader}.batch_size`, count(1))],
  sequenceLength: rows(
    sizeUnlessOpen,
    `${loader}.max_sequence_length`,
    `${model}.max_position_embeddings`,
    `${model}.text_model.max_position_embeddings`,
  ),
  precision: [row('trainer.init.precision.fp16_type', knownWord({ bfloat16: 'bf16', cbfloat16: 'fp16', float16: 'fp16' }))],
};

/** Its models that read both ways, or that are none of text. */
const otherModels = /bert|t5|transformer|dpr|vit|dit|jais_mm|esm|unet|llava|dinov2/i;

/**
 * A YAML of Cerebras' Model Zoo: a trainer with its model and data (`trainer.init`, `trainer.fit`). How many systems there are is up to the
 * command line.
 * @throws ExpectedError for text that is not a YAML mapping, placed; see `parseYaml`.
 */
export function readCerebras(file: string, text: string): LauncherFile {
  const document = parseYaml(file, text, 'last');
  const reader = createKeyReader(document, environmentOnly);
  const name = reader.one(`${model}.name`, word)?.value ?? '';
  const hasStacks = reader.one(`${model}.encoder_num_hidden_layers`, count(1)) !== undefined;
  if (hasStacks && /^t5$/i.test(name)) return t5(document, reader);
  const section = decoderSection(reader, name);
  const written = reader.facts(section === null ? runKeys : { ...under([`${section}.`], modelKeys), ...runKeys });
  const facts = { ...(section === null ? {} : decoder(reader, section, written)), ...written };
  const base = launcherFile(document, 'cerebras', facts, reader);
  const images = section === `${model}.text_model` ? [`${model}.image_model`] : [];
  const leftOut = section === null ? [`${model}.name: ${name}`] : [...biasesLeftOut(reader, section), ...images];
  const also = section === `${model}.policy_model` ? [policyOnly(base.place, [{ name: 'reference' }])] : [];
  return { ...base, remarks: [...base.remarks, ...also], ...(leftOut.length > 0 && { leftOut }) };
}

/**
 * Where the sizes of a decoder are: those of a model itself, of the policy of DPO, or of the language model of one that sees and
 * trains it; null: none.
 */
function decoderSection(reader: KeyReader, name: string): string | null {
  const inner = /^dpo$/i.test(name) ? 'policy_model' : /llava|multimodal/i.test(name) ? 'text_model' : null;
  const section = inner === null ? model : `${model}.${inner}`;
  const isFrozen = reader.one(`${model}.freeze`, names)?.value.some(freezesText) === true;
  if (isFrozen && inner === 'text_model') return null;
  const ofSection = inner === null ? name : (reader.one(`${section}.name`, word)?.value ?? '');
  return reader.one(`${section}.num_hidden_layers`, count(1)) !== undefined && !otherModels.test(ofSection) ? section : null;
}

/**
 * Whether a pattern of `freeze` is found in names of the text model (`re.search` in `freeze_modules` of multimodal_utils.py). One with more
 * than a name in it is taken to be: no pattern of a file is run.
 */
function freezesText(pattern: string): boolean {
  const [, start = '', name] = /^(\^?)([\w.\\]*)(?:\.\*|\$)?$/.exec(pattern) ?? [];
  if (name === undefined) return true;
  const plain = name.replaceAll('\\', '');
  const whole = 'text_model.';
  return start === '^' ? whole.startsWith(plain) || plain.startsWith(whole) : whole.includes(plain) || plain.includes('text_model');
}

/** Its T5: no biases; the table of relative positions is small and left out. */
function t5(document: YamlDocument, reader: KeyReader): LauncherFile {
  const reason = sentence`the Model Zoo's default for T5`;
  const facts: Facts = {
    bias: byDefault(false, reason),
    positions: byDefault('none', reason),
    gatedMlp: byDefault(false, reason),
    tiedEmbeddings: byDefault(true, reason),
    ...reader.facts({ ...stackKeys, ...runKeys }),
  };
  return { ...launcherFile(document, 'cerebras', facts, reader), leftOut: [`${model}.position_embedding_type`] };
}

/** Defaults of `GPT2LMHeadModelConfig`. */
function decoder(reader: KeyReader, section: string, { heads }: Facts): Facts {
  const reason = sentence`the Model Zoo's default`;
  const ffnBias = ffnBiasIn(reader, section);
  const isMultiQuery = reader.one(`${section}.attention_module`, word)?.value === 'multiquery_attention';
  const inner = reader.one(`${section}.attention_inner_dim`, sizeUnlessOpen);
  const width = inner === undefined ? Number.NaN : inner.value / (heads?.value ?? 12);
  return {
    bias: ffnBias === undefined ? byDefault(true, reason) : byDefault(ffnBias, sentence`use_ffn_bias: ${String(ffnBias)}`),
    qkvBias: byDefault(true, reason),
    hidden: byDefault(768, reason),
    heads: byDefault(12, reason),
    ...(isMultiQuery && { kvHeads: byDefault(1, sentence`multiquery_attention without num_kv_groups`) }),
    ...(Number.isInteger(width) && { headDim: byDefault(width, sentence`attention_inner_dim over num_heads`) }),
    ffn: byDefault(3072, reason),
    vocab: byDefault(50257, reason),
    maxPositions: byDefault(1024, reason),
    tiedEmbeddings: byDefault(true, reason),
    gatedMlp: byDefault(false, reason),
    norm: byDefault('layernorm', reason),
    positions: byDefault('learned', reason),
  };
}

const ffnBiasIn = (reader: KeyReader, section: string): boolean | undefined => reader.one(`${section}.use_ffn_bias`, on(true))?.value;

/** Biases of attention that are not those of feed-forward blocks; those of queries, keys and values may be the only ones. */
function biasesLeftOut(reader: KeyReader, section: string): readonly string[] {
  const hasBias = ffnBiasIn(reader, section) ?? true;
  const of = (name: string): boolean => reader.one(`${section}.${name}`, on(true))?.value ?? true;
  const unlike = (name: string): readonly string[] => (of(name) === hasBias ? [] : [`${section}.${name}: ${of(name)}`]);
  return [...unlike('use_ffn_bias_in_attention'), ...(hasBias ? unlike('use_projection_bias_in_attention') : [])];
}

import { boolean, integer, list, type Rule } from '../domain/settings/rules';
import type { LocatedPartial } from '../run/given';
import { modelFields, type ModelTraits, type WrittenModel } from '../run/written-model';
import { byDefault, from, plainValues, type Located, type LocatedFields } from '../domain/located';
import * as v from 'valibot';
import { assumedClass, type FamilyField, type FamilySizes } from './family';
import { readStackLayers, readStacks } from './stacks';
import { flag, located, memberNamed, readMember, type Members, type Source } from './members';
import { readMembers } from '../languages/json/document';
import { stateLayers } from './ssm';
import { sentence } from '../sentence';
import { own } from '../records';

/**
 * The sizes and traits that a config gives, whatever its family derives from its switches included.
 * @param around members of the file around a text_config: some keep the tie of embedding and head there.
 * @throws ExpectedError `config-wrong-type`, `config-out-of-range`; placed.
 */
export function readSizes(source: Source, around: Members | null): LocatedPartial<WrittenModel> {
  const given = { ...readGiven(source), ...tieAround(source, around) };
  const switches = own(familySwitches, source.family.configClass)?.(source, given) ?? {};
  return { ...given, ...switches, ...denseInstead(given), ...bothStacks(source, given) };
}

function readGiven(source: Source): LocatedPartial<WrittenModel> {
  const { document, members, family } = source;
  const read = <K extends FamilyField>(field: K, rule: Rule<WrittenModel[K]> = modelFields[field]): LocatedPartial<WrittenModel> => {
    const found = readMember(source, memberNamed(members, family.keys[field]), rule);
    return found === undefined ? {} : { [field]: found };
  };
  const sizes: LocatedPartial<WrittenModel> = { ...read('hidden'), ...read('heads') };
  const hidden = sizes.hidden?.value ?? family.defaults.hidden;
  const heads = sizes.heads?.value ?? family.defaults.heads;
  /** For keys whose null transformers replaces: by the derived value, which is also the default of most families. */
  const readNullable = (field: 'kvHeads' | 'headDim' | 'ffn', derived: number): LocatedPartial<WrittenModel> => {
    const member = memberNamed(members, family.keys[field]);
    if (member?.value.type !== 'null') return read(field);
    return family.defaults[field] === null ? {} : { [field]: located(document, member, derived) };
  };
  return {
    ...sizes,
    ...read('layers'),
    ...readNullable('kvHeads', heads),
    ...readNullable('headDim', Math.max(1, Math.floor(hidden / heads))),
    ...(family.defaults.ffn === null ? readNullable('ffn', 4 * hidden) : read('ffn')),
    ...(family.state !== undefined && memberNamed(members, family.keys.experts)?.value.value === 0 ? noExperts(source) : read('experts')),
    ...(leavesActiveOpen(source) ? {} : read('activeExperts')),
    ...read('expertFfn'),
    ...read('vocab', integer(1, 100_000_000)),
    ...read('tiedEmbeddings'),
    ...read('maxPositions'),
    ...read('qkvBias'),
    ...read('attentionOutputBias'),
    ...read('mlpBias'),
  };
}

/** Whether the number of active experts means nothing: 0 of 0 experts (dense Granite 4), or null where the class has none either. */
function leavesActiveOpen({ members, family }: Source): boolean {
  const active = memberNamed(members, family.keys.activeExperts)?.value;
  if (active?.type === 'null') return family.assumedFields?.includes('activeExperts') === true;
  return family.state !== undefined && active?.value === 0 && memberNamed(members, family.keys.experts)?.value.value === 0;
}

/** No experts, written as 0 of them (Granite 4). */
function noExperts({ document, members, family }: Source): LocatedPartial<WrittenModel> {
  const member = memberNamed(members, family.keys.experts);
  return member === undefined ? {} : { experts: located(document, member, null) };
}

/**
 * Whether embedding and head are tied, as the whole file sets it: from transformers 5 on that wins over its text_config, before it the
 * other way round.
 */
function tieAround(source: Source, around: Members | null): LocatedPartial<WrittenModel> {
  const isInner = memberNamed(source.members, source.family.keys.tiedEmbeddings)?.value.type === 'boolean';
  if (around === null || (isInner && transformersMajorVersion(around) < 5)) return {};
  const member = around.get('tie_word_embeddings');
  const tie = member?.value.type === 'null' ? undefined : readMember(source, member, boolean);
  return tie === undefined ? {} : { tiedEmbeddings: tie };
}

/** First number of the version of transformers that wrote a file; files without one are taken for new ones. */
function transformersMajorVersion(root: Members): number {
  const written: unknown = root.get('transformers_version')?.value.value;
  const first = typeof written === 'string' ? Number.parseInt(written, 10) : Number.NaN;
  return Number.isNaN(first) ? Number.POSITIVE_INFINITY : first;
}

/** A family of experts whose config has none is dense. */
function denseInstead({ experts }: LocatedPartial<WrittenModel>): LocatedPartial<WrittenModel> {
  return experts?.value === null ? { activeExperts: from(experts, null), expertFfn: from(experts, null) } : {};
}

/** Layers of encoder and decoder together, where there are both. */
function bothStacks(source: Source, { layers }: LocatedPartial<WrittenModel>): LocatedPartial<WrittenModel> {
  const stacks = readStackLayers(source, layers);
  if (stacks === null) return {};
  const { encoder, decoder } = stacks;
  return { layers: from(encoder.source.kind === 'file' ? encoder : decoder, encoder.value + decoder.value), encoderLayers: encoder };
}

type Switches = (source: Source, given: LocatedPartial<WrittenModel>) => LocatedPartial<WrittenModel>;

const resolvedHeads = ({ family }: Source, { heads }: LocatedPartial<WrittenModel>): number => heads?.value ?? family.defaults.heads;

/** Only what the file switches itself: what follows from a default is the family's own default. */
function given<T>(found: Located<T>, field: keyof WrittenModel): LocatedPartial<WrittenModel> {
  return found.source.kind === 'file' ? { [field]: found } : {};
}

const normOfQueries =
  (key: string): Switches =>
  (source) =>
    given(flag(source, key, false), 'qkNorm');

const gatedFeedForward: Switches = (source) => {
  const written = readMember(source, source.members.get('feed_forward_proj'), {
    schema: v.string(),
    type: 'string',
    expects: sentence`a word`,
  });
  return written === undefined ? {} : { gatedMlp: from(written, written.value.startsWith('gated')) };
};

/** One key/value head under `multi_query`; the new decoder of Falcon has as many as are written. */
const multiQuery: Switches = (source, sizes) => {
  const one = flag(source, 'multi_query', true);
  return given(from(one, one.value ? 1 : resolvedHeads(source, sizes)), 'kvHeads');
};

const falcon: Switches = (source, sizes) => {
  const newDecoder = flag(source, 'new_decoder_architecture', false);
  const alibi = flag(source, 'alibi', false);
  const groups = memberNamed(source.members, ['num_kv_heads', 'n_head_kv']);
  const written = groups?.value.type === 'null' ? undefined : readMember(source, groups, modelFields.kvHeads);
  return {
    ...(newDecoder.value ? { kvHeads: written ?? from(newDecoder, resolvedHeads(source, sizes)) } : multiQuery(source, sizes)),
    ...(alibi.value ? { positions: from(alibi, 'none') } : {}),
  };
};

const noBias = (source: Source): LocatedPartial<WrittenModel> => {
  const none = flag(source, 'no_bias', true);
  const bias = from(none, !none.value);
  return { ...given(bias, 'qkvBias'), ...given(bias, 'attentionOutputBias'), ...given(bias, 'mlpBias') };
};

const mpt: Switches = (source, sizes) => {
  const wider = readMember(source, source.members.get('expansion_ratio'), integer(1, 1000));
  const attention = source.members.get('attn_config');
  const inner: Members = attention?.value.type === 'object' ? readMembers(source.document, attention.value, 'attn_config') : new Map();
  const alibi = readMember(source, inner.get('alibi'), boolean);
  // LLM Foundry's own code has these, transformers' has not
  const rotary = readMember(source, inner.get('rope'), boolean);
  const norm = readMember(source, inner.get('qk_ln'), boolean);
  const groups = readMember(source, inner.get('kv_n_heads'), integer(1, 100_000));
  const kind = inner.get('attn_type');
  const kvHeads: LocatedPartial<WrittenModel> =
    kind?.value.value === 'multiquery_attention'
      ? { kvHeads: located(source.document, kind, 1) }
      : kind?.value.value === 'grouped_query_attention' && groups !== undefined
        ? { kvHeads: groups }
        : {};
  const hidden = sizes.hidden?.value ?? source.family.defaults.hidden;
  return {
    ...(wider === undefined ? {} : { ffn: from(wider, wider.value * hidden) }),
    ...(rotary?.value === true
      ? { positions: from(rotary, 'rotary') }
      : alibi?.value === false
        ? { positions: from(alibi, 'learned') }
        : {}),
    ...kvHeads,
    ...(norm?.value === true && { qkNorm: norm }),
    ...noBias(source),
  };
};

/** The hidden size of the models with rotary positions, 7B of both generations; those of 13B have ALiBi, under the same class. */
const rotaryBaichuan = 4096;

/** Its network is a multiple of the hidden size. */
const neoxJapanese: Switches = (source, { hidden }) => {
  const multiple = readMember(source, source.members.get('intermediate_multiple_size'), integer(1, 1000));
  return multiple === undefined ? {} : { ffn: from(multiple, multiple.value * (hidden?.value ?? source.family.defaults.hidden)) };
};

const baichuan: Switches = ({ family }, { hidden }) => {
  const size = hidden ?? byDefault(family.defaults.hidden, sentence`${family.configClass} default`);
  return size.value === rotaryBaichuan ? {} : { positions: from(size, 'none') };
};

/** One expert is a plain network. */
const jamba: Switches = (_, { experts }) => (experts?.value === 1 ? withoutExperts(experts) : {});

/** Without experts only the network is left that is shared with them otherwise. */
const graniteHybrid: Switches = (source, { experts }) => {
  const kind = source.members.get('position_embedding_type');
  const shared =
    readMember(source, source.members.get('shared_intermediate_size'), modelFields.ffn) ??
    byDefault(1024, sentence`shared with experts otherwise`);
  return {
    ...(kind?.value.value === 'rope' ? { positions: located(source.document, kind, 'rotary') } : {}),
    ...(experts?.value === null ? { ffn: shared } : {}),
  };
};

/** As many layers as are listed; no experts where no layer lists them. */
const nemotronHybrid: Switches = (source) => {
  const kinds = stateLayers(source, source.family.defaults.layers);
  if (kinds === null) return {};
  return {
    layers: from(kinds, kinds.value.length),
    ...(kinds.value.includes('moe') ? {} : withoutExperts(from(kinds, 1))),
  };
};

function withoutExperts(reason: Located<unknown>): LocatedPartial<WrittenModel> {
  return { experts: from(reason, null), activeExperts: from(reason, null), expertFfn: from(reason, null) };
}

/** The width that is written is that of both up projections together. */
const bothUpProjections: Switches = (_, { ffn }) => (ffn === undefined ? {} : { ffn: from(ffn, Math.max(1, Math.floor(ffn.value / 2))) });

/** Two thirds of four widths, by a factor, up to a multiple; a vocabulary of -1 is that of the tokenizer. */
const llamaParams: Switches = (source, sizes) => {
  const number = { schema: v.pipe(v.number(), v.minValue(0.01), v.maxValue(1000)), type: 'number', expects: sentence`a number` } as const;
  const hidden = sizes.hidden ?? byDefault(source.family.defaults.hidden, sentence`ModelArgs of Llama`);
  const factor = readMember(source, source.members.get('ffn_dim_multiplier'), number)?.value ?? 1;
  const multiple = readMember(source, source.members.get('multiple_of'), integer(1, 1_000_000))?.value ?? 256;
  const written = source.members.get('vocab_size');
  const vocab = written?.value.value === -1 ? undefined : readMember(source, written, integer(1, 100_000_000));
  const width = Math.floor(factor * Math.floor((8 * hidden.value) / 3));
  return { ffn: from(hidden, multiple * Math.ceil(width / multiple)), ...(vocab && { vocab }) };
};

/** The feed-forward network, the norm and the norms of queries and keys are chosen by words. */
const openLm: Switches = (source, sizes) => {
  const { document, members, family } = source;
  const hidden = sizes.hidden ?? byDefault(family.defaults.hidden, sentence`Params of open_lm`);
  const [kind, norm] = [members.get('ffn_type'), members.get('model_norm')];
  const isPlain = kind?.value.value === 'gelu';
  const hasBias = norm?.value.value === 'default_layer_norm' || norm?.value.value === 'lp_layer_norm';
  return {
    // what does not divide is left off: 480 of 488 over 12 heads
    headDim: from(hidden, Math.max(1, Math.floor(hidden.value / resolvedHeads(source, sizes)))),
    ffn: from(hidden, isPlain ? 4 * hidden.value : 256 * Math.ceil(Math.floor((8 * hidden.value) / 3) / 256)),
    ...(isPlain && { gatedMlp: located(document, kind, false) }),
    ...(hasBias && { norm: located(document, norm, 'layernorm') }),
    ...given(flag(source, 'qk_norm', false), 'qkNorm'),
  };
};

/** Sizes of attention and of experts lie in members of their own. */
const dbrx: Switches = (source) => {
  const inside = (name: string): Members => {
    const member = source.members.get(name);
    return member?.value.type === 'object' ? readMembers(source.document, member.value, name) : new Map();
  };
  const [attention, network] = [inside('attn_config'), inside('ffn_config')];
  const read = (field: 'kvHeads' | 'ffn' | 'experts' | 'activeExperts', members: Members, key: string): LocatedPartial<WrittenModel> => {
    const found = readMember(source, members.get(key), integer(1, 10_000_000));
    return found === undefined ? {} : { [field]: found };
  };
  return {
    ...read('kvHeads', attention, 'kv_n_heads'),
    ...read('ffn', network, 'ffn_hidden_size'),
    ...read('experts', network, 'moe_num_experts'),
    ...read('activeExperts', network, 'moe_top_k'),
  };
};

/** One number for all layers, or one for each: the first of them. */
const hunyuanExperts: Switches = (source) => {
  const member = source.members.get('moe_topk');
  const rule = integer(1, 10_000);
  if (member?.value.type !== 'array') {
    const one = readMember(source, member, rule);
    return one === undefined ? {} : { activeExperts: one };
  }
  const all = readMember(
    source,
    member,
    list(v.pipe(v.number(), v.integer(), v.minValue(1)), 1, 10_000, sentence`a number of experts a layer`),
  );
  return all === undefined ? {} : { activeExperts: from(all, all.value[0] ?? 1) };
};

/** Activations of networks that have no gate in nearly all families: a hint where the family is not known. */
const ungated: ReadonlySet<unknown> = new Set([
  'relu',
  'relu2',
  'relu_squared',
  'squared_relu',
  'xielu',
  'gelu',
  'gelu_new',
  'gelu_fast',
  'quick_gelu',
]);

const gateByActivation: Switches = ({ document, members }) => {
  const member = memberNamed(members, ['hidden_act', 'hidden_activation', 'activation_function', 'activation']);
  return member !== undefined && ungated.has(member.value.value) ? { gatedMlp: located(document, member, false) } : {};
};

/** What the configuration classes derive from switches of their own. */
const familySwitches: Readonly<Record<string, Switches>> = {
  [assumedClass]: gateByActivation,
  BaichuanConfig: baichuan,
  FalconConfig: falcon,
  GPTBigCodeConfig: multiQuery,
  GPTNeoXJapaneseConfig: neoxJapanese,
  MptConfig: mpt,
  T5Config: gatedFeedForward,
  MT5Config: gatedFeedForward,
  UMT5Config: gatedFeedForward,
  MolmoConfig: bothUpProjections,
  PersimmonConfig: normOfQueries('qk_layernorm'),
  PhiConfig: normOfQueries('qk_layernorm'),
  QWenConfig: bothUpProjections,
  StableLmConfig: normOfQueries('qk_layernorm'),
  CohereConfig: normOfQueries('use_qk_norm'),
  DbrxConfig: dbrx,
  Glm4MoeConfig: normOfQueries('use_qk_norm'),
  HunYuanMoEV1Config: hunyuanExperts,
  JambaConfig: jamba,
  GraniteMoeHybridConfig: graniteHybrid,
  NemotronHConfig: nemotronHybrid,
  'ModelArgs of Llama': llamaParams,
  'Params of open_lm': openLm,
};

/**
 * What a model has beyond sizes because of its family, and of switches of its own.
 * @throws ExpectedError as `readSizes`.
 */
export function familyTraits(source: Source, model: LocatedFields<WrittenModel>): ModelTraits {
  const { configClass, traits = {}, small } = source.family;
  const stacks = readStacks(source);
  return {
    ...traits,
    ...(stacks === null ? {} : { stacks }),
    ...(small === undefined ? {} : { smallParameters: small(sizesFor(source, model)) }),
    ...own(traitSwitches, configClass)?.(source),
  };
}

function sizesFor({ members }: Source, model: LocatedFields<WrittenModel>): FamilySizes {
  const { experts, maxPositions, ...sizes } = plainValues<WrittenModel>(model);
  const value = (key: string): unknown => members.get(key)?.value.value as unknown;
  return {
    ...sizes,
    experts: experts ?? 0,
    maxPositions: maxPositions ?? 0,
    number: (key) => {
      const found = value(key);
      return typeof found === 'boolean' ? Number(found) : typeof found === 'number' && Number.isFinite(found) ? found : null;
    },
    list: (key) => members.get(key)?.value.children?.map(({ value: entry }): unknown => entry as unknown) ?? null,
  };
}

/** Switches of norms and the like, by the class that has them. */
const traitSwitches: Readonly<Record<string, (source: Source) => ModelTraits>> = {
  FalconConfig: (source) => {
    const isNew = flag(source, 'new_decoder_architecture', false).value;
    const norms = source.members.get('num_ln_in_parallel_attn');
    const count = norms?.value.type === 'null' ? undefined : readMember(source, norms, integer(1, 2))?.value;
    const isOne = isNew ? count === 1 : flag(source, 'parallel_attn', true).value;
    return isOne ? { normsPerLayer: 1 } : {};
  },
  StableLmConfig: (source) => (flag(source, 'use_parallel_residual', false).value ? { normsPerLayer: 1 } : {}),
  HyperCLOVAXConfig: (source) => (flag(source, 'use_post_norm', true).value ? { normsPerLayer: 4 } : {}),
  PhimoeConfig: (source) => (flag(source, 'lm_head_bias', false).value ? { headBias: true } : {}),
};

/** Keys that are read here and in the facts, in addition to those of sizes. */
export const layerIndices = list(v.pipe(v.number(), v.integer(), v.minValue(0)), 0, 10_000, sentence`a list of layer indices`);

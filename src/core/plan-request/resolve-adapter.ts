import { adaptersNotPlanned, allLinear, type GivenAdapters } from '../run/adapters';
import type { Run } from '../run/run';
import { adapterTargets, expertTargets, type Adapter, type AdapterTarget } from '../domain/adapter';
import type { ModelSpec } from '../domain/model';
import type { TrainingSpec } from '../domain/request';
import { adaptedProducts, undivided } from '../model/adapters';
import { isRecurrentKind } from '../model/mixers';
import { layerGroups, type LayerGroup } from '../model/layers';
import { sentence, type Sentence } from '../sentence';
import type { ValueOrDefault } from './defaults-recorder';
import { own } from '../records';

/**
 * The adapters that the files of a run ask for; what they leave open is what the library takes, and reported.
 * @throws ExpectedError `model-not-planned` for adapters that cannot be priced: on modules or models without a place here.
 */
export function resolveAdapter({ adapters }: Run, model: ModelSpec, valueOrDefault: ValueOrDefault): Pick<TrainingSpec, 'adapter'> {
  if (adapters === undefined) return {};
  const { defaults, baseBits, doubleQuantised, decomposed, sharedByExperts = defaults?.ofCore ?? false } = adapters;
  const unpriced = unpricedModel(model);
  if (unpriced !== null) throw adaptersNotPlanned(adapters, unpriced);
  const reason = defaults?.reason ?? sentence`peft's default (LoraConfig)`;
  const rank = valueOrDefault('training.adapter.rank', adapters.rank, () => ({ value: defaults?.rank ?? 8, reason }));
  const names = valueOrDefault('training.adapter.targets', adapters.targets, () => ({
    value: defaults?.targets ?? usualTargets(model),
    reason: defaults?.targets ? reason : sentence`peft's default for ${model.modelType}; a script may ask for others`,
  }));
  const onHead = names.some(isHead);
  const targets = adapterTargetsNamed(adapters, names, model);
  const dropout = valueOrDefault('training.adapter.dropout', adapters.dropout, () => ({ value: defaults?.dropout ?? 0, reason }));
  const saved = savedModules(adapters);
  if (decomposed === true && ofExperts(model, targets)) throw adaptersNotPlanned(adapters, sentence`with DoRA on experts`);
  if (decomposed === true && onHead) throw adaptersNotPlanned(adapters, sentence`with DoRA on the head`);
  const frozenTwice = decomposed === true && dropout > 0 && adapters.frozenTwice === true;
  // the product of what is dropped out keeps each matrix in the training precision until its backward
  if (frozenTwice && baseBits !== undefined)
    throw adaptersNotPlanned(adapters, sentence`with DoRA and a dropout on weights of ${baseBits.value} bits`);
  return {
    adapter: {
      rank,
      targets,
      ...(model.experts !== null && !sharedByExperts && { perExpert: true }),
      ...(dropout > 0 && { dropout: true }),
      ...(baseBits && { baseBits: baseBits.value }),
      ...(doubleQuantised === true && { doubleQuantised }),
      ...(decomposed === true && { decomposed }),
      ...(frozenTwice && { frozenTwice }),
      ...(adapters.adaptive === true && { adaptive: true }),
      ...(saved.length > 0 && { saved }),
      ...(onHead && !saved.includes('head') && { onHead }),
    },
  };
}

const headNames: readonly string[] = ['lm_head', 'embed_out', 'output_layer'];

/** Whether a module is the head, by its name in transformers, GPT-NeoX or Megatron Core, or by the end of it (`*lm_head`). */
function isHead(name: string): boolean {
  return headNames.includes(name.split('.').at(-1)?.replace(/^\*/, '') ?? '');
}

/** Whether experts have any of the matrices. */
function ofExperts(model: ModelSpec, targets: Adapter['targets']): boolean {
  return layerGroups(model).some(({ kind }) => adaptedProducts(model, { targets }, kind, undivided).some(({ of }) => of === 'experts'));
}

/** Layers whose adapters are not priced; null: those of this model are. */
function unpricedModel({ state, stacks, mtpLayers = 0 }: ModelSpec): Sentence | null {
  if (state?.kind === 'mamba' || state?.kind === 'lightning') return sentence`on layers of Mamba or lightning attention`;
  if (state !== undefined && isRecurrentKind(state.kind)) return sentence`on layers of a recurrent network`;
  if (stacks !== undefined) return sentence`in an encoder with a decoder`;
  return mtpLayers > 0 ? sentence`with multi-token prediction` : null;
}

/** Types whose queries, keys and values are one module, and whose gate and up projections are. */
const joinedQueries = new Set(
  'gpt2 gpt_neox bloom falcon mpt phi3 chatglm gpt_bigcode codegen qwen internlm2 baichuan RefinedWeb RefinedWebModel dbrx'.split(' '),
);
const joinedUp = new Set(['phi3', 'chatglm', 'glm', 'glm4']);

/** Modules that peft's `TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING` names for most types of models. */
function usualTargets({ modelType }: ModelSpec): readonly string[] {
  if (modelType === 'phi') return ['q_proj', 'v_proj', 'fc1', 'fc2'];
  return joinedQueries.has(modelType) ? ['query_key_value'] : ['q_proj', 'v_proj'];
}

/** Modules by their last names in transformers, Megatron Core, NeMo and MindSpeed. */
const modules: Readonly<Record<string, readonly AdapterTarget[]>> = {
  ...named(['query'], 'q_proj query wq q linear_q linear_q_proj'),
  ...named(['queryDown'], 'q_a_proj linear_q_down_proj'),
  ...named(['queryUp'], 'q_b_proj linear_q_up_proj'),
  ...named(['keyValueDown'], 'kv_a_proj_with_mqa linear_kv_down_proj'),
  ...named(['keyValueUp'], 'kv_b_proj linear_kv_up_proj'),
  ...named(['key'], 'k_proj key wk k linear_k'),
  ...named(['value'], 'v_proj value wv v linear_v'),
  ...named(['qkv'], 'query_key_value c_attn Wqkv wqkv qkv_proj W_pack linear_qkv attention_qkv qkv'),
  ...named(['output'], 'o_proj out_proj wo linear_proj attention_dense dense attn.c_proj'),
  ...named(['gate'], 'gate_proj w1'),
  ...named(['up'], 'up_proj w3'),
  ...named(['gateUp'], 'gate_up_proj linear_fc1 mlp_fc1 dense_h_to_4h c_fc fc_in fc1'),
  ...named(['down'], 'down_proj w2 linear_fc2 mlp_fc2 dense_4h_to_h fc_out fc2 mlp.c_proj'),
  ...named(['output', 'down'], 'c_proj'),
  // grouped networks of prime-rl, each with adapters of its own
  ...named(['expertGate', 'expertUp', 'expertDown'], 'experts'),
  ...named(['stateInput'], 'in_proj'),
  ...named(['stateValues'], 'in_proj_qkv'),
  ...named(['stateGate'], 'in_proj_z'),
  ...named(['stateGated'], 'in_proj_qkvz'),
  ...named(['stateWrite'], 'in_proj_b'),
  ...named(['stateDecay'], 'in_proj_a'),
  ...named(['stateSteps'], 'in_proj_ba'),
};

function named(targets: readonly AdapterTarget[], names: string): Record<string, readonly AdapterTarget[]> {
  return Object.fromEntries(names.split(' ').map((name) => [name, targets]));
}

/** The matrices of layers that modules are, in the order of `adapterTargets`. */
function adapterTargetsNamed(adapters: GivenAdapters, names: readonly string[], model: ModelSpec): Adapter['targets'] {
  const ofLayers = names.filter((name) => !isHead(name));
  if (names.length > 0 && ofLayers.length === 0) throw adaptersNotPlanned(adapters, sentence`on nothing but the head`);
  const found = new Set(ofLayers.flatMap((name) => targetsNamed(adapters, name, model)));
  // one adapter where both the matrices of all networks and those of the experts are meant
  for (const [whole, ...parts] of expertTargets) if (found.has(whole)) for (const part of parts) found.delete(part);
  // attention of Megatron Core has no linear_qkv where it is latent
  if (model.latent && adapters.defaults?.ofCore === true) found.delete('qkv');
  const targets = adapterTargets.filter((target) => found.has(target));
  const has = ({ kind }: LayerGroup): boolean => adaptedProducts(model, { targets }, kind, undivided).length > 0;
  if (!layerGroups(model).some(has)) throw adaptersNotPlanned(adapters, sentence`on no module that the model has`);
  return targets;
}

/** Linear layers of a state as the library has them: one input projection in Megatron Core and in Mamba-2, else the parts of the class. */
function stateTargets({ defaults }: GivenAdapters, { modelType, state }: ModelSpec): readonly AdapterTarget[] {
  if (state === undefined) return [];
  if (defaults?.ofCore === true || state.kind === 'mamba2') return ['stateInput', 'stateOutput'];
  if (modelType === 'qwen3_next') return ['stateGated', 'stateSteps', 'stateOutput'];
  return ['stateValues', 'stateGate', 'stateWrite', 'stateDecay', 'stateOutput'];
}

function targetsNamed(adapters: GivenAdapters, name: string, model: ModelSpec): readonly AdapterTarget[] {
  const { modelType, latent, state } = model;
  if (/^(?:all-linear|all|all_linear|auto)$/i.test(name) || name === allLinear) {
    const compressed: readonly AdapterTarget[] = ['query', 'queryDown', 'queryUp', 'keyValueDown', 'keyValueUp'];
    const queries: readonly AdapterTarget[] = latent ? compressed : joinedQueries.has(modelType) ? ['qkv'] : ['query', 'key', 'value'];
    const up: readonly AdapterTarget[] = joinedUp.has(modelType) ? ['gateUp'] : ['gate', 'up'];
    return [...queries, 'output', ...up, 'down', ...stateTargets(adapters, model)];
  }
  const [, short = ''] = /\*?((?:attn|mlp)\.c_proj|[^.*]*)$/.exec(name) ?? [];
  // attention of hybrids calls its own o_proj
  if (short === 'out_proj' && state !== undefined) return ['stateOutput'];
  const network = /(?:^|[.*])(experts|shared_experts?)\.(?:\*\.)?[^.]+$/.exec(name)?.[1];
  const all = own(modules, short);
  const found = network === undefined ? all : all?.flatMap((target) => onlyIn(network === 'experts' ? 1 : 2, target));
  // one of the experts by its number has fewer adapters than all
  if (found === undefined || found.length === 0 || /(?:^|\.)experts\.\d+\./.test(name))
    throw adaptersNotPlanned(adapters, sentence`on ${name}`);
  return found;
}

/** A matrix of a feed-forward network in routed experts only, or in the shared ones. */
function onlyIn(column: 1 | 2, target: AdapterTarget): readonly AdapterTarget[] {
  return expertTargets.flatMap((row) => (row[0] === target ? [row[column]] : []));
}

/** Embedding and head by their names in transformers; what else is trained whole is small, a norm or a classifier. */
function savedModules({ saved = [] }: GivenAdapters): NonNullable<Adapter['saved']> {
  const has = (names: readonly string[]): boolean => saved.some((name) => names.includes(name.split('.').at(-1) ?? ''));
  return [
    ...(has(['embed_tokens', 'wte', 'word_embeddings', 'embed_in', 'tok_embeddings']) ? (['embedding'] as const) : []),
    ...(has(headNames) ? (['head'] as const) : []),
  ];
}

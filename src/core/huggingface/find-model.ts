import type { Finding } from '../findings';
import { byDefault, type Located } from '../domain/located';
import { quoted } from '../text';
import { families, findFamily, isFamily } from './families';
import { readMembers, nodePlace, fileStart, type JsonDocument, type Member } from '../languages/json/document';
import { modelFields } from '../run/written-model';
import { readByRule } from '../languages/json/read-by-rule';
import { ExpectedError, configError } from '../errors';
import { located, memberNamed, type Members, type Source } from './members';
import { sentence } from '../sentence';

/** The language model that a config.json describes. */
export interface FoundModel extends Source {
  readonly modelType: Located<string>;
  /** The members around it, when it is one of several models of the file. */
  readonly around: Members | null;
  readonly remarks: readonly Finding[];
}

/** Where multimodal configs describe their language model. */
export const textKeys: readonly string[] = ['text_config', 'llm_config', 'language_config'];

/** Model type of a text_config that names none, by the type around it. */
const textTypes: ReadonlyMap<string, string> = new Map([
  ...(['llava', 'llava_next', 'idefics2'] as const).map((name) => [name, name === 'idefics2' ? 'mistral' : 'llama'] as const),
  ...([['mllama', 'mllama_text_model'], ['llama4', 'llama4_text'], ['gemma3', 'gemma3_text'], ['paligemma', 'gemma']] as const), // prettier-ignore
  ...([['mistral3', 'mistral'], ['qwen2_vl', 'qwen2_vl_text'], ['qwen2_5_vl', 'qwen2_5_vl_text'], ['qwen3_vl', 'qwen3_vl_text']] as const), // prettier-ignore
]);

const usualKeys = { layers: 'num_hidden_layers', hidden: 'hidden_size', heads: 'num_attention_heads' } as const;
const inlineRemedy = sentence`give it ${Object.values(usualKeys).join(', ')}, or the sizes inline under "model" in a terapipe.json`;

/** Keys that identify the type of a config without model_type: no other type has them together. */
const identifyingKeys = [
  { modelType: 'deepseek-params', configClass: 'ModelArgs of DeepSeek', keys: ['n_dense_layers', 'kv_lora_rank', 'dim', 'n_layers'] },
  { modelType: 'llama-params', configClass: 'ModelArgs of Llama', keys: ['multiple_of', 'dim', 'n_layers', 'n_heads'] },
  { modelType: 'open-lm', configClass: 'Params of open_lm', keys: ['hidden_dim', 'n_layers', 'n_heads'] },
  { modelType: 'mamba', configClass: 'MambaConfig', keys: ['d_model', 'n_layer', 'vocab_size'] },
  { modelType: 'gpt2', configClass: 'GPT2Config', keys: ['n_embd', 'n_layer'] },
  { modelType: 'bert', configClass: 'BertConfig', keys: ['type_vocab_size', 'hidden_size', 'num_hidden_layers'] },
  { modelType: 't5', configClass: 'T5Config', keys: ['d_kv', 'd_ff', 'd_model'] },
  { modelType: 'bart', configClass: 'BartConfig', keys: ['d_model', 'encoder_layers', 'decoder_layers'] },
  { modelType: 'deepseek_v3', configClass: 'DeepseekV3Config', keys: ['kv_lora_rank', 'qk_nope_head_dim', 'hidden_size'] },
] as const;

/**
 * Finds the language model of a config.json: the whole, or its text_config. A type we do not know is read as a Llama when it has the usual
 * keys.
 * @throws ExpectedError `config-unknown-model-type`, `config-wrong-type`, `config-duplicate-key`, `config-forbidden-key`; placed.
 */
export function findModel(document: JsonDocument): FoundModel {
  const root = readMembers(document, document.root, sentence`the config`);
  const rootType = typeMember(document, root);
  const inner = textMember(root);
  if (inner !== undefined) {
    const members = readMembers(document, inner.value, inner.name);
    const own = typeMember(document, members);
    const type = own ?? inheritedType(rootType, members);
    if (type !== null && (isFamily(type.value) || hasUsualKeys(document, members)))
      return { ...typed(document, members, type), around: root };
  }
  const type = rootType ?? inferred(document, root);
  if (isFamily(type.value) || hasUsualKeys(document, root)) return { ...typed(document, root, type), around: null };
  const place = type.source.kind === 'file' ? type.source.place : fileStart(document.file);
  throw configError(
    'config-unknown-model-type',
    sentence`The model type ${quoted(type.value)} is not one that is read yet`,
    inlineRemedy,
    place,
  );
}

function typed(document: JsonDocument, members: Members, modelType: Located<string>): Omit<FoundModel, 'around'> {
  const family = findFamily(modelType.value);
  return { document, members, family, modelType, remarks: typeRemarks(document, modelType) };
}

function typeMember(document: JsonDocument, members: Members): Located<string> | null {
  const member = members.get('model_type');
  if (member === undefined) return null;
  const value: unknown = member.value.value;
  if (typeof value === 'string') return located(document, member, value);
  throw configError(
    'config-wrong-type',
    sentence`model_type is not a string`,
    sentence`write it as "llama"`,
    nodePlace(document, member.value),
  );
}

function textMember(root: Members): Member | undefined {
  const member = memberNamed(root, textKeys);
  return member?.value.type === 'object' ? member : undefined;
}

function inheritedType(around: Located<string> | null, members: Members): Located<string> | null {
  const name = around === null ? undefined : textTypes.get(around.value);
  if (around === null || name === undefined || members.size === 0) return null;
  return byDefault(name, sentence`the language model of ${quoted(around.value)} unless text_config changes it`);
}

function inferred(document: JsonDocument, members: Members): Located<string> {
  const named = typeOfArchitecture(members);
  if (named !== null) return named;
  const match = identifyingKeys.find(({ keys }) => keys.every((key) => members.has(key)));
  if (match !== undefined)
    return byDefault(match.modelType, sentence`no model_type, but ${match.keys[0]} and ${match.keys[1]} as ${match.configClass} has`);
  if (hasUsualKeys(document, members)) return byDefault('llama', sentence`no model_type: taken for a Llama by the names of its keys`);
  throw configError('config-unknown-model-type', sentence`The config has no model_type`, inlineRemedy, nodePlace(document, document.root));
}

/** The type whose class the config names: `MiniCPM3ForCausalLM` has a `MiniCPM3Config`. */
function typeOfArchitecture(members: Members): Located<string> | null {
  const [first] = members.get('architectures')?.value.children ?? [];
  const stem = /^(\w+?)(For[A-Z]\w*|Model|LMHeadModel)$/.exec(String(first?.value))?.[1];
  const found = Object.entries(families).find(([, { configClass }]) => stem !== undefined && configClass === `${stem}Config`);
  return found === undefined ? null : byDefault(found[0], sentence`no model_type, but the class ${String(first?.value)}`);
}

/** Whether the sizes that planning cannot do without exist under their usual names, and are possible. */
function hasUsualKeys(document: JsonDocument, members: Members): boolean {
  return Object.entries(usualKeys).every(([field, name]) => {
    const member = members.get(name);
    if (member === undefined) return false;
    try {
      readByRule(document, member.value, name, modelFields[field as keyof typeof usualKeys]);
      return true;
    } catch (error) {
      if (error instanceof ExpectedError) return false;
      throw error;
    }
  });
}

function typeRemarks(document: JsonDocument, { value, source }: Located<string>): Finding[] {
  if (source.kind === 'default')
    return [
      {
        code: 'model-type-inferred',
        severity: 'information',
        place: { file: document.file, range: { start: document.root.offset, end: document.root.offset + 1 } },
        message: sentence`Read as a model of type ${value} (${source.reason})`,
        remedy: sentence`give model_type if it is another one`,
        fixes: [],
      },
    ];
  return [];
}

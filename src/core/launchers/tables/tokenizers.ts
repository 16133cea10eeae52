import { anyOf } from './reads';

/*
 * Words of tokenizers that are known by name, special ones counted, before any padding: `build_tokenizer` of Megatron-LM, GPT-NeoX's
 * `tokenizer.py`, and the tokenizer files on the hub.
 */

/** By the class that a launcher names, in lower case. What its file decides (SentencePiece, Hugging Face) is not here. */
const byType: ReadonlyMap<string, number> = new Map([
  ['gpt2bpetokenizer', 50257],
  ['hfgpt2tokenizer', 50257],
  ['bertwordpiecelowercase', 30522],
  ['bertwordpiececase', 28996],
  ['llama2tokenizer', 32000],
  ['llama3tokenizer', 128256],
]);

/** By the name on the hub or of the file, the first that fits. */
const byName: readonly (readonly [name: RegExp, words: number])[] = [
  [/(^|[/_-])gpt2(-(medium|large|xl|vocab(\.json)?))?$/i, 50257],
  [/20b_tokenizer\.json$|gpt-neox-20b|pythia-[\d.]+[mb]/i, 50277],
  [/bigscience\/tokenizer|bigscience\/bloom/i, 250680],
  [/llama-?(3\.[123]|3)(?!\d)/i, 128256],
  [/llama-?2(?!\d)|llama-?v2|openlm-research\/open_llama|huggyllama/i, 32000],
  [/mistralai\/Mistral-7B-(Instruct-)?v0\.3/i, 32768],
  [/mistralai\/(Mistral-7B-(Instruct-)?v0\.[12]|Mixtral-8x7B)/i, 32000],
  [/bert-(base|large)-uncased/i, 30522],
  [/bert-(base|large)-cased/i, 28996],
];

/** Words of the tokenizer that a launcher names by its class. */
export const vocabOfType = anyOf((written) => byType.get(written.toLowerCase()));

/** Words of the tokenizer that a launcher names by its place on the hub or its file. */
export const vocabOfName = anyOf((written) => byName.find(([name]) => name.test(written))?.[1]);

/** Whether a vocabulary comes from the name of a tokenizer: a model config's own wins over it. */
export function isOfTokenizer(key: string | undefined): boolean {
  return key !== undefined && /tokenizer|vocab[-_]file/i.test(key);
}

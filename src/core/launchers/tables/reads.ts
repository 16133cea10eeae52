import type { FlagRead } from '../../languages/reads';
import { rows, type FlagTable, type NodeRead } from './table';
import type { YamlNode } from '../../languages/yaml/document';
import { own } from '../../records';

/** PyTorch's names of the precisions that a run computes in. */
export const torchDtypes = { bfloat16: 'bf16', float16: 'fp16', float32: 'fp32' } as const;

/** `[0, 1, 1]` or a period or a Python expression, as Megatron's `moe_layer_freq` takes them; a list becomes `[0,1,1]`. */
export const layerPattern: NodeRead<string> = {
  ofNode: (node) => {
    const written = node.kind === 'list' ? `[${scalarTexts(node).join(',')}]` : node.kind === 'scalar' ? node.text : '';
    return /\d/.test(written) ? { value: written } : { silent: true };
  },
};

const layoutLetters: Readonly<Record<string, string>> = { embedding: 'E', decoder: 't', mtp: 'm', loss: 'L' };

/** Megatron's pipeline layout: a string such as `Et|tt|tL`, or a list of lists of layer names, which becomes such a string. */
export const layoutPattern: NodeRead<string> = {
  ofNode: (node) => {
    if (node.kind === 'scalar') return /[tEL]/.test(node.text) && !/^null$/i.test(node.text) ? { value: node.text } : { silent: true };
    if (node.kind === 'map') return { silent: true };
    const stages = node.items.map((stage) => scalarTexts(stage).map((name) => own(layoutLetters, name)));
    return stages.flat().includes(undefined) ? { silent: true } : { value: stages.map((letters) => letters.join('')).join('|') };
  },
};

/** The window of `[127, 0]`: a token and the 127 before it; a plain number is the window itself. */
export const windowSize: NodeRead<number> = {
  ofNode: (node) => {
    const [first = ''] = node.kind === 'scalar' ? [node.text] : scalarTexts(node);
    const value = /^\d{1,12}$/.test(first) ? Number(first) : 0;
    return value > 0 ? { value: node.kind === 'list' ? value + 1 : value } : { silent: true };
  },
};

/** Any word. */
export const word: FlagRead<string> = anyOf((written) => (written === '' ? undefined : written));

/** A path or a name. After an unknown folder, the rest of the path is enough. */
export const pathWord: FlagRead<string> = { ...word, isPath: true };

/** One or several words, as written. */
export const phrase: FlagRead<string> = {
  words: 'many',
  of: (written) => (written.length === 0 ? { silent: true } : { value: written.join(' ') }),
};

/** A list of words. */
export const words: FlagRead<readonly string[]> = { words: 'many', of: (written) => ({ value: written }) };

/** A mapping or list of words, one of which means something: the first that `meaning` knows. */
export function anyOf<T>(meaning: (word: string) => T | undefined): FlagRead<T> {
  return {
    words: 'one',
    of: ([written = '']) => {
      const value = meaning(written);
      return value === undefined ? { silent: true } : { value };
    },
  };
}

/** GPUs of a node as PyTorch Lightning takes them: a number, or a list of their indices. `auto` and -1 give no number. */
export const devices: NodeRead<number> = {
  ofNode: (node) => {
    if (node.kind === 'list' && node.items.length > 0) return { value: node.items.length };
    const value = node.kind === 'scalar' && /^\d{1,9}$/.test(node.text) ? Number(node.text) : 0;
    return value > 0 ? { value } : { silent: true };
  },
};

/** The last part of a Python class path that names a size: `Llama32ModelProvider1B`. */
export const sizedClass: FlagRead<string> = anyOf((written) => {
  const name = written.split('.').at(-1) ?? '';
  return /\d/.test(name) ? name : undefined;
});

function scalarTexts(node: YamlNode): readonly string[] {
  if (node.kind === 'scalar') return [node.text];
  return node.kind === 'list' ? node.items.flatMap((item) => (item.kind === 'scalar' ? [item.text] : [])) : [];
}

/** A switch whose two positions both mean something; undefined: this one sets nothing. */
export function whether<const T = never, const U = never>(whenOn: T | undefined, whenOff: U | undefined): FlagRead<T | U> {
  return anyOf<T | U>((written) =>
    /^(?:true|yes|on|1)$/i.test(written) ? whenOn : /^(?:false|no|off|0)$/i.test(written) ? whenOff : undefined,
  );
}

/** One of several words, in any case; any other sets nothing. */
export function knownWord<const T>(meanings: Readonly<Record<string, T>>): FlagRead<T> {
  return anyOf((written) => own(meanings, written.toLowerCase()));
}

/** A size that a launcher works out where it is none, 0, -1 or a word such as `auto`. */
export const sizeUnlessOpen: FlagRead<number> = anyOf((written) => (/^[1-9]\d{0,8}$/.test(written) ? Number(written) : undefined));

/** What `attn_implementation` of Transformers, or a key that takes its words, means. */
export function attentionRows(...names: readonly string[]): Required<Pick<FlagTable, 'attention' | 'attentionKernel'>> {
  return { attention: rows(attentionWord, ...names), attentionKernel: rows(attentionKernel, ...names) };
}

const attentionWord = knownWord({ eager: 'unfused', sdpa: 'flash', flash_attention_2: 'flash', flash_attention_3: 'flash', fa2: 'flash', fa3: 'flash' }); // prettier-ignore
const attentionKernel = knownWord({ flash_attention_2: 'flash2', fa2: 'flash2', flash_attention_3: 'flash3', fa3: 'flash3' });

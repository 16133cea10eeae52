import type { ModelDetails } from '../domain/settings/model-details';
import { hubDetails } from './hub-details';
import { hubPositions } from './hub-positions';
import { hubSizes, sizedModels } from './hub-sizes';
import { own } from '../records';
import { sentence, type Sentence } from '../sentence';
import { quoted } from '../text';

/** A model that a launcher names and no file gives the sizes of, as the text of an equivalent config.json. */
export interface ModelOfLauncher {
  readonly name: string;
  /**
   * Whose code holds the sizes; `hub`: they are published; `preset`: the file of this name is not here, and a published model has it; or
   * the published model that the name of one trained further contains.
   */
  readonly home: { readonly launcher: string } | { readonly base: string } | 'hub' | 'preset';
  readonly config: string | null;
  /** In what it differs from the model of that config. */
  readonly details?: ModelDetails;
  /** These are the sizes only of its language model: what turns images and sound into tokens is left out. */
  readonly isPart?: true;
}

/** Models that see or hear, by the language model that they have. */
const languageModels: Readonly<Record<string, string>> = {
  'qwen2-vl-2b': 'qwen2-1.5b',
  'qwen2-vl-7b': 'qwen2-7b',
  'qwen2-vl-72b': 'qwen2-72b',
  'qwen2.5-vl-3b': 'qwen2.5-3b',
  'qwen2.5-vl-7b': 'qwen2.5-7b',
  'qwen2.5-vl-32b': 'qwen2.5-32b',
  'qwen2.5-vl-72b': 'qwen2.5-72b',
  'qwen3-vl-2b': 'qwen3-1.7b',
  'qwen3-vl-embedding-2b': 'qwen3-1.7b',
  'qwen3-vl-embedding-8b': 'qwen3-8b',
  'qwen3-vl-reranker-2b': 'qwen3-1.7b',
  'qwen3-vl-reranker-8b': 'qwen3-8b',
  'qwen3-vl-4b': 'qwen3-4b',
  'qwen3-vl-8b': 'qwen3-8b',
  'qwen3-vl-32b': 'qwen3-32b',
  'qwen3-vl-30b-a3b': 'qwen3-30b-a3b',
  'qwen3-vl-235b-a22b': 'qwen3-235b-a22b',
  'qwen2.5-omni-7b': 'qwen2.5-7b',
  'nemotron-3-nano-omni-30b-a3b-reasoning': 'nvidia-nemotron-3-nano-30b-a3b',
  'ministral-3-3b': 'ministral-3-3b',
  'ministral-3-8b': 'ministral-3-8b',
  'ministral-3-14b': 'ministral-3-14b',
  'qwen3-omni-30b-a3b': 'qwen3-omni-30b-a3b',
  'qwen2.5-omni-3b': 'qwen2.5-3b',
  'mistral-small-4-119b-2603': 'mistral-small-4-119b-2603',
  'minimax-m3': 'minimax-m3',
  'muse-glimmer-30b': 'muse-glimmer-30b',
  'ovis2.5-2b': 'qwen3-1.7b',
  'ovis2.5-9b': 'qwen3-8b',
  'kimi-vl-a3b': 'moonlight-16b-a3b',
  'kimi-k2.5': 'kimi-k2',
  'glm-4.5v': 'glm-4.5-air',
  'internvl2_5-1b': 'qwen2.5-0.5b',
  'internvl3-2b': 'qwen2.5-1.5b',
  'internvl3-8b': 'qwen2.5-7b',
  'internvl3-14b': 'qwen2.5-14b',
  'internvl3-38b': 'qwen2.5-32b',
  'internvl3-78b': 'qwen2.5-72b',
  'internvl3_5-4b': 'qwen3-4b',
  'internvl3_5-8b': 'qwen3-8b',
  'internvl3_5-14b': 'qwen3-14b',
  'internvl3_5-30b-a3b': 'qwen3-30b-a3b',
  'internvl3_5-38b': 'qwen3-32b',
  'gme-qwen2-vl-2b': 'qwen2-1.5b',
  'gme-qwen2-vl-7b': 'qwen2-7b',
  'jina-reranker-m0': 'qwen2-1.5b',
  'keye-vl-1_5-8b': 'qwen3-8b',
  'internvl3_5-gpt-oss-20b-a4b-preview': 'gpt-oss-20b',
  'glm-4.6v': 'glm-4.5-air',
  'glm-4.6v-flash': 'glm-4-9b-0414',
  'smolvlm-256m': 'smolvlm-256m',
  'smolvlm-500m': 'smolvlm-500m',
  'qwen2-audio-7b': 'qwen2-audio-7b',
  'llava-onevision-1.5-4b': 'qwen3-4b',
  'llava-onevision-1.5-8b': 'qwen3-8b',
  'llama-4-scout-17b-16e': 'llama-4-scout-17b-16e',
  'llama-4-maverick-17b-128e': 'llama-4-maverick-17b-128e',
  'qwen3.5-0.8b': 'qwen3.5-0.8b',
  'qwen3.5-2b': 'qwen3.5-2b',
  'qwen3.5-4b': 'qwen3.5-4b',
  'qwen3.5-9b': 'qwen3.5-9b',
  'qwen3.5-27b': 'qwen3.5-27b',
  'qwen3.6-27b': 'qwen3.5-27b',
  'qwen3.8-27b': 'qwen3.5-27b',
  'qwen3.6-35b-a3b': 'qwen3.5-35b-a3b',
  'qwen3.5-122b-a10b': 'qwen3.5-122b-a10b',
  'smolvlm-2.2b': 'smolvlm-2.2b',
  'qwen3.5-35b-a3b': 'qwen3.5-35b-a3b',
  'qwen3.5-397b-a17b': 'qwen3.5-397b-a17b',
};

/** Models by another name than that of the model with their sizes. */
const otherNames: Readonly<Record<string, string>> = {
  'mistral-7b-v0.2': 'mistral-7b-of-2023',
  'zephyr-7b': 'mistral-7b-of-2023',
  'zephyr-7b-gemma': 'gemma-7b',
  'seed-oss': 'seed-oss-36b',
  'olmo-3-1025-7b': 'olmo-3-7b',
  'olmo-3-1125-32b': 'olmo-3-32b',
  'olmo-hybrid-7b': 'olmo-hybrid-7b',
  'olmo-hybrid-instruct-dpo-7b': 'olmo-hybrid-7b',
  'olmo-hybrid-instruct-sft-7b': 'olmo-hybrid-7b',
  'olmo-hybrid-think-sft-7b': 'olmo-hybrid-7b',
  'olmo-3.2-hybrid-7b': 'olmo-hybrid-7b',
  'olmo-7b-0424': 'olmo-1.7-7b',
  'qwq-32b': 'qwen2.5-32b',
  'qwen2.5-math-prm-7b': 'qwen2.5-7b',
  'qwen2.5-math-7b-rope-300k': 'qwen2.5-math-7b',
  'eurus-2-7b': 'qwen2.5-math-7b',
  'olympiccoder-7b': 'qwen2.5-7b',
  'openhermes-2.5-mistral-7b': 'mistral-7b-of-2023',
  'mistral-7b-sft-constitutional-ai': 'mistral-7b-of-2023',
  'starchat2-15b': 'starcoder2-15b',
  'smollm3-11t-4k-remote-code': 'smollm3-3b',
  'smollm3-11t-32k-v1-remote-code': 'smollm3-3b',
  'deepseek-r1-qwen3-8b': 'qwen3-8b',
  'intellect-3': 'glm-4.5-air',
  'glm-5.2': 'glm-5',
  'tulu-2-7b': 'llama-2-7b',
  'tulu-2-13b': 'llama-2-13b',
  'tulu-2-70b': 'llama-2-70b',
  'tulu-2-dpo-7b': 'llama-2-7b',
  'tulu-2-dpo-13b': 'llama-2-13b',
  'tulu-2-dpo-70b': 'llama-2-70b',
  'llama-3.1-nemotron-nano-8b-v1': 'llama-3.1-8b',
  'tinyllama_v1.1': 'tinyllama-1.1b',
  'functiongemma-270m': 'gemma-3-270m',
  'qwen3-coder-30b-a3b': 'qwen3-30b-a3b',
  'deepseek-v32': 'deepseek-v3.2',
  // Nemotron 3 Nano's layers (Megatron-Bridge, examples/models/nemotron/nemotron_3/lightning)
  'nvidia-nemotron-3.5-lightning-30b-a3b': 'nvidia-nemotron-3-nano-30b-a3b',
};

/** What shows that a model was trained further, with the sizes that it had: `Llama-3-8b-sft-mixture`, or a learning rate (`-2e-6-`). */
const trainedFurther = /-(?:sft|dpo|rl|rlhf|grpo|rlvr|rm)(?:-|$)|-\de-\d(?:-|_|$)/;

/** Who publishes the models of these tables under their own names. */
const owners =
  /^(?:(?:meta-llama|Qwen|ByteDance-Seed|deepseek-ai|moonshotai|openai|mistralai|nvidia|google|zai-org|ZhipuAI|microsoft|allenai|HuggingFaceTB|tiiuae|codellama|LLM-Research|mosaicml|EleutherAI|HuggingFaceH4|PrimeIntellect|OpenRLHF|unsloth|lmsys|huggyllama|TinyLlama|NousResearch|databricks|bigcode|bigscience|facebook|baichuan-inc|Shanghai_AI_Laboratory|internlm|OpenGVLab|lmms-lab|MiniMaxAI|inclusionAI|GSAI-ML|ibm-granite|CohereForAI|CohereLabs|baidu|01-ai|THUDM|openai-mirror|AI-ModelScope|virtuoussy|alignment-handbook|open-r1|teknium|mistral-community|loubnabnl|nv-community|tencent|AIDC-AI|PRIME-RL|google-t5|hf-internal-testing|iic|JinaAI|Kwai-Keye|XiaomiMiMo|meta-models)\/|(?:openai-community\/)?(?=gpt2|t5-))([\w.-]+)$/i;

/** Weights of Llama by family and size, as open-instruct's scripts have them in folders: `../hf_llama2_models/7B`. */
const foldersBySize = /(?:^|[~./])hf_llama(2?)_models?\/(\d{1,2}b)\/?$/i;

/** Folders that files of launchers have models in. */
const folders = 'models?|checkpoints|ckpts?|weights|pretrained|output|megatron_output|saves';

/** A name on the hub with its owner and a revision, `mosaicml/mpt-7b@68e1a8e0`; folders may have such names without meaning any. */
const revised = new RegExp(`^(?!(?:${folders})/)(\\w[\\w.-]{0,99}/[\\w.-]{1,199})@[\\w.-]{1,100}$`);
const folderName = new RegExp(`^(?:[~.]*/.*/|[~.]*/|(?:${folders})/)([\\w.-]+)/?$`);

/** A folder with the weights of a step inside that of the model: `.../olmo3-32b-instruct-sft/step814-hf`. */
const ofStep = /^(.{1,900}[/\\][\w.-]+)\/(?:(?:global_)?step_?\d+(?:-hf)?|checkpoint-\d+|model_and_optim)\/?$/;

/** A folder of the one that a run starts in; `gpt2` and `t5-small` are names of the hub. */
const bareFolder = /^(?!gpt2|t5-)[\w.-]+$/;

/** A model of Hugging Face's hub by its name, or that of a folder whose files are not here (`~/models/Qwen2.5-7B-Instruct`, `Qwen3-8B`). */
export function modelOfHub(written: string): ModelOfLauncher {
  const [, family, size] = foldersBySize.exec(written.slice(0, 1000)) ?? [];
  if (size !== undefined) {
    const model = family === '' ? `llama-${size}` : `llama-${String(family)}-${size}`;
    return { name: written, home: 'preset', config: findHubSizes(model.toLowerCase()) };
  }
  const name = ofStep.exec(written.slice(0, 1000))?.[1] ?? withoutRevision(written);
  const folder = folderName.exec(name.slice(0, 1000))?.[1] ?? bareFolder.exec(name.slice(0, 1000))?.[0];
  const plain = folder === undefined ? plainModelName(name) : nameOfFolder(folder.slice(0, longestName));
  const config = findHubSizes(plain);
  const base = config === null ? baseInName(name) : null;
  return {
    name: folder ?? name,
    home: base === null ? (folder === undefined ? 'hub' : 'preset') : { base },
    config: base === null ? config : findHubSizes(base, false),
    ...(Object.hasOwn(languageModels, sizedName(base ?? plain)) && { isPart: true }),
  };
}

/** Words of a name that show that its model has other layers, sizes, inputs or weights than the one that it began with. */
const remade: readonly RegExp[] = [
  // sees or hears
  /^(?:v|vl\w*|vision|visual|multimodal|mm|mllm|lmm|\w*llava\w*|omni|audio|speech|voice|tts|asr|ocr|video|image|clip|siglip|ovis|bunny|ultravox|vila|vita|cambrian|janus|emu|minigpt)$/,
  // drafts the tokens of another
  /^(?:eagle|medusa|hydra|d?flash|draft\w*|mtp|specul\w*|accelerator)$/,
  // is cut down or built up
  /^(?:prun\w*|sheared|minitron|depth|width|layers?|mini|small|tiny|nano|micro|slim|compress\w*|expand\w*|extended|upcycl\w*|upscal\w*|franken\w*|passthrough|stack\w*|supernet|reap|ream|custom|random|dummy|debug|toy|distilled)$/,
  // has other layers
  /^(?:moe|experts?|mamba|ssm|hybrid|linear\w*|rwkv|gla|gsa|mla|mqa|gqa|nsa|moba|kda|deltanet|gdn|retnet|hgrn|x?lstm|ttt|liger|lizard|lolcats|loop\w*|recurrent|recurrence|bitnet|swiftkv|transmla|diffusion|dllm)$/,
  // has weights in few bits
  /^(?:awq|gptq|aqlm|hqq|bnb|gguf|ggml|mlc|mlx|exl|quip|spqr|quant\w*|qat|bits?|ternary|binary|autoround|smoothquant|marlin|onnx|openvino|gptqmodel)$/,
  // has other tokens
  /^(?:vocab\w*|tokeni[sz]\w*|fast|multilingual|chinese|cn|zh|japanese|ja|jp|swallow|korean|ko|kor|vietnamese|vi|thai|indonesian|hindi|bengali|tamil|telugu|arabic|ar|hebrew|persian|farsi|turkish|greek|russian|ru|ukrainian|polish|czech|hungarian|german|de|french|fr|spanish|es|italian|portuguese|dutch|swedish|norwegian|danish|finnish)$/,
];

/**
 * Words with digits that leave sizes as they are: versions, dates, lengths of context, steps, layouts of a checkpoint, precisions. Any
 * other may be a size: `5layers`, `w4a16`, `1x16`.
 */
const harmlessNumber: readonly RegExp[] = [
  /^(?:v(?:er(?:sion)?)?\d+(?:\.\d+)*|(?!0\.)\d+(?:\.\d+)*|[ro][13])$/,
  /^(?:\d+k|[124]m|10m)$/,
  /^(?:(?:step|iter|epoch|ckpt|checkpoint|stage|phase|round|run|exp|seed|rank|bs|sft|dpo|orpo|kto|ppo|grpo|rlhf|rl|rm|[tpecd]p|etp)\d+|(?:lr)?\d+e|\d+(?:steps?|epochs?|ep|iters?|gpus?|nodes?))$/,
  /^(?:bf16|fp16|fp32|fp8|gsm8k|gpt4o?)$/,
];

/** A number of parameters in a name; `1M` and its like are lengths of context. */
const sizeInName = /^(?!(?:[124]|10)m$)a?\d+(?:\.\d+)?[bm]$/;

/** Models whose versions have other vocabularies, with what in a name gives the version that has this plain name. */
const versioned: Readonly<Record<string, RegExp>> = { 'mistral-7b': /v0\.3/ };

/** That a word beyond the name of a published model leaves its sizes as they are; a word with a number must be known to. */
function keepsSizes(word: string): boolean {
  // a dot that is not that of a number separates words, too: `speculator.eagle3`
  return word
    .split(/(?<!\d)\.|\.(?!\d)/)
    .every((part) => (/\d/.test(part) ? harmlessNumber.some((known) => known.test(part)) : !remade.some((known) => known.test(part))));
}

/**
 * The longest part of a name, between its separators, that is the name of a published model with its size, where nothing else in it may
 * mean another size or other layers: `Skywork/Skywork-Reward-V2-Qwen3-8B` is a Qwen3-8B. Null for a name without owner or folder, which
 * may be that of anything.
 */
function baseInName(written: string): string | null {
  if (written.length > longestName || !written.includes('/')) return null;
  const name = written.replace(/\/+$/, '').split('/').at(-1)?.toLowerCase() ?? '';
  const words = name.split(/[-_]/);
  const starts = words.map((_, index) => words.slice(0, index).reduce((length, word) => length + word.length + 1, 0));
  for (let length = words.length; length >= 2; length -= 1)
    for (let from = 0; from + length <= words.length; from += 1) {
      const part = words.slice(from, from + length);
      const start = starts[from] ?? 0;
      if (!part.some((word) => sizeInName.test(word) || /^\d+x\d+b$/.test(word))) continue;
      const text = name.slice(start, start + part.join('-').length);
      const base = [plainName(text), plainName(spelledAsPublished(text))].find((plain) => findHubSizes(plain) !== null);
      if (base === undefined) continue;
      const isOfVersion = own(versioned, base)?.test(text) ?? true;
      return isOfVersion && [...words.slice(0, from), ...words.slice(from + length)].every(keepsSizes) ? base : null;
    }
  return null;
}

/**
 * Sizes of a model of Hugging Face's hub by its name (`Qwen/Qwen2.5-7B-Instruct`), as the text of its config.json; null for one that is not
 * known here. Those are named that launchers' examples train; of their variants only the ones with the same sizes.
 */
export function hubModel(name: string): string | null {
  return findHubSizes(plainModelName(withoutRevision(name)));
}

function withoutRevision(name: string): string {
  return revised.exec(name)?.[1] ?? name;
}

/** That a name is neither a file nor a model whose sizes are known here. */
export function unknownModel(name: string): Sentence {
  return sentence`${quoted(name)} does not exist, and no model of Hugging Face's hub by that name has its sizes here`;
}

/** No published model's name is longer. */
const longestName = 200;

/** The name without its owner and the parts that do not affect sizes; empty for that of another owner. */
function plainModelName(name: string): string {
  return name.length > longestName ? '' : nameBefore(owners.exec(name)?.[1] ?? '');
}

/** Variants that have the sizes of the others, and other positions or norms. */
const repositioned =
  /^qwen3-.*(-2507)(?:-|$)|^kimi-k2-(?:instruct)?(-0905|thinking)(?:-|$)|^qwen2(?:\.5)?-(?:coder-|math-)?(?:14|32|72)b(-instruct)$|^glm-4-9b(-chat)(?:-hf)?$/i;
const repositionedEnd = /-(?:2507|0905|thinking|instruct|chat)$/;

/** A name without the parts that affect neither sizes nor positions. */
function plainName(name: string): string {
  const variant = repositioned.exec(name)?.slice(1).find(Boolean);
  return variant === undefined ? withoutVariant(name) : `${withoutVariant(name)}-${variant.toLowerCase().replace('-', '')}`;
}

function withoutVariant(name: string): string {
  return (
    name
      .toLowerCase()
      .replace(/^meta-/, '')
      .replace(/^l(?=3\.[1-3]-\d{1,3}b)/, 'llama-')
      .replace(/^qwen(2|2\.5|3)-?vl-/, 'qwen$1-vl-')
      .replace(/^(qwen2\.5)-coder-(0\.5b|1\.5b|3b|7b|14b|32b)/, '$1-$2')
      .replace(/^(mistral-nemo|mistral-small-24b|devstral-small-2-24b)-(?:instruct|base)/, '$1')
      .replace(/^(ministral-3-\d{1,2}b)-.*$/, '$1')
      // a part with another size is another model
      .replace(/^olmo3-(7|32)b-(?:instruct|think)(?:-(?:sft|dpo|rlvr)(?:-(?!\d{1,4}(?:\.\d{1,3})?[bm](?:-|$))[^-]+)*)?$/, 'olmo-3-$1b')
      .replace(/^olmo3-(7|32)b$/, 'olmo-3-$1b')
      .replace(/^qwen3-30b$/, 'qwen3-30b-a3b')
      .replace(/^mistral-7b-(?:instruct-)?v0\.1$/, 'mistral-7b-of-2023')
      .replace(/^mistral-7b-instruct-v0\.2$/, 'mistral-7b-v0.2')
      .replace(/^(pythia-.*)-deduped$/, '$1')
      .replace(/^deepseek-r1-0528-qwen3/, 'deepseek-r1-qwen3')
      .replace(
        // T5's base is a size
        /(?<!^(?:flan-)?t5)(?:-(?:instruct|base|thinking|chat|foundation|sft|dpo|hf|it|pt|pretrained|checkpoints|bf16|fp8|2507|0324|0528|0905|v0\.[13]|v1\.0))+$/,
        '',
      )
  );
}

/** The same by the name that files of launchers have for it: `llama3.1_70B.yaml`, `qwen3_32b_pretrain_config`. */
export function familiarModel(name: string): string | null {
  const base = name
    .slice(0, 200)
    .toLowerCase()
    .replace(/\.ya?ml$/, '')
    .replace(/_(?:pretrain|finetune|sft|peft|lora|config)(?:_.*)?$/, '')
    .replaceAll('_', '-')
    .replace(/^llama(\d)\.?(\d?)(?=-)/, (_, major: string, minor: string) => `llama-${major}${minor === '' ? '' : `.${minor}`}`)
    .replace(/^qwen(\d)(\d)(?=-)/, 'qwen$1.$2');
  return findHubSizes(base);
}

/**
 * The text of the config.json of a model by its plain name (`qwen2.5-7b`), with its positions unless only its sizes are known to apply;
 * null for an unknown one.
 */
export function findHubSizes(name: string, hasItsPositions = true): string | null {
  const sized = sizedName(name);
  const source = own(otherNames, sized) ?? own(languageModels, sized) ?? sized;
  const sizes = hubSizes(source);
  if (sizes === null) return null;
  const positions = hasItsPositions ? (hubPositions(name) ?? hubPositions(source)) : {};
  // null: the base of the class is not that of the model
  return JSON.stringify({ rope_theta: null, ...positions, ...(hubDetails(name) ?? hubDetails(source)), ...sizes });
}

/** The name by which tables of sizes have it. */
function sizedName(name: string): string {
  return name.replace(repositionedEnd, '');
}

/** A size in what follows the name of a known model, which then is not that model: `gpt2-custom-1.5b-sft`. */
const ownSize = /(?:^|[-_])\d+(?:\.\d+)?[bm](?![a-z0-9])/;

/** How a folder of weights may begin that somebody trained: `multiturn-sft-qwen-2.5-32b-instruct`. */
const trainingWords = /^(?:(?:multi-?turn|sft|dpo|grpo|ppo|rlhf|merged)-)+/;

/** The name of a folder's model; one that no table has, in the spelling of the hub. */
function nameOfFolder(folder: string): string {
  const plain = nameBefore(folder);
  if (findHubSizes(plain) !== null) return plain;
  const spelt = nameBefore(spelledAsPublished(folder));
  return findHubSizes(spelt) === null ? plain : spelt;
}

/** `qwen-2.5_7B` and `llama3-1-8b` as their publishers write them: `qwen2.5-7b`, `llama-3.1-8b`. */
function spelledAsPublished(folder: string): string {
  return folder
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(trainingWords, '')
    .replace(/^(?:meta-)?llama-?(\d)(?:[.-](\d)(?=-))?-(?=\d{1,3}b)/, (_, major: string, minor: string | undefined) =>
      minor === undefined ? `llama-${major}-` : `llama-${major}.${minor}-`,
    )
    .replace(/^qwen-(?=\d)/, 'qwen');
}

/**
 * The longest beginning of the name of a model that is trained further which is the name of a known one, plain; else the whole name. What
 * follows it gives no size.
 */
function nameBefore(name: string): string {
  const plain = plainName(name);
  if (findHubSizes(plain) !== null || !trainedFurther.test(name.toLowerCase())) return plain;
  const parts = name.split('-');
  const cut = (from: number, to?: number): string => parts.slice(from, to).join('-');
  const end = parts.map((_, index) => parts.length - index).find((at) => findHubSizes(plainName(cut(0, at))) !== null);
  return end === undefined || ownSize.test(cut(end).toLowerCase()) ? plain : plainName(cut(0, end));
}

/** Plain names of all models whose sizes are known here. */
export const knownModels: readonly string[] = [...new Set([...Object.keys(otherNames), ...Object.keys(languageModels), ...sizedModels])];

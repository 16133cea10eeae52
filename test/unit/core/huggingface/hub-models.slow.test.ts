import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { familiarModel, findHubSizes, hubModel, knownModels, modelOfHub } from '../../../../src/core/huggingface/hub-models';
import { countModelParameters } from '../../../../src/core/huggingface/count';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import type { ModelSpec, Rotary } from '../../../../src/core/domain/model';
import type { ModelDetails } from '../../../../src/core/domain/settings/model-details';
import { newLauncher } from '../../../../src/core/export/launchers/new-launcher';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { toText } from '../../sentence-text';
import { load } from '../config-files/files';
import { writerOf } from '../export/launchers/editors';
import { planWith } from '../export/launchers/plans';

/** Billions of parameters, tied embeddings once, as the pages of the models on the hub say (`model.safetensors` of each). */
const published: Readonly<Record<string, number>> = {
  'meta-llama/Llama-3.2-1B': 1.236,
  'meta-llama/Llama-3.2-3B-Instruct': 3.213,
  'meta-llama/Llama-3.1-8B-Instruct': 8.03,
  'meta-llama/Meta-Llama-3.1-70B': 70.55,
  'Qwen/Qwen2.5-0.5B': 0.494,
  'Qwen/Qwen2.5-1.5B-Instruct': 1.544,
  'Qwen/Qwen2.5-Math-1.5B-Instruct': 1.544,
  'Qwen/Qwen2.5-3B': 3.086,
  'Qwen/Qwen2.5-7B-Instruct': 7.616,
  'Qwen/Qwen2.5-14B': 14.77,
  'Qwen/Qwen2.5-Coder-14B-Instruct': 14.77,
  'Qwen/Qwen2.5-32B': 32.76,
  'Qwen/Qwen2.5-72B': 72.71,
  'Qwen/Qwen3-0.6B': 0.596,
  'Qwen/Qwen3-1.7B-Base': 1.721,
  'Qwen/Qwen3-4B-Instruct-2507': 4.022,
  'Qwen/Qwen3-8B-Base': 8.191,
  'Qwen/Qwen3-14B': 14.77,
  'Qwen/Qwen3-32B': 32.76,
  'Qwen/Qwen3-30B-A3B': 30.53,
  'Qwen/Qwen3-235B-A22B': 235.1,
  'Qwen/Qwen2-7B-Instruct': 7.616,
  'Qwen/Qwen2-0.5B': 0.494,
  'deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B': 1.777,
  'deepseek-ai/DeepSeek-R1-Distill-Qwen-7B': 7.616,
  'deepseek-ai/DeepSeek-V2': 235.7,
  'deepseek-ai/DeepSeek-V2-Lite-Chat': 15.71,
  'deepseek-ai/DeepSeek-V3-0324': 671.0,
  'deepseek-ai/deepseek-llm-7b-chat': 6.91,
  'deepseek-ai/deepseek-coder-6.7b-instruct': 6.74,
  gpt2: 0.1244,
  'gpt2-medium': 0.3548,
  'openai-community/gpt2-large': 0.774,
  'gpt2-xl': 1.5576,
  't5-small': 0.0605,
  'google-t5/t5-base': 0.2229,
  't5-large': 0.7377,
  't5-3b': 2.8516,
  'google/flan-t5-base': 0.2476,
  'google/flan-t5-xl': 2.8498,
  'google/flan-t5-xxl': 11.1353,
  'alignment-handbook/zephyr-7b-sft-qlora': 7.2417,
  'loubnabnl/smollm2-1.7B-sft': 1.7114,
  // of the text only, where they see
  'tencent/Hy3-preview': 295,
  'mistralai/Mistral-Small-4-119B-2603': 119,
  'MiniMaxAI/MiniMax-M3': 426,
  'open-r1/Qwen2.5-Math-7B-RoPE-300k': 7.616,
  'mistral-community/Mixtral-8x22B-v0.1': 140.62,
  'Qwen/Qwen3-VL-Embedding-8B': 8.191,
  'moonshotai/Moonlight-16B-A3B-Instruct': 15.96,
  'moonshotai/Kimi-K2-Instruct': 1026.5,
  'openai/gpt-oss-20b': 20.91,
  'openai/gpt-oss-120b': 116.83,
  'mistralai/Mistral-7B-v0.3': 7.248,
  'mistralai/Mistral-Nemo-Instruct-2407': 12.25,
  'nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-Base-BF16': 31.58,
  'google/gemma-2b-it': 2.506,
  'google/gemma-1.1-7b-it': 8.538,
  'google/gemma-2-2b-it': 2.614,
  'ByteDance-Seed/Seed-OSS-36B-Base': 36.15,
  'google/gemma-2-9b': 9.242,
  'google/gemma-2-27b': 27.23,
  'meta-llama/Llama-2-7b-hf': 6.738,
  'meta-llama/Llama-2-13b-chat-hf': 13.02,
  'meta-llama/Llama-2-70b-hf': 68.98,
  'meta-llama/Meta-Llama-3-8B': 8.03,
  'meta-llama/Meta-Llama-3-70B-Instruct': 70.55,
  'meta-llama/Llama-3.1-405B': 405.9,
  'mistralai/Mixtral-8x7B-v0.1': 46.7,
  'mistralai/Mixtral-8x22B-Instruct-v0.1': 140.63,
  'nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16': 120.6,
  'nvidia/NVIDIA-Nemotron-Nano-9B-v2': 8.888,
  'nvidia/NVIDIA-Nemotron-Nano-12B-v2-Base': 12.31,
  // only the language models
  'Qwen/Qwen2.5-VL-3B-Instruct': 3.086,
  'Qwen/Qwen2.5-Omni-7B': 7.616,
  'Qwen/Qwen3.5-9B-Base': 8.954,
  'Qwen/Qwen3.5-35B-A3B': 34.661,
  'Qwen/Qwen3.5-397B-A17B': 396.35,
  'meta-llama/Llama-4-Scout-17B-16E-Instruct': 107.77,
  'meta-llama/Llama-4-Maverick-17B-128E': 400.71,
  'Qwen/Qwen3-Next-80B-A3B-Instruct': 79.67,
  'Qwen/Qwen3-Coder-480B-A35B-Instruct': 480.15,
  'Qwen/Qwen3-Embedding-0.6B': 0.5958,
  'Qwen/Qwen3-Embedding-4B': 4.0218,
  'Qwen/Qwen1.5-MoE-A2.7B': 14.32,
  'Qwen/Qwen2-57B-A14B-Instruct': 57.41,
  'Qwen/Qwen1.5-0.5B': 0.464,
  'Qwen/Qwen1.5-1.8B': 1.8368,
  'Qwen/Qwen1.5-4B': 3.95,
  'Qwen/Qwen1.5-7B-Chat': 7.721,
  'Qwen/Qwen1.5-14B': 14.17,
  'Qwen/Qwen1.5-32B': 32.51,
  'Qwen/Qwen1.5-72B': 72.29,
  'Qwen/QwQ-32B': 32.76,
  'huggyllama/llama-7b': 6.738,
  'huggyllama/llama-13b': 13.02,
  'huggyllama/llama-30b': 32.53,
  'huggyllama/llama-65b': 65.29,
  'TinyLlama/TinyLlama-1.1B-Chat-v1.0': 1.1,
  'allenai/Llama-3.1-Tulu-3-8B-SFT': 8.03,
  '01-ai/Yi-6B': 6.061,
  '01-ai/Yi-34B': 34.39,
  'ByteDance-Seed/Seed-Coder-8B-Instruct': 8.25,
  'GSAI-ML/LLaDA-8B-Base': 8.015,
  'mistralai/Mistral-Small-24B-Instruct-2501': 23.572,
  'EleutherAI/pythia-410m-deduped': 0.4053,
  'EleutherAI/pythia-1.4b': 1.4146,
  'EleutherAI/pythia-6.9b': 6.857,
  'EleutherAI/pythia-12b': 11.846,
  'EleutherAI/gpt-neox-20b': 20.55,
  'EleutherAI/gpt-neo-1.3B': 1.3156,
  'facebook/opt-125m': 0.1252,
  'facebook/opt-1.3b': 1.3158,
  'facebook/opt-6.7b': 6.6585,
  'facebook/opt-30b': 29.97,
  'bigscience/bloom-560m': 0.5592,
  'bigscience/bloom-7b1': 7.069,
  'bigscience/bloom': 176.25,
  'microsoft/phi-2': 2.78,
  'microsoft/Phi-4-mini-instruct': 3.836,
  'microsoft/Phi-3-medium-4k-instruct': 13.96,
  'bigcode/starcoder2-3b': 3.03,
  'bigcode/starcoder2-7b': 7.174,
  'bigcode/starcoder2-15b': 15.958,
  'allenai/OLMo-7B-hf': 6.888,
  'allenai/OLMo-1B-hf': 1.177,
  'allenai/OLMoE-1B-7B-0924': 6.919,
  'allenai/Olmo-3-1125-32B': 32.23,
  'allenai/Olmo-Hybrid-7B': 7.43,
  'zai-org/glm-4-9b-chat-hf': 9.4,
  'zai-org/GLM-4-32B-0414': 32.57,
  'zai-org/GLM-4.5': 352.8,
  'zai-org/GLM-4.7-Flash': 29.94,
  'MiniMaxAI/MiniMax-M2': 228.69,
  'inclusionAI/Ling-mini-2.0': 16.26,
  'inclusionAI/LLaDA2.1-mini': 16.26,
  'inclusionAI/Ling-flash-2.0': 102.89,
  'ibm-granite/granite-3.3-2b-instruct': 2.534,
  'ibm-granite/granite-3.3-8b-base': 8.171,
  'CohereForAI/c4ai-command-r7b-12-2024': 8.028,
  'nvidia/Nemotron-Mini-4B-Instruct': 4.19,
  'baidu/ERNIE-4.5-0.3B-PT': 0.3608,
  'baidu/ERNIE-4.5-21B-A3B-PT': 21.83,
  'baichuan-inc/Baichuan2-7B-Chat': 7.506,
  'baichuan-inc/Baichuan2-13B-Chat': 13.897,
  'internlm/internlm2-7b': 7.738,
  'internlm/internlm2-20b': 19.861,
  'databricks/dbrx-instruct': 131.6,
  'mosaicml/mpt-7b': 6.649,
  'mosaicml/mpt-30b': 29.957,
  'tiiuae/falcon-7b': 6.922,
  'Qwen/Qwen3.5-0.8B': 0.7524,
  'Qwen/Qwen3.5-2B': 1.8816,
  'Qwen/Qwen3.5-27B': 26.896,
  'Qwen/Qwen3.8-27B': 26.896,
  'Qwen/Qwen3.5-122B-A10B': 122.1,
};

/** The same by our own count of the sizes, for models whose pages nobody read: it holds the sizes as they are. */
const counted: Readonly<Record<string, number>> = {
  'tencent/Hy-MT2-30B-A3B': 30.06,
  'tiiuae/Falcon-H1-0.5B-Instruct': 0.5214,
  'nvidia/NVIDIA-Nemotron-3-Nano-4B-BF16': 3.973,
  'nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-BF16': 31.58,
};

/** Positions of each config.json on the hub. */
const rotaries: Readonly<Record<string, readonly [base: number, factor?: number, kind?: string]>> = {
  'deepseek-ai/DeepSeek-R1-Distill-Llama-8B': [500_000, 8, 'llama3'],
  'Qwen/QwQ-32B': [1_000_000],
  'mistralai/Mistral-Small-24B-Instruct-2501': [100_000_000],
  'mistralai/Mistral-7B-Instruct-v0.1': [10_000],
  'mistralai/Mistral-7B-Instruct-v0.2': [1_000_000],
  '01-ai/Yi-6B': [5_000_000],
  'Qwen/Qwen1.5-7B-Chat': [1_000_000],
  'OpenGVLab/InternVL3-8B': [1_000_000],
  'Qwen/Qwen3-Omni-30B-A3B-Instruct': [1_000_000],
  'deepseek-ai/DeepSeek-V3.1': [10_000, 40, 'yarn'],
  'deepseek-ai/DeepSeek-V3.2': [10_000, 40, 'yarn'],
  'moonshotai/Kimi-K2-Instruct': [50_000, 32, 'yarn'],
  'moonshotai/Kimi-K2-Instruct-0905': [50_000, 64, 'yarn'],
  'moonshotai/Kimi-K2-Thinking': [50_000, 64, 'yarn'],
  'moonshotai/Kimi-K2.5': [50_000, 64, 'yarn'],
  'moonshotai/Kimi-VL-A3B-Instruct': [800_000],
  'HuggingFaceH4/zephyr-7b-gemma-sft-v0.1': [10_000],
  'openai/gpt-oss-20b': [150_000, 32, 'yarn'],
  'databricks/dbrx-instruct': [500_000],
};

/** Where each config.json on the hub differs from its class, as details of the model. */
const detailsOfNames: Readonly<Record<string, ModelDetails>> = {
  'baichuan-inc/Baichuan2-13B-Base': { alibi: true },
  'moonshotai/Kimi-K2-Instruct': { routerScaling: 2.827, routerNormalised: true },
  'moonshotai/Moonlight-16B-A3B': { routerScaling: 2.446, routerNormalised: true },
  'deepseek-ai/DeepSeek-V2': { routerScaling: 16, routerGroupBest: 1, routerNormalised: false },
  'deepseek-ai/DeepSeek-V3': { routerScaling: 2.5, routerGroupBest: 2, routerNormalised: true },
  'zai-org/GLM-4.5': { routerScaling: 2.5 },
  'zai-org/GLM-4.5-Air': { routerScaling: 1 },
  'Qwen/Qwen3-30B-A3B': { routerNormalised: true },
  'Qwen/Qwen2-57B-A14B': { routerNormalised: false },
  'google/gemma-2-27b': { attentionScale: 144 ** -0.5 },
  'google/gemma-3-27b-it': { attentionScale: 168 ** -0.5, localRotaryBase: 10_000 },
  'ibm-granite/granite-3.3-8b-instruct': {
    attentionScale: 0.0078125,
    embeddingMultiplier: 12,
    residualMultiplier: 0.22,
    logitMultiplier: 0.0625,
  },
  'mistralai/Devstral-Small-2-24B-Instruct-2512': { attentionTemperature: 0.1 },
  'meta-llama/Llama-4-Scout-17B-16E': { attentionTemperature: 0.1, qkL2Norm: true },
  'databricks/dbrx-base': { qkvClip: 8 },
  'CohereForAI/c4ai-command-r7b-12-2024': { logitMultiplier: 0.25 },
};

/** The window of each config.json on the hub, in tokens; null: all layers attend to the whole sequence. */
const windows: Readonly<Record<string, number | null>> = {
  'mistralai/Mistral-7B-v0.1': 4096,
  'mistralai/Mistral-7B-v0.3': null,
  'mistralai/Mistral-Nemo-Base-2407': null,
  'mistralai/Mistral-Small-24B-Base-2501': null,
  'mistralai/Devstral-Small-2-24B-Instruct-2512': null,
  'google/gemma-3-1b-pt': 512,
  'google/gemma-3-12b-pt': 1024,
  'microsoft/Phi-3-mini-4k-instruct': 2047,
  'bigcode/starcoder2-7b': 4096,
};

/** Epsilon of the norms, which Qwen's large models have another of where they follow instructions. */
const epsilons: Readonly<Record<string, number>> = {
  'Qwen/Qwen2.5-32B': 1e-5,
  'Qwen/Qwen2.5-32B-Instruct': 1e-6,
  'Qwen/Qwen2.5-Coder-32B-Instruct': 1e-6,
  'Qwen/Qwen2.5-7B': 1e-6,
  'THUDM/glm-4-9b': 1.5625e-7,
  'THUDM/glm-4-9b-chat': 1.5625e-7,
};

/** Models with rotary positions whose base is not known here. */
const openBases = [
  'llava-onevision-1.5-4b',
  'ministral-3-14b',
  'olmo-3.2-hybrid-7b',
  'olmo-hybrid-7b',
  'olmo-hybrid-instruct-dpo-7b',
  'olmo-hybrid-instruct-sft-7b',
  'olmo-hybrid-think-sft-7b',
  'qwen3.8-27b',
];

function rotaryIn(config: string | null): Rotary | undefined {
  return readHuggingFace('config.json', config ?? '').traits.rotary;
}

function namedModel(name: string): ModelSpec {
  const { model, traits } = readHuggingFace('config.json', hubModel(name) ?? '');
  return toModelSpec(model, traits);
}

describe('models by their names on the hub', () => {
  for (const [name, [base, factor, kind]] of Object.entries(rotaries))
    it(`${name} has the rotary base ${base}`, () => {
      const rotary = rotaryIn(hubModel(name));
      assert.deepEqual([rotary?.base, rotary?.scaling?.factor, rotary?.scaling?.kind], [base, factor, kind]);
    });

  for (const [name, details] of Object.entries(detailsOfNames))
    it(`${name} has the details of its own config.json`, () => {
      const found = namedModel(name).details ?? {};
      const names = Object.keys(details) as (keyof ModelDetails)[];
      assert.deepEqual(Object.fromEntries(names.map((detail) => [detail, found[detail] ?? 1])), details);
    });

  for (const [name, window] of Object.entries(windows))
    it(`${name} has ${window === null ? 'no window' : `a window of ${window} tokens`}`, () => {
      const kinds = namedModel(name).layerKinds ?? [];
      assert.deepEqual([...new Set(kinds.flatMap((kind) => kind.window ?? []))], window === null ? [] : [window]);
    });

  for (const [name, epsilon] of Object.entries(epsilons))
    it(`${name} has norms with an epsilon of ${epsilon}`, () => {
      assert.equal(namedModel(name).normEpsilon, epsilon);
    });

  it('have the rotary base of their own config.json, never that of their class, or none', () => {
    const bases = knownModels.map((name) => {
      const { model, facts } = readHuggingFace('config.json', findHubSizes(name) ?? '');
      return { name, isRotary: model.positions.value === 'rotary', kind: facts.rotaryBase?.source.kind };
    });
    assert.ok(bases.length > 150, String(bases.length));
    assert.deepEqual(bases.filter(({ kind }) => kind === 'default'), []); // prettier-ignore
    const without = bases.filter(({ isRotary, kind }) => isRotary && kind === undefined).map(({ name }) => name);
    assert.deepEqual(without.toSorted(), openBases);
  });

  it('reports in an export that it leaves the base of such a model open', async () => {
    const run = await load({ 'config.json': hubModel('mistralai/Ministral-3-14B-Instruct-2512') ?? '' });
    const { model } = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    const { text, gaps } = newLauncher(planWith({ model }), writerOf('megatron-shell'));
    assert.doesNotMatch(text, /--rotary-base/);
    assert.match(gaps.map(({ reason }) => toText(reason)).join(), /rotary base \(it takes 10,000\)/);
  });

  it('are none where the name is longer than any, however it ends', () => {
    assert.equal(hubModel(`Qwen/Qwen3-8B${'-chat'.repeat(50)}`), null);
    assert.notEqual(hubModel(`Qwen/Qwen3-8B${'-chat'.repeat(5)}`), null);
  });

  for (const [name, billions] of Object.entries({ ...published, ...counted }))
    it(`${name} has ${billions}B parameters`, async () => {
      const run = await load({ 'config.json': hubModel(name) ?? '' });
      const error = (countModelParameters(run) ?? 0) / (1e9 * billions) - 1;
      assert.ok(Math.abs(error) < 1e-3, String(error));
    });

  it('are known by the names that files of launchers have for them', () => {
    const names = {
      'llama3.1_70B.yaml': 'meta-llama/Llama-3.1-70B',
      llama31_70b: 'meta-llama/Llama-3.1-70B',
      llama2_7B: 'meta-llama/Llama-2-7b-hf',
      qwen3_235B_A22B: 'Qwen/Qwen3-235B-A22B',
      qwen3_32b_pretrain_config: 'Qwen/Qwen3-32B',
      'deepseek_v2_lite.yaml': 'deepseek-ai/DeepSeek-V2-Lite',
      gpt_oss_20B: 'openai/gpt-oss-20b',
    };
    for (const [name, published] of Object.entries(names)) assert.equal(familiarModel(name), hubModel(published), name);
    for (const name of ['llama3_9B', 'llama_8B', 'qwen3_235B_A22B_4layer', '__proto__', '']) assert.equal(familiarModel(name), null, name);
  });

  it('are those of a name with a revision, and of folders by family and size', () => {
    assert.equal(hubModel('mosaicml/mpt-7b@68e1a8e0ebb9b30f3c45c1ef6195980f29063ae2'), hubModel('mosaicml/mpt-7b'));
    assert.notEqual(hubModel('mosaicml/mpt-7b'), null);
    for (const folder of ['/ckpt/Qwen3-8B@step100', 'models/Qwen3-8B@step100', 'Qwen3-8B@step100']) {
      assert.deepEqual([modelOfHub(folder).config, modelOfHub(folder).name], [null, folder]);
    }
    assert.equal(modelOfHub('../hf_llama2_models/7B').config, findHubSizes('llama-2-7b'));
    assert.equal(modelOfHub('../hf_llama_models/13B/').config, findHubSizes('llama-13b'));
    assert.equal(modelOfHub('../hf_llama2_models/9B').config, null);
  });

  it('are none where other models or sizes have a similar name', () => {
    for (const name of [
      'Qwen/Qwen2.5-VL-5B-Instruct',
      'Qwen/Qwen3-9B',
      'Qwen/qwen3.5-9b-text',
      'ours/Qwen3-8B',
      'meta-llama/Llama-3.1',
      '../Qwen/Qwen3-8B',
      '',
    ])
      assert.equal(hubModel(name), null, name);
  });

  it('knows a model that was trained further by the longest name in its own', () => {
    const layers = (name: string): unknown => (JSON.parse(modelOfHub(name).config ?? '{}') as { num_hidden_layers?: unknown }).num_hidden_layers; // prettier-ignore
    assert.equal(layers('PrimeIntellect/Qwen3-0.6B-Reverse-Text-SFT'), 28);
    assert.equal(layers('OpenRLHF/Llama-3-8b-sft-mixture'), 32);
    assert.equal(layers('HuggingFaceH4/zephyr-7b-gemma-sft-v0.1'), 28);
    assert.equal(layers('nvidia/Llama-3.1-Minitron-4B-Width-Base'), undefined);
    assert.deepEqual([layers('somebody/Qwen3-0.6B-SFT'), modelOfHub('somebody/Qwen3-0.6B-SFT').home], [28, { base: 'qwen3-0.6b' }]);
    assert.equal(layers('/checkpoints/base_models/L3.1-70B-v3.9-nc-2e-6-2_ep-fixed/'), 80);
  });

  // scripts/train/olmo3/32b_instruct_dpo.sh of open-instruct
  it('knows the folder of a model by that of one of its steps', () => {
    const named = (name: string): string => modelOfHub(name).name;
    assert.equal(named('/weka/ckpts/olmo3-32b-instruct-SFT-1114-fix-8e-5/step814-hf'), 'olmo3-32b-instruct-SFT-1114-fix-8e-5');
    assert.equal(named('./out/Qwen3-8B/checkpoint-500/'), 'Qwen3-8B');
    assert.notEqual(modelOfHub('/weka/ckpts/olmo3-7b-instruct-sft-1115').config, null);
    assert.equal(modelOfHub('/weka/ckpts/olmo3-9b-instruct-sft/step814-hf').config, null);
    for (const name of ['think-custom-1b', 'think-sft-custom-1b', 'instruct-distilled'])
      assert.equal(modelOfHub(`allenai/olmo3-7b-${name}`).config, null);
    assert.notEqual(modelOfHub('allenai/olmo3-7b-think-rlvr').config, null);
  });

  it('knows a folder that is named after a model in another spelling, of that model only', () => {
    const same = {
      '/data/checkpoint/multiturn-sft-qwen-2.5-32b-instruct/global_step_372': 'Qwen/Qwen2.5-32B-Instruct',
      './models/qwen_2.5_7b': 'Qwen/Qwen2.5-7B',
      '/models/llama-3-1-8b-instruct/': 'meta-llama/Llama-3.1-8B-Instruct',
      '/models/Llama2-13b': 'meta-llama/Llama-2-13b-hf',
      '/weka/ckpts/olmo3-7b-DPO-1115-newb-tpc-d5-lbc100-bal-1e-6-1__42__1763293644': 'allenai/Olmo-3-7B-Instruct',
    };
    for (const [folder, published] of Object.entries(same)) {
      assert.notEqual(modelOfHub(folder).config, null, folder);
      assert.equal(modelOfHub(folder).config, modelOfHub(published).config, folder);
      assert.equal(modelOfHub(folder).home, 'preset');
    }
    // no such size, a draft, a size of its own, another word before it
    for (const folder of [
      '/models/Qwen2-32b',
      './draft-qwen-2.5-32b',
      '/ckpts/olmo3-32b-DPO-1116-match-7b-1e-6__42',
      '/data/excot-sft-llama-8b',
    ])
      assert.equal(modelOfHub(folder).config, null, folder);
  });

  it('does not know one whose name has another size after that', () => {
    assert.notEqual(modelOfHub('gpt2-custom-sft').config, null);
    assert.notEqual(modelOfHub('~/models/Qwen3-8B-math-sft').config, null);
    for (const name of ['gpt2-custom-1.5b-sft', 'gpt2-355M-dpo', '~/models/Qwen3-8B-pruned-4B-sft'])
      assert.equal(modelOfHub(name).config, null, name);
  });
});

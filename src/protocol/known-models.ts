/** Models that a page offers to start with, where nothing is open. */
export const knownModels = ['llama-3-8b', 'llama-3-70b', 'qwen3-32b', 'deepseek-v3', 'gpt3-175b'] as const;
export type KnownModel = (typeof knownModels)[number];

/** What each is called. */
export const knownModelNames: Readonly<Record<KnownModel, string>> = {
  'llama-3-8b': 'Llama 3 8B',
  'llama-3-70b': 'Llama 3 70B',
  'qwen3-32b': 'Qwen3 32B',
  'deepseek-v3': 'DeepSeek-V3',
  'gpt3-175b': 'GPT-3 175B',
};

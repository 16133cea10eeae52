import type { ModelSpec } from '../../../domain/model';

/** Layers, hidden size, tokens and heads of the models that TeraPipe knows by name (`MODEL_CONFIGS` of transformer_models.py). */
const models: Readonly<Record<string, readonly [layers: number, hidden: number, tokens: number, heads: number]>> = {
  'gpt2-1hm': [12, 768, 1024, 12],
  'gpt2-3hm': [24, 1024, 1024, 16],
  'gpt2-7hm': [36, 1280, 1024, 20],
  'gpt2-1b': [48, 1600, 1024, 25],
  'megatron-1b': [40, 1536, 1024, 16],
  'megatron-2b': [54, 1920, 1024, 20],
  'megatron-4b': [64, 2304, 1024, 24],
  'megatron-8b': [72, 3072, 1024, 32],
  'gpt3-1hm': [12, 768, 2048, 12],
  'gpt3-3hm': [24, 1024, 2048, 16],
  'gpt3-7hm': [24, 1536, 2048, 16],
  'gpt3-1b': [24, 2048, 2048, 16],
  'gpt3-2b': [32, 2560, 2048, 32],
  'gpt3-6b': [32, 4096, 2048, 32],
  'gpt3-13b': [40, 5120, 2048, 40],
  'gpt3-44b': [96, 6144, 2048, 48],
  'gpt3-175b': [96, 12288, 2048, 96],
  'gpt3-13b-4096': [40, 5120, 4096, 40],
  'gpt3-13b-6144': [40, 5120, 6144, 40],
  'gpt3-13b-8192': [40, 5120, 8192, 40],
};

/** The name of a model of these sizes; null: it has to be added. */
export function modelNameOf({ layers, hidden, heads }: ModelSpec, tokens: number): string | null {
  const sizes = [layers, hidden, tokens, heads].join();
  return Object.entries(models).find(([, own]) => own.join() === sizes)?.[0] ?? null;
}

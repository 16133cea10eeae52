import { elementBytes } from '../domain/number-formats';
import { runsTransformers } from '../domain/runtime';
import type { MemoryInputs } from '../domain/request';

/*
 * Layers written as plain PyTorch modules, whose every operation saves for backward what it reads: those of TorchTitan
 * (torchtitan/models/llama/model.py and norms.py at 3f20451, 2024-12), of llm-foundry under FSDP, and of Transformers
 * (models/llama/modeling_llama.py, activations.py at v4.45). See docs/model/memory.md, Saved for backward.
 */

/**
 * Whether the layers are plain modules: always under TorchTitan, FSDP and DDP; under DeepSpeed where the model is one of Transformers and
 * nothing divides it but ZeRO.
 */
export function isPlain({ model, training: { runtime }, layout }: MemoryInputs): boolean {
  if (runtime === 'torchtitan' || runtime === 'fsdp1' || runtime === 'ddp') return true;
  return runtime === 'deepspeed' && model.modelType !== 'custom' && layout.tensor === 1 && layout.pipeline === 1;
}

/** Whether each operation of them is a kernel of its own, for `torch.compile` keeps what fused kernels of the same layer would. */
export function isEager(inputs: MemoryInputs): boolean {
  return isPlain(inputs) && inputs.training.compile !== true;
}

/**
 * Bytes an element that a norm keeps in addition to its input and its output: an RMSNorm in Python copies its input to fp32, keeps that
 * instead of the input, and what is normed before it is weighed.
 */
export function normCopyBytes(inputs: MemoryInputs): number {
  const copies = isEager(inputs) && inputs.model.norm === 'rmsnorm' && inputs.training.precision !== 'fp32';
  // what is normed is kept only for the gradient of the norm's weight
  return copies ? (inputs.training.adapter === undefined ? 4 : 4 - elementBytes(inputs.training)) : 0;
}

/** Models of Transformers whose GELU is written out in Python (`NewGELUActivation`). */
const writtenGelu: ReadonlySet<string> = new Set(['gpt2', 'gpt_neo', 'gptj', 'codegen', 'phi']);

/** Tensors of the feed-forward width that the activation keeps in addition to its input: the tanh, half the input, and 1 plus the tanh. */
export function activationCopies(inputs: MemoryInputs): number {
  return runsTransformers(inputs.training) && isEager(inputs) && writtenGelu.has(inputs.model.modelType) ? 3 : 0;
}

/**
 * Whether attention saves keys and values repeated for every head: TorchTitan's `repeat_kv` before any kernel, Transformers' before its own
 * attention.
 */
export function repeatsKeysAndValues(inputs: MemoryInputs): boolean {
  const { training } = inputs;
  return training.runtime === 'torchtitan' || (runsTransformers(training) && training.attention === 'unfused' && isPlain(inputs));
}

/** Bytes a cell of the softmax that unfused attention saves in fp32 in addition to its cast (Transformers' Llama and its like). */
export function softmaxCopyBytes(inputs: MemoryInputs): number {
  return runsTransformers(inputs.training) && normCopyBytes(inputs) > 0 ? 4 : 0;
}

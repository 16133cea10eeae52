import { elementBytes } from '../domain/number-formats';
import { heldBytes, type Held, type StaticBytes } from './held';
import type { StageContents } from './layer-tensors';
import type { MemoryInputs } from './memory-inputs';
import { optimizerStates } from './optimizer-states';

/**
 * PyTorch's `DistributedDataParallel`, which shards nothing. Weights are in fp32, and their copies in the training precision are kept until
 * the backward has run (autocast's cache), unless they are in 16 bits themselves. Gradients have the type of the weights, and so have the
 * buckets that they are copied into to be all-reduced (`gradient_as_bucket_view` is off by default; torch/nn/parallel/distributed.py and
 * torch/csrc/distributed/c10d/reducer.cpp of PyTorch 2.6).
 */
export function replicatedBytes(inputs: MemoryInputs, stage: StageContents, held: Held): StaticBytes {
  const { training, layout } = inputs;
  const element = elementBytes(training);
  const kept = training.masterWeightBytes === 0 ? element : 4;
  const copies = kept === element ? 0 : heldBytes(held, element, false);
  const buckets = layout.data * layout.context > 1 ? heldBytes(held, kept, false) : 0;
  return {
    weights: heldBytes(held, kept, false),
    gradients: heldBytes(held, kept, false),
    optimizer: optimizerStates(inputs, stage, held, false),
    dummyGradients: 0,
    workspaces: copies + buckets,
  };
}

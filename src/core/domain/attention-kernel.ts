/** What computes fused attention: FlashAttention by its generation, or Transformer Engine's cuDNN. */
const fusedAttentionKernels = ['flash1', 'flash2', 'flash3', 'cudnn'] as const;
export type FusedAttentionKernel = (typeof fusedAttentionKernels)[number];

/** The same, and attention as separate GEMMs and a softmax. */
export const attentionKernels = [...fusedAttentionKernels, 'unfused'] as const;
export type AttentionKernel = (typeof attentionKernels)[number];

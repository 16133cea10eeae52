/** Adam in mixed precision with fp32 moments, with moments in bf16, with moments of 8 bits; SGD with momentum; none (no training). */
export const optimizers = ['adam', 'adam-bf16', 'adam-8bit', 'sgd', 'none'] as const;
export type Optimizer = (typeof optimizers)[number];

/**
 * Bytes a parameter that an optimizer keeps beside the master weight, and that its step reads and writes in all, master weight, gradient
 * and weight included. Sources: mixed-precision Adam of Megatron-LM (30 bytes:
 * docs/model/time.md, After the pipeline), its `--exp-avg-dtype bf16`, and block-wise 8-bit states (Dettmers et al. 2022, arXiv
 * 2110.02861).
 */
export const optimizerBytes: Readonly<Record<Optimizer, { readonly state: number; readonly step: number }>> = {
  adam: { state: 8, step: 30 },
  'adam-bf16': { state: 4, step: 22 },
  'adam-8bit': { state: 2, step: 18 },
  sgd: { state: 4, step: 14 },
  none: { state: 0, step: 0 },
};

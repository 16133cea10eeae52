/** Which framework's habits are counted: what it keeps, shards and gathers. */
export const runtimes = ['megatron', 'torchtitan', 'deepspeed'] as const;
export type Runtime = (typeof runtimes)[number];

export interface RuntimeProfile {
  readonly id: Runtime;
  readonly name: string;
  /** Widths of a gated feed-forward network that are kept: gate, up and product, and the activated gate where it is a tensor of its own. */
  readonly gatedWidths: 3 | 4;
  /** Products in a narrow format keep their inputs, and copies of the weights, in it (Transformer Engine); otherwise both are cast anew each time (torchao). */
  readonly keepsNarrow: boolean;
}

const profiles: Readonly<Record<Runtime, RuntimeProfile>> = {
  megatron: { id: 'megatron', name: 'Megatron-LM with Transformer Engine', gatedWidths: 3, keepsNarrow: true },
  torchtitan: { id: 'torchtitan', name: 'TorchTitan (FSDP2)', gatedWidths: 4, keepsNarrow: false },
  deepspeed: { id: 'deepspeed', name: 'DeepSpeed', gatedWidths: 4, keepsNarrow: false },
};

/** The profile that training settings name; Megatron-LM with Transformer Engine unless they say otherwise. Only that one was checked against measured peaks. */
export function runtimeOf({ runtime }: { readonly runtime?: Runtime }): RuntimeProfile {
  return profiles[runtime ?? 'megatron'];
}

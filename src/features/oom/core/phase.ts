/** What a run did when it ran out of memory, as far as its stack names it. */
export type Phase = 'checkpoint' | 'evaluation' | 'loading' | 'all-gather';

/*
 * Names in stacks of torch.distributed.fsdp and checkpoint (2.0 to 2.9), transformers' Trainer and modeling_utils (4.30 to 4.56),
 * accelerate, DeepSpeed, Megatron-LM and Lightning. What restores is looked for before what saves, since both name state_dict.
 */
const patterns: readonly (readonly [Phase, RegExp])[] = [
  [
    'loading',
    /load_state_dict|load_checkpoint|from_pretrained|_load_pretrained_model|set_module_tensor_to_device|_move_model_to_device|model\.to\(device|\b_apply\b/,
  ],
  [
    'checkpoint',
    /state_dict|save_(?:checkpoint|model|pretrained|ckpt|state)|_save_checkpoint|save_ckpt|dist_checkpointing|consolidate_shards|zero_to_fp32/,
  ],
  [
    'evaluation',
    /evaluation_loop|\bevaluate(?:_\w+)?\(|\bin (?:evaluate|validate)\b|prediction_step|validation_step|nested_concat|pad_across_processes/,
  ],
  ['all-gather', /_all_gather|all_gather_(?:copy_in|into_tensor|base)|\bunshard\b|_unshard|fetch_sub_module|_allgather_params/],
];

/** The phase of a stack, in any order of its frames; null: an ordinary step, or no stack. */
export function phaseOfStack(frames: readonly string[]): Phase | null {
  return patterns.find(([, pattern]) => frames.some((frame) => pattern.test(frame)))?.[0] ?? null;
}

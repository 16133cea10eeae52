/** What a run did when it ran out of memory, as far as its stack names it. */
export type Phase = 'checkpoint' | 'state-dict' | 'evaluation' | 'loading' | 'all-gather';

/*
 * Names in stacks of torch.distributed.fsdp and checkpoint (2.0 to 2.9), transformers' Trainer and modeling_utils (4.30 to 4.56),
 * accelerate, DeepSpeed, Megatron-LM and Lightning. What restores is looked for before what saves, since both name state_dict; a state
 * dict by itself may be one that is sent, as to an engine of inference. Others than FSDP and ZeRO gather too: sequence parallelism does
 * activations.
 */
const patterns: readonly (readonly [Phase, RegExp])[] = [
  [
    'loading',
    /load_state_dict|load_checkpoint|from_pretrained|_load_pretrained_model|set_module_tensor_to_device|_move_model_to_device|model\.to\(device|\b_apply\b/,
  ],
  [
    'checkpoint',
    /save_(?:checkpoint|model|pretrained|ckpt|state)\w{0,40}(?:\(|[\s│|]{0,200}$)|dist_checkpointing|consolidate_shards|zero_to_fp32/,
  ],
  ['state-dict', /state_dict\w{0,40}(?:\(|[\s│|]{0,200}$)|_state_dict_hook|Failed to clone\(\)/],
  [
    'evaluation',
    /evaluation_loop|\bevaluate(?:_\w+)?\(|\bin (?:evaluate|validate)\b|prediction_step|validation_step|nested_concat|pad_across_processes/,
  ],
  [
    'all-gather',
    /unshard(?:ed_flat_param)?\b|_all_gather_flat_param|foreach_all_gather|all_gather_copy_in|fetch_sub_module|_allgather_params/,
  ],
];
/** Functions of FSDP and ZeRO that gather, whose names others have too. */
const libraryGather = /(?:\/fsdp\/|_fsdp_|_flat_param\.py|partition_parameters\.py)[^"]{0,300}", line \d{1,9}, in \w{0,40}all_?gather/;

/** The phase of a stack, in any order of its frames; null: an ordinary step, or no stack. */
export function phaseOfStack(frames: readonly string[]): Phase | null {
  const code = frames.map(withoutPath);
  const named = patterns.find(([, pattern]) => code.some((line) => pattern.test(line)))?.[0];
  return named ?? (frames.some((frame) => libraryGather.test(frame)) ? 'all-gather' : null);
}

/** The function, or source text, of a line of a stack: names of folders and files say nothing of what runs. */
function withoutPath(frame: string): string {
  return frame.replace(/File "[^"]*"?|\S*\.py:\d+/g, ' ');
}

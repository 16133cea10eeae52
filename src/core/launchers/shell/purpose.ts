import type { Purpose } from '../../run/facts';

/** By the name of a program, the surer sign first: `convert_pretrained.py` converts. */
const purposes: readonly (readonly [Purpose, RegExp])[] = [
  ['data', /preprocess|create_doc|prepare_(?:data|corpus)|download|tokenize_|build_index|dataset_util|offline_feature/],
  ['conversion', /convert|conver(?:tor|sion)|ckpt|checkpoint[_/](?:util|tools?)|(?:hf|huggingface|mg|megatron|mcore|deepspeed|te|saver|loader)_?2_?(?:hf|te|mcore|megatron|mg|megablocks)|(?:deepspeed|megatron|hf)_to_|merge_|quantize|\bprune|export_|^export\.py$|reshard/], // prettier-ignore
  [
    'evaluation',
    /eval|benchmark|harness|validate|mmlu|humaneval|gsm8k|perplexity|report_theoretical|verify_|get_test_results|parity_check/,
  ],
  ['serving', /inference|generat|serv(?:e|er|ing)\b|_server|chat|demo|text_completion|cli\.py|infer\b|sample_|detokenize/],
  ['training', /train|finetune|fine_tune|sft|dpo|grpo|ppo|rlhf|pretrain|run_clm|main|run/],
];

/** What a program does, by its path or module and the flags it takes; null: unknown from its name. */
export function detectPurpose(program: string, flags: ReadonlySet<string>): Purpose | null {
  const name = program.toLowerCase().replaceAll('-', '_').split('/').slice(-3).join('/');
  const own = name.slice(name.lastIndexOf('/') + 1);
  // Megatron-LM's tasks: without data to train on they evaluate
  if (own === 'main.py' && name.includes('tasks')) return flags.has('train-data') ? 'training' : 'evaluation';
  if (/^(?:pre|post)?_?train|^finetune|^pretrain/.test(own)) return flags.has('eval-only') ? 'evaluation' : 'training';
  return purposes.find(([, pattern]) => pattern.test(own))?.[0] ?? null;
}

import { findMentions } from '../shell/recognise';

const batches =
  /--(?:per_device|per-device|per_gpu|micro)[_-]train[_-]batch[_-]size(?=[\s=\\"']|$)|--train[_-]batch[_-]size(?=[\s=\\"']|$)/g;
const models =
  /--(?:actor_)?(?:model_name_or_path|model_id_or_path|model_name|model_type|config_name|pretrain|model|bert_model)(?=[\s=\\"']|$)/g;
const swiftCommand = /\bswift[ \t]+(?:sft|pt|rlhf)\b/g;
const metaseqProgram = /\bopt-baselines\b|\bopt_baselines\b/g;

/** Whether a script starts a program that takes the flags of Hugging Face's Trainer, or metaseq's launcher of OPT: a scan of its text. */
export function isTrainerScript(text: string): boolean {
  return (
    (findMentions(text, models, 1).size === 1 && [batches, swiftCommand].some((sign) => findMentions(text, sign, 1).size === 1)) ||
    (findMentions(text, metaseqProgram, 1).size === 1 && findMentions(text, /--model-size(?=[\s=\\"']|$)/g, 1).size === 1)
  );
}

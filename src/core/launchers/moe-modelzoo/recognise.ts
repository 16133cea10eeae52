import { findMentions } from '../shell/recognise';

/** The script that starts a run, with its path. */
export const starter = /(?:^|\/)(?:sbatch|interactive)_benchmarking\.sh$/;

/** Whether a script starts a run of Megatron-MoE-ModelZoo by its variables: a scan of its text. */
export function isModelZooScript(text: string): boolean {
  const hasSizes = findMentions(text, /\b(?:MODEL|PP|TP|EP|MBS|GBS)=/g, 3).size === 3;
  return hasSizes && findMentions(text, /\b(?:sbatch|interactive)_benchmarking\.sh\b/g, 1).size === 1;
}

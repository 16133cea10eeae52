import { findMentions } from '../shell/recognise';

/** Whether a script starts verl's trainers: a scan of its text. */
export function isVerlScript(text: string): boolean {
  return (
    findMentions(
      text,
      /\bverl\.(?:\w+\.){0,3}(?:main_\w+|\w+_main|fsdp_sft_trainer|sft_trainer\w*)|\brecipe\.\w+\.(?:src\.)?main(?:_\w+)?(?=[\s"']|$)/g,
      1,
    ).size === 1 && findMentions(text, /(?<![\w.])(?:actor_rollout_ref|data|trainer|model)\.[a-z][\w.]*=/g, 2).size === 2
  );
}

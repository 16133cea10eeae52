import { findMentions } from '../shell/recognise';

/** Whether a script starts OpenRLHF's programs with the dotted flags that they take since 2026: a scan of its text. */
export function isOpenRlhfScript(text: string): boolean {
  return (
    findMentions(text, /\bopenrlhf\.cli\.train_\w+/g, 1).size === 1 &&
    findMentions(text, /--(?:train|ds|data|actor|model|ckpt|rollout)\.[a-z][\w.]*/g, 2).size === 2
  );
}

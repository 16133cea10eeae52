import { findMentions } from '../shell/recognise';

/** Whether a script starts the pretraining of nanochat: a scan of its text. */
export function isNanochatScript(text: string): boolean {
  return (
    findMentions(text, /-m[ \t]+scripts\.base_train(?=[\s"']|$)/g, 1).size === 1 && /\bnanochat\b|--depth\b/.test(text.slice(0, 100_000))
  );
}

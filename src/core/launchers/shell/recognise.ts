import { flagKey, flagTable, flagWords } from '../megatron/megatron-flags';

const marks = [
  ...(['tensor', 'pipeline', 'layers', 'encoderLayers', 'hidden', 'heads', 'sequenceLength', 'encoderSequenceLength'] as const),
  ...(['microBatch', 'globalBatch', 'experts', 'tiedEmbeddings', 'distributedOptimizer'] as const),
].flatMap((fact) => flagTable[fact]?.[0]?.name ?? []);

/** Flags that only a launch of Megatron has; a YAML key (`--num-layers:`) is none. */
const megatronFlag = new RegExp(`--(?:${[...marks, 'transformer-impl'].join('|')})(?=[\\s=\\\\"']|$)`, 'g');

/** A launch script shows what it launches near its start. */
const sniffedLength = 262_144;

/** Scripts of Megatron-LM that a launcher starts. */
const megatronProgram = /\bpretrain_(?:gpt|bert|t5|llama|mamba|hybrid|retro|vlm|ict|vision_\w)\w*\.py\b/;

/** Distinct matches outside comments near the start of a text, up to `enough`. */
export function findMentions(text: string, pattern: RegExp, enough: number): ReadonlySet<string> {
  const head = text.length > sniffedLength ? text.slice(0, sniffedLength) : text;
  const seen = new Set<string>();
  for (const match of head.matchAll(pattern)) {
    const before = head.slice(Math.max(0, match.index - 200), match.index);
    if (/(^|\s)#/.test(before.slice(before.lastIndexOf('\n') + 1))) continue;
    seen.add(match[0]);
    if (seen.size === enough) break;
  }
  return seen;
}

/**
 * Whether a text is a script (or a file of arguments) that launches Megatron: at least two of its flags outside comments, or one with the
 * name of its program. Cheap, only by content.
 */
export function isMegatronShell(text: string): boolean {
  const head = text.length > sniffedLength ? text.slice(0, sniffedLength) : text;
  if (megatronProgram.test(head) && mentionsMegatron(head)) return true;
  if (!head.includes('-size') && !head.includes('--num-layers')) return false;
  return findMentions(head, megatronFlag, 2).size === 2;
}

/** Whether a text mentions a flag of Megatron: enough for a script that the user named. */
export function mentionsMegatron(text: string): boolean {
  for (const [flag] of text.slice(0, sniffedLength).matchAll(/--[a-z][a-z0-9-]+(?=[\s=\\"']|$)/g))
    if (flagWords(flagKey(flag)) !== undefined) return true;
  return false;
}

/** Whether a file holds only arguments, as for `pretrain_gpt.py @arguments.txt`: after blanks and comments it starts with a flag. */
export function isArgumentFile(text: string): boolean {
  return /(?:^|\n)[ \t\r]*(?![ \t\r\n#])(--[a-z])?/.exec(text)?.[1] !== undefined;
}

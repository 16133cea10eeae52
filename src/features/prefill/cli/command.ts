import { sentence } from '../../../core/sentence';
import { quoted } from '../../../core/text';
import { servingRuntimes } from '../core/serving';
import type { PrefillExport } from './answer';
import { parseCount, defineCommand, parseChoice, refuseBoth, usage } from '../../../cli/command';
import { configOptions } from '../../../cli/common-options';

export const prefillCommand = defineCommand({
  takes: 'FILE',
  description: 'prefill chunk sizes that minimize time to first token, compared with fixed-size rules',
  options: {
    ...configOptions,
    prompt: { value: 'N', help: 'tokens of the prompt (as many as the model has positions for, up to 131,072)' },
    lengths: {
      value: 'PATH',
      help: 'prompts of many lengths: a number a line, JSON lines with "tokens", or one object of counts by length; chunks are of the longest',
    },
    'chunk-cap': { value: 'MS', help: 'longest that a chunk may take on a stage, which is how long decoding waits for it (no limit)' },
    to: {
      value: 'ENGINE',
      help: [
        'sglang:      what launches SGLang so that its chunks come nearest',
        'vllm:        the same of vLLM, whose chunks are all as long',
        'vllm-ascend: the same of vLLM-Ascend',
        'list:        the chunks, a number a line',
      ],
    },
  },
  start: (line, given) => {
    refuseBoth(given, 'prompt', 'lengths');
    const prompt = parseCount('--prompt', given.prompt, 100_000_000);
    const capMs = parseChunkCap(given['chunk-cap']);
    const to = given.to === undefined ? null : parseChoice(exports, given.to, 'nothing that prefill is written for');
    return async (terminal, texts) =>
      (await import('./answer')).prefillNamed(line, { prompt, lengths: given.lengths, capMs, to }, terminal, texts);
  },
});

const exports: readonly PrefillExport[] = [...servingRuntimes, 'list'];

function parseChunkCap(written: string | undefined): number {
  if (written === undefined) return Infinity;
  const ms = Number(written);
  if (ms > 0 && ms < Infinity) return ms;
  throw usage(sentence`--chunk-cap is ${quoted(written)}`, sentence`give it milliseconds, as 50`);
}

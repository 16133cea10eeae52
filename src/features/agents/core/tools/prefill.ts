import * as v from 'valibot';
import { decodeTexts } from '../../../prefill/core/decode';
import { answerPrefill, servedRequest } from '../../../prefill/core/answer';
import { servedModel, usualPrompt } from '../../../prefill/core/served-model';
import { formatBytes, formatDuration } from '../../../../core/format';
import { say } from '../../../../core/sentence';
import { boundedAnswer, few, rounded, defineTool } from '../tool';
import { askedEntries } from '../input';
import { loadAsked, askedRun } from '../load';

export const prefillTool = defineTool({
  title: 'Prefill chunks of a prompt',
  description:
    'Chooses the chunk sizes of a long prompt on a serving pipeline so that the first token comes soonest, with a bound, compared with fixed chunks, and the settings of SGLang and vLLM that come nearest. Also reports whether weights and keys and values fit. It does not size decoding. Reads only.',
  input: v.object({
    ...askedEntries,
    prompt: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100_000_000), v.description('Tokens of the prompt'))),
    stages: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000), v.description('Pipeline stages of the server'))),
  }),
  example: { path: 'config.json', gpu: 'H100-80GB', prompt: 131_072, stages: 4, set: { 'layout.tensor': 8 } },
  async run({ prompt, stages, ...asked }, host) {
    const loaded = await loadAsked(asked, host);
    const run = askedRun(loaded);
    const tokens = prompt ?? usualPrompt(run);
    const request = servedRequest(run, { tokens, stages: stages ?? null }, host.defaults, [], host.signal);
    const { prefill, engines, remedy, gpu, tensor } = answerPrefill(request, servedModel(run), host.signal);
    const { chunks, timeToFirstTokenMs, lowerBoundMs, rules, memory, decode } = prefill;
    return boundedAnswer(
      [
        `${request.title}: a prompt of ${tokens.toLocaleString('en-US')} tokens on ${prefill.stages} stages of TP${tensor}, ${gpu}.`,
        `First token after ${formatDuration(timeToFirstTokenMs)} with ${chunks.length} chunks: ${few(chunks, 64).join(', ')}; no chunks take less than ${formatDuration(lowerBoundMs)}.`,
        `Memory: weights ${formatBytes(memory.weightsBytes)} and keys and values ${formatBytes(memory.keyValueBytes)} of ${formatBytes(memory.usableBytes)}: ${memory.fits ? 'fit' : 'do not fit'}; the longest prompt that fits has ${memory.mostTokens.toLocaleString('en-US')} tokens.`,
        ...decodeTexts(decode).map((line) => `${say(line).trim()}.`),
        remedy === null ? null : `To fit: ${say(remedy)}.`,
        ...few(rules, 5).map((rule) => `Instead, ${say(rule.name)}: ${formatDuration(rule.timeToFirstTokenMs)}.`),
        ...engines.map(({ runtime, command, timeToFirstTokenMs: ms }) => `${runtime}: ${formatDuration(ms)} with ${command}`),
      ],
      {
        chunks: few(chunks, 64),
        timeToFirstTokenMs: rounded(timeToFirstTokenMs),
        lowerBoundMs: rounded(lowerBoundMs),
        fits: memory.fits,
        mostTokens: memory.mostTokens,
        decode: decode.rows.map(({ sequences, tokenMs }) => ({ sequences, tokenMs: rounded(tokenMs.usual) })),
      },
    );
  },
});

import { decodeTexts } from '../core/decode';
import type { PrefillAnswer } from '../core/answer';
import { noPrefill, type PrefillState } from '../protocol';
import { formatBytes, formatDuration, formatTokens } from '../../../core/format';
import { say, type Translate } from '../../../core/sentence';
import { toPageError } from '../../../host/pages/page-state';
import type { SessionState } from '../../../host/sessions/session-state';
import type { PrefillSession } from './prefills';

/** What a server makes of the positions. */
export function servedLines(answer: PrefillAnswer | null, t: Translate): string[] {
  if (answer === null) return [];
  const { asked, prefill } = answer;
  const { chunks, stages, timeToFirstTokenMs, memory, decode } = prefill;
  return [
    t(
      'Time to first token for a prompt of {0}: {1}, in {2} chunks over {3} stages.',
      formatTokens(asked.tokens),
      formatDuration(timeToFirstTokenMs),
      chunks.length,
      stages,
    ),
    t('Its keys and values take {0} on a GPU.', formatBytes(memory.keyValueBytes)),
    ...decodeTexts(decode).map((line) => say(line, t).trim()),
  ];
}

/** The Prefill tab's part of a page; null where a config is only trained with and no prompt was planned. */
export function toPagePrefill(
  { format, launcher, run, texts }: SessionState,
  known: PrefillSession | null,
  displayPath: (file: string) => string,
): PrefillState | null {
  if (known === null) return format === 'huggingface' && launcher === null && run !== null ? noPrefill : null;
  const { answer, isRunning, error } = known;
  return {
    answer,
    isRunning,
    isStale: answer !== null && known.run !== run,
    error: error === null ? null : toPageError(error, error.place ?? null, texts, displayPath),
  };
}

import type { PrefillAnswer } from '../core/answer';
import { noPrefill, type PrefillState } from '../protocol';
import { formatBytes, formatDuration, formatTokens } from '../../../core/format';
import type { Translate } from '../../../core/sentence';
import { toPageError } from '../../../extension/sessions/page-state';
import type { SessionState } from '../../../extension/sessions/session-state';
import type { PrefillSession } from './prefills';

interface PrefillLens {
  readonly title: string;
  readonly runs: string;
  readonly tooltip: string;
  readonly isOfFile: true;
}

/** The lens over files that a server reads too: a model's config with no launcher next to it; of others once a prompt was planned. */
export function prefillLens(
  { format, launcher, plan, run }: SessionState,
  prefill: PrefillSession | null,
  t: Translate,
): readonly PrefillLens[] {
  const answer = prefill?.answer ?? null;
  if (plan === null || (answer === null && (format !== 'huggingface' || launcher !== null))) return [];
  const lens = {
    runs: 'terapipe.planPrefill',
    tooltip: t('Prefill chunk sizes that minimize time to first token'),
    isOfFile: true as const,
  };
  if (answer === null) return [{ ...lens, title: t('Plan prefill') }];
  const { asked, prefill: found } = answer;
  const title = t('First token of {0} in {1}', formatTokens(asked.tokens), formatDuration(found.timeToFirstTokenMs));
  return [{ ...lens, title: prefill?.run === run ? title : t('{0} (before the last edits)', title) }];
}

/** What a server makes of the positions. */
export function servedLines(answer: PrefillAnswer | null, t: Translate): string[] {
  if (answer === null) return [];
  const { asked, prefill } = answer;
  const { chunks, stages, timeToFirstTokenMs, memory } = prefill;
  return [
    t(
      'Time to first token for a prompt of {0}: {1}, in {2} chunks over {3} stages.',
      formatTokens(asked.tokens),
      formatDuration(timeToFirstTokenMs),
      chunks.length,
      stages,
    ),
    t('Its keys and values take {0} on a GPU.', formatBytes(memory.keyValueBytes)),
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

import { formatBytes, formatCount, formatDuration, formatPercent, formatTokens, plural } from '../../../src/core/format';
import { memoryVerdict } from '../../../src/core/memory-model/verdict';
import type { Candidate } from '../../../src/core/planner/plan';
import { t } from '../../base/strings';
import { worstStage } from '../../charts/memory/summary';
import type { SliceRow } from './groups';
import { maximum, minimum } from '../../../src/core/numbers';

/** Slices of one length but the last, which takes the rest. */
function areEqual(rows: readonly SliceRow[]): boolean {
  return rows.slice(0, -1).every(({ tokens }) => tokens === rows[0]?.tokens);
}

/** Why these cuts, in one sentence; empty where nothing is cut or no times are known. */
export function whyText(rows: readonly SliceRow[]): string {
  const times = rows.map(({ forwardMs, backwardMs }) => (forwardMs ?? 0) + (backwardMs ?? 0));
  const [first, last] = [rows[0], rows.at(-1)];
  if (rows.length < 2 || first === undefined || last === undefined || times.includes(0)) return '';
  if (areEqual(rows)) {
    const comparable = rows.filter(({ tokens }) => tokens === first.tokens).length;
    const grows = (times[comparable - 1] ?? 0) / (times[0] ?? 1) - 1;
    return t(
      'The last equal slice takes {0} longer than the first: too little to shorten slices of {1}.',
      formatPercent(Math.max(0, grows)),
      formatTokens(first.tokens),
    );
  }
  const [least, most] = [formatDuration(minimum(times)), formatDuration(maximum(times))];
  const isFalling = rows.every(({ tokens }, index) => tokens <= (rows[index - 1]?.tokens ?? tokens));
  if (isFalling)
    return t(
      'Later slices attend to more tokens, so they shrink from {0} to {1} and take {2} to {3}.',
      formatTokens(first.tokens),
      formatTokens(last.tokens),
      least,
      most,
    );
  const usual = usualLength(rows);
  return t(
    '{0} of {1} slices have {2} and take up to {3}; the others have what is left of the sequence.',
    rows.filter(({ tokens }) => tokens === usual).length,
    rows.length,
    formatTokens(usual),
    most,
  );
}

/** The length that most slices have. */
function usualLength(rows: readonly SliceRow[]): number {
  const counts = new Map<number, number>();
  for (const { tokens } of rows) counts.set(tokens, (counts.get(tokens) ?? 0) + 1);
  return [...counts].reduce((most, each) => (each[1] > most[1] ? each : most))[0];
}

/** What a trial takes compared with the plan, and whether it fits. */
export function costText(trial: Candidate | null, plan: Candidate): string {
  if (trial === null) return t('The schedule cannot run these slices.');
  const { fits, roomBytes, stage } = memoryVerdict(trial.memory);
  const room = fits
    ? t('Fits, {0} free.', formatBytes(roomBytes))
    : t('Does not fit: {0} over on stage {1}.', formatBytes(-roomBytes), stage);
  const moreMs = trial.iterationMs - plan.iterationMs;
  const [step, share, ms] = [
    formatDuration(trial.iterationMs),
    formatPercent(Math.abs(moreMs) / plan.iterationMs),
    formatDuration(Math.abs(moreMs)),
  ];
  if (Math.abs(moreMs) < 1e-6 * plan.iterationMs) return `${t('{0} per step, as planned.', step)} ${room}`;
  const than =
    moreMs > 0
      ? t('{0} per step: {1} ({2}) longer than the plan.', step, share, ms)
      : t('{0} per step: {1} ({2}) shorter than the plan.', step, share, ms);
  return `${than} ${room}`;
}

/** What is in flight at most on the fullest stage. */
export function inFlightText({ memory }: Candidate): string {
  const worst = worstStage(memory);
  if (worst === null) return '';
  const { activations, keysValues } = worst.parts;
  return t(
    'At most {0} in flight on stage {1}: {2} of activations, {3} of keys and values.',
    plural(Math.round(worst.unitsInFlight), t('slice'), t('slices')),
    formatCount(worst.stage),
    formatBytes(activations),
    formatBytes(keysValues),
  );
}

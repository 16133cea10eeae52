import type { PrefillAnswer } from '../../../src/features/prefill/core/answer';
import { noTransfers, simulate, wholeBackward } from '../../../src/core/schedules/simulate/simulate';
import { forwardOnlySchedule, type Timeline } from '../../../src/core/schedules/schedule';
import { say } from '../../../src/core/sentence';
import { t } from '../../base/strings';

/** A way to cut the prompt, as the tab lists it. */
export interface NamedChunks {
  readonly name: string;
  readonly chunks: readonly number[];
  readonly chunkMs: readonly number[];
  /** On each stage, where stages differ. */
  readonly stageMs?: readonly (readonly number[])[] | undefined;
  readonly timeToFirstTokenMs: number;
  /** How much longer than the best, as a share. */
  readonly regret: number;
}

/** The best, the rules and the engines' own chunks; fastest first. */
export function namedCuts({ prefill, engines }: PrefillAnswer): readonly NamedChunks[] {
  const bestMs = prefill.timeToFirstTokenMs;
  const others = [
    ...prefill.rules.map((rule) => ({ ...rule, name: say(rule.name, t) })),
    ...engines.map((engine) => ({ ...engine, name: t('{0}, launched for this', engine.title) })),
  ];
  const { chunks, chunkMs, stageMs } = prefill;
  const best = { name: t('best chunks'), chunks, chunkMs, stageMs, timeToFirstTokenMs: bestMs };
  return [best, ...others.sort((a, b) => a.timeToFirstTokenMs - b.timeToFirstTokenMs)].map(
    ({ name, chunks: own, chunkMs: ownMs, stageMs: onStages, timeToFirstTokenMs }) => ({
      name,
      chunks: own,
      chunkMs: ownMs,
      stageMs: onStages,
      timeToFirstTokenMs,
      regret: Math.max(0, timeToFirstTokenMs / bestMs - 1),
    }),
  );
}

/** Operations that are drawn at most. */
const mostDrawn = 100_000;

/** The chunks on their way down the stages; null where there are too many to draw. */
export function cutTimeline({ chunks, chunkMs, stageMs }: NamedChunks, stages: number): Timeline | null {
  if (chunks.length * stages > mostDrawn) return null;
  const cells = stages * chunks.length;
  const forwardMs = Float64Array.from({ length: cells }, (_, cell) => {
    const times = stageMs?.[Math.floor(cell / chunks.length)] ?? chunkMs;
    return times[cell % chunks.length] ?? 0;
  });
  return simulate(forwardOnlySchedule(chunks, stages), wholeBackward(forwardMs, new Float64Array(cells)), noTransfers(chunks.length));
}

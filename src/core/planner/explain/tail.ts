import type { Timeline } from '../../schedules/schedule';
import type { Candidate } from '../plan';

/** What a stage does after its passes, and the part of it that overlapped with them. */
export interface TailPart {
  readonly kind: 'gradientExchange' | 'optimizer' | 'hiddenExchange';
  readonly startMs: number;
  readonly endMs: number;
}

/** The end of a step, stage by stage. */
export interface Tail {
  readonly ofStage: readonly (readonly TailPart[])[];
  /** Where the last stage is done, ms. */
  readonly endMs: number;
}

type StepEnd = Pick<Candidate, 'pipelineMs' | 'gradientExchangeMs' | 'optimizerMs' | 'hiddenExchangeMs'>;

/**
 * Gradient exchange and optimizer after the pipeline. Where stages need not wait for each other before the optimizer (their own span is the
 * pipeline part), each begins when its own passes are done. The hidden part of the exchange runs from a stage's last backward on.
 */
export function stepTail(timeline: Timeline, step: StepEnd): Tail {
  const { pipelineMs, gradientExchangeMs, optimizerMs, hiddenExchangeMs = 0 } = step;
  const together = pipelineMs >= timeline.makespanMs * (1 - 1e-9);
  const ofStage = Array.from({ length: timeline.stages }, (_, stage): TailPart[] => {
    const last = (timeline.rowStart[stage + 1] ?? 0) - 1;
    const lastMs = timeline.startMs[last] ?? 0;
    const doneMs = together ? timeline.makespanMs : (timeline.endMs[last] ?? 0);
    const exchangedMs = doneMs + gradientExchangeMs;
    const parts: readonly TailPart[] = [
      { kind: 'hiddenExchange', startMs: Math.max(lastMs, doneMs - hiddenExchangeMs), endMs: hiddenExchangeMs > 0 ? doneMs : 0 },
      { kind: 'gradientExchange', startMs: doneMs, endMs: exchangedMs },
      { kind: 'optimizer', startMs: exchangedMs, endMs: exchangedMs + optimizerMs },
    ];
    return parts.filter(({ startMs, endMs }) => endMs > startMs);
  });
  const endMs = ofStage.reduce((most, parts) => Math.max(most, parts.at(-1)?.endMs ?? 0), timeline.makespanMs);
  return { ofStage, endMs };
}

/** What a stage does at a time after its passes; null where it does nothing. */
export function tailAt({ ofStage }: Tail, stage: number, ms: number): TailPart | null {
  return ofStage[stage]?.find(({ kind, startMs, endMs }) => kind !== 'hiddenExchange' && startMs <= ms && ms < endMs) ?? null;
}

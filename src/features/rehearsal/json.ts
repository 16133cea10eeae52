import type { RehearsalDesign } from './core/design';
import type { RankedSchemes } from './core/schemes';
import { comparedRehearsal, kindWords, type Rehearsal } from './core/result';

/** A rehearsal as `terapipe rehearse --json` prints it. Times in ms, memory in bytes, lengths in tokens; null: nothing was measured. */
export function rehearsalJson(rehearsal: Rehearsal): object {
  const { design, status, error, processes, clock, provider, versions, attention, steps, gradients, lossError, memory } = rehearsal;
  const compared = comparedRehearsal(rehearsal);
  return {
    schedule: design.scheduleName,
    stages: design.schedule.stages,
    processes,
    clock,
    provider,
    status,
    error,
    versions,
    attention,
    model: { layers: design.layers, ...design.shape },
    sequenceLength: design.tokens,
    scheme: design.scheme,
    notes: design.notes,
    stepMs: steps.map(({ makespanMs }) => makespanMs),
    measuredMs: rehearsal.measured?.makespanMs ?? null,
    predictedMs: rehearsal.predicted?.makespanMs ?? null,
    errors: compared?.errors ?? null,
    gradientError: gradients?.error ?? null,
    gradientErrorOf: gradients?.tensor ?? null,
    lossError,
    loss: steps[0]?.loss ?? null,
    transferMs: rehearsal.transferMs,
    waitedShare: rehearsal.waitedShare,
    othersShare: rehearsal.othersShare,
    repeatedSteps: rehearsal.repeatedSteps,
    workedMs: rehearsal.workedMs,
    stageTimes: compared?.stages ?? [],
    operations: (compared?.operations ?? []).map((operation) => ({ ...operation, kind: kindWords[operation.kind] })),
    memory,
    seconds: rehearsal.seconds,
  };
}

/** Cuts of the sequence, fastest predicted first, as `terapipe rehearse --schemes --json` prints them. */
export function rankedSchemesJson(
  { schemes, rankCorrelation, noise, pairs, waitedShare, worked }: RankedSchemes,
  design: RehearsalDesign,
): object {
  return {
    schedule: design.scheduleName,
    stages: design.schedule.stages,
    rankCorrelation,
    noise,
    pairs,
    waitedShare,
    worked,
    schemes: schemes.map(({ name, tokens, predictedMs, measuredMs, stepMs, workedMs, workedStepMs, gradients }) => ({
      name,
      tokens,
      predictedMs,
      measuredMs,
      stepMs,
      workedMs,
      workedStepMs,
      gradientError: gradients?.error ?? null,
    })),
  };
}

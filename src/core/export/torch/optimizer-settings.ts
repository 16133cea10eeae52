import { carriedFlags } from '../../launchers/megatron/carried-flags';
import type { Remark } from '../../launchers/writing/remarks';
import type { TrainingSpec } from '../../domain/request';
import type { Plan } from '../../planner/plan';
import { sentence } from '../../sentence';
import { rateSchedules, type TorchPlan } from './schema';

type Settings = Pick<
  TorchPlan['training'],
  | 'learningRate'
  | 'learningRateSchedule'
  | 'warmupSteps'
  | 'decaySteps'
  | 'minLearningRate'
  | 'weightDecay'
  | 'beta1'
  | 'beta2'
  | 'epsilon'
  | 'gradientClip'
  | 'seed'
>;

/** A run, with what its file sets. */
interface OptimizedRun extends Pick<Plan, 'source'> {
  readonly request: { readonly training: Pick<TrainingSpec, 'globalBatch'> };
}

/**
 * What the planned run's file sets of the optimizer, in the names of any launcher, and otherwise usual values; with the settings that the
 * runtime does not have.
 */
export function optimizerSettings({ source, request }: OptimizedRun): { readonly settings: Settings; readonly gaps: readonly Remark[] } {
  const settings = source?.settings ?? null;
  const flags = source === undefined || settings === null ? null : carriedFlags({ ...source, settings }, false).values;
  const word = (flag: string): string | undefined => flags?.get(flag)?.split(' ')[1];
  const number = (flag: string): number | null => {
    const value = Number.parseFloat(word(flag) ?? '');
    return Number.isFinite(value) ? value : null;
  };
  const { globalBatch } = request.training;
  const steps = (name: string): number | null => {
    const samples = number(`${name}-samples`);
    return number(`${name}-iters`) ?? (samples === null ? null : Math.round(samples / globalBatch));
  };
  const style = word('lr-decay-style') ?? 'constant';
  const schedule = rateSchedules.find((each) => each === style);
  const decaySteps = steps('lr-decay') ?? steps('train');
  const fraction = number('lr-warmup-fraction');
  const warmUp = steps('lr-warmup') ?? (fraction === null || decaySteps === null ? 0 : Math.round(fraction * decaySteps));
  return {
    settings: {
      learningRate: number('lr') ?? 1e-4,
      learningRateSchedule: schedule ?? 'constant',
      warmupSteps: warmUp,
      decaySteps,
      minLearningRate: number('min-lr') ?? 0,
      weightDecay: number('weight-decay') ?? 0.1,
      beta1: number('adam-beta1') ?? 0.9,
      beta2: number('adam-beta2') ?? 0.95,
      epsilon: number('adam-eps') ?? 1e-8,
      gradientClip: number('clip-grad') ?? 1,
      seed: number('seed') ?? 1234,
    },
    gaps:
      schedule === undefined
        ? [{ what: sentence`decay of the learning rate by "${style}"`, reason: sentence`the PyTorch runtime keeps it constant` }]
        : [],
  };
}

import type { CacheDecision } from './auto-cache';
import { frozenForwardMs, pipelineForwardMs, type ElasticContext, type StepQuestion } from './context';
import { inputWaitMs } from './input';

/** The epoch that is evaluated after, and what scales its modelled step. */
interface EvaluatedEpoch {
  readonly epoch: number;
  readonly calibration: number;
  /** The training data's cache; of the evaluation data nothing is kept. */
  readonly cache: Pick<CacheDecision, 'used' | 'movedMs'>;
}

/** Whether what is evaluated after every this many epochs, and after the last, is evaluated after this one; 0: never. */
export function isEvaluatedAfter(every: number, epoch: number, epochs: number): boolean {
  return every > 0 && ((epoch + 1) % every === 0 || epoch === epochs - 1);
}

/**
 * Evaluation after an epoch, ms: a forward pass of the samples on all pipelines, and of the training data, whose frozen layers are read
 * where they are cached. Source: `CVTrainer.eval` of PipeTransformer's code, which runs it after the last epoch too.
 */
export function evaluationMs(context: ElasticContext, question: StepQuestion, { epoch, calibration, cache }: EvaluatedEpoch): number {
  const { evaluation, epochs, datasetSize } = context.request;
  const isDue = (every: number): boolean => isEvaluatedAfter(every, epoch, epochs);
  const due = [
    { samples: isDue(evaluation.every) ? evaluation.samples : 0, cached: false },
    { samples: isDue(evaluation.trainingEvery) ? datasetSize : 0, cached: cache.used },
  ].filter(({ samples }) => samples > 0);
  if (due.length === 0) return 0;
  const { batch, replicas, frozenLayers } = question;
  const forwardMs = calibration * pipelineForwardMs(context, question);
  return due.reduce((sum, { samples, cached }) => {
    const passMs = forwardMs + (cached ? cache.movedMs : frozenForwardMs(context, 0, frozenLayers, batch));
    return sum + Math.ceil(samples / (batch * replicas)) * (passMs + inputWaitMs(context.request, batch, passMs));
  }, 0);
}

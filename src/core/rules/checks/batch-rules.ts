import type { ConfigView } from '../view';
import { formatNumber } from '../../format';
import { countOf } from '../../launchers/counts';
import { batchPerMicroBatch, dataParallelSize } from '../../launchers/layout-sizes';
import { isLauncher } from '../../launchers/registry';
import { megatronAndRuns, megatronLmFormats } from '../formats';
import { listed, many, multiplesNear, remove, setTo, type Issue, type Rule } from '../rule';
import { sentence } from '../../sentence';

/** How a global batch is divided. */
export const batchRules: readonly Rule[] = [
  {
    code: 'gbs-not-divisible',
    severity: 'error',
    formats: [...megatronAndRuns, 'gpt-neox'],
    check: batchOverReplicas,
  },
  {
    code: 'step-batch-schedule-with-global-batch',
    severity: 'error',
    formats: megatronLmFormats,
    check: scheduleWithBatch,
  },
];

/**
 * @finding gbs-not-divisible
 * Megatron: "global batch size is not divisible by micro batch size times data parallel size". Every replica takes the same number of whole
 * micro-batches. The data size is what the other sizes leave of the GPUs. Choose a global batch that is a multiple of data size times
 * micro-batch.
 * @source Megatron-LM, `megatron/core/num_microbatches_calculator.py`, lines 382 and 584
 * @ignore the number of nodes in the file is not the one that you start.
 */
function batchOverReplicas({ facts, format }: ConfigView): Issue | null {
  const batch = countOf(facts, 'globalBatch');
  const micro = countOf(facts, 'microBatch');
  const data = dataParallelSize(facts, format);
  const step = batchPerMicroBatch(facts, format);
  if (batch === null || micro === null || data === null || step === null || batch % step === 0) return null;
  const near = multiplesNear(step, batch);
  const over =
    micro === 1 && !isLauncher(format)
      ? many(data, 'replica')
      : sentence`micro-batches of ${formatNumber(micro)} on ${many(data, 'replica')}, which take ${formatNumber(step)} at once`;
  return {
    at: ['globalBatch', 'microBatch'],
    message: sentence`A global batch of ${formatNumber(batch)} is not divisible by ${over}`,
    remedy: sentence`use a global batch of ${listed(near)}`,
    changes: setTo('globalBatch', near),
  };
}

/**
 * `--step-batch-size-schedule` names every batch size of a run (`0:16 2.4B:320`); Megatron's older `--rampup-batch-size` goes with a global
 * batch.
 *
 * @finding step-batch-schedule-with-global-batch
 * Megatron: "Cannot specify both --step-batch-size-schedule and --global-batch-size". The schedule names every batch size of the run, the
 * last one included.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 700
 */
function scheduleWithBatch({ facts }: ConfigView): Issue | null {
  const { batchSchedule, globalBatch } = facts;
  if (batchSchedule === undefined || globalBatch?.source.kind !== 'file') return null;
  if (!/step.batch.size.schedule/i.test(batchSchedule.name ?? '') && !batchSchedule.value.includes(':')) return null;
  return {
    at: ['globalBatch', 'batchSchedule'],
    message: sentence`A schedule of batch sizes and a fixed global batch exclude each other`,
    remedy: sentence`remove the global batch of ${formatNumber(globalBatch.value)}, or the schedule`,
    changes: [...remove('globalBatch'), ...remove('batchSchedule')],
  };
}

import type { CostProvenance } from '../../../../src/core/domain/slice-cost';
import { costProvenance } from '../../../../src/core/time-model/provenance';
import type { CostInputs } from '../../../../src/core/time-model/rates';

/** What the analytic times of a run rest on, for slices of this size. */
export function rooflineProvenance(run: CostInputs, microBatch: number, sequenceLength: number): CostProvenance {
  const training = { ...run.training, microBatch, sequenceLength };
  return costProvenance({ training, costTable: null, profile: null }, { inputs: run, nodeKinds: [run] });
}

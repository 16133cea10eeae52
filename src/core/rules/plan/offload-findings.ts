import type { Finding } from '../../findings';
import type { Run } from '../../run/run';
import { sentence } from '../../sentence';
import { findingAt, settingsEdits } from '../settings';

/**
 * The finding that a device is named for an optimizer that stays on the GPU.
 *
 * @finding offload-device-unused
 * `training.offloadDevice` is what an optimizer off the GPU is kept on. Without `training.offloadOptimizer` the plan keeps it on the GPU,
 * and the device has no effect. `cpu`, where it would be kept without the key, is not reported.
 * @example `"training": {"offloadDevice": "nvme"}`. "training.offloadDevice is nvme, and the optimizer is not off the GPU"
 * @source `offloadedOptimizer` in `src/core/partition/host-memory.ts`, which reads the device only with `training.offloadOptimizer`
 * @ignore the device is written for later.
 */
export function offloadFindings(run: Run): Finding[] {
  const device = run.training.offloadDevice?.value;
  if (device !== 'nvme' || run.training.offloadOptimizer?.value === true) return [];
  const edits = settingsEdits(run, [['training.offloadOptimizer', true]]);
  const title = sentence`set training.offloadOptimizer to true`;
  return [
    findingAt(
      run,
      'training.offloadDevice',
      'offload-device-unused',
      'warning',
      {
        message: sentence`training.offloadDevice is ${device}, and the optimizer is not off the GPU`,
        remedy: sentence`${title}, or remove training.offloadDevice`,
      },
      edits === null ? [] : [{ title, edits, preferred: false }],
    ),
  ];
}

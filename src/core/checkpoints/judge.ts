import type { LauncherFile } from '../run/facts';
import { programTraits } from '../launchers/as-launched';
import { sentence } from '../sentence';
import type { CheckpointKind, CheckpointSettings, CheckpointVerdict, PartVerdict } from './verdict';
import { layoutChange, type CheckpointLayout, type LayoutChange } from './layout';
import { checkpointKind } from './registry';

/** The verdict on a change of the layout. */
export interface JudgedChange {
  readonly change: LayoutChange;
  readonly verdict: CheckpointVerdict;
}

/**
 * Whether a checkpoint that a launcher's file wrote at one layout loads at another with the same file. Null where the file loads none, the
 * launcher's checkpoints are not known, or the layout does not change.
 */
export function judgeCheckpoint(file: LauncherFile, before: CheckpointLayout, after: CheckpointLayout): JudgedChange | null {
  if (file.facts.loadCheckpoint?.value !== true) return null;
  const kind = checkpointKind(file);
  const change = layoutChange(before, after);
  if (kind === null || change.changed.size === 0) return null;
  const settings = settingsIn(file, kind, before);
  const judged = kind.judge(settings, change);
  if (judged === null) return null;
  const { checkpointFormat } = file.facts;
  const assumed = checkpointFormat?.source.kind === 'file' ? null : kind.assumed.reason;
  const optimizer = withOptimizerChange(judged.optimizer, change);
  return { change, verdict: { ...judged, format: settings.format, assumed, optimizer } };
}

function settingsIn(file: LauncherFile, { assumed }: CheckpointKind, { zeroStage }: CheckpointLayout): CheckpointSettings {
  const { checkpointFormat, loadOptimizerState, loadDataPosition, reshardableOptimizer } = file.facts;
  return {
    format: checkpointFormat?.value ?? assumed.format,
    loadsOptimizer: loadOptimizerState?.value ?? true,
    loadsDataPosition: loadDataPosition?.value ?? true,
    comparesArguments: !/finetune|pretrained/.test(loadOptimizerState?.name ?? ''),
    isReshardable: reshardableOptimizer?.value ?? false,
    isSharded: isSharded(file, zeroStage),
  };
}

/** Whether the optimizer state is sharded; a recipe that is not read shards it as all of them do. */
function isSharded(file: LauncherFile, zeroStage: number | null): boolean {
  const { distributedOptimizer } = file.facts;
  if (distributedOptimizer !== undefined) return distributedOptimizer.value;
  return zeroStage === null ? programTraits(file).leavesOpen : zeroStage > 0;
}

/** State of another optimizer has other tensors. */
function withOptimizerChange(optimizer: PartVerdict | null, { changed }: LayoutChange): PartVerdict | null {
  if (optimizer?.outcome !== 'loads' || !changed.has('optimizer')) return optimizer;
  return { ...optimizer, outcome: 'unknown', reason: sentence`each optimizer keeps tensors of its own` };
}

import { judgeCheckpoint, type JudgedChange } from '../../checkpoints/judge';
import { changeText, layoutInFiles, plannedLayout, type CheckpointLayout } from '../../checkpoints/layout';
import { decidingPart } from '../../checkpoints/verdict';
import type { PlanRequest } from '../../domain/request';
import type { Finding, Severity } from '../../findings';
import { programTraits } from '../../launchers/as-launched';
import { usualCut } from '../../partition/stages';
import type { LauncherFile } from '../../run/facts';
import type { Run } from '../../run/run';
import { sentence, type Sentence } from '../../sentence';

/** A launcher's file and the run that it gives, before a command line or a search changed its layout. */
interface FileWithCheckpoint {
  readonly launcher: LauncherFile | null;
  /** Absent: nothing changed it. */
  readonly fileRun?: Run;
}

/**
 * The finding that a file loads a checkpoint and the plan has another layout than the file.
 * @param run what is planned, with settings of a command line.
 *
 * @finding checkpoint-layout
 * The file loads a checkpoint, and the layout that is planned is not the file's. If the checkpoint was written at the file's layout: a
 * warning where the launcher stops or goes ahead with weights that are initialised or mixed up, information where it loads.
 * Weights and optimizer state are judged apart; the finding is about the worse of both, and at the setting that names the checkpoint. The
 * remedy is what makes it load. [checkpoints.md](checkpoints.md) has every verdict.
 * @example `terapipe plan run.sh --set layout.tensor=4` on a script with `--load`, `--use-distributed-optimizer` and a tensor size of 8. "A
 * torch_dist checkpoint of this file's layout does not load with tensor 4 instead of 8"
 * @source The files and lines of each launcher that checkpoints.md names, such as Megatron-LM at d98e8a64,
 * `megatron/training/checkpointing.py`, lines 2649 to 2658
 * @ignore there is no checkpoint yet, or it was written at the new layout.
 */
export function checkpointFindings(file: FileWithCheckpoint, run: Run, request: PlanRequest): Finding[] {
  return judgedFinding(file, plannedCheckpoint(file, run, request));
}

/** The finding of what is judged of the checkpoint that a file loads; none where nothing is. */
export function judgedFinding({ launcher }: FileWithCheckpoint, judged: JudgedChange | null): Finding[] {
  if (judged === null || launcher === null) return [];
  const { loadCheckpoint } = launcher.facts;
  const place = loadCheckpoint?.source.kind === 'file' ? loadCheckpoint.source.place : launcher.place;
  const severity = loadCheckpoint?.isConditional === true ? 'information' : severityBy(judged);
  return [{ code: 'checkpoint-layout', severity, place, message: checkpointText(judged), remedy: checkpointRemedy(judged), fixes: [] }];
}

/** Whether the checkpoint of a file loads at the planned layout; null: it is the file's layout, or the file loads none. */
export function plannedCheckpoint({ launcher, fileRun }: FileWithCheckpoint, run: Run, request: PlanRequest): JudgedChange | null {
  if (launcher === null || fileRun === undefined) return null;
  const { leavesOpen } = programTraits(launcher);
  const set = layoutInFiles(run, leavesOpen);
  const open = plannedLayout(request, null);
  const names = Object.keys(set) as (keyof CheckpointLayout)[];
  const after = Object.fromEntries(names.map((name) => [name, set[name] ?? open[name]])) as unknown as CheckpointLayout;
  return judgeCheckpoint(launcher, layoutInFiles(fileRun, leavesOpen), after);
}

/** The same of a layout that a search found for a file. @param request of that layout. */
export function foundCheckpoint({ launcher, fileRun }: FileWithCheckpoint, run: Run, request: PlanRequest): JudgedChange | null {
  if (launcher === null) return null;
  const before = layoutInFiles(fileRun ?? run, programTraits(launcher).leavesOpen);
  const { stageLayers = null } = request.layout;
  const after = plannedLayout(request, withoutUsualCut(stageLayers, request));
  return judgeCheckpoint(launcher, { ...before, stageLayers: withoutUsualCut(before.stageLayers, request) }, after);
}

/** Null for the cut that launchers make by themselves. */
function withoutUsualCut(stageLayers: readonly number[] | null, { model, training }: PlanRequest): readonly number[] | null {
  if (stageLayers === null) return null;
  return JSON.stringify(stageLayers) === JSON.stringify(usualCut(model, training, stageLayers.length)) ? null : stageLayers;
}

/** Never an error: no file shows whether there is a checkpoint, or its layout. */
function severityBy({ verdict }: JudgedChange): Severity {
  const { outcome } = decidingPart(verdict);
  return outcome === 'stops' || outcome === 'initialises' ? 'warning' : 'information';
}

/** What happens to the checkpoint, with the reason and where the launcher's source shows it. */
export function checkpointText({ change, verdict }: JudgedChange): Sentence {
  const { outcome, reason, source } = decidingPart(verdict);
  const { format, assumed, weights, optimizer } = verdict;
  const isOfState = optimizer !== null && weights.outcome === 'loads' && optimizer.outcome !== 'loads';
  const what = isOfState ? sentence`The optimizer state of a ${format} checkpoint` : sentence`A ${format} checkpoint`;
  const written = sentence`${what} of this file's layout${assumed === null ? '' : sentence` (assumed: ${assumed})`}`;
  const how = sentence`with ${changeText(change)}: ${reason} (${source})`;
  if (outcome === 'loads') return sentence`${written} loads ${how}`;
  if (outcome === 'stops') return sentence`${written} does not load ${how}`;
  if (outcome === 'initialises') return sentence`${written} loads wrongly and without an error ${how}`;
  return sentence`${written} may or may not load ${how}`;
}

/** What makes the checkpoint load. */
export function checkpointRemedy({ verdict }: JudgedChange): Sentence {
  const { conversion } = verdict;
  if (conversion !== null) return conversion;
  const { outcome } = decidingPart(verdict);
  if (outcome === 'loads') return sentence`load it as it is`;
  return outcome === 'stops' ? sentence`keep this layout, or start without it` : sentence`try one step, or load the weights only`;
}

import { ExpectedError } from '../../../core/errors';
import { fileStart } from '../../../core/languages/json/document';
import type { LogDifference } from './logs/facts';
import { sentence } from '../../../core/sentence';
import type { PlanRequest } from '../../../core/domain/request';
import { differencesText, type Judged } from './against-log';

/** Keys of terapipe.json that make a planned run that of a log. */
function isSettable({ key }: LogDifference): boolean {
  return key === 'cluster.gpu' || /^(?:layout|training)\./.test(key);
}

/**
 * Whether the run of a log can be planned instead: it differs, its TFLOP/s do not contradict the model, and no file gives what differs.
 * @param left the differences that would be planned as logged.
 */
export function canPlanAsLogged({ differences, flops }: Judged, { assumptions }: PlanRequest, left = differences): boolean {
  if (differences.length === 0 || flops?.agree === false) return false;
  const keys = new Set(assumptions.map(({ key }) => key));
  return left.every((difference) =>
    difference.key === 'gpus' ? keys.has('cluster.nodes') : isSettable(difference) && keys.has(difference.key),
  );
}

/** Where the run of a log differs from the planned one, by the keys of `--set`; its replicas follow from its GPUs. */
export function settingsOfLog(differences: readonly LogDifference[], { layout }: PlanRequest): Readonly<Record<string, number | string>> {
  const { tensor, pipeline, context } = layout;
  const set = Object.fromEntries(differences.filter(isSettable).map(({ key, log }) => [key, log]));
  const gpus = differences.find(({ key }) => key === 'gpus')?.log;
  const sizes = [set['layout.tensor'] ?? tensor, set['layout.pipeline'] ?? pipeline, set['layout.context'] ?? context].map(Number);
  const data = Number(gpus) / sizes.reduce((product, size) => product * size, 1);
  return set['layout.data'] !== undefined || !Number.isInteger(data) || data === layout.data ? set : { ...set, 'layout.data': data };
}

/** The log of another run, each difference with both values: it calibrates nothing. @param file of the log. */
export function otherRunError(judged: Judged, file: string): ExpectedError {
  const settable = judged.differences.filter(isSettable);
  const isWhole = settable.length > 0 && judged.differences.every((difference) => isSettable(difference) || difference.key === 'gpus');
  const sets = settable.map(({ key, log }) => `--set ${key}=${log}`).join(' ');
  return new ExpectedError(
    'measured-other-run',
    sentence`The log is from another run: ${differencesText(judged)}`,
    isWhole
      ? sentence`give the log of the run that is planned, or plan that of the log with ${sets}`
      : sentence`give the log of the run that is planned, or plan the file of the log's run`,
    fileStart(file),
  );
}

import { stat } from 'node:fs/promises';
import { traceError } from '../core/events';
import { isMeasured, readMeasured, type Measured } from '../core/measured';
import { steadyTimes, type MeasuredTimes } from '../core/times';
import { maximumConfigSize } from '../../../core/languages/json/document';
import type { CancelSignal } from '../../../core/errors';
import { logNames } from '../core/logs/registry';
import type { SteadySteps } from '../core/logs/steady';
import { orList } from '../../../core/text';
import { readMeasuredFile } from '../worker/measured-file';
import { isScheduleFile } from '../../../cli/walk';
import { readNamedFile, type SourceText } from '../../../cli/read-file';
import { sentence } from '../../../core/sentence';

/**
 * What `--compare` names, recognised by its content: a measured run, else the text of a config. A file too large for a config is read piece
 * by piece; of others `texts` keeps the text for messages.
 * @throws ExpectedError as `readNamedFile` and `readMeasuredFile`; `compare-schedule`.
 */
export async function readOther(
  name: string,
  texts: Map<string, string>,
  signal: CancelSignal,
): Promise<Measured | { readonly kind: 'config'; readonly source: SourceText }> {
  const size = name === '-' ? 0 : ((await stat(name).catch(() => null))?.size ?? 0);
  if (size > maximumConfigSize) return readMeasuredFile(name, name, { signal });
  const source = await readNamedFile(name);
  texts.set(source.file, source.text);
  if (isMeasured(source.text)) return readMeasured(source.text, source.file);
  if (isScheduleFile(source))
    throw traceError(
      'compare-schedule',
      name,
      sentence`A schedule has no times to compare`,
      sentence`compare with a config, a trace or measured times`,
    );
  return { kind: 'config', source };
}

/** Step times of a file, with the steady ones. */
interface MeasuredSteps {
  readonly times: MeasuredTimes;
  readonly steady: SteadySteps;
}

/**
 * The steps of a file of measured times or a log.
 * @throws ExpectedError as `readOther`; `times-empty` for a file without steps.
 */
export async function measuredSteps(name: string, texts: Map<string, string>, signal: CancelSignal): Promise<MeasuredSteps> {
  const found = await readOther(name, texts, signal);
  const steady = found.kind === 'times' ? steadyTimes(found.times) : null;
  if (found.kind === 'times' && steady !== null) return { times: found.times, steady };
  throw traceError(
    'times-empty',
    name,
    sentence`The file has no step times`,
    sentence`give a time as 9.2s, step times in ms, one a line, or a log of ${orList(logNames)}`,
  );
}

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { maximumConfigSize } from '../core/config/json-document';
import { traceError } from '../core/compare/events';
import { isMeasured, readMeasured, type Measured } from '../core/compare/measured';
import { readTimes, steadySteps, timesFormatOf } from '../core/compare/times';
import { makeTraceReader } from '../core/compare/trace';
import { isScheduleFile } from './walk';
import { readNamedFile, type SourceText } from './read-file';

/** A file of a measured run larger than this is refused: reading it would take minutes. */
const maximumSize = 2 ** 31;

/**
 * What `--compare` names, told by its content: a measured run, else the text of a config. A file too large for a config is read piece by piece; of others `texts` keeps the text for messages.
 * @throws ExpectedError as `readNamedFile` and `readMeasured`; `measured-too-large`, `compare-schedule`.
 */
export async function readOther(
  name: string,
  texts: Map<string, string>,
): Promise<Measured | { readonly kind: 'config'; readonly source: SourceText }> {
  const size = name === '-' ? 0 : ((await stat(name).catch(() => null))?.size ?? 0);
  if (size > maximumSize)
    throw traceError('measured-too-large', name, 'The file is over 2 GB', 'record fewer steps: one after the warm-up is enough');
  if (size > maximumConfigSize) return readLarge(name);
  const source = await readNamedFile(name);
  texts.set(source.file, source.text);
  if (isMeasured(source.text)) return readMeasured(source.text, source.file);
  if (isScheduleFile(source))
    throw traceError('compare-schedule', name, 'A schedule has no times to compare', 'compare with a config, a trace or measured times');
  return { kind: 'config', source };
}

/**
 * The median step of a file of measured times, warm-up left out, ms.
 * @throws ExpectedError as `readOther`; `times-empty` for a file that tells no steps.
 */
export async function measuredStepMs(name: string, texts: Map<string, string>): Promise<number> {
  const found = await readOther(name, texts);
  const steady = found.kind === 'times' ? steadySteps(found.times.stepsMs) : null;
  if (steady !== null) return steady.medianMs;
  throw traceError(
    'times-empty',
    name,
    'The file tells no step times',
    'give a time as 9.2s, step times in ms, one a line, or a log of Megatron-LM',
  );
}

/** Reads a trace, or the lines of a log that tell times, without ever holding the file. */
async function readLarge(name: string): Promise<Measured> {
  const stream = createReadStream(name, { encoding: 'utf8', highWaterMark: 2 ** 20 });
  const trace = makeTraceReader(name);
  let isLog: boolean | null = null;
  let rest = '';
  const lines: string[] = [];
  for await (const piece of stream) {
    const text = String(piece);
    isLog ??= !/^[\s\uFEFF]*[[{]/.test(text);
    if (!isLog) {
      trace.push(text);
      continue;
    }
    const parts = (rest + text).split('\n');
    rest = (parts.pop() ?? '').slice(-maximumConfigSize);
    lines.push(...parts.filter((line) => timesFormatOf(line) === 'log'));
  }
  return isLog === true ? { kind: 'times', times: readTimes([...lines, rest].join('\n'), name) } : { kind: 'trace', trace: trace.end() };
}

import * as v from 'valibot';
import { compareWithLog, judgeLog, logSentences, readSentence } from '../../../compare/core/against-log';
import { otherRunError } from '../../../compare/core/log-calibration';
import { isMeasured, readMeasured } from '../../../compare/core/measured';
import { steadyTimes } from '../../../compare/core/times';
import { ExpectedError } from '../../../../core/errors';
import { fileStart } from '../../../../core/languages/json/document';
import { formatDuration, formatNumber, formatPercent } from '../../../../core/format';
import { chosenCandidate } from '../../../../core/planner/plan';
import { say, sentence } from '../../../../core/sentence';
import { boundedAnswer, rounded, defineTool, type ToolHost } from '../tool';
import { askedEntries } from '../input';
import { planAsked } from '../load';
import { memoryText, stepText, titleText } from '../words';

export const calibrateTool = defineTool({
  title: 'Calibrate to a measured step',
  description:
    'Compares the prediction of a config with a measured run of it (a training log of Megatron-LM, NeMo, TorchTitan, DeepSpeed and others, step times, or one time in ms) and reports how far off it was, what the log shows otherwise, and the calibration to give to further calls in "set". Use it when a log is at hand, before searching. Reads only.',
  input: v.object({
    ...askedEntries,
    log: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(4096), v.description('File of the log, inside the workspace'))),
    logText: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1_000_000), v.description('Lines of the log, in place of log'))),
    stepMs: v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(1e9), v.description('The measured step in ms, in place of a log'))),
  }),
  example: { path: 'train.sh', stepMs: 9200 },
  async run({ log, logText, stepMs, ...asked }, host) {
    const before = (await planAsked(asked, host)).planned.plan;
    const measured = await measuredStep({ log, logText, stepMs }, host);
    if (measured.log !== undefined) {
      const judged = judgeLog(measured.log, before.request);
      if (judged.match === 'other') throw otherRunError(judged, measured.name);
    }
    const set = { ...asked.set, 'calibration.iterationMs': measured.ms };
    const after = (await planAsked({ ...asked, set }, host)).planned.plan;
    const chosen = chosenCandidate(before);
    const off = chosen.iterationMs / measured.ms - 1;
    const compared = measured.log === undefined ? null : compareWithLog(after, measured.log);
    const calibration = after.request.calibration;
    return boundedAnswer(
      [
        titleText(before),
        `Measured: ${formatDuration(measured.ms)} a step${measured.steps === null || compared === null ? '' : ` (${say(readSentence(compared, measured.steps))})`}. Predicted: ${formatDuration(chosen.iterationMs)}, ${formatPercent(Math.abs(off))} too ${off < 0 ? 'fast' : 'slow'}.`,
        calibration === undefined
          ? null
          : `Calibrated: GEMMs reach ${formatNumber(calibration.gemmEfficiency)} of peak, not ${formatNumber(calibration.before)}.`,
        ...(compared === null ? [] : logSentences(compared).map((one) => say(one))),
        `After it: ${stepText(after, chosenCandidate(after))} ${memoryText(chosenCandidate(after))}`,
        `Next: give "set": {"calibration.iterationMs": ${rounded(measured.ms, 6)}} to terapipe_plan or terapipe_search of the same file; other layouts follow.`,
      ],
      { measuredMs: rounded(measured.ms), predictedMs: rounded(chosen.iterationMs), offPercent: rounded(100 * off, 3), set },
    );
  },
});

interface Measurement {
  readonly log: string | undefined;
  readonly logText: string | undefined;
  readonly stepMs: number | undefined;
}

async function measuredStep({ log, logText, stepMs }: Measurement, host: ToolHost) {
  if ([log, logText, stepMs].filter((one) => one !== undefined).length !== 1)
    throw new ExpectedError('agent-question', sentence`One measurement is needed`, sentence`give one of log, logText and stepMs`);
  if (stepMs !== undefined) return { ms: stepMs, steps: null, name: 'stepMs', log: undefined };
  const source = log === undefined ? { file: 'log', text: logText ?? '' } : await host.open(log);
  const read = isMeasured(source.text) ? readMeasured(source.text, source.file) : null;
  const steps = read?.kind === 'times' ? steadyTimes(read.times) : null;
  if (read?.kind !== 'times' || steps === null)
    throw new ExpectedError(
      'times-empty',
      sentence`The log has no step times`,
      sentence`give lines of a training log, step times in ms, or stepMs`,
      fileStart(source.file),
    );
  return { ms: steps.medianMs, steps, name: source.file, log: read.times.log };
}

import { differenceSentences, judgeLog } from '../core/against-log';
import { canPlanAsLogged, otherRunError, settingsOfLog } from '../core/log-calibration';
import { parseDuration } from '../../../core/format';
import { applyOverrides } from '../../../core/terapipe/overrides';
import type { Run } from '../../../core/run/run';
import { comparedFacts, type LogDifference } from '../core/logs/facts';
import type { RunLog } from '../core/logs/run-log';
import type { SteadySteps } from '../core/logs/steady';
import { assumedGpuName } from '../../../core/plan-request/scenario';
import { resolveRun } from '../../../core/plan-request/resolve';
import { scenarioOfLog } from '../core/scenario-of-log';
import { say, sentence, type Sentence } from '../../../core/sentence';
import type { PlanRequest } from '../../../core/domain/request';
import { printable } from '../../../core/text';
import type { Line } from '../../../cli/command';
import { judgedFindings, placed } from '../../../core/export/planned-config';
import { namedConfig, runConfig, type RunConfig } from '../../../cli/read-config';
import { measuredSteps } from './read-measured';
import type { Terminal } from '../../../cli/terminal';

/** A log that calibrates: which of its steps count, and how its run differs from the planned one. */
export interface UsedLog {
  readonly log: RunLog;
  readonly file: string;
  readonly steady: SteadySteps;
  readonly use: 'own step' | 'step of another run';
  /** How its run differs from the planned one, which is reported before it is used. */
  readonly differences: readonly Sentence[];
}

/** A config with what `--measured` makes of it. */
interface MeasuredConfig {
  readonly config: RunConfig;
  /** With the settings and defaults that it is planned with. */
  readonly line: Line;
  /** Null: no log calibrates it. */
  readonly used: UsedLog | null;
}

/**
 * The config that a command line names, calibrated to the step of `--measured`: a time, the median of a file of times, or that of the log
 * of this run. What no file sets is as the log has it.
 * @throws ExpectedError as `namedConfig`, `runConfig` and `measuredSteps`; `measured-other-run` for the log of another run.
 */
export async function measuredConfig(
  line: Line,
  written: string | undefined,
  terminal: Terminal,
  texts: Map<string, string>,
  isSearch = false,
): Promise<MeasuredConfig> {
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  if (written === undefined) return { config, line, used: null };
  const ms = parseDuration(written);
  if (ms !== null) return { ...withSets({ config, line }, [`calibration.iterationMs=${ms}`]), used: null };
  const { times, steady } = await measuredSteps(written, texts, terminal.signal);
  if (times.log === undefined) return { ...withSets({ config, line }, [`calibration.iterationMs=${steady.medianMs}`]), used: null };
  return calibratedToLog({ config, line }, { log: times.log, steady, file: written }, isSearch);
}

/** What is made of the log of another run on the machine. */
const countsAsOther = sentence`Its step counts as one of another run on this machine.`;

type ConfigOfLine = Pick<MeasuredConfig, 'config' | 'line'>;

function calibratedToLog(given: ConfigOfLine, read: Pick<UsedLog, 'log' | 'steady' | 'file'>, isSearch: boolean): MeasuredConfig {
  const { log, steady, file } = read;
  const plain = resolved(given);
  const kept = scenarioOfLog(log, plain);
  const asLogged = kept === null ? given : { ...given, line: { ...given.line, defaults: { ...given.line.defaults, kept } } };
  const request = kept === null ? plain : resolved(asLogged);
  const judged = judgeLog(log, request);
  const { match, differences } = judged;
  const own = `calibration.iterationMs=${steady.medianMs}`;
  if (match === 'same') return { ...withSets(asLogged, [own]), used: { ...read, use: 'own step', differences: [] } };
  const left = differences.filter(({ key }) => comparedFacts[key].isOfReplicas !== true);
  const isOpen = canPlanAsLogged(judged, request, left);
  // what no file sets is as in the log, which then is of this run; a search chooses all but the machine and its runtime
  const settled = isOpen ? left.filter(({ key }) => !isSearch || key === 'cluster.gpu' || key === 'training.runtime') : [];
  if (settled.length > 0) return calibratedToLog(withSets(given, settled.map(settingText)), read, isSearch);
  if (match === 'other' && !isOpen) throw otherRunError(judged, file);
  const steps = [
    ...(given.config.run.calibration?.steps?.value ?? []),
    { iterationMs: steady.medianMs, set: settingsOfLog(differences, request) },
  ];
  return {
    ...withSets(asLogged, [`calibration.steps=${JSON.stringify(steps)}`]),
    used: { ...read, use: 'step of another run', differences: [...differenceSentences(judged), countsAsOther] },
  };
}

/** The run as it would be planned without the log. @throws ExpectedError as `resolveRun`, placed. */
function resolved({ config, line }: ConfigOfLine): PlanRequest {
  const run: Run = { ...config.run, calibration: {} };
  try {
    return resolveRun(run, line.defaults);
  } catch (error) {
    throw placed(error, config.run, () => judgedFindings(config, config.run, null));
  }
}

function settingText({ key, log }: LogDifference): string {
  return `${key}=${log}`;
}

function withSets({ config, line }: ConfigOfLine, sets: readonly string[]): ConfigOfLine {
  return { config: { ...config, run: applyOverrides(config.run, sets, assumedGpuName) }, line: { ...line, sets: [...line.sets, ...sets] } };
}

/** Prints on stderr how the log differs, for commands whose output has no place for it. */
export function sayDifferences({ used }: MeasuredConfig, { err }: Terminal): void {
  for (const difference of used?.differences ?? []) err(`${printable(say(difference))}\n`);
}

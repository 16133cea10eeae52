import { withReplicas, type LogFacts } from './facts';
import type { LoggedMemory, LoggedStep, LogProgram, RunLog } from './run-log';

/** Steps kept of one run, and ranks whose memory is: a log may be larger than memory. */
const mostSteps = 1_000_000;
const mostRanks = 100_000;
/** A number equal to one of this many last steps is of another rank, whose lines are interleaved; a lower one: the run restarted. */
const interleaved = 4;
const longestStepMs = 1e9;

/** A step as a line has it: its time, or a rate from which the run's sizes give the time. */
interface StepLine extends Partial<Omit<LoggedStep, 'iteration' | 'ms'>> {
  readonly iteration: number | null;
  readonly ms?: number | null;
  /** Work a second, in the unit of `RunRecorder.end`. */
  readonly rate?: number | null;
  /** When the line was written, ms since some moment. */
  readonly atMs?: number | null;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

interface Recorded {
  readonly facts: Writable<LogFacts>;
  startsAfter: number | null;
  readonly steps: Required<StepLine>[];
  readonly memory: Map<number | null, LoggedMemory>;
}

/** Collects what the lines of one trainer say, run by run, in bounded memory. */
export interface RunRecorder {
  /** A line that a process writes when it begins: what follows it is of another run, where steps came before. */
  readonly begin: () => void;
  readonly startsAfter: (iteration: number) => void;
  readonly fact: <K extends keyof LogFacts>(key: K, value: LogFacts[K] | null) => void;
  readonly step: (step: StepLine) => void;
  /** Of ranks that are logged more than once the highest counts. */
  readonly memory: (logged: LoggedMemory) => void;
  /**
   * The last run with steps; null: there is none.
   * @param countWork what a step of the run works through, in the unit of its rates: where it is not known, times between lines count.
   */
  readonly end: (countWork?: (facts: LogFacts) => number | null) => RunLog | null;
}

export function makeRunRecorder(program: LogProgram): RunRecorder {
  let now = emptyRun();
  let last: Recorded | null = null;
  let runs = 0;
  const begin = (): void => {
    if (now.steps.length === 0) return;
    last = now;
    runs += 1;
    now = emptyRun();
  };
  return {
    begin,
    startsAfter: (iteration) => {
      now.startsAfter = iteration;
    },
    fact: (key, value) => {
      if (value !== null && value !== undefined) now.facts[key] = value;
    },
    step: (logged) => {
      const step = { ms: null, rate: null, atMs: null, globalBatch: null, tflopsPerGpu: null, skipped: false, ...logged };
      if (step.ms !== null && !(step.ms > 0 && step.ms <= longestStepMs)) return;
      if (step.iteration !== null) {
        const lately = now.steps.slice(-interleaved).map(({ iteration }) => iteration);
        if (lately.includes(step.iteration)) return;
        if (step.iteration < (now.steps.at(-1)?.iteration ?? 0)) beginAgain();
      }
      if (now.steps.length < mostSteps) now.steps.push(step);
    },
    memory: ({ rank, allocatedBytes, reservedBytes }) => {
      const before = now.memory.get(rank);
      if (before === undefined && now.memory.size >= mostRanks) return;
      now.memory.set(rank, {
        rank,
        allocatedBytes: higher(before?.allocatedBytes, allocatedBytes),
        reservedBytes: higher(before?.reservedBytes, reservedBytes),
      });
    },
    end: (countWork = () => null) => {
      const run = now.steps.length > 0 ? now : last;
      if (run === null) return null;
      const steps = timedSteps(run.steps, countWork(run.facts));
      const { startsAfter, memory } = run;
      // a batch that grows is that of the last steps, which count
      const batch = run.steps.findLast(({ globalBatch }) => globalBatch !== null)?.globalBatch ?? null;
      const facts = {
        ...run.facts,
        ...(batch === null ? {} : { 'training.globalBatch': batch }),
        ...(program === 'trainer' ? {} : { 'training.runtime': program }),
      };
      return {
        program,
        facts: withReplicas(facts),
        startsAfter,
        steps,
        memory: [...memory.values()],
        runs: runs + (now.steps.length > 0 ? 1 : 0),
      };
    },
  };

  /** The same run from an earlier checkpoint: what its head logged is still true. */
  function beginAgain(): void {
    const { facts } = now;
    begin();
    Object.assign(now.facts, facts);
  }
}

function emptyRun(): Recorded {
  return { facts: {}, startsAfter: null, steps: [], memory: new Map() };
}

function timedSteps(steps: readonly Required<StepLine>[], work: number | null): LoggedStep[] {
  return steps.flatMap(({ iteration, ms, rate, atMs, ...logged }, at) => {
    const before = steps[at - 1];
    const time = ms ?? (rate !== null && work !== null ? (work / rate) * 1e3 : sinceBefore({ iteration, atMs }, before));
    return time !== null && time > 0 && time <= longestStepMs ? [{ ...logged, iteration, ms: time }] : [];
  });
}

/** Time of a step by when its line and the one before it were written, ms. */
function sinceBefore(
  { iteration, atMs }: Pick<Required<StepLine>, 'iteration' | 'atMs'>,
  before: Required<StepLine> | undefined,
): number | null {
  if (atMs === null || iteration === null || typeof before?.iteration !== 'number' || before.atMs === null) return null;
  const steps = iteration - before.iteration;
  return steps > 0 ? (atMs - before.atMs) / steps : null;
}

function higher(before: number | null | undefined, logged: number | null): number | null {
  return before === null || before === undefined ? logged : logged === null ? before : Math.max(before, logged);
}

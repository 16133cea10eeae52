import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { formatCount, plural } from '../../../core/format';
import type { WithoutId } from '../../../protocol/profiler';
import { parseRehearsalReply, type RehearsalReply, type RehearsalRequest, stageArgument } from '../protocol';
import { childEnvironment } from '../../../profiler/client';
import { startProcess, type ServedProcess } from '../../../profiler/process';
import { sentence } from '../../../core/sentence';

type StageProcess = ServedProcess<RehearsalRequest, RehearsalReply>;
type Body = WithoutId<RehearsalRequest>;
type ReplyOf<Type extends RehearsalReply['type']> = Extract<RehearsalReply, { readonly type: Type }>;

/**
 * What passes give is garbage soon, tens of megabytes in each: V8's helpers would collect it on the cores that the other stages run on for
 * half as long as the passes take (measured). On the thread that makes it, each pass takes what it costs.
 */
const collectsOnOwnThread = ['--single-threaded-gc'];
/** Memory that was given back is not returned to the system, which would clear its pages when a later pass takes it: of glibc. */
const keepsMemory = { MALLOC_MMAP_THRESHOLD_: String(32 * 2 ** 20), MALLOC_TRIM_THRESHOLD_: String(2 ** 40) };

interface StageProcessOptions {
  /** The bundled child, `dist/profiler.js`. */
  readonly childFile: string;
  readonly libraryPath: readonly string[];
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for an answer, ms. */
  readonly limitMs: number;
  /** Hears how many passes of a step each process has run. */
  readonly onPassed: (process: number, passes: number) => void;
}

/** The processes of a rehearsal's stages. */
export interface StageProcesses {
  /**
   * Asks all of them at the same time. Rejects with CancelledError (at once after the signal), or with ExpectedError `rehearsal-died`,
   * `rehearsal-timeout` or `rehearsal-failed`; then all are ended.
   * @param bodies one for each.
   */
  readonly ask: <Type extends RehearsalReply['type']>(bodies: readonly Body[], type: Type) => Promise<readonly ReplyOf<Type>[]>;
  /** Where the process of each stage listens for the others. */
  readonly addresses: readonly string[];
  /** Ends them all; resolves when they are gone. */
  readonly close: () => Promise<void>;
}

/**
 * Starts one process for each list of stages.
 * @throws ExpectedError `profiler-missing`; CancelledError.
 */
export async function startStageProcesses(
  processStages: readonly (readonly number[])[],
  options: StageProcessOptions,
): Promise<StageProcesses> {
  const { childFile, libraryPath, signal, limitMs, onPassed } = options;
  if (!existsSync(childFile))
    throw new ExpectedError(
      'profiler-missing',
      sentence`The profiler is not installed: there is no ${childFile}`,
      sentence`install the extension again, or run \`npm run build\``,
    );
  if (signal?.aborted === true) throw new CancelledError();
  const scratch = await mkdtemp(path.join(tmpdir(), 'terapipe-stages-'));
  const env = { ...keepsMemory, ...childEnvironment({ libraryPath }), TMPDIR: scratch, TMP: scratch, TEMP: scratch };
  const processes = processStages.map((stages, index) =>
    startStages(childFile, env, stages, (passes) => {
      onPassed(index, passes);
    }),
  );
  const stopAll = async (): Promise<void> => {
    await Promise.all(processes.map((each) => each.stop()));
  };
  const onAbort = (): void => void stopAll();
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    addresses: processStages.length === 1 ? [] : processStages.map((_, index) => stageAddress(scratch, index)),
    async ask(bodies, type) {
      const answers = processes.map(async (each, index) => {
        const body = bodies[index];
        if (body === undefined) throw new Error(`nothing to ask of process ${index}`);
        const reply = await each.request(body, limitMs);
        if (reply.type !== type) throw failed(processStages[index] ?? [], reply);
        return reply as ReplyOf<typeof type>;
      });
      try {
        return await Promise.all(answers);
      } catch (error) {
        await stopAll();
        await Promise.allSettled(answers);
        throw signal?.aborted === true ? new CancelledError() : error;
      }
    },
    async close() {
      signal?.removeEventListener('abort', onAbort);
      await stopAll();
      await rm(scratch, { recursive: true, force: true }).catch(() => undefined);
    },
  };
}

function startStages(
  childFile: string,
  env: NodeJS.ProcessEnv,
  stages: readonly number[],
  onPassed: (passes: number) => void,
): StageProcess {
  const who = whose(stages);
  return startProcess<RehearsalRequest, RehearsalReply>(childFile, env, {
    args: [stageArgument],
    execArgv: [...collectsOnOwnThread],
    parse: parseRehearsalReply,
    isNotice(reply) {
      if (reply.type === 'passed') onPassed(reply.passes);
      return reply.type === 'passed';
    },
    died: (how, line) =>
      new ExpectedError(
        'rehearsal-died',
        sentence`The process of ${who} ended (${how})${line === '' ? '' : sentence`: ${line}`}`,
        sentence`rehearse again; if it ran out of memory, use fewer layers or shorter sequences`,
      ),
    timedOut: (limitMs) =>
      new ExpectedError(
        'rehearsal-timeout',
        sentence`The process of ${who} gave no answer within ${Math.round(limitMs / 1000)} s and was ended`,
        sentence`rehearse fewer layers, sequences or stages`,
      ),
  });
}

function failed(stages: readonly number[], reply: RehearsalReply): Error {
  if (reply.type !== 'failed') return new Error(`Unexpected reply ${reply.type}`);
  return new ExpectedError(
    'rehearsal-failed',
    sentence`The process of ${whose(stages)} failed: ${reply.message}`,
    sentence`report it with the config`,
  );
}

function whose(stages: readonly number[]): string {
  const [only] = stages;
  return stages.length === 1 ? `stage ${formatCount(only ?? 0)}` : `all ${plural(stages.length, 'stage')}`;
}

/** A local socket; on Windows a named pipe. */
function stageAddress(scratch: string, index: number): string {
  const name = path.join(scratch, `stage-${index}`);
  return process.platform === 'win32' ? `\\\\.\\pipe\\${path.basename(scratch)}-${index}` : name;
}

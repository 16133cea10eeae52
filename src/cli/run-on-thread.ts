import path from 'node:path';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import { ExpectedError, errorMessage } from '../core/errors';
import { asksForJson, errorJson, errorLine } from './answer';
import { internalError } from './terminal';
import { endUnwritten, openOutput } from './output';
import type { ThreadData, ThreadHears, ThreadMessage } from './command-thread';
import { sentence } from '../core/sentence';

/*
 * The command runs on a thread of its own, whatever it does there and for however long: this one stays free to print, to show how far it
 * is, and to end everything when a signal comes.
 */

/** Exit statuses of the signals that end a command, as shells count them. */
const interrupts = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
/**
 * How long an interrupted command may take to hear of it, and then to clean up, ms: one that computes does not hear, and has nothing to
 * clean up.
 */
const hearingMs = 50;
const cleaningMs = 100;
/** A command that takes longer shows for how long it has run, ms. */
const longMs = 1000;
/** Most memory of a command's objects, MB; typed arrays come on top, and are counted before they are made. */
const memoryLimitMb = 1024;

const args = process.argv.slice(2);
const debug = process.env['TERAPIPE_DEBUG'] === '1';
const data: ThreadData = { args, debug };
const command = new Worker(path.join(__dirname, 'command.js'), {
  workerData: data,
  stdin: args.includes('-'),
  resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb },
});

let exitCode: number | null = null;
let hearing: NodeJS.Timeout | undefined;
const output = openOutput((error) => endUnwritten(error, hearing === undefined ? null : (exitCode ?? 3)));
// What standard error does not take is lost: the command continues.
process.stderr.on('error', () => undefined);
const progress = progressLine();

command.on('message', (message: ThreadMessage) => {
  if (message.type === 'progress' || message.type === 'status') progress.show(message.text, message.type === 'progress' || debug);
  else if (message.type === 'interrupted') {
    clearTimeout(hearing);
    setTimeout(() => process.exit(exitCode ?? 3), cleaningMs);
  } else if (message.type === 'ended') end(message.exitCode);
  else {
    progress.clear();
    if (message.type === 'out') output.write(message.text, () => send('out'));
    else process.stderr.write(message.text);
  }
});
command.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') fail(outOfMemory, 2);
  else {
    if (debug) process.stderr.write(`${error.stack ?? ''}\n`);
    fail(internalError(error), 3);
  }
});
command.on('exit', () => end(3));

if (command.stdin !== null) {
  process.stdin.on('error', (error) => {
    fail(
      new ExpectedError(
        'config-unreadable',
        sentence`Standard input cannot be read (${errorMessage(error)})`,
        sentence`pipe a config into it`,
      ),
      2,
    );
  });
  process.stdin.pipe(command.stdin);
}

const interruptedBy: readonly (readonly [signal: string, interrupt: () => void])[] = Object.entries(interrupts).map(([signal, status]) => {
  const interrupt = (): void => {
    // The system ends the process at the next signal: `exit` waits for a disk that does not answer.
    for (const [other, heard] of interruptedBy) process.off(other, heard);
    if (exitCode !== null) process.exit(exitCode);
    exitCode = status;
    send('interrupt');
    hearing = setTimeout(() => process.exit(status), hearingMs);
  };
  process.on(signal, interrupt);
  return [signal, interrupt] as const;
});

const outOfMemory = new ExpectedError(
  'out-of-memory',
  sentence`This takes more than ${memoryLimitMb} MB of memory`,
  sentence`use fewer micro-batches, slices or stages, or check fewer files at once`,
);

function fail(error: ExpectedError, status: 2 | 3): void {
  if (exitCode !== null) return;
  progress.clear();
  const texts = new Map<string, string>();
  if (asksForJson(args)) output.write(`${JSON.stringify(errorJson(error, texts))}\n`);
  process.stderr.write(`${errorLine(error, texts)}\n`);
  end(status);
}

function send(message: ThreadHears): void {
  command.postMessage(message);
}

/** Ends the process when all output is written; the status of an interrupt goes before others. */
function end(status: number): void {
  exitCode ??= status;
  progress.clear();
  output.write('', () => process.stderr.write('', () => process.exit(exitCode ?? status)));
}

/**
 * One line on a terminal that shows how far a long command is, each text in place of the one before; elsewhere each text that is kept on a
 * line of its own.
 */
function progressLine(): { readonly show: (text: string, isKept: boolean) => void; readonly clear: () => void } {
  const { stderr } = process;
  const startMs = performance.now();
  let shown = 'working';
  const draw = (): void => {
    const seconds = Math.round((performance.now() - startMs) / 1000);
    stderr.write(`\r\u001b[K${`${shown} (${seconds} s)`.slice(0, stderr.columns - 1)}`);
  };
  const timer = stderr.isTTY ? setInterval(draw, longMs) : undefined;
  return {
    show: (text, isKept) => {
      shown = text;
      if (isKept && !stderr.isTTY) stderr.write(`${text}\n`);
    },
    clear: () => {
      clearInterval(timer);
      if (stderr.isTTY && performance.now() - startMs >= longMs) stderr.write('\r\u001b[K');
    },
  };
}

import { fstatSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import process from 'node:process';
import { isatty } from 'node:tty';
import { ExpectedError, errorMessage } from '../core/errors';
import { errorLine } from './answer';
import { systemCode, systemReason } from '../files/system-reason';
import { sentence } from '../core/sentence';

/** Standard output. */
interface Output {
  /** @param written called when this and all before it is out. */
  readonly write: (text: string, written?: () => void) => void;
}

/**
 * Opens standard output. A pipe is written to without waiting for its reader, which would block the thread and with it the signals; a file
 * or a device to the last byte: of a full disk the system reports only that it took a part, and Node.js takes that for all.
 * @param onError called with the system's error, EPIPE where nobody reads on.
 */
export function openOutput(onError: (error: unknown) => void): Output {
  const { stdout } = process;
  stdout.on('error', onError);
  if (isFile(stdout.fd)) return { write: (text, written) => writeAll(stdout.fd, text, written, onError) };
  if (!isPipe(stdout.fd)) return { write: (text, written) => void stdout.write(text, written) };
  const pipe = new Socket({ fd: stdout.fd, readable: false, writable: true });
  pipe.on('error', onError);
  return { write: (text, written) => void pipe.write(text, written) };
}

/** What a standard output that cannot be written ends a command with; null where nobody reads on (`| head`), which is not an error. */
function outputError(error: unknown): ExpectedError | null {
  if (systemCode(error) === 'EPIPE') return null;
  const { why, remedy } = systemReason(error) ?? { why: errorMessage(error), remedy: sentence`print to another place` };
  return new ExpectedError('output-not-written', sentence`Standard output could not be written: ${why}`, remedy);
}

/** Ends the process at once where standard output cannot be written: nothing more can be printed except why. */
export function endUnwritten(error: unknown, exitCode: number | null = null): never {
  const problem = outputError(error);
  if (problem !== null) process.stderr.write(`${errorLine(problem, new Map())}\n`);
  process.exit(exitCode ?? (problem === null ? 0 : 2));
}

function isFile(descriptor: number): boolean {
  const status = fileStatus(descriptor);
  return status !== null && (status.isFile() || (status.isCharacterDevice() && !isatty(descriptor)));
}

function isPipe(descriptor: number): boolean {
  return process.platform !== 'win32' && fileStatus(descriptor)?.isFIFO() === true;
}

function fileStatus(descriptor: number): ReturnType<typeof fstatSync> | null {
  try {
    return fstatSync(descriptor);
  } catch {
    return null;
  }
}

function writeAll(descriptor: number, text: string, written: (() => void) | undefined, onError: (error: unknown) => void): void {
  const bytes = Buffer.from(text, 'utf8');
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(descriptor, bytes, done);
  } catch (error) {
    onError(error);
    return;
  }
  written?.();
}

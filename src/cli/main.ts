import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { runCommand } from './run-command';
import { shellReaderIn } from './shell-reader';

// `terapipe plan ... | head` closes the pipe early; that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 3);
});

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());
process.once('SIGTERM', () => interrupted.abort());

void runCommand(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  clock: () => performance.now(),
  now: () => new Date().toISOString(),
  progress: (line) => {
    if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${line.slice(0, process.stderr.columns - 1)}`);
    else process.stderr.write(`${line}\n`);
  },
  signal: interrupted.signal,
  profilerFile: path.join(__dirname, 'profiler.js'),
  workerFile: path.join(__dirname, 'worker.js'),
  shell: shellReaderIn(__dirname),
  debug: process.env['TERAPIPE_DEBUG'] === '1',
}).then((exitCode) => {
  process.exitCode = exitCode;
});

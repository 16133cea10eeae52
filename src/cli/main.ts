import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { runCommand } from './run-command';

// `terapipe plan ... | head` closes the pipe early; that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 3);
});

void runCommand(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  clock: () => performance.now(),
  debug: process.env['TERAPIPE_DEBUG'] === '1',
}).then((exitCode) => {
  process.exitCode = exitCode;
});

// How long after a signal each command has ended: `node --import tsx test/bench/interrupts.ts [ROUNDS]`.
import process from 'node:process';
import { openCommandLine } from '../unit/cli/command-line';
import { interrupted, longCommands, writeLongInputs } from '../unit/cli/long-commands';

void (async () => {
  const rounds = Number(process.argv[2] ?? 3);
  const cli = openCommandLine();
  try {
    writeLongInputs(cli.folder);
    for (const { args, began } of longCommands) {
      const ended: number[] = [];
      for (let round = 0; round < rounds; round++)
        for (const signal of ['SIGINT', 'SIGTERM'] as const) ended.push((await interrupted(cli, args, began, signal)).endedMs);
      console.log(`${args.join(' ').padEnd(50)} worst ${Math.max(...ended).toFixed(0)} ms of ${ended.length}`);
    }
  } finally {
    cli.dispose();
  }
})();

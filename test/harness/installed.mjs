// @ts-check
// Has `node --import ./test/harness/installed.mjs SCRIPT` install node_modules before the script is loaded: a fresh clone has none.
import process from 'node:process';
import { ensureDependencies } from './setup.mjs';
import { runMain } from './steps.mjs';

await runMain(ensureDependencies);
if (process.exitCode !== undefined) process.exit();

import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { printAtOnce } from './print-at-once';

const args = process.argv.slice(2);

/** `mcp` or `mcp FOLDER`, which serves agents: it has a bundle of its own, that no other command loads. */
const isServer = args[0] === 'mcp' && args.length <= 2 && args[1]?.startsWith('-') !== true;

if (isServer) createRequire(__filename)(path.join(__dirname, 'mcp.js'));
else if (!printAtOnce(args)) void import('./run-on-thread');

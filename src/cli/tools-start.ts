import { parentPort, workerData } from 'node:worker_threads';
import { openParts } from './parts';
import type * as toolThread from './tool-thread';

/** Starts the thread of tools for agents: its code is that of the commands. */
if (parentPort === null) throw new Error('tools run on a thread of their own');
const parts = openParts(__dirname, 'mcp');
const { serveTools } = parts.load('tool-thread') as typeof toolThread;
serveTools(parentPort, workerData as Parameters<typeof serveTools>[1], __dirname);
parts.keepCode();

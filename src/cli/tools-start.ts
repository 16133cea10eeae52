import { parentPort, workerData } from 'node:worker_threads';
import { relayPlanner } from '../worker/relay';
import { openParts } from './parts';
import type * as toolThread from './tool-thread';

/*
 * Where tools for agents run, with the code of the commands: on a thread of `terapipe mcp`, which reads files of one folder itself, or in a
 * process of VS Code, which is given their texts.
 */
if (parentPort === null) relayPlanner(__filename);
else {
  const parts = openParts(__dirname, 'mcp');
  const { serveTools, serveToolRequests } = parts.load('tool-thread') as typeof toolThread;
  const data: unknown = workerData;
  if (isOfFolder(data)) serveTools(parentPort, data, __dirname);
  else serveToolRequests(parentPort, data, __dirname);
  parts.keepCode();
}

function isOfFolder(data: unknown): data is Parameters<typeof toolThread.serveTools>[1] {
  return typeof data === 'object' && data !== null && 'root' in data;
}

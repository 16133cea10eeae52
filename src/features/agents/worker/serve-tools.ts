import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { shellReaderFrom } from '../../../core/launchers/shell/load-reader';
import { serveThread } from '../../../worker/thread';
import { makeToolPlanner } from './tool-planner';

/** Answers calls of tools that a planner client sends. @param data as `serveThread`. @param folder of the bundles. */
export function serveToolRequests(port: Pick<MessagePort, 'on' | 'postMessage'>, data: unknown, folder: string): void {
  serveThread(port, data, { tool: makeToolPlanner(shellReaderFrom((name) => readFile(path.join(folder, name)))) });
}
